/* SPDX-License-Identifier: Apache-2.0
 * evaluate.h: what testing a model needs in every task: a device with its
 * weights, and the batches of a data set. */
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

/* Clips per batch: --val-batch, or all clips if there are fewer. */
int  ctt_eval_batch(const struct ctt_train_cfg *cfg, const struct ctt_data *d);

/* Opens batches of n clips of at most `frames` frames; buckets: as
 * --buckets. */
int  ctt_eval_set_open(struct ctt_data *d, int n, int frames,
                       const char *buckets, struct ctt_eval_set *out);
/* Must also be called after a failure; a set that is all zero is ignored. */
void ctt_eval_set_close(struct ctt_eval_set *s);

/* Calls batch for each batch and reports clips that cannot be read to ev->clip.
 * Returns 1 if ctt_stopped() ended it early, or the first error of batch. */
int  ctt_eval_set_run(struct ctt_eval_set *s, const struct ctt_events *ev,
                      int (*batch)(void *arg, const struct ctt_batch *b),
                      void *arg);

/* Opens the device of cfg, calls test with it and with m's weights in its
 * memory, and closes it.  CTT_ESTOP if test returns 1, that is, was
 * stopped. */
int  ctt_eval_model(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    int (*test)(void *arg, struct ctt_dev *dev,
                                const float *w), void *arg);

#endif
