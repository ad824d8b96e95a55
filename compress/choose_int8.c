/* SPDX-License-Identifier: Apache-2.0
 * choose_int8.c: whether INT8 that a recipe chose is kept where some convs have
 * to stay in floats. */
#include "compress/choose.h"
#include "compress/trial.h"
#include "net/quant.h"

#include <math.h>
#include <stdio.h>

static int convs_of_bytes(const struct ctt_model *m)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += ctt_is_int8(m->g, i);
    return n;
}

static void give_up(const struct ctt_walk *k, const struct ctt_model *bytes,
                    double ms, double size)
{
    char why[96], line[160], time[32] = "";

    if (!isnan(ms))
        snprintf(time, sizeof(time), "%.2f of the time, ", ms);
    snprintf(why, sizeof(why), "%s%.2f of the bytes with %d convs", time, size,
             convs_of_bytes(bytes));
    ctt_report_give_up(k->r, why);
    snprintf(line, sizeof(line), "int8: with the %d convs that may read bytes "
             "it takes %s%.2f of the bytes of floats, so all stay so",
             convs_of_bytes(bytes), time, size);
    if (k->calls->say)
        k->calls->say(k->calls->arg, line);
}

int ctt_choose_int8(const struct ctt_walk *k, const struct ctt_model *floats,
                    const struct ctt_model *bytes)
{
    struct ctt_trial was = { .file = NULL }, is = { .file = NULL };
    struct ctt_speed s = { .slower = NAN };
    double size, gain;
    int rc = 1;

    if (!ctt_choice_is_measured(k))
        goto out;
    CTT_TRY(ctt_trial_make(floats, &ctt_stage_int8, k->o, k->r, k->path, &was));
    CTT_TRY(ctt_trial_make(bytes, &ctt_stage_int8, k->o, k->r, k->path, &is));
    if (k->calls->compare)
        CTT_TRY(ctt_trial_compare(k->calls, &was, &is, &s));
    size = (double)is.bytes / (double)was.bytes;
    gain = ctt_choice_cost(k->o, is.bytes, s.slower) /
           ctt_choice_cost(k->o, was.bytes, 1);
    rc = gain < CTT_CHOICE_GAIN;
    if (!rc)
        give_up(k, bytes, s.slower, size);
out:
    ctt_trial_drop(&was);
    ctt_trial_drop(&is);
    return rc;
}
