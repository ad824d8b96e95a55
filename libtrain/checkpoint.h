/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h: how far training has come, in memory and in the file. */
#ifndef CTT_CHECKPOINT_H
#define CTT_CHECKPOINT_H

#include "libtrain/amp.h"
#include "libtrain/predict/predict.h"
#include "libtrain/task.h"

struct ctt_optim;

/* All a checkpoint needs besides weights and moments. */
struct ctt_place {
    int64_t step, epoch, batch;    /* done: steps, epochs, batches of this */
    int64_t best_epoch;            /* from 1; 0: none */
    struct ctt_sums sums;          /* of this epoch */
    struct ctt_test_score val;          /* of the best */
    struct ctt_sampling sampling;
    struct ctt_scale scale;
};

/* A relu can hide a NaN from the loss; it must not get into a file. */
int ctt_weights_check(const struct ctt_model *m);

/* Writes m, whose weights are those of o (ctt_optim_pull), with all that is
 * needed to go on to path.  best: the best weights so far, or NULL. */
int ctt_checkpoint_save(const char *path, struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, const struct ctt_optim *o,
                        const struct ctt_place *p, const float *best);

/* Takes it from m->train.  Settings that would make another model of it must
 * be the same, and so must the number of clips.  CTT_EFORMAT, CTT_EUNSUP: a
 * value is damaged, missing or unknown; the message names it. */
int ctt_checkpoint_load(const struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, struct ctt_optim *o,
                        struct ctt_place *p, float *best);

/* values.c: the numbers of a checkpoint, each with its name. */
struct ctt_checkpoint_values {
    int64_t version, updates;    /* updates: as of struct ctt_optim */
    int64_t clips, weights;      /* of the training data; of the model */
    struct ctt_place at;
};

/* Adds them to s; the version is the one that is written now. */
int ctt_values_write(const struct ctt_checkpoint_values *v,
                     struct ctt_state *s);

/* Takes them from s, also as version 4 has them (doc/format.md).  What is no
 * value of a checkpoint (at.scale.dynamic) stays as it is. */
int ctt_values_read(const struct ctt_state *s, struct ctt_checkpoint_values *v);

#endif
