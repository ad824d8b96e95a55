/* SPDX-License-Identifier: Apache-2.0
 * choose_chain.c: weights that stay whole although tensor trains are requested.
 * */
#include "compress/stage/choose.h"
#include "compress/trial.h"
#include "base/limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a weight ---- */

/* Bytes and time of both forms of a weight: whole, and its chain. */
struct forms { int64_t bytes[2]; double ms[2]; int busy; };

enum { WHOLE, TRAINS, NEITHER };
static const char *const names[] = { "whole", "tensor trains" };

/* chosen: WHOLE, TRAINS or NEITHER. */
static int add_rows(const struct ctt_choosing *a, const char *of,
                    const struct forms *b, int chosen)
{
    int rc = 0;

    for (int i = WHOLE; i < NEITHER; i++) {
        struct ctt_choice *c;

        CTT_TRY(ctt_report_choice(a->k->r, of, names[i], &c));
        c->bytes = b->bytes[i];
        c->ms = b->ms[i];
        c->busy = b->busy;
        c->chosen = i == chosen;
    }
out:
    return rc;
}

/* Whether the time may decide. */
static int time_decides(const struct ctt_choosing *a, const struct forms *b)
{
    return a->k->calls->compare &&
           (a->o->aim == CTT_AIM_MS || (a->o->aim == CTT_AIM_BOTH &&
                                        b->bytes[0] < b->bytes[1]));
}

static int stays(const struct ctt_choosing *a, const struct forms *b)
{
    int slower = b->ms[0] < CTT_CHOICE_GAIN * b->ms[1];
    int larger = (double)b->bytes[0] < CTT_CHOICE_GAIN * (double)b->bytes[1];

    return (a->o->aim == CTT_AIM_BYTES || slower) &&
           (a->o->aim == CTT_AIM_MS || larger);
}

/* A trial of the model with the remaining chains.  Returns 1 if it does not fit
 * into memory. */
static int make_trial(const struct ctt_choosing *a, struct ctt_trial *t)
{
    long refused = ctt_memory_refused();
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_chain_replace(*a->k->m, a->chain, &m));
    CTT_TRY(ctt_trial_make(m, a->k->stages, &ctt_stage_tt, a->o, a->rows,
                           a->k->path, t));
out:
    ctt_model_free(&m);
    return ctt_trial_or_full(rc, refused);
}

/* Times the model with weight i whole against *now, which it replaces if the
 * weight stays whole.  Does nothing without memory for it. */
static int try_whole(const struct ctt_choosing *a, int i, struct ctt_trial *now,
                     struct forms *b)
{
    struct ctt_trial t = { .file = NULL };
    struct ctt_chain *c = a->chain[i];
    char what[CTT_NAME + 32];
    struct ctt_speed s;
    int rc, full;

    a->chain[i] = NULL;
    CTT_TRY(full = make_trial(a, &t));
    if (!full)
        CTT_TRY(full = ctt_trial_compare(a->k->calls, now, &t, &s));
    rc = 0;
    if (full) {
        snprintf(what, sizeof(what), "%s without its tensor train",
                 (*a->k->m)->g->node[i].name);
        ctt_trial_say_full(a->k->calls, what);
        goto out;
    }
    b->ms[0] = s.ms;
    b->ms[1] = s.ms / s.slower;
    b->busy = s.busy;
    if (stays(a, b)) {
        ctt_trial_drop(now);
        *now = t;
        t = (struct ctt_trial){ .file = NULL };
    }
out:
    a->chain[i] = c;
    ctt_trial_drop(&t);
    return rc;
}

static void keep_whole(const struct ctt_choosing *a, int i,
                       const struct forms *b)
{
    struct ctt_weight_row *row = ctt_chain_row(a->k->r,
                                               (*a->k->m)->g->node[i].name);
    char time[48] = "";

    row->whole = 1;
    if (!isnan(b->ms[0]) && !b->busy)
        snprintf(time, sizeof(time), "%.2f of the time and ",
                 b->ms[0] / b->ms[1]);
    snprintf(row->reason, CTT_REASON, "whole: %s%.2f of the bytes of its "
             "tensor train", time, (double)b->bytes[0] / (double)b->bytes[1]);
    ctt_chain_free(&a->chain[i]);
}

/* Returns whether weight i stays whole.  whole: the trial in which all do. */
static int decide_whole(const struct ctt_choosing *a, int i,
                        const struct ctt_trial *whole, struct ctt_trial *now)
{
    const char *name = (*a->k->m)->g->node[i].name;
    struct forms b = { { 0, 0 }, { NAN, NAN } };
    int rc = 0, is_whole;

    for (int j = 0; j < a->rows->weights; j++)
        if (ctt_row_has(&a->rows->weight[j], name, "")) {
            b.bytes[0] = ctt_trial_weight(whole, &a->rows->weight[j]);
            b.bytes[1] = ctt_trial_weight(now, &a->rows->weight[j]);
        }
    if (time_decides(a, &b))
        CTT_TRY(try_whole(a, i, now, &b));
    is_whole = stays(a, &b);
    if (is_whole || !isnan(b.ms[0]))
        CTT_TRY(add_rows(a, name, &b, is_whole ? WHOLE : TRAINS));
    if (is_whole)
        keep_whole(a, i, &b);
    rc = is_whole;
out:
    return rc;
}

/* ---- all weights ---- */

/* Gain of all trains together; its rows come first and are marked at the end.
 * Returns 1 without memory for both. */
static int compare_all(const struct ctt_choosing *a,
                       const struct ctt_trial *whole,
                       const struct ctt_trial *trains)
{
    struct forms b = { { whole->bytes, trains->bytes }, { NAN, NAN } };
    struct ctt_speed s;
    int rc = 0;

    if (a->k->calls->compare) {
        CTT_TRY(ctt_trial_compare(a->k->calls, whole, trains, &s));
        if (rc > 0)
            goto out;
        b.ms[0] = s.ms / s.slower;
        b.ms[1] = s.ms;
        b.busy = s.busy;
    }
    CTT_TRY(add_rows(a, "all weights", &b, NEITHER));
out:
    return rc;
}

static int count_chains(const struct ctt_choosing *a)
{
    int n = 0;

    for (int i = 0; i < (*a->k->m)->g->count; i++)
        n += a->chain[i] != NULL;
    return n;
}

/* Makes and compares both trials.  Returns 1 without memory for them. */
static int make_both(const struct ctt_choosing *a, struct ctt_trial *whole,
                     struct ctt_trial *now)
{
    int rc;

    CTT_TRY(ctt_trial_make(*a->k->m, a->k->stages, &ctt_stage_tt, a->o,
                           a->rows, a->k->path, whole));
    if (!rc)
        CTT_TRY(make_trial(a, now));
    if (!rc)
        CTT_TRY(compare_all(a, whole, now));
out:
    return rc;
}

static int decide_all(const struct ctt_choosing *a,
                      const struct ctt_trial *whole, struct ctt_trial *now)
{
    int sum = 0, rc = 0, is_whole;

    for (int i = 0; i < (*a->k->m)->g->count; i++) {
        if (!a->chain[i])
            continue;
        CTT_TRY(is_whole = decide_whole(a, i, whole, now));
        sum += is_whole;
    }
    rc = sum;
out:
    return rc;
}

int ctt_choose_chains(const struct ctt_choosing *a)
{
    struct ctt_trial whole = { .file = NULL }, now = { .file = NULL };
    int all = count_chains(a), first = a->k->r->choices;
    int sum = 0, full, rc = 0;

    if (!all)
        goto out;
    CTT_TRY(full = make_both(a, &whole, &now));
    if (full)
        ctt_trial_say_full(a->k->calls, "weights without tensor trains");
    rc = 0;
    if (full)
        goto out;
    CTT_TRY(sum = decide_all(a, &whole, &now));
    a->k->r->choice[first + WHOLE].chosen = sum == all;
    a->k->r->choice[first + TRAINS].chosen = sum == 0;
    rc = sum;
out:
    ctt_trial_drop(&whole);
    ctt_trial_drop(&now);
    return rc;
}

void ctt_choose_chains_again(struct ctt_report *r)
{
    for (int i = 0; i < r->choices; i++) {
        const struct ctt_choice *c = &r->choice[i];
        struct ctt_weight_row *row = ctt_chain_row(r, c->of);

        if (row && c->chosen && strcmp(c->name, names[WHOLE]) == 0)
            row->whole = 1;
    }
}
