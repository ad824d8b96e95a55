/* SPDX-License-Identifier: Apache-2.0
 * lint_costs.c: products, memory and energy of each node, by counting. */
#include "tools/info/lint.h"
#include "net/op.h"
#include "net/quant.h"

/* Horowitz 2014, 45 nm and 0.9 V, in pJ: a multiplication and an addition. */
static const double product[] = {
    [CTT_LINT_FP32] = 3.7 + 0.9, [CTT_LINT_FP16] = 1.1 + 0.4,
    [CTT_LINT_INT8] = 0.2 + 0.1,    /* the sum is of 32 bits */
};
static const double size[] = { [CTT_LINT_FP32] = 4, [CTT_LINT_FP16] = 2,
                               [CTT_LINT_INT8] = 1 };

/* Of 8 bytes from a memory of that many bytes; the last is DRAM. */
static const struct { double bytes, pj; } memories[] = {
    { 8 << 10, 10 }, { 32 << 10, 20 }, { 1 << 20, 100 }, { 0, 1300 },
};

static void count_weights(const struct ctt_model *m, const struct ctt_node *n,
                          struct ctt_layer_cost *c)
{
    const uint8_t *keep = m->constraint.keep;

    for (int k = 0; k < n->nw; k++) {
        int64_t all = ctt_volume(&n->w[k]), kept = 0;

        for (int64_t j = 0; j < all; j++)
            kept += !keep || keep[n->at[k] + j];
        c->weights += (double)all;
        c->kept_weights += (double)kept;
        if (k == 0)
            c->kept_macs = all ? c->macs * (double)kept / (double)all : 0;
    }
}

/* A window op reads as much as it writes. */
static void count_moves(const struct ctt_graph *g, const struct ctt_node *n,
                        struct ctt_layer_cost *c)
{
    double out = (double)ctt_volume(&n->out);

    if (ctt_ops[n->op].memory != CTT_COMPUTED)
        return;
    c->moved = out;
    for (int k = 0; k < n->nin; k++)
        c->moved += n->op == CTT_OP_WINDOW
                    ? out : (double)ctt_volume(&g->node[n->in[k]].out);
}

/* Steps before the current one that states and windows look back from a node,
 * through views of it. */
static int64_t look_back(const struct ctt_graph *g, int node)
{
    int64_t most = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        const struct ctt_window_attr *w = &n->attr.window;
        int view = ctt_ops[n->op].memory == CTT_VIEW;
        int64_t back = 0;

        if (n->op == CTT_OP_WINDOW && n->in[0] == node)
            back = w->spread ? 2 * (int64_t)w->steps
                             : (int64_t)(w->steps - 1) * w->every;
        else if (view && ctt_viewed(n) == node && i != node)
            back = n->op == CTT_OP_STATE ? n->attr.state.delay : 0;
        most = back > most ? back : most;
    }
    return most;
}

int ctt_lint_costs(const struct ctt_model *m, struct ctt_layer_cost **out)
{
    const struct ctt_graph *g = m->g;
    struct ctt_layer_cost *c = ctt_calloc((size_t)g->count, sizeof(*c));

    if (!c)
        return CTT_ENOMEM;
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        c[i].macs = (double)ctt_node_macs(g, i);
        c[i].int8 = ctt_is_int8(g, i);
        count_weights(m, n, &c[i]);
        count_moves(g, n, &c[i]);
        if (ctt_ops[n->op].memory != CTT_VIEW)
            c[i].values = (double)ctt_volume(&n->out) *
                          (n->out.scale > 0 ? 0.25 : 1);
        c[i].past = c[i].values * (double)look_back(g, i);
    }
    *out = c;
    return 0;
}

double ctt_lint_weight_bytes(const struct ctt_layer_cost *c)
{
    return c->weights * (c->int8 ? 1 : 4);
}

double ctt_lint_run_bytes(const struct ctt_layer_cost *c)
{
    return ctt_lint_weight_bytes(c) + 4 * (c->values + c->past);
}

double ctt_lint_train_bytes(const struct ctt_layer_cost *c)
{
    return 16 * c->weights + 8 * c->values;
}

static double energy_of(const struct ctt_layer_cost *c,
                        enum ctt_lint_type type, int kept, double pj)
{
    double macs = kept ? c->kept_macs : c->macs;
    double moved = c->moved + (kept ? c->kept_weights : c->weights);

    return macs * product[type] + moved * size[type] / 8 * pj;
}

/* pJ of 8 bytes of a memory that holds all numbers of the model. */
static double memory_of(const struct ctt_layer_cost *all, int count,
                        double bytes)
{
    size_t k = 0;
    double n = 0;

    for (int i = 0; i < count; i++)
        n += bytes * (all[i].weights + all[i].values + all[i].past);
    while (memories[k].bytes > 0 && n > memories[k].bytes)
        k++;
    return memories[k].pj;
}

double ctt_lint_energy(const struct ctt_layer_cost *all, int count, int i,
                       enum ctt_lint_type type)
{
    int kept = type == CTT_LINT_AS_IS;

    if (kept)
        type = all[i].int8 ? CTT_LINT_INT8 : CTT_LINT_FP32;
    return energy_of(&all[i], type, kept, memory_of(all, count, size[type]));
}
