/* SPDX-License-Identifier: Apache-2.0
 * head_conv.h: a small network on the changes of maps, beside a linear head. */
#ifndef CTT_HEAD_CONV_H
#define CTT_HEAD_CONV_H

#include "libtrain/recognise/head.h"
#include "libtrain/recognise/map_data.h"

/* The factor of the answers of least squares, 0 or 1 but for their errors,
 * before the network's logits are added (doc/bench/recognition.md). */
#define CTT_HEAD_RIDGE_WEIGHT 2.0f

/* s->tap becomes that of the maps that the head of g, of ctt_head_graph(),
 * reads, and s is opened for the clips of d.
 * CTT_EUNSUP: several processes, or too many maps. */
int  ctt_head_conv_begin(const struct ctt_graph *g,
                         const struct ctt_train_cfg *cfg,
                         const struct ctt_data *d, struct ctt_map_set *s);

/* Trains the network on s, for cfg->epochs, and replaces *m, whose head is
 * fitted, by the model whose head adds both answers: its further inputs are
 * the network's numbers.  CTT_ESTOP if ctt_stopped(). */
int  ctt_head_conv(struct ctt_model **m, const struct ctt_train_cfg *cfg,
                   struct ctt_map_set *s, const struct ctt_events *ev);

#endif
