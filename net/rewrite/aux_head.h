/* SPDX-License-Identifier: Apache-2.0
 * aux_head.h: the line `ahead` of a model, a prediction of the next frame that
 * only training computes, and the nodes that only it needs. */
#ifndef CTT_AUX_HEAD_H
#define CTT_AUX_HEAD_H

#include "net/file/file.h"

/* The index of the node `ahead`, or -1. */
int ctt_aux_head_find(const struct ctt_graph *g);

/* For ctt_graph_seal(): checks the rules of `ahead` and sets aside and rank of
 * each node; CTT_EFORMAT names the line that breaks one. */
int ctt_aux_head_settle(struct ctt_graph *g);

/* The graph without the nodes that stand aside; those that stay keep their
 * weights' offsets.  Without such nodes it is a copy.  The caller frees
 * *out. */
int ctt_aux_head_drop(const struct ctt_graph *g, struct ctt_graph **out);

/* The same of a model, which keeps no training state. */
int ctt_aux_head_drop_model(const struct ctt_model *m, struct ctt_model **out);

/* Replaces a model by itself without them, if it has any. */
int ctt_aux_head_drop_from(struct ctt_model **m);

/* ctt_model_save() of the model without them. */
int ctt_aux_head_save(const char *path, struct ctt_model *m);

#endif
