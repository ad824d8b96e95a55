/* SPDX-License-Identifier: Apache-2.0
 * channelwise.h: ops that treat each channel alone. */
#ifndef CTT_CHANNELWISE_H
#define CTT_CHANNELWISE_H

#include "net/graph.h"

/* 1 if each channel of n's result depends on the same channel of its input
 * alone, and the result for a constant is known (column `constant` of ops.def).
 */
int ctt_is_channelwise(const struct ctt_graph *g, const struct ctt_node *n);

/* The result of such a node for a channel j that holds x everywhere; w: the
 * weights of its model.  NAN: not one number. */
double ctt_channelwise(const struct ctt_node *n, const float *w, int64_t j,
                       double x);

#endif
