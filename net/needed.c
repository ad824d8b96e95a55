/* SPDX-License-Identifier: Apache-2.0
 * needed.c: the nodes that a node of a graph is made of. */
#include "net/graph.h"
#include "net/op.h"

/* Notes that a node is needed; returns whether that is new. */
static int need(char *needed, int node)
{
    int new = node >= 0 && !needed[node];

    if (new)
        needed[node] = 1;
    return new;
}

/* Notes what node i depends on. */
static int need_inputs(const struct ctt_graph *g, char *needed, int i)
{
    const struct ctt_node *n = &g->node[i];
    int new = need(needed, n->source);

    for (int k = 0; k < n->nin; k++)
        new |= need(needed, n->in[k]);
    if (n->op == CTT_OP_STATE && n->attr.state.like)
        new |= need(needed, ctt_graph_find(g, n->attr.state.like));
    return new;
}

void ctt_graph_needed(const struct ctt_graph *g, int node, char *needed)
{
    needed[node] = 1;
    for (int new = 1; new; ) {    /* a state may need a later node */
        new = 0;
        for (int i = g->count - 1; i >= 0; i--)
            if (needed[i])
                new |= need_inputs(g, needed, i);
    }
}
