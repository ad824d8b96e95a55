/* SPDX-License-Identifier: Apache-2.0
 * choose_int8.c: whether INT8 that a recipe chose is kept where some convs have
 * to stay in floats. */
#include "compress/stage/choose.h"
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
             "%s%.2f of the bytes of floats, so all stay in floats",
             convs_of_bytes(bytes), time, size);
    if (k->calls->say)
        k->calls->say(k->calls->arg, line);
}

/* Returns 1 without memory for both trials. */
static int measure_int8(const struct ctt_walk *k,
                        const struct ctt_model *const m[2],
                        struct ctt_trial t[2], struct ctt_speed *s)
{
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++)
        CTT_TRY(ctt_trial_make(m[i], k->stages, &ctt_stage_int8, k->o, k->r,
                               k->path, &t[i]));
    if (!rc && k->calls->compare)
        CTT_TRY(ctt_trial_compare(k->calls, &t[0], &t[1], s));
out:
    return rc;
}

int ctt_choose_int8(const struct ctt_walk *k, const struct ctt_model *floats,
                    const struct ctt_model *bytes)
{
    struct ctt_trial t[2] = { { .file = NULL }, { .file = NULL } };
    const struct ctt_model *const both[] = { floats, bytes };
    struct ctt_speed s = { .slower = NAN };
    int rc = 1, full;
    double gain;

    if (!ctt_choice_is_measured(k))
        goto out;
    CTT_TRY(full = measure_int8(k, both, t, &s));
    rc = 1;
    if (full) {
        ctt_trial_say_full(k->calls, "int8 with convs in floats");
        goto out;
    }
    gain = ctt_choice_cost(k->o, t[1].bytes, s.slower) /
           ctt_choice_cost(k->o, t[0].bytes, 1);
    rc = gain < CTT_CHOICE_GAIN;
    if (!rc)
        give_up(k, bytes, s.slower, (double)t[1].bytes / (double)t[0].bytes);
out:
    ctt_trial_drop(&t[0]);
    ctt_trial_drop(&t[1]);
    return rc;
}
