/* SPDX-License-Identifier: Apache-2.0
 * calibrate.h: thresholds of early decisions that keep a guarantee (Learn then
 * Test: Angelopoulos and others 2021; of early decisions: Ringel and others
 * 2024). */
#ifndef CTT_CALIBRATE_H
#define CTT_CALIBRATE_H

#include "net/file/decision.h"

/* Answers of a model for clips at each check of net/file/decision.h.  Clips
 * must be independent, identically distributed, and not used for the model. */
struct ctt_trials {
    int      clips, checks;
    float   *sure;     /* [clips][checks] confidences; < 0: the clip has ended
                          before this check */
    uint8_t *lost;     /* [clips][checks] 1: the answer is wrong at this check
                          and right at the end of the clip */
};

/* With probability 1 - delta over the draw of the clips, new ones lose no more
 * than max_gap of accuracy to the answers at their ends: all clips together
 * (marginal), or among those decided early by any one check (conditional). */
struct ctt_guarantee_set {
    enum ctt_guarantee kind;
    double             max_gap, delta;
};

/* Least number of clips for any decision: the smallest n that passes the test
 * of max_gap with no clip lost; for conditional, the n of the second half. */
int64_t ctt_calibrate_least(const struct ctt_guarantee_set *set);

/* Chooses threshold[t->checks]; returns the count of finite ones.  0: no
 * threshold passes, and all are INFINITY. CTT_ENOMEM.
 *
 * marginal: one threshold, which falls on a fixed grid as long as the binomial
 * test rejects a gap above max_gap (fixed-sequence testing).
 *
 * conditional: half of the clips, drawn at random, choose a threshold for each
 * check in the order of time, the least with which the clips decided so far
 * pass the test at some level; the other half tests all checks of these.  The
 * levels go from very strict ones up until a test fails.  Ringel and others
 * choose once, by the mean gap, and test from the last check back; they count
 * ended clips as decided, which are left out here, for a stronger guarantee.
 * Thresholds that pass hold for marginal too. */
int ctt_calibrate(const struct ctt_trials *t,
                  const struct ctt_guarantee_set *set, float *threshold);

/* Check at which these thresholds decide clip i; t->checks: at its end. */
int ctt_trials_stop(const struct ctt_trials *t, int i, const float *threshold);

#endif
