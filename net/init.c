/* SPDX-License-Identifier: Apache-2.0
 * init.c: initial weights of a model, which depend on the readers of each node.
 * */
#include "net/init.h"
#include "base/random.h"
#include "net/op.h"

#include <math.h>

enum reader { LINEAR, RELU, GATES };

/* The first reader of a node's values, through nodes that only forward them;
 * of a node that the answer needs, one that it needs. */
static enum reader reader_of(const struct ctt_graph *g, int node)
{
    for (int i = node + 1; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        enum ctt_takes takes = ctt_ops[n->op].takes;
        if (n->aside && !g->node[node].aside)
            continue;
        for (int k = 0; k < n->nin; k++) {
            if (n->in[k] != node)
                continue;
            if (takes == CTT_TAKES_ACT)
                return ctt_act_rectifies(n) ? RELU : LINEAR;
            if (takes == CTT_TAKES_GATES)
                return GATES;
            if (takes == CTT_TAKES_PASSED || (n->plus && k == 1))
                return reader_of(g, i);
        }
    }
    return LINEAR;
}

/* Normally distributed numbers (Box and Muller 1958). */
static void fill_normal(float *w, int64_t n, double sigma, uint64_t key)
{
    for (int64_t i = 0; i < n; i++) {
        double u = (ctt_random(key, 2 * (uint64_t)i) + 0.5) * 0x1p-32;
        double v = ctt_random(key, 2 * (uint64_t)i + 1) * 0x1p-32;
        w[i] = (float)(sigma * sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * v));
    }
}

/* Standard deviation of initial weights (see ctt_init_weights).  Each gate
 * counts as a layer of its own: a quarter of the channels. */
static double sigma_of(const struct ctt_node *n, enum reader r)
{
    double window = (double)(n->w[0].d * n->w[0].h * n->w[0].w);
    double in = window * (double)n->w[0].c;
    double out = window * (double)n->w[0].n / n->attr.conv.groups;

    if (r == RELU)
        return sqrt(2 / in);
    return sqrt(2 / (in + (r == GATES ? out / 4 : out)));
}

static void fill_scaled(struct ctt_model *m, int node, int k, uint64_t key)
{
    const struct ctt_node *n = &m->g->node[node];

    fill_normal(m->w + n->at[k], ctt_volume(&n->w[k]),
                sigma_of(n, reader_of(m->g, node)), key);
}

static void fill_unit(struct ctt_model *m, int node, int k, uint64_t key)
{
    const struct ctt_node *n = &m->g->node[node];

    fill_normal(m->w + n->at[k], ctt_volume(&n->w[k]), 1, key);
}

static void fill_ones(struct ctt_model *m, int node, int k, uint64_t key)
{
    const struct ctt_node *n = &m->g->node[node];

    (void)key;
    for (int64_t i = 0; i < ctt_volume(&n->w[k]); i++)
        m->w[n->at[k] + i] = 1;
}

/* NULL: all weights are 0 before. */
static void (*const fills[])(struct ctt_model *, int, int, uint64_t) = {
    [CTT_START_ZERO] = NULL, [CTT_START_ONE] = fill_ones,
    [CTT_START_SCALED] = fill_scaled, [CTT_START_NORMAL] = fill_unit,
};

static void fill_node(struct ctt_model *m, int node, uint64_t key)
{
    const struct ctt_node *n = &m->g->node[node];

    for (int k = 0; k < n->nw; k++) {
        enum ctt_weight_start start = ctt_ops[n->op].weight[k].start;
        if (fills[start])
            fills[start](m, node, k, key);
    }
}

/* The gates i, f, o, g are sums of convs chained by plus=.  The first conv with
 * a bias sets that of the forget gate to 1 (Gers and others 2000). */
static void open_gates(struct ctt_model *m, int node)
{
    const struct ctt_node *n = &m->g->node[node];
    int64_t hidden = n->out.c;
    int at = n->in[0];

    while (m->g->node[at].op == CTT_OP_CONV) {
        const struct ctt_node *c = &m->g->node[at];
        if (c->nw > 1) {
            for (int64_t i = hidden; i < 2 * hidden; i++)
                m->w[c->at[1] + i] = 1;
            break;
        }
        if (!c->plus)
            break;
        at = c->in[1];
    }
}

void ctt_init_weights(struct ctt_model *m, uint64_t seed)
{
    uint64_t key = ctt_key(seed, CTT_KEY_INIT);

    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] = 0;
    for (int i = 0; i < m->g->count; i++) {
        fill_node(m, i, ctt_key(key, (uint64_t)m->g->node[i].rank));
        if (ctt_ops[m->g->node[i].op].takes == CTT_TAKES_GATES)
            open_gates(m, i);
    }
    ctt_model_hold(m);
}
