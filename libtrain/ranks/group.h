/* SPDX-License-Identifier: Apache-2.0
 * group.h: --bands, --filters, --channels: all ranks compute each shard
 * together, each a part of the nodes' values (net/rewrite/split.h).  Each rank
 * has all weights and updates them all, by the gradients that the parts come
 * to. */
#ifndef CTT_GROUP_H
#define CTT_GROUP_H

#include "libtrain/trainer.h"

/* Into how many parts the settings divide nodes; 0: they do not.  name: of the
 * setting, or "". */
const char *ctt_group_name(const struct ctt_train_cfg *cfg);
int  ctt_group_parts(const struct ctt_train_cfg *cfg);

/* CTT_EINVAL, CTT_EUNSUP: settings that do not go with it.  parts: CTT_EINVAL
 * if so many ranks are not as many as the settings say. */
int  ctt_group_suits(const struct ctt_train_cfg *cfg);
int  ctt_group_check(const struct ctt_train_cfg *cfg, int ranks);

/* Says how the ranks of p share a batch. */
void ctt_group_say(const struct ctt_train_cfg *cfg,
                   const struct ctt_comm_place *p, char *line, size_t size);

/* Rewrites the model's graph for the ranks of t->comm and opens t->step, which
 * computes this rank's part of each shard. */
int  ctt_group_open(struct ctt_trainer *t);
void ctt_group_close(struct ctt_trainer *t);

/* In place of ctt_trainer_gradient(). */
int  ctt_group_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                        struct ctt_turn *turn, double *scale);

/* The gradient of a batch, as in ctt_exec. */
float *ctt_group_dw(const struct ctt_trainer *t);

/* Says what has passed between the ranks. */
void ctt_group_tell(const struct ctt_trainer *t);

#endif
