/* SPDX-License-Identifier: Apache-2.0
 * compress_measure.c: the set-up that --sense, --explain and --budget share:
 * files, answers and their divergence, and progress. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <string.h>

/* ---- settings ---- */

int ctt_compress_listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return 1;
    return 0;
}

int ctt_compress_name(const char *of, const char *end, char *to, size_t size,
                      const char **file)
{
    int n = snprintf(to, size, "%s%s", of, end), rc = 0;

    if (*file)
        goto out;
    CTT_CHECK(n < (int)size, CTT_EINVAL, "%s: name too long", of);
    *file = to;
out:
    return rc;
}

int ctt_compress_spare(const struct ctt_compress_job *j,
                       const char *const *made, int n)
{
    const struct ctt_train_cfg *t = &j->c.train;
    const char *const read[] = { j->path, j->c.dense, t->data, t->val,
                                 t->classes };
    int rc;

    CTT_TRY(ctt_tool_apart(made, n));
    CTT_TRY(ctt_teachers_spared(t->teacher, made, n));
    for (size_t k = 0; k < CTT_LEN(read); k++)
        CTT_TRY(ctt_tool_spares(made, n, read[k]));
out:
    return rc;
}

/* ---- answers ---- */

int ctt_answers_of(const struct ctt_answers *a, const struct ctt_model *m,
                   struct ctt_metrics **out)
{
    return ctt_answer_recognise(m, &a->j->c.train, a->clips,
                                ctt_compress_points, CTT_ACCURACIES, out);
}

int ctt_answers_open(struct ctt_answers *a, const struct ctt_model *m,
                     const char *option)
{
    int rc;

    CTT_TRY(ctt_answers_of(a, m, &a->was));
    CTT_CHECK(a->was->clips > 0, CTT_EINVAL, "%s: no validation clip could be "
              "read", option);
    a->p = ctt_calloc((size_t)a->was->classes, sizeof(*a->p));
    a->q = ctt_calloc((size_t)a->was->classes, sizeof(*a->q));
    CTT_TRY(a->p && a->q ? 0 : CTT_ENOMEM);
out:
    return rc;
}

void ctt_answers_close(struct ctt_answers *a)
{
    ctt_metrics_free(&a->was);
    ctt_free(a->p);
    ctt_free(a->q);
}

double ctt_answers_divergence(const struct ctt_answers *a,
                              const struct ctt_metrics *is, int64_t at)
{
    int64_t i = at * is->classes;

    if (is->several)
        return ctt_divergences(is->classes, a->was->answer + i, is->answer + i);
    return ctt_divergence(is->classes, a->was->answer + i, is->answer + i,
                          a->p, a->q);
}

/* ---- progress ---- */

int ctt_answers_begin(const struct ctt_answers *a, const char *what)
{
    int rc = 0;

    CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "stopped");
    a->j->around = (struct ctt_work){ a->done, a->all, NAN };
    ctt_tool_progress(&a->j->around, "%s, %d of %d", what, a->done + 1, a->all);
out:
    return rc;
}
