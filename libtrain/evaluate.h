/* SPDX-License-Identifier: Apache-2.0
 * evaluate.h: tests of a model, of every task: a device with its weights, and
 * the batches of a data set. */
#ifndef CTT_EVALUATE_H
#define CTT_EVALUATE_H

#include "libtrain/data/bucket.h"
#include "libtrain/train.h"

struct ctt_batch;
struct ctt_dev;
struct ctt_loader;

/* The batches of a set, always in the same order, and the messages of ranks: of
 * a batch a head, the lengths of its clips and answers. */
struct ctt_eval_set {
    struct ctt_order  *order;
    int                sharers;      /* ranks that share the batches, the first
                                        ones: all, or of one text one, as it is
                                        read in order */
    struct ctt_order   part;         /* this rank's batches: every R-th */
    struct ctt_loader *loader;
    struct ctt_comm   *comm;
    int64_t            row, answers; /* bytes */
    char              *mine, *all;   /* a row; [ranks] */
};

/* Clips per batch: --val-batch, or all clips if there are fewer. */
int  ctt_eval_batch(const struct ctt_train_cfg *cfg, const struct ctt_data *d);

/* Opens batches of n clips of at most `frames` frames; buckets: as --buckets;
 * the order may be changed until it is run.  The ranks of comm share the
 * batches; answers: bytes of the answers of a batch. */
int  ctt_eval_set_open(struct ctt_data *d, int n, int frames,
                       const char *buckets, struct ctt_comm *comm,
                       int64_t answers, struct ctt_eval_set *out);
/* Must also be called after a failure; a set that is all zero is ignored. */
void ctt_eval_set_close(struct ctt_eval_set *s);

/* run computes the answers of a batch, on one of the ranks; add gets the
 * answers of all batches in their order, on each rank: of its batch it may read
 * steps, n, clip and length.  answers: at a multiple of 8 bytes; add may be
 * NULL. */
struct ctt_eval_job {
    void *arg;
    int (*run)(void *arg, const struct ctt_batch *b, void *answers);
    int (*add)(void *arg, const struct ctt_batch *b, const void *answers);
};

/* Runs the job for each batch and reports unreadable clips to ev->clip.
 * Returns 1 if ctt_stopped() ended it early, or the first error, on all
 * ranks. */
int  ctt_eval_set_run(struct ctt_eval_set *s, const struct ctt_eval_job *job);

/* Opens the device of cfg, calls test with it and with m's weights in its
 * memory, and closes it.  CTT_ESTOP if test returns 1, that is, was
 * stopped. */
int  ctt_eval_model(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    int (*test)(void *arg, struct ctt_dev *dev,
                                const float *w), void *arg);

#endif
