/* SPDX-License-Identifier: Apache-2.0
 * aux_head.h: the line `ahead` of a model, a prediction of the next frame that
 * only training computes, and the nodes that only it needs. */
#ifndef CTT_AUX_HEAD_H
#define CTT_AUX_HEAD_H

#include "net/model.h"

/* The graph without `ahead` and the nodes that only it needs (node.aside); the
 * other nodes keep their weights' offsets.  Without such nodes it is a copy.
 * The caller frees *out. */
int ctt_aux_head_drop(const struct ctt_graph *g, struct ctt_graph **out);

/* The model without them; it has no training state.  The caller frees *out. */
int ctt_aux_head_drop_model(const struct ctt_model *m, struct ctt_model **out);

/* Replaces *m by the model without them, if its graph has the line `ahead`. */
int ctt_aux_head_drop_from(struct ctt_model **m);

#endif
