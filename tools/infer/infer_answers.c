/* SPDX-License-Identifier: Apache-2.0
 * infer_answers.c: the answers of a model at each check of clips. */
#include "tools/infer/infer_decide.h"
#include "tools/shared/tool.h"
#include "base/newfile.h"

#include <stdlib.h>
#include <string.h>

int ctt_answers_add(struct ctt_answers *a, const char *id,
                    struct ctt_answer **out)
{
    struct ctt_answer *one = NULL;
    void *more = ctt_grown(a->of, &a->room, a->count, sizeof(*a->of));
    int rc = more ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    a->of = more;
    one = ctt_calloc(1, sizeof(*one));
    CTT_TRY(one ? 0 : CTT_ENOMEM);
    CTT_TRY((one->id = ctt_strdup(id)) ? 0 : CTT_ENOMEM);
    a->of[a->count++] = *out = one;
    one = NULL;
out:
    ctt_free(one);
    return rc;
}

static void free_one(struct ctt_answer *a)
{
    ctt_free(a->id);
    ctt_free(a);
}

void ctt_answers_free(struct ctt_answers *a)
{
    for (int i = 0; i < a->count; i++)
        free_one(a->of[i]);
    ctt_free(a->of);
    *a = (struct ctt_answers){ NULL };
}

int ctt_answers_has(const struct ctt_answers *a, int label)
{
    for (int i = 0; i < a->count; i++)
        if (a->of[i]->label == label)
            return 1;
    return 0;
}

/* Orders by everything that is equal in clips of the same frames, then by name.
 * */
static int compare_clips(const void *x, const void *y)
{
    const struct ctt_answer *a = *(struct ctt_answer *const *)x;
    const struct ctt_answer *b = *(struct ctt_answer *const *)y;

    if (a->crc != b->crc)
        return a->crc < b->crc ? -1 : 1;
    if (a->frames != b->frames)
        return a->frames < b->frames ? -1 : 1;
    return strcmp(a->id, b->id);
}

int ctt_answers_unique(struct ctt_answers *a)
{
    int kept = 0, all = a->count;

    if (all)
        qsort(a->of, (size_t)all, sizeof(*a->of), compare_clips);
    for (int i = 0; i < all; i++) {
        if (kept && a->of[i]->crc == a->of[kept - 1]->crc &&
            a->of[i]->frames == a->of[kept - 1]->frames)
            free_one(a->of[i]);
        else
            a->of[kept++] = a->of[i];
    }
    a->count = kept;
    return all - kept;
}

int ctt_answer_lost(const struct ctt_answer *a, int k)
{
    return a->end == a->label && a->answer[k] != a->label;
}

static void fill_checks(const struct ctt_answer *a, const struct ctt_head *head,
                        int checks, float *sure, uint8_t *lost)
{
    for (int k = 0; k < checks; k++) {
        int has = k < a->checks;

        sure[k] = has ? ctt_head_sure(head, k, a->answer[k], a->sure[k]) : -1;
        lost[k] = has && ctt_answer_lost(a, k);
    }
}

int ctt_answers_trials(const struct ctt_answers *a,
                       const struct ctt_head *head, struct ctt_trials *out)
{
    struct ctt_trials t = { .clips = a->count, .checks = 1 };
    size_t n;
    int rc;

    for (int i = 0; i < a->count; i++)
        if (a->of[i]->checks > t.checks)
            t.checks = a->of[i]->checks;
    n = (size_t)t.clips * (size_t)t.checks;
    t.sure = ctt_calloc(n, sizeof(*t.sure));
    t.lost = ctt_calloc(n, 1);
    CTT_TRY(t.sure && t.lost ? 0 : CTT_ENOMEM);
    for (int i = 0; i < a->count; i++) {
        int64_t at = (int64_t)i * t.checks;
        fill_checks(a->of[i], head, t.checks, t.sure + at, t.lost + at);
    }
    *out = t;
    t = (struct ctt_trials){ 0 };
out:
    ctt_answers_trials_free(&t);
    return rc;
}

void ctt_answers_trials_free(struct ctt_trials *t)
{
    ctt_free(t->sure);
    ctt_free(t->lost);
    *t = (struct ctt_trials){ 0 };
}

/* ---- the table ---- */

struct table {
    const struct ctt_answers *a;
    char *const              *name;
};

static int print(FILE *f, const void *arg)
{
    const struct table *t = arg;

    fputs(CTT_ANSWERS_BEGIN "frame,confidence\n", f);
    for (int i = 0; i < t->a->count; i++) {
        const struct ctt_answer *a = t->a->of[i];
        for (int k = 0; k < a->checks; k++) {
            ctt_csv_quoted(f, a->id);
            ctt_csv_quoted(f, t->name[a->label]);
            ctt_csv_quoted(f, t->name[a->end]);
            ctt_csv_quoted(f, t->name[a->answer[k]]);
            fprintf(f, "%d,%d,%.9g\n", a->frames, ctt_decision_frame(k),
                    (double)a->sure[k]);
        }
    }
    return 0;
}

int ctt_answers_write(const struct ctt_answers *a, char *const *name,
                      const char *path)
{
    return ctt_file_print(path, print, &(struct table){ a, name });
}
