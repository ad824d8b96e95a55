/* SPDX-License-Identifier: Apache-2.0
 * calibrate.h: finds the thresholds of early decisions that keep a guarantee
 * (Learn then Test: Angelopoulos and others 2021; of early decisions: Ringel
 * and others 2024). */
#ifndef CTT_CALIBRATE_H
#define CTT_CALIBRATE_H

#include "net/file/decision.h"

/* What a model answers for clips at each check of net/file/decision.h.  Clips
 * must be drawn alike and independently of each other and of the model. */
struct ctt_trials {
    int      clips, checks;
    float   *sure;     /* [clips][checks] confidences; < 0: the clip has ended
                          before this check */
    uint8_t *lost;     /* [clips][checks] 1: whoever decides at this check is
                          wrong, and right at the end of the clip */
};

/* With probability 1 - delta over the draw of the clips, new ones lose no more
 * than max_gap of accuracy to the answers at their ends: all clips together
 * (marginal), or among those decided early by any one check (conditional). */
struct ctt_guarantee_set {
    enum ctt_guarantee kind;
    double             max_gap, delta;
};

/* The clips without which no decision at all can be made: the least count that
 * allows a gap of max_gap with none lost; for conditional, which chooses by one
 * half and tests by the other, in the second half. */
int64_t ctt_calibrate_least(const struct ctt_guarantee_set *set);

/* Chooses threshold[t->checks]; returns how many are finite.  0: none can be
 * guaranteed, and all are INFINITY.
 *
 * marginal: one threshold, which falls on a fixed grid as long as the binomial
 * test rejects a gap above max_gap (fixed-sequence testing).
 *
 * conditional: half of the clips, drawn at random, choose a threshold for each
 * check in the order of time, the least with which the clips decided so far
 * pass the test at some level; the other half tests all checks of these.  That
 * is done for levels from very strict ones up, until a test fails.  Ringel and
 * others choose once, by the mean gap, and test from the last check back; they
 * count clips that have ended as decided, which here are left out, so that more
 * is promised.  What passes also holds for marginal. */
int ctt_calibrate(const struct ctt_trials *t,
                  const struct ctt_guarantee_set *set, float *threshold);

/* The check at which clip i is decided with these thresholds; t->checks: at
 * its end. */
int ctt_trials_stop(const struct ctt_trials *t, int i, const float *threshold);

#endif
