/* SPDX-License-Identifier: Apache-2.0
 * layers.h: which nodes --freeze and --lr-scale are about. */
#ifndef CTT_LAYERS_H
#define CTT_LAYERS_H

#include "libtrain/train.h"

/* A pattern (glob.h) matches the name of a node with weights, or the part of
 * it before its first dot: the name of a cell. */

/* 1 if --freeze names a node. */
int    ctt_is_frozen(const struct ctt_train_cfg *cfg, const struct ctt_node *n);

/* Marks those of a training graph: no gradient of their weights is computed,
 * and none that only leads to them. */
void   ctt_freeze(struct ctt_graph *g, const struct ctt_train_cfg *cfg);

/* How many factors --lr-scale has; the number of the one of a node, from 1, or
 * 0; and factor k, from 1. */
int    ctt_lr_scales(const struct ctt_train_cfg *cfg);
int    ctt_lr_scale_of(const struct ctt_train_cfg *cfg,
                       const struct ctt_node *n);
double ctt_lr_scale(const struct ctt_train_cfg *cfg, int k);

#endif
