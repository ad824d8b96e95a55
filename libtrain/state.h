/* SPDX-License-Identifier: Apache-2.0
 * state.h: where training stands, in memory and in the file. */
#ifndef CTT_STATE_H
#define CTT_STATE_H

#include "libtrain/amp.h"
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"

/* All a checkpoint needs besides weights and moments. */
struct ctt_place {
    int64_t step, epoch, batch;    /* done: steps, epochs, batches of this */
    int64_t best_epoch;            /* from 1; 0: none */
    struct ctt_sums sums;          /* of this epoch */
    struct ctt_score val;          /* of the best */
    struct ctt_sampling sampling;
    struct ctt_scale scale;
};

/* The settings, one name=value a line; the caller frees it. */
int ctt_settings_print(const struct ctt_train_cfg *cfg, char **out);

/* " name=value" of each that is not the default and shapes the model. */
int ctt_settings_changed(const struct ctt_train_cfg *cfg, char **out);

/* One line on how m was trained behind its history so far; test: how good it
 * is, or "".  The caller frees it. */
int ctt_history(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                const struct ctt_data *d, int64_t steps, const char *test,
                char **out);

/* A relu can hide a NaN from the loss; it must not get into a file. */
int ctt_weights_check(const struct ctt_model *m);

/* Writes m, whose weights are those of o (ctt_optim_pull), with all that is
 * needed to go on to path.  best: the best weights so far, or NULL. */
int ctt_checkpoint_save(const char *path, struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, const struct ctt_optim *o,
                        const struct ctt_place *p, const float *best);

/* Takes it from m->train.  Settings that would make another model of it must
 * be the same, and so must the number of clips. */
int ctt_checkpoint_load(const struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, struct ctt_optim *o,
                        struct ctt_place *p, float *best);

/* log.c: a row an epoch, as CSV and as a JSON object a line. */
struct ctt_log;
/* more: add to what is there.  The paths are the settings', or NULL. */
int ctt_log_open(const struct ctt_train_cfg *cfg, int more,
                 struct ctt_log **out);
int ctt_log_row(struct ctt_log *l, const struct ctt_epoch *e);
int ctt_log_close(struct ctt_log **l);

#endif
