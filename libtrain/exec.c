/* SPDX-License-Identifier: Apache-2.0
 * exec.c: the way back through a run. */
#include "libtrain/exec.h"

#include <string.h>

enum { WANT_DIN = 1, WANT_DW = 2 };

static int learns(const struct ctt_node *n)
{
    return (n->fixed & ((1u << n->nw) - 1)) != (1u << n->nw) - 1;
}

/* Whether the gradient of a node's value leads to any weight. */
static int leads(const struct ctt_exec *x, int node)
{
    const struct ctt_node *n = &x->r->g->node[node];

    if (learns(n) || x->need[node])
        return 1;
    if (n->op == CTT_OP_STATE)
        return x->need[n->source];
    for (int k = 0; k < n->nin; k++)
        if (x->need[n->in[k]])
            return 1;
    return 0;
}

/* States lead back to later nodes, so until nothing changes. */
static void find_needs(struct ctt_exec *x)
{
    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = 0; i < x->r->g->count; i++) {
            int need = leads(x, i);
            changed |= need != x->need[i];
            x->need[i] = (char)need;
        }
    }
}

/* Whether the k-th input of a node is all that its memory holds, so that a
 * gradient written there leaves nothing unwritten. */
static int covers(const struct ctt_run *r, const struct ctt_node *n, int k)
{
    const struct ctt_slot *s = &r->slot[n->in[k]];

    return n->op != CTT_OP_WINDOW && s->delay == 0 &&
           ctt_volume(&r->g->node[n->in[k]].out) ==
           ctt_volume(&r->g->node[s->alias].out);
}

static int find_soles(struct ctt_exec *x)
{
    const struct ctt_run *r = x->r;
    int *readers = ctt_calloc((size_t)r->g->count, sizeof(*readers));

    if (!readers)
        return CTT_ENOMEM;
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        for (int k = 0; k < n->nin && !r->slot[i].skip; k++) {
            int of = r->slot[n->in[k]].alias;
            x->sole[of] = (char)(++readers[of] == 1 && covers(r, n, k));
        }
    }
    /* the caller writes there too */
    x->sole[r->slot[ctt_graph_output(r->g)].alias] = 0;
    ctt_free(readers);
    return 0;
}

int ctt_exec_open(const struct ctt_graph *g, struct ctt_dev *dev,
                  const float *w, int n, int room, int asks,
                  struct ctt_exec **out)
{
    struct ctt_exec *x = ctt_calloc(1, sizeof(*x));
    int rc = x ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_run_open(g, dev, w, n, room, asks, 1, &x->r));
    x->need = ctt_calloc((size_t)g->count, 1);
    x->sole = ctt_calloc((size_t)g->count, 1);
    x->dw = ctt_calloc((size_t)g->weights, sizeof(float));
    x->grad = ctt_calloc((size_t)x->r->values, sizeof(float));
    CTT_TRY(x->need && x->sole && x->dw && x->grad ? 0 : CTT_ENOMEM);
    find_needs(x);
    CTT_TRY(find_soles(x));
    *out = x;
    x = NULL;
out:
    ctt_exec_close(&x);
    return rc;
}

void ctt_exec_close(struct ctt_exec **x)
{
    if (!*x)
        return;
    ctt_run_close(&(*x)->r);
    ctt_free((*x)->need);
    ctt_free((*x)->sole);
    ctt_free((*x)->dw);
    ctt_free((*x)->grad);
    ctt_free(*x);
    *x = NULL;
}

int ctt_exec_forward(struct ctt_exec *x, int steps, int asks)
{
    int rc = 0;

    ctt_run_reset(x->r);
    CTT_TRY(ctt_run_steps(x->r, steps));
    if (asks > 0 && x->r->g->clip < x->r->g->count)
        CTT_TRY(ctt_run_clip(x->r, asks));
out:
    return rc;
}

float *ctt_exec_grad(const struct ctt_exec *x, int node, int step)
{
    return x->grad + (ctt_run_value(x->r, node, step) - x->r->val);
}

int ctt_exec_clear(struct ctt_exec *x, int steps, int asks)
{
    const struct ctt_graph *g = x->r->g;

    memset(x->dw, 0, (size_t)g->weights * sizeof(float));
    for (int i = 0; i < g->count; i++) {
        const struct ctt_slot *s = &x->r->slot[i];
        int64_t before = i < g->clip ? s->history * s->size : 0;
        int64_t after = i < g->clip ? steps * s->size
                                    : asks * ctt_volume(&g->node[i].out);

        if (s->alias == i && x->need[i] && !x->sole[i])
            memset(x->grad + s->at - before, 0,
                   (size_t)(before + after) * sizeof(float));
    }
    return 0;
}

static void *gradient_of(const struct ctt_exec *x, const struct ctt_tensor *t)
{
    return x->grad + ((const float *)t->data - x->r->val);
}

/* Points dout, din and dw at where the gradients of a bound call lie.  An act
 * that has no memory of its own works in place. */
static void bind_gradients(const struct ctt_exec *x, int node, int want,
                           struct ctt_call *c)
{
    const struct ctt_run *r = x->r;
    const struct ctt_node *n = c->node;

    c->act = 0;
    c->dout = c->out;
    c->dout.data = gradient_of(x, &c->out);
    c->dalso = c->also;
    if (c->also.data)
        c->dalso.data = gradient_of(x, &c->also);
    for (int k = 0; k < n->nin; k++) {
        c->din[k] = c->in[k];
        c->din[k].data = want & WANT_DIN && x->need[n->in[k]]
                       ? gradient_of(x, &c->in[k]) : NULL;
        if (!r->slot[node].skip && !x->sole[r->slot[n->in[k]].alias])
            c->add |= 1u << k;
    }
    for (int k = 0; k < n->nw && want & WANT_DW; k++) {
        c->dw[k] = n->w[k];
        c->dw[k].data = n->fixed >> k & 1 ? NULL : x->dw + n->at[k];
    }
}

static int has_kernel(const struct ctt_exec *x, int node)
{
    return !x->r->slot[node].skip || x->r->g->node[node].op == CTT_OP_ACT;
}

/* What there is to want of a node. */
static int wants(const struct ctt_exec *x, int node)
{
    const struct ctt_node *n = &x->r->g->node[node];
    int want = learns(n) ? WANT_DW : 0;

    for (int k = 0; k < n->nin; k++)
        want |= x->need[n->in[k]] ? WANT_DIN : 0;
    return has_kernel(x, node) ? want : 0;
}

static int run(struct ctt_exec *x, int node, int step, int steps, int want,
               enum ctt_run_cache cache)
{
    struct ctt_call c;
    int rc = 0;

    want &= wants(x, node);
    if (!want)
        goto out;
    ctt_run_bind(x->r, node, step, steps, &c);
    bind_gradients(x, node, want, &c);
    c.cache = &x->r->cache[node][cache];
    CTT_TRY(ctt_dev_run(x->r->dev, &c, CTT_BWD));
out:
    return rc;
}

/* One call for all steps, unless the node must be called for each. */
static int run_free(struct ctt_exec *x, int node, int steps)
{
    int each = ctt_run_single(&x->r->g->node[node]), rc = 0;

    for (int t = 0; t < (each ? steps : 1); t++)
        CTT_TRY(run(x, node, t, each ? 1 : steps, WANT_DIN | WANT_DW,
                    CTT_CACHE_BWD));
out:
    return rc;
}

/* The loop needs din only; dw follows once for all steps. */
static int run_bound(struct ctt_exec *x, const int *node, int count, int steps)
{
    int rc = 0;

    for (int t = steps - 1; t >= 0; t--)
        for (int j = count - 1; j >= 0; j--)
            CTT_TRY(run(x, node[j], t, 1, WANT_DIN, CTT_CACHE_BWD));
    for (int j = count - 1; j >= 0; j--)
        CTT_TRY(run(x, node[j], 0, steps, WANT_DW, CTT_CACHE_DW));
out:
    return rc;
}

int ctt_exec_backward(struct ctt_exec *x, int steps, int asks)
{
    const struct ctt_schedule *s = x->r->s;
    const struct ctt_graph *g = x->r->g;
    int rc = 0;

    for (int i = g->count - 1; i >= g->clip && asks > 0; i--)
        CTT_TRY(run(x, i, 0, asks, WANT_DIN | WANT_DW, CTT_CACHE_BWD));
    for (int k = s->comps - 1; k >= 0; k--) {
        const int *node = s->order + s->first[k];
        int count = s->first[k + 1] - s->first[k];
        if (s->bound[k])
            CTT_TRY(run_bound(x, node, count, steps));
        else
            CTT_TRY(run_free(x, *node, steps));
    }
out:
    return rc;
}
