/* SPDX-License-Identifier: Apache-2.0
 * layers.h: the nodes of --freeze and --lr-scale. */
#ifndef CTT_LAYERS_H
#define CTT_LAYERS_H

#include "libtrain/train.h"

/* A pattern (ctt_glob) matches the name of a node with weights, or the part of
 * it before its first dot: the name of a cell. */

/* 1 if --freeze names a node. */
int    ctt_is_frozen(const struct ctt_train_cfg *cfg, const struct ctt_node *n);

/* Marks the frozen nodes of a training graph: gradients of their weights, and
 * gradients that only lead to them, are not computed. */
void   ctt_freeze(struct ctt_graph *g, const struct ctt_train_cfg *cfg);

/* The number of factors of --lr-scale; the index of a node's factor, from 1, or
 * 0; factor k, from 1. */
int    ctt_lr_scales(const struct ctt_train_cfg *cfg);
int    ctt_lr_scale_of(const struct ctt_train_cfg *cfg,
                       const struct ctt_node *n);
double ctt_lr_scale(const struct ctt_train_cfg *cfg, int k);

/* 1 if the pattern matches all of the name: '*' any characters, '?' one,
 * "[a-c]" or "[!abc]" one of a set, '\' the character behind it.  The time is
 * at most proportional to the product of their lengths. */
int ctt_glob(const char *pattern, const char *name);

#endif
