/* SPDX-License-Identifier: Apache-2.0
 * channel_groups.h: groups of channels of a graph's values that can only be
 * removed together. */
#ifndef CTT_CHANNEL_GROUPS_H
#define CTT_CHANNEL_GROUPS_H

#include "net/graph.h"

/* The channels of all nodes in classes, which are removed or kept as a whole
 * (Fang and others 2023: DepGraph).  Without a class, all other channels have
 * the values that they would have if each conv that reads the class had zeros
 * for it. */
struct ctt_channel_groups {
    int64_t *at;       /* by node: the entry of its channel 0 in `of` */
    int     *of;       /* the class of each channel of each node */
    int      classes;
    uint8_t *whole;    /* by class: 1: it must stay: a channel of an input or
                          of the output, of a norm over channels, a mix or a
                          loss, or of a conv with groups that is not
                          depthwise */
    int     *layer;    /* by class: its layer; -1: it must stay */
    int      layers;   /* a layer: classes in a row that the same nodes have,
                          each equally often */
};

/* The groups of a sealed graph; the caller frees *out.  CTT_EUNSUP if it has
 * more than 2^31 - 1 channels. */
int ctt_channel_groups_new(const struct ctt_graph *g,
                           struct ctt_channel_groups **out);
void ctt_channel_groups_free(struct ctt_channel_groups **t);

/* The class of a channel of a node. */
static inline int ctt_tie(const struct ctt_channel_groups *t, int node,
                          int64_t channel)
{
    return t->of[t->at[node] + channel];
}

/* 1 if the node is a conv with groups of one input channel each. */
int  ctt_is_depthwise(const struct ctt_graph *g, const struct ctt_node *n);

#endif
