/* SPDX-License-Identifier: Apache-2.0
 * calibrate.c: thresholds of early decisions by fixed-sequence testing. */
#include "infer/calibrate.h"
#include "base/statistics/statistics.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* Candidate thresholds, from the highest: on a logistic scale, as confidences
 * are dense near 1, in steps of 0.01 at one half and below.  They must not
 * depend on the clips. */
enum { LEVELS = 480 };

static void set_levels(float level[LEVELS])
{
    for (int j = 0; j + 1 < LEVELS; j++)
        level[j] = (float)(1 / (1 + exp(0.04 * j - 14)));
    level[LEVELS - 1] = 0;
}

/* The clips of a part, and the state of each at the current check. */
struct part {
    const struct ctt_trials *t;
    const float *level;
    int *clip;       /* their numbers in t */
    int  clips;
    int *stop;       /* check of each one's decision; t->checks: none */
    int *most;       /* [clips + 1]: most lost clips of n decided ones that pass
                        the test; -1: n is too small */
};

static float sure(const struct part *p, int i, int k)
{
    return p->t->sure[(int64_t)p->clip[i] * p->t->checks + k];
}

static int lost(const struct part *p, int i, int k)
{
    return k < p->t->checks &&
           p->t->lost[(int64_t)p->clip[i] * p->t->checks + k];
}

static void close_part(struct part *p)
{
    ctt_free(p->clip);
    ctt_free(p->stop);
    ctt_free(p->most);
}

/* Least n above `low` (which fails) with which k lost clips pass, or a number
 * above `most`. */
static int least_clips(int k, int low, int most, double max_gap, double delta)
{
    int high = low + 1, step = 1;

    while (high <= most && ctt_binomial_tail(k, high, max_gap) > delta) {
        low = high;
        step = step < most ? 2 * step : step;
        high = step < most - low ? low + step : most + 1;
    }
    while (high - low > 1) {
        int n = low + (high - low) / 2;
        if (n > most || ctt_binomial_tail(k, n, max_gap) <= delta)
            high = n;
        else
            low = n;
    }
    return high;
}

/* Sets p->most[n], the most lost clips of n decided ones at level delta; it
 * grows by at most one per clip. */
static void set_most(struct part *p, double max_gap, double delta)
{
    p->most[0] = -1;
    for (int n = 0, k = 0; n < p->clips; k++) {
        int next = least_clips(k, n, p->clips, max_gap, delta);
        for (n++; n < next && n <= p->clips; n++)
            p->most[n] = k - 1;
        if (next <= p->clips)
            p->most[next] = k;
        n = next;
    }
}

static void restart(struct part *p)
{
    for (int i = 0; i < p->clips; i++)
        p->stop[i] = p->t->checks;
}

static int open_clips(const struct ctt_trials *t, const int *clip, int clips,
                      const struct ctt_guarantee_set *set, struct part *p)
{
    size_t n = (size_t)clips + 1;

    p->t = t;
    p->clips = clips;
    p->clip = ctt_calloc(n, sizeof(int));
    p->stop = ctt_calloc(n, sizeof(int));
    p->most = ctt_calloc(n, sizeof(int));
    if (!p->clip || !p->stop || !p->most)
        return CTT_ENOMEM;
    memcpy(p->clip, clip, (size_t)clips * sizeof(int));
    restart(p);
    set_most(p, set->max_gap, set->delta);
    return 0;
}

/* ---- marginal ---- */

/* Moves each clip to the first check with confidence at_least, which is never
 * later than for a higher level; returns the count of lost clips. */
static int stop_all(struct part *p, float at_least, float *highest)
{
    int checks = p->t->checks, losses = 0;

    for (int i = 0; i < p->clips; i++) {
        const float *up = highest + (int64_t)i * checks;
        while (p->stop[i] > 0 && up[p->stop[i] - 1] >= at_least)
            p->stop[i]--;
        losses += lost(p, i, p->stop[i]);
    }
    return losses;
}

/* Running maximum of each clip's confidence over the checks. */
static float *running_max(const struct part *p)
{
    int checks = p->t->checks;
    float *up = ctt_calloc((size_t)p->clips * (size_t)checks, sizeof(*up));

    for (int i = 0; up && i < p->clips; i++)
        for (int k = 0; k < checks; k++) {
            float *x = up + (int64_t)i * checks + k;
            *x = sure(p, i, k);
            if (k && x[-1] > *x)
                *x = x[-1];
        }
    return up;
}

static int marginal(struct part *p, float *threshold)
{
    float *highest = running_max(p), found = INFINITY;

    if (!highest)
        return CTT_ENOMEM;
    for (int j = 0; j < LEVELS; j++) {
        if (stop_all(p, p->level[j], highest) > p->most[p->clips])
            break;
        found = p->level[j];
    }
    for (int k = 0; k < p->t->checks; k++)
        threshold[k] = found;
    ctt_free(highest);
    return 0;
}

/* ---- conditional ---- */

struct sum { int stopped, lost; };

static int passes_test(const struct part *p, struct sum s)
{
    return s.lost <= p->most[s.stopped];
}

/* Counts, for each threshold p->level[j], the clips first decided at check k:
 * by[j]. */
static void tally(const struct part *p, int k, struct sum by[LEVELS])
{
    memset(by, 0, LEVELS * sizeof(*by));
    for (int i = 0; i < p->clips; i++) {
        int j = 0, high = LEVELS - 1;
        float x = sure(p, i, k);

        if (p->stop[i] < k || x < 0)
            continue;
        while (j < high) {    /* first level that x reaches */
            int mid = (j + high) / 2;
            if (x >= p->level[mid])
                high = mid;
            else
                j = mid + 1;
        }
        by[j].stopped++;
        by[j].lost += lost(p, i, k);
    }
    for (int j = 1; j < LEVELS; j++) {
        by[j].stopped += by[j - 1].stopped;
        by[j].lost += by[j - 1].lost;
    }
}

/* Decides at check k each undecided clip with confidence at_least. */
static struct sum stop_at(struct part *p, int k, float at_least)
{
    struct sum s = { 0, 0 };

    for (int i = 0; i < p->clips; i++) {
        float x = sure(p, i, k);
        if (p->stop[i] < k || x < 0 || x < at_least)
            continue;
        p->stop[i] = k;
        s.stopped++;
        s.lost += lost(p, i, k);
    }
    return s;
}

/* Sets the threshold of each check in turn, the least one with which the clips
 * decided so far pass; returns the count of finite ones. */
static int choose_thresholds(struct part *p, float *threshold)
{
    struct sum by[LEVELS], all = { 0, 0 }, now;
    int finite = 0;

    restart(p);
    for (int k = 0; k < p->t->checks; k++) {
        tally(p, k, by);
        threshold[k] = INFINITY;
        for (int j = 0; j < LEVELS; j++) {
            now = (struct sum){ all.stopped + by[j].stopped,
                                all.lost + by[j].lost };
            if (by[j].stopped && passes_test(p, now))
                threshold[k] = p->level[j];
        }
        now = stop_at(p, k, threshold[k]);
        all.stopped += now.stopped;
        all.lost += now.lost;
        finite += !isinf(threshold[k]);
    }
    return finite;
}

/* 1 if the clips decided at each check with a threshold pass the test. */
static int pass_all(struct part *p, const float *threshold)
{
    struct sum all = { 0, 0 }, now;

    restart(p);
    for (int k = 0; k < p->t->checks; k++) {
        if (isinf(threshold[k]))
            continue;
        now = stop_at(p, k, threshold[k]);
        all.stopped += now.stopped;
        all.lost += now.lost;
        if (!passes_test(p, all))
            return 0;
    }
    return 1;
}

/* Test levels for choosing thresholds, from the strictest: in half decades up
 * to the level of the test, and LAX beyond, which seldom pass. */
enum { STRICT = 12, LAX = 2 };

/* Tests the most strictly chosen thresholds first.  The order and the
 * thresholds follow from one half of the clips, so the other half needs no
 * correction for multiple tests. */
static int conditional(struct part half[2],
                       const struct ctt_guarantee_set *set, float *threshold)
{
    float tried[CTT_DECISION_CHECKS];
    size_t size = (size_t)half[0].t->checks * sizeof(*tried);

    for (int k = 0; k < half[0].t->checks; k++)
        threshold[k] = INFINITY;
    for (int j = -STRICT; j <= LAX; j++) {
        set_most(&half[0], set->max_gap, set->delta * pow(10, 0.5 * j));
        if (!choose_thresholds(&half[0], tried))
            continue;
        if (!pass_all(&half[1], tried))
            break;
        memcpy(threshold, tried, size);
    }
    return 0;
}

/* ---- the whole ---- */

int64_t ctt_calibrate_least(const struct ctt_guarantee_set *set)
{
    int64_t n = ctt_binomial_least(set->max_gap, set->delta);

    return set->kind == CTT_GUARANTEE_CONDITIONAL ? 2 * n - 1 : n;
}

/* A random permutation of n clips (Fisher and Yates 1938). */
static int *shuffled(int n)
{
    int *order = ctt_calloc((size_t)n + 1, sizeof(*order));

    for (int i = 0; order && i < n; i++) {
        int k = (int)(ctt_key(1, (uint64_t)i) % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
    return order;
}

static int calibrate_split(const struct ctt_trials *t,
                           const struct ctt_guarantee_set *set,
                           const int *order, float *threshold)
{
    float level[LEVELS];
    struct part part[2] = { { .level = level }, { .level = level } };
    int both = set->kind == CTT_GUARANTEE_CONDITIONAL, rc;
    int some = both ? t->clips / 2 : t->clips;

    set_levels(level);
    CTT_TRY(open_clips(t, order, some, set, &part[0]));
    CTT_TRY(open_clips(t, order + some, t->clips - some, set, &part[1]));
    if (both)
        CTT_TRY(conditional(part, set, threshold));
    else
        CTT_TRY(marginal(&part[0], threshold));
out:
    close_part(&part[0]);
    close_part(&part[1]);
    return rc;
}

int ctt_calibrate(const struct ctt_trials *t,
                  const struct ctt_guarantee_set *set, float *threshold)
{
    int *order = NULL, rc = 0;

    CTT_CHECK(t->checks > 0 && t->checks <= CTT_DECISION_CHECKS, CTT_EINVAL,
              "calibrate: %d checks", t->checks);
    order = shuffled(t->clips);
    CTT_TRY(order ? 0 : CTT_ENOMEM);
    CTT_TRY(calibrate_split(t, set, order, threshold));
    rc = 0;
    for (int k = 0; k < t->checks; k++)
        rc += !isinf(threshold[k]);
out:
    ctt_free(order);
    return rc;
}

int ctt_trials_stop(const struct ctt_trials *t, int i, const float *threshold)
{
    const float *x = t->sure + (int64_t)i * t->checks;

    for (int k = 0; k < t->checks; k++)
        if (x[k] >= 0 && x[k] >= threshold[k])
            return k;
    return t->checks;
}
