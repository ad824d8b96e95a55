/* SPDX-License-Identifier: Apache-2.0
 * evaluate.h: what testing a model is for every task: a device with its
 * weights, and a set whose clips go through it once each. */
#ifndef CTT_EVALUATE_H
#define CTT_EVALUATE_H

#include "libtrain/train.h"

struct ctt_batch;
struct ctt_dev;

/* The batches of a set, always in the same order. */
struct ctt_eval_set {
    struct ctt_order  *order;
    struct ctt_loader *loader;
};

/* Clips a batch: --val-batch, or all if there are fewer. */
int  ctt_eval_batch(const struct ctt_train_cfg *cfg, const struct ctt_data *d);

/* Batches of n clips of at most `frames` frames, sorted into buckets as
 * --buckets says. */
int  ctt_eval_set_open(struct ctt_data *d, int n, int frames,
                       const char *buckets, struct ctt_eval_set *out);
/* Also after a failure, and of a set that is all zero. */
void ctt_eval_set_close(struct ctt_eval_set *s);

/* Calls batch for each batch and tells ev of clips that cannot be read.  1:
 * ev->stop said so before the end; an error of batch ends it. */
int  ctt_eval_set_run(struct ctt_eval_set *s, const struct ctt_events *ev,
                      int (*batch)(void *arg, const struct ctt_batch *b),
                      void *arg);

/* Opens cfg's device, calls test with it and with m's weights in its memory,
 * and closes it.  A test that returns 1 was stopped: CTT_EINVAL. */
int  ctt_eval_model(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    int (*test)(void *arg, struct ctt_dev *dev,
                                const float *w), void *arg);

#endif
