/* SPDX-License-Identifier: Apache-2.0
 * infer_judged.c: the clips whose last answer is wrong, as a table and as a
 * file, and answers by true class (the confusion matrix) as a picture. */
#include "tools/infer/infer_tool.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "tools/shared/picture.h"
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

/* ---- the picture ---- */

/* CELL: pixels of a cell; LETTER: the mean width of a letter. */
enum { CELL = 34, TOP = 60, LETTER = 6, LONGEST = 40, BAR = 40 };

struct matrix {
    const int   *clips;    /* [classes * classes], by true class and answer */
    int          classes, left;
    char *const *name;
};

static int clips_of(const struct matrix *m, int label)
{
    int sum = 0;

    for (int k = 0; k < m->classes; k++)
        sum += m->clips[(size_t)label * (size_t)m->classes + (size_t)k];
    return sum;
}

/* A share of the class's clips, from white to blue; the count in it. */
static void print_cell(FILE *f, const struct matrix *m, int label, int answer)
{
    int n = m->clips[(size_t)label * (size_t)m->classes + (size_t)answer];
    int all = clips_of(m, label), x = m->left + answer * CELL;
    int y = TOP + label * CELL;
    double share = all ? (double)n / all : 0;
    char count[16];

    fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "fill=\"#1f5fbf\" fill-opacity=\"%.3f\" stroke=\"%s\"/>\n", x, y,
            CELL, CELL, share, label == answer ? "#000" : "#ccc");
    if (!n)
        return;
    snprintf(count, sizeof(count), "%d", n);
    fprintf(f, "<g fill=\"%s\">", share > 0.5 ? "#fff" : "#000");
    ctt_svg_text(f, x + CELL / 2.0, y + CELL / 2.0 + 4, "middle", count);
    fprintf(f, "</g>\n");
}

/* A name, of which a long one is cut. */
static void shorten(const char *name, char text[NAME])
{
    char cut[LONGEST];

    ctt_visible(name, 0, cut, sizeof(cut));
    snprintf(text, NAME, "%s%s", cut, strlen(name) > strlen(cut) ? ".." : "");
}

static void print_row(FILE *f, const struct matrix *m, int label)
{
    char text[NAME], of[NAME + 16];
    int all = clips_of(m, label), n = m->clips[label * (m->classes + 1)];

    shorten(m->name[label], text);
    snprintf(of, sizeof(of), "%s (%.0f%% right)", text,
             all ? 100.0 * n / all : 0);
    ctt_svg_text(f, m->left - 8, TOP + label * CELL + CELL / 2.0 + 4, "end",
                 all ? of : text);
    for (int k = 0; k < m->classes; k++)
        print_cell(f, m, label, k);
}

/* Names of the columns lean, so that they do not cover each other. */
static void print_column(FILE *f, const struct matrix *m, int answer)
{
    double x = m->left + answer * CELL + CELL / 2.0;
    int y = TOP + m->classes * CELL + 14;
    char text[NAME];

    shorten(m->name[answer], text);
    fprintf(f, "<g transform=\"rotate(-45 %.1f %d)\">", x, y);
    ctt_svg_text(f, x, y, "end", text);
    fprintf(f, "</g>\n");
}

static int longest(const struct matrix *m)
{
    char text[NAME];
    int n = 0, most = 0;

    for (int k = 0; k < m->classes; k++) {
        shorten(m->name[k], text);
        n = (int)strlen(text);
        most = n > most ? n : most;
    }
    return most * LETTER;
}

static int print_picture(FILE *f, const void *arg)
{
    const struct matrix *m = arg;
    int side = m->classes * CELL, names = longest(m), all = 0;
    int slope = names * 3 / 4 + 20;
    char title[96];

    for (int k = 0; k < m->classes; k++)
        all += clips_of(m, k);
    snprintf(title, sizeof(title), "Answers of the model at the end of %d "
             "clip%s", all, ctt_s(all));
    ctt_svg_begin(f, m->left + (side > 320 ? side : 320) + 20,
                  TOP + side + slope + BAR);
    fprintf(f, "<g font-size=\"15\">");
    ctt_svg_text(f, 12, 24, "start", title);
    fprintf(f, "</g>\n");
    ctt_svg_text(f, m->left - 8, TOP - 10, "end", "true class");
    ctt_svg_text(f, m->left, TOP - 10, "start",
                 "number of clips; the darker, the larger share of the class");
    for (int k = 0; k < m->classes; k++)
        print_row(f, m, k);
    for (int k = 0; k < m->classes; k++)
        print_column(f, m, k);
    ctt_svg_text(f, m->left + side / 2.0, TOP + side + slope + 24, "middle",
                 "answer");
    ctt_svg_end(f);
    return 0;
}

int ctt_confusion_write(const int *clips, int classes, char *const *name,
                        const char *path)
{
    struct matrix m = { clips, classes, 0, name };

    m.left = longest(&m) + 100;
    return ctt_file_print(path, print_picture, &m);
}

/* ---- the files before the work ---- */

int ctt_judged_check(const char *wrong, const char *confusion,
                     const char *film, int classes)
{
    int rc = 0;

    CTT_TRY(ctt_output_check(wrong, &ctt_output_wrong));
    CTT_TRY(ctt_output_check(film, &ctt_output_plot));
    CTT_TRY(ctt_output_check(confusion, &ctt_output_plot));
    CTT_CHECK(!confusion || (classes > 1 && classes <= CTT_CONFUSION_MOST),
              CTT_EINVAL, "--confusion: a picture has 2 to %d classes, the "
              "model %d; --wrong FILE.csv lists the clips", CTT_CONFUSION_MOST,
              classes);
out:
    return rc;
}
