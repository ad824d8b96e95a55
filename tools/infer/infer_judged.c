/* SPDX-License-Identifier: Apache-2.0
 * infer_judged.c: the clips whose last answer is wrong, as a table and as a
 * file. */
#include "tools/infer/infer_tool.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "tools/report/page.h"
#include "tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>

#define BEGIN "clip,file,true,answer,"

const struct ctt_output_kind ctt_output_wrong = {
    .name = "table of --wrong", .begin = BEGIN };

/* ---- the list ---- */

static void free_one(struct ctt_wrong *w)
{
    ctt_free(w->id);
    ctt_free(w->file);
}

int ctt_judged_add(struct ctt_judged *j, const struct ctt_said *a, int label)
{
    struct ctt_wrong w = { .label = label, .answer = a->order[0],
        .frames = (int)a->frame, .p = a->probs[a->order[0]],
        .p_true = a->probs[label] };
    void *more = ctt_grown(j->of, &j->room, j->count, sizeof(*j->of));
    int rc = more ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    j->of = more;
    w.id = ctt_strdup(a->id);
    w.file = ctt_strdup(a->file);
    CTT_TRY(w.id && w.file ? 0 : CTT_ENOMEM);
    j->of[j->count++] = w;
    w = (struct ctt_wrong){ 0 };
out:
    free_one(&w);
    return rc;
}

void ctt_judged_free(struct ctt_judged *j)
{
    for (int i = 0; i < j->count; i++)
        free_one(&j->of[i]);
    ctt_free(j->of);
    *j = (struct ctt_judged){ NULL };
}

/* The surest wrong answer first; equal ones by name. */
static int compare(const void *x, const void *y)
{
    const struct ctt_wrong *a = x, *b = y;

    if (a->p != b->p)
        return a->p > b->p ? -1 : 1;
    return strcmp(a->file, b->file);
}

static void sort(struct ctt_judged *j)
{
    if (j->count)
        qsort(j->of, (size_t)j->count, sizeof(*j->of), compare);
}

/* ---- the table ---- */

enum { SHOWN = 10, NAME = 64 };

int ctt_judged_say(struct ctt_judged *j, char *const *name, int clips)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char id[NAME], truth[NAME], answer[NAME];
    int most = j->count < SHOWN ? j->count : SHOWN;

    if (!j->count) {
        if (clips > 1)
            printf("\nwrong at the end: 0 of %d clips\n", clips);
        return 0;
    }
    sort(j);
    printf("\nwrong at the end: %d of %d clip%s%s\n", j->count, clips,
           ctt_s(clips), most < j->count ? "; the surest answers:"
                                                  : ":");
    ctt_table_row(&t, "clip\ttrue class\tits share\tanswer\tits share");
    for (int i = 0; i < most; i++) {
        const struct ctt_wrong *w = &j->of[i];

        ctt_table_row(&t, "%s\t%s\t%.1f%%\t%s\t%.1f%%",
                      ctt_visible(w->id, 0, id, NAME),
                      ctt_visible(name[w->label], 0, truth, NAME),
                      100 * (double)w->p_true,
                      ctt_visible(name[w->answer], 0, answer, NAME),
                      100 * (double)w->p);
    }
    return ctt_table_print(&t);
}

/* ---- the file ---- */

struct file {
    const struct ctt_judged *j;
    char *const             *name;
};

static int print_file(FILE *f, const void *arg)
{
    const struct file *t = arg;

    fputs(BEGIN "frames,probability_true,probability_answer\n", f);
    for (int i = 0; i < t->j->count; i++) {
        const struct ctt_wrong *w = &t->j->of[i];

        ctt_csv_quoted(f, w->id);
        ctt_csv_quoted(f, w->file);
        ctt_csv_quoted(f, t->name[w->label]);
        ctt_csv_quoted(f, t->name[w->answer]);
        fprintf(f, "%d,%.6f,%.6f\n", w->frames, (double)w->p_true,
                (double)w->p);
    }
    return 0;
}

int ctt_judged_write(struct ctt_judged *j, char *const *name, const char *path)
{
    sort(j);
    return ctt_file_print(path, print_file, &(struct file){ j, name });
}

/* ---- the files before the work ---- */

int ctt_judged_check(const struct ctt_infer_set *c)
{
    int rc = 0;

    CTT_TRY(ctt_output_check(c->wrong, &ctt_output_wrong));
    CTT_TRY(ctt_output_check(c->report_html, &ctt_output_page));
out:
    return rc;
}
