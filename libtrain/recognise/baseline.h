/* SPDX-License-Identifier: Apache-2.0
 * baseline.h: answers without a network, which a model must be better than:
 * from no frame, from one, and from differences of frames. */
#ifndef CTT_BASELINE_H
#define CTT_BASELINE_H

#include "libtrain/train.h"

enum ctt_baseline { CTT_LARGEST_CLASS, CTT_FIRST_FRAME, CTT_LAST_FRAME,
                    CTT_DIFFERENCES, CTT_BASELINES };

extern const char *const ctt_baseline_names[CTT_BASELINES];

/* Scores on the clips of `test`, with the verdict of each clip at each point.
 * Starts as zeros. */
struct ctt_baselines {
    struct ctt_metrics *of[CTT_BASELINES];
    int trained;        /* clips that they were fitted to */
};

/* Fits all to at most 2,000 clips of `train`, evenly spread over it, at each of
 * so many points, and tests them on all clips of `test`; both have one label
 * per clip and the same classes.  Unreadable clips are left out.  CTT_ENOMEM;
 * CTT_EUNSUP: no clip of `train` can be read; CTT_ESTOP. */
int  ctt_baselines_measure(struct ctt_data *train, struct ctt_data *test,
                           const struct ctt_point *point, int points,
                           struct ctt_baselines *out);

/* Clips that only one of two has right at the last point. */
struct ctt_pair { int64_t first, second; };
struct ctt_pair ctt_metrics_pair(const struct ctt_metrics *a,
                                 const struct ctt_metrics *b, int clips);

/* 1 if a is right more often than b at the last point, by more than chance
 * (McNemar's test, p < 0.01). */
int  ctt_metrics_better(const struct ctt_metrics *a,
                        const struct ctt_metrics *b, int clips);

/* The better of the first and the last frame if it is right more often than the
 * largest class, by more than chance, or NULL: the scene may decide. */
const struct ctt_metrics *ctt_baselines_scene(const struct ctt_baselines *b,
                                              int clips);
void ctt_baselines_free(struct ctt_baselines *b);

#endif
