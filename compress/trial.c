/* SPDX-License-Identifier: Apache-2.0
 * trial.c: the result of a recipe without training, as a file to
 * measure. */
#include "compress/trial.h"
#include "base/limits.h"
#include "base/newfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int ctt_trial_rows(const struct ctt_report *r, struct ctt_report **out)
{
    struct ctt_report *to = ctt_calloc(1, sizeof(*to));
    int rc = to ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    to->weight = ctt_calloc((size_t)r->weights + 1, sizeof(*to->weight));
    CTT_TRY(to->weight ? 0 : CTT_ENOMEM);
    memcpy(to->weight, r->weight, (size_t)r->weights * sizeof(*r->weight));
    to->weights = r->weights;
    *out = to;
    to = NULL;
out:
    ctt_report_free(&to);
    return rc;
}

/* All rounds of a stage as one. */
static int run_stage(const struct ctt_stage *s, struct ctt_walk *k)
{
    if (!s->asked(k->o))
        return 0;
    return s->sketch ? s->sketch(k) : s->run(k, 1);
}

/* The stages behind `done`, or all, on *m. */
static int run_stages(const struct ctt_stage *const *stages,
                      const struct ctt_stage *done, const struct ctt_recipe *o,
                      const struct ctt_report *r, struct ctt_model **m)
{
    static const struct ctt_recipe_calls none;
    struct ctt_recipe at_once = *o;
    struct ctt_report *rows = NULL;
    struct ctt_walk k = { .stages = stages, .o = &at_once, .calls = &none,
                          .m = m };
    int i = 0, rc;

    at_once.prune.rounds = 1;
    CTT_TRY(ctt_trial_rows(r, &rows));
    k.r = rows;
    while (done && stages[i++] != done)
        ;
    for (; stages[i]; i++)
        CTT_TRY(run_stage(stages[i], &k));
out:
    ctt_report_free(&rows);
    return rc;
}

int ctt_trial_or_full(int rc, long refused)
{
    return rc == CTT_ENOMEM && ctt_memory_refused() > refused ? 1 : rc;
}

int ctt_trial_make(const struct ctt_model *m,
                   const struct ctt_stage *const *stages,
                   const struct ctt_stage *done, const struct ctt_recipe *o,
                   const struct ctt_report *r, const char *path,
                   struct ctt_trial *t)
{
    struct ctt_model *copy = NULL;
    long refused = ctt_memory_refused();
    int rc;

    *t = (struct ctt_trial){ .file = NULL };
    CTT_TRY(ctt_model_copy(m, &copy));
    CTT_TRY(run_stages(stages, done, o, r, &copy));
    CTT_TRY(ctt_newfile_open(path, &t->file));
    CTT_TRY(ctt_model_put(t->file, copy));
    CTT_TRY(ctt_model_stored(ctt_newfile_temp(t->file), &t->stored,
                             &t->nstored, &t->bytes));
out:
    ctt_model_free(&copy);
    return ctt_trial_or_full(rc, refused);
}

int ctt_trial_plain(const struct ctt_model *m, const char *path,
                    struct ctt_trial *t)
{
    static const struct ctt_stage *const none[] = { NULL };
    static const struct ctt_recipe nothing;
    struct ctt_report *r = NULL;
    int rc = 0;

    CTT_TRY(ctt_report_new(m, &r));
    rc = ctt_trial_make(m, none, NULL, &nothing, r, path, t);
out:
    ctt_report_free(&r);
    return rc;
}

int ctt_trial_recipe(const struct ctt_model *m,
                     const struct ctt_stage *const *stages,
                     const struct ctt_stage *done, const struct ctt_recipe *o,
                     const char *path, struct ctt_trial *t)
{
    struct ctt_recipe weights = *o;
    struct ctt_report *r = NULL;
    int full, rc = 0;

    weights.svd.on = weights.tt.on = CTT_ON_WEIGHTS;
    CTT_TRY(ctt_report_new(m, &r));
    CTT_TRY(full = ctt_trial_make(m, stages, done, &weights, r, path,
                                  t));
    rc = full ? CTT_ENOMEM : 0;
out:
    ctt_report_free(&r);
    return rc;
}

int ctt_model_costs(const struct ctt_model *m, const char *path,
                    struct ctt_costs *out)
{
    struct ctt_report *r = NULL;
    struct ctt_stage_row *row;
    int rc;

    *out = (struct ctt_costs){ { 0, NAN, 0, NAN }, NAN };
    CTT_TRY(ctt_report_new(m, &r));
    CTT_TRY(ctt_report_stage(r, "", m, path, &row));
    out->cost[CTT_COST_BYTES] = (double)row->bytes;
    out->cost[CTT_COST_MACS] = (double)row->live_macs;
out:
    ctt_report_free(&r);
    return rc;
}

int ctt_trial_costs(const struct ctt_trial *t, struct ctt_costs *out)
{
    const char *path = ctt_newfile_temp(t->file);
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_model_load(path, 0, &m));
    CTT_TRY(ctt_model_costs(m, path, out));
out:
    ctt_model_free(&m);
    return rc;
}

void ctt_trial_drop(struct ctt_trial *t)
{
    ctt_newfile_drop(&t->file);
    ctt_free(t->stored);
    *t = (struct ctt_trial){ .file = NULL };
}

int ctt_trial_compare(const struct ctt_recipe_calls *calls,
                      const struct ctt_trial *base, const struct ctt_trial *t,
                      struct ctt_speed *s)
{
    long refused = ctt_memory_refused();

    return ctt_trial_or_full(calls->compare(calls->arg,
                                            ctt_newfile_temp(base->file),
                                            ctt_newfile_temp(t->file), s),
                             refused);
}

void ctt_trial_say_full(const struct ctt_recipe_calls *calls, const char *what)
{
    char line[320];

    snprintf(line, sizeof(line), "choices: %s not tried: %s", what,
             ctt_errmsg());
    if (calls->say)
        calls->say(calls->arg, line);
}

int64_t ctt_trial_named(const struct ctt_trial *t, const char *name)
{
    struct ctt_weight_row row = { .cores = 2 };

    snprintf(row.name, sizeof(row.name), "%s", name);
    return ctt_trial_weight(t, &row);
}

int64_t ctt_trial_weight(const struct ctt_trial *t,
                         const struct ctt_weight_row *row)
{
    int64_t sum = 0;

    for (int i = 0; i < t->nstored; i++)
        if (ctt_row_has(row, t->stored[i].name, ".w"))
            sum += t->stored[i].size;
    return sum;
}
