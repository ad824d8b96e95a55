/* SPDX-License-Identifier: Apache-2.0
 * assignment_try.c: what a mix costs, as it is tried on the weights as they
 * are. */
#include "compress/trial.h"
#include "base/newfile.h"

#include <math.h>

int ctt_trial_recipe(const struct ctt_model *m, const struct ctt_stage *done,
                     const struct ctt_recipe *o, const char *path,
                     struct ctt_trial *t)
{
    struct ctt_recipe weights = *o;
    struct ctt_report *r = NULL;
    int full, rc = 0;

    weights.svd.on = weights.tt.on = CTT_ON_WEIGHTS;
    CTT_TRY(ctt_report_new(m, &r));
    CTT_TRY(full = ctt_trial_make(m, done, &weights, r, path, t));
    rc = full ? CTT_ENOMEM : 0;
out:
    ctt_report_free(&r);
    return rc;
}

/* What the file of a trial costs. */
static int cost_of(const struct ctt_trial *t, struct ctt_costs *out)
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

int ctt_assignment_try(const struct ctt_model *m, const struct ctt_recipe *o,
                       const struct ctt_recipe_calls *calls, const char *given,
                       const char *path, struct ctt_costs *out)
{
    struct ctt_trial t = { .file = NULL };
    struct ctt_speed speed;
    int rc;

    CTT_TRY(ctt_trial_recipe(m, NULL, o, path, &t));
    CTT_TRY(cost_of(&t, out));
    if (!calls->compare)
        goto out;
    CTT_TRY(calls->compare(calls->arg, given, ctt_newfile_temp(t.file),
                           &speed));
    out->faster = 1 / speed.slower;
    out->cost[CTT_COST_MS] = speed.ms;
    out->cost[CTT_COST_RAM] = (double)speed.ram;
out:
    ctt_trial_drop(&t);
    return rc;
}

int ctt_assignment_rest(const struct ctt_model *m, const struct ctt_recipe *o,
                        const char *path, double *bytes, struct ctt_model **out)
{
    struct ctt_trial t = { .file = NULL };
    int rc;

    CTT_TRY(ctt_trial_recipe(m, &ctt_stage_prune, o, path, &t));
    *bytes = (double)t.bytes;
    if (out)
        CTT_TRY(ctt_model_load(ctt_newfile_temp(t.file), 0, out));
out:
    ctt_trial_drop(&t);
    return rc;
}
