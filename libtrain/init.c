/* SPDX-License-Identifier: Apache-2.0
 * init.c: the numbers a model starts with, by what reads each node. */
#include "libtrain/data/data.h"

#include <math.h>

enum reader { LINEAR, RELU, GATES };

/* What becomes of a node's values, through nodes that only pass them on. */
static enum reader reader_of(const struct ctt_graph *g, int node)
{
    static const char passes[CTT_NOPS] = {
        [CTT_OP_NORM] = 1, [CTT_OP_ADD] = 1, [CTT_OP_POOL] = 1,
        [CTT_OP_DROPOUT] = 1, [CTT_OP_CONCAT] = 1, [CTT_OP_SLICE] = 1,
        [CTT_OP_RESHAPE] = 1, [CTT_OP_WINDOW] = 1,
    };

    for (int i = node + 1; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        for (int k = 0; k < n->nin; k++) {
            if (n->in[k] != node)
                continue;
            if (n->op == CTT_OP_ACT)
                return n->attr.act.kind == CTT_ACT_RELU ? RELU : LINEAR;
            if (n->op == CTT_OP_LSTM)
                return GATES;
            if (passes[n->op] || (n->plus && k == 1))
                return reader_of(g, i);
        }
    }
    return LINEAR;
}

/* Normal numbers by Box and Muller (1958). */
static void fill_normal(float *w, int64_t n, double sigma, uint64_t key)
{
    for (int64_t i = 0; i < n; i++) {
        double u = (ctt_random(key, 2 * (uint64_t)i) + 0.5) * 0x1p-32;
        double v = ctt_random(key, 2 * (uint64_t)i + 1) * 0x1p-32;
        w[i] = (float)(sigma * sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * v));
    }
}

/* Each gate is a layer of its own: a quarter of the channels. */
static double sigma_of(const struct ctt_node *n, enum reader r)
{
    double window = (double)(n->w[0].d * n->w[0].h * n->w[0].w);
    double in = window * (double)n->w[0].c, out = window * (double)n->w[0].n;

    if (r == RELU)
        return sqrt(2 / in);
    return sqrt(2 / (in + (r == GATES ? out / 4 : out)));
}

static void init_conv(struct ctt_model *m, int node, uint64_t key)
{
    const struct ctt_node *n = &m->g->node[node];

    fill_normal(m->w + n->at[0], ctt_volume(&n->w[0]),
                sigma_of(n, reader_of(m->g, node)), key);
}

/* Scale 1, shift 0, running mean 0 and variance 1. */
static void init_norm(struct ctt_model *m, int node, uint64_t key)
{
    const struct ctt_node *n = &m->g->node[node];

    (void)key;
    for (int k = 0; k < n->nw; k++)
        for (int64_t i = 0; i < n->w[k].c; i++)
            m->w[n->at[k] + i] = k == 0 || k == 3;
}

/* The gates i, f, o, g are summed by convs joined by plus=; the first that has
 * a bias keeps the forget gate open (Gers and others 2000). */
static void init_lstm(struct ctt_model *m, int node, uint64_t key)
{
    const struct ctt_node *n = &m->g->node[node];
    int64_t hidden = n->out.c;
    int at = n->in[0];

    (void)key;
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

static void (*const inits[CTT_NOPS])(struct ctt_model *, int, uint64_t) = {
    [CTT_OP_CONV] = init_conv, [CTT_OP_DECONV] = init_conv,
    [CTT_OP_NORM] = init_norm, [CTT_OP_LSTM] = init_lstm,
};

void ctt_init_weights(struct ctt_model *m, uint64_t seed)
{
    uint64_t key = ctt_key(seed, CTT_KEY_INIT);

    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] = 0;
    for (int i = 0; i < m->g->count; i++)
        if (inits[m->g->node[i].op])
            inits[m->g->node[i].op](m, i, ctt_key(key, (uint64_t)i));
    for (int64_t i = 0; m->keep && i < m->g->weights; i++)
        if (!m->keep[i])
            m->w[i] = 0;
}
