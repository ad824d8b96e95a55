/* SPDX-License-Identifier: Apache-2.0
 * need.c: which gradients lead to a weight, and which values the way back
 * reads. */
#include "libtrain/way.h"

static int learns(const struct ctt_node *n)
{
    return (n->fixed & ((1u << n->nw) - 1)) != (1u << n->nw) - 1;
}

/* Whether the gradient of a node's value leads to any weight. */
static int leads(const struct ctt_graph *g, const char *need, int node)
{
    const struct ctt_node *n = &g->node[node];

    if (learns(n) || need[node])
        return 1;
    if (n->op == CTT_OP_STATE)
        return need[n->source];
    for (int k = 0; k < n->nin; k++)
        if (need[n->in[k]])
            return 1;
    return 0;
}

/* States lead back to later nodes, so until nothing changes. */
void ctt_way_needs(const struct ctt_graph *g, char *need)
{
    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = 0; i < g->count; i++) {
            int now = leads(g, need, i);
            changed |= now != need[i];
            need[i] = (char)now;
        }
    }
}

int ctt_way_wants(const struct ctt_graph *g, const char *need, int node)
{
    const struct ctt_node *n = &g->node[node];
    int want = learns(n) ? CTT_WANT_DW : 0;

    for (int k = 0; k < n->nin; k++)
        want |= need[n->in[k]] ? CTT_WANT_DIN : 0;
    return want;
}

/* What the kernel of an op reads on the way back: bit k input k, OUT its
 * result.  WEIGHTS: only if it has a gradient of weights to give.  OTHER: only
 * if the other input has a gradient. */
enum { IN0 = 1, IN1 = 2, IN2 = 4, OUT = 8, WEIGHTS = 16, OTHER = 32 };

static const char reads[CTT_NOPS] = {
    [CTT_OP_CONV] = IN0 | WEIGHTS, [CTT_OP_DECONV] = IN0 | WEIGHTS,
    [CTT_OP_POOL] = IN0 | OUT,     [CTT_OP_NORM] = IN0,
    [CTT_OP_ACT] = OUT,            [CTT_OP_MUL] = IN0 | IN1 | OTHER,
    [CTT_OP_LSTM] = IN0 | IN1,     [CTT_OP_MIX] = IN2,
    [CTT_OP_LOSS] = IN0 | IN1,
};

static int reads_input(const struct ctt_graph *g, const char *need, int node,
                       int k)
{
    const struct ctt_node *n = &g->node[node];

    if (k > 2 || !(reads[n->op] >> k & 1))
        return 0;
    if (n->op == CTT_OP_POOL && n->attr.pool.kind == CTT_POOL_AVG)
        return 0;
    if (reads[n->op] & WEIGHTS)
        return !(n->fixed & 1);
    return !(reads[n->op] & OTHER) || need[n->in[1 - k]];
}

void ctt_way_kept(const struct ctt_graph *g, const char *need, char *kept)
{
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        if (!ctt_way_wants(g, need, i))
            continue;
        for (int k = 0; k < n->nin; k++)
            if (reads_input(g, need, i, k))
                kept[n->in[k]] = 1;
        if (reads[n->op] & OUT &&
            (n->op != CTT_OP_POOL || n->attr.pool.kind == CTT_POOL_MAX))
            kept[i] = 1;
    }
}

/* Whether the k-th input of a node is all that its memory holds, so that a
 * gradient written there leaves nothing unwritten.  A mix may not look at its
 * second input at all. */
static int covers(const struct ctt_run *r, const struct ctt_node *n, int k)
{
    const struct ctt_slot *s = &r->slot[n->in[k]];

    return n->op != CTT_OP_WINDOW && (n->op != CTT_OP_MIX || k != 1) &&
           s->delay == 0 &&
           ctt_volume(&r->g->node[n->in[k]].out) ==
           ctt_volume(&r->g->node[s->alias].out);
}

int ctt_way_soles(const struct ctt_run *r, char *sole)
{
    int *readers = ctt_calloc((size_t)r->g->count, sizeof(*readers));

    if (!readers)
        return CTT_ENOMEM;
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        for (int k = 0; k < n->nin && !r->slot[i].skip; k++) {
            int of = r->slot[n->in[k]].alias;
            if (k == 1 && r->slot[i].inside)
                continue;
            sole[of] = (char)(++readers[of] == 1 && covers(r, n, k));
        }
    }
    /* the caller writes there too */
    sole[r->slot[ctt_graph_output(r->g)].alias] = 0;
    ctt_free(readers);
    return 0;
}
