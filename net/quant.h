/* SPDX-License-Identifier: Apache-2.0
 * quant.h: the quantised values of a graph, and the weights of convs in 8
 * bits.  doc/format.md, section 2, defines the arithmetic. */
#ifndef CTT_QUANT_H
#define CTT_QUANT_H

#include "net/graph.h"

/* The most weights of one output channel of a conv that reads quantised values,
 * so that no sum of products leaves 32 bits. */
enum { CTT_QUANT_MOST = 1 << 16 };

/* Sets scale and zero of the result of each node: those of a quant, and of the
 * ops that only select or repeat such values; of all others scale 0.  Called
 * when the graph is sealed.  CTT_EFORMAT if a conv of quantised values has more
 * than CTT_QUANT_MOST weights an output channel. */
int  ctt_graph_quantise(struct ctt_graph *g);

/* 1 if the node is a conv that multiplies whole numbers: it reads quantised
 * values. */
int  ctt_is_int8(const struct ctt_graph *g, int node);

/* The weights of `channels` channels, `each` in a row, as whole numbers q from
 * -127 to 127 (NULL: not wanted) and a scale per channel. */
void ctt_quant_weights(const float *w, int64_t channels, int64_t each,
                       int8_t *q, float *scale);

/* The same as floats, q times scale; y may be w. */
void ctt_quant_floats(const float *w, int64_t channels, int64_t each,
                      float *y);

/* 1 if the weights are results of ctt_quant_floats(). */
int  ctt_quant_is(const float *w, int64_t channels, int64_t each);

#endif
