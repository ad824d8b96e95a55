/* SPDX-License-Identifier: Apache-2.0
 * past.h: the values of earlier steps in a graph of one step: of each node that
 * is read later an input past.NAME and an output next.NAME, which the caller
 * passes back.  Former values are packed along the channels, oldest first. */
#ifndef CTT_EMIT_PAST_H
#define CTT_EMIT_PAST_H

#include "exchange/write/emit.h"

struct ctt_emit_past {
    int depth;      /* steps that are kept; 0: none */
    int first;      /* 1: before the first step there is that step's value */
    int made;       /* 1: its value with that in place is in the graph */
};

/* Finds what each node must keep, and adds the inputs.  CTT_EUNSUP for what no
 * such pair can hold. */
int  ctt_emit_pasts(struct ctt_emit *x);

/* The name of the packed values of a node that has some. */
struct ctt_emit_name ctt_emit_packed(struct ctt_emit *x, int node);

/* The value of a node `delay` steps ago, as `out`. */
void ctt_emit_delayed(struct ctt_emit *x, int node, int delay,
                      const char *out);

/* Adds the outputs, after all nodes. */
void ctt_emit_nexts(struct ctt_emit *x);

/* Names of the pair; of the input that is true at the first step. */
struct ctt_emit_name ctt_emit_pair(const struct ctt_emit *x, int node,
                                   int next);
#define CTT_EMIT_START "start"

#endif
