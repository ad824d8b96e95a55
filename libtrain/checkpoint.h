/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h: the state of a training run, in memory and in a file. */
#ifndef CTT_CHECKPOINT_H
#define CTT_CHECKPOINT_H

#include "libtrain/amp.h"
#include "libtrain/predict/predict.h"
#include "libtrain/task.h"

struct ctt_optim;

/* The state of a run except weights and moments. */
struct ctt_train_position {
    int64_t step, epoch, batch;    /* done: steps, epochs, batches of the
                                      current epoch */
    int64_t best_epoch;            /* from 1; 0: none */
    struct ctt_sums sums;          /* of the current epoch */
    struct ctt_test_score val;          /* of the best epoch */
    struct ctt_sampling sampling;
    struct ctt_scale scale;
    double used;                   /* with --time-limit: share of the time
                                      before the last step, 0 to 1 */
};

/* The numbers that ranks have brought together. */
struct ctt_checkpoint_rest {
    float  *residual;              /* of ctt_gather_save(), or NULL */
    int64_t residuals;             /* floats */
    char   *states;                /* of ctt_carry_save(), or NULL */
    int64_t count, kind;           /* bytes; kind of struct ctt_carry */
};

/* Writes to path the model m, after ctt_optim_pull(), with all that resuming
 * needs.  CTT_ENAN if a weight is not finite: a relu can hide a NaN from the
 * loss.  best: the best weights so far, or NULL.  val: may be NULL. */
int ctt_checkpoint_save(const char *path, struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, const struct ctt_data *val,
                        const struct ctt_optim *o,
                        const struct ctt_train_position *p, const float *best,
                        const struct ctt_checkpoint_rest *rest);

/* Restores o, p and best from m->train.  Settings that affect the result must
 * be the same (ctt_settings_same), and so must the clips (ctt_data_crc):
 * otherwise CTT_EINVAL.  CTT_EFORMAT, CTT_EUNSUP: a value is damaged, missing
 * or unknown; the message names it. */
int ctt_checkpoint_load(const struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, struct ctt_optim *o,
                        struct ctt_train_position *p, float *best);

/* *out: the residuals of a checkpoint.  CTT_EFORMAT: another number of them.
 * states: copies those of a text, if it has any, to c->kept. */
int ctt_checkpoint_residual(const struct ctt_state *s, int64_t residuals,
                            const float **out);
struct ctt_carry;
int ctt_checkpoint_states(const struct ctt_state *s, struct ctt_carry *c);

/* ---- values.c ---- */

/* The numbers of a checkpoint. */
struct ctt_checkpoint_values {
    int64_t version, updates;    /* updates: t of struct ctt_optim */
    int64_t clips, weights;      /* numbers in the data; in the model */
    int     several;             /* clips have several labels: a best mean
                                    average precision is written */
    struct ctt_train_position at;
};

/* Adds the numbers to s as the text "values", with the current version. */
int ctt_values_write(const struct ctt_checkpoint_values *v,
                     struct ctt_state *s);

/* Reads the numbers from s, also in the form of version 4 (doc/format.md).
 * at.scale.dynamic is not stored and keeps its value. */
int ctt_values_read(const struct ctt_state *s, struct ctt_checkpoint_values *v);

#endif
