/* SPDX-License-Identifier: Apache-2.0
 * paired_timing.h: compares the times of two models, which run in turns. */
#ifndef CTT_PAIRED_TIMING_H
#define CTT_PAIRED_TIMING_H

#include "tools/bench/runner.h"
#include "tools/shared/times.h"

/* Milliseconds per frame and its answer (medians), and the ratios of the second
 * model's time to the first's: what slows the machine for a while slows both
 * of a pair. */
struct ctt_paired_timing {
    double            ms[2];
    struct ctt_spread ratio;    /* its count: of pairs */
};

/* pace: of the pairs, at least one.  Each pair begins with the other of the
 * two; each of the two times is that of a few frames in a row, after one that
 * brings the model back into the caches. */
int ctt_paired_timing_run(struct ctt_runner r[2], const struct ctt_pace *pace,
                          struct ctt_paired_timing *out);

#endif
