/* SPDX-License-Identifier: Apache-2.0
 * channelwise.h: ops that treat each channel alone. */
#ifndef CTT_CHANNELWISE_H
#define CTT_CHANNELWISE_H

#include "net/graph.h"

/* 1 if n makes each channel of its result of the same channel of its input, and
 * what it makes of a constant is known. */
int ctt_is_channelwise(const struct ctt_graph *g, const struct ctt_node *n);

/* What such a node makes of a channel j that holds x everywhere; w: the
 * weights of its model.  NAN: not one number. */
double ctt_channelwise(const struct ctt_node *n, const float *w, int64_t j,
                       double x);

#endif
