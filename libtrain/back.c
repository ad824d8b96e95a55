/* SPDX-License-Identifier: Apache-2.0
 * back.c: the way back through one window. */
#include "libtrain/way.h"

#include <string.h>

/* ---- where gradients lie ---- */

/* Laid out as the values of the window, those kept first. */
static float *place_of(const struct ctt_exec *x, int node, const float *value)
{
    const struct ctt_run *r = x->r;
    const struct ctt_part *p = &x->way->part[x->way->hand];
    enum ctt_block b = r->slot[node].block;
    int64_t before = b == CTT_KEPT ? 0
                   : ctt_extent_floats(&r->extent[CTT_KEPT], p->steps,
                                       p->asks);

    return x->way->grad + before + (value - r->base[b]);
}

static float *grad(const struct ctt_exec *x, int node, int step)
{
    return place_of(x, node, ctt_run_value(x->r, node, step));
}

int ctt_exec_needs(const struct ctt_exec *x, int node)
{
    return x->way->need[node];
}

/* Floats of history that a node has memory for, if it has a gradient. */
static int64_t old_floats(const struct ctt_exec *x, int node)
{
    const struct ctt_slot *s = &x->r->slot[node];

    return s->alias == node && x->way->need[node] ? s->history * s->size : 0;
}

static void clear(const struct ctt_exec *x, int i)
{
    const struct ctt_graph *g = x->r->g;
    const struct ctt_part *p = &x->way->part[x->way->hand];
    const struct ctt_slot *s = &x->r->slot[i];
    int64_t before = i < g->clip ? old_floats(x, i) : 0;
    int64_t after = i < g->clip ? p->steps * s->size
                                : p->asks * ctt_volume(&g->node[i].out);

    memset(grad(x, i, 0) - before, 0,
           (size_t)(before + after) * sizeof(float));
}

void ctt_way_clear(struct ctt_exec *x)
{
    for (int i = 0; i < x->r->g->count; i++)
        if (x->r->slot[i].alias == i && x->way->need[i] && !x->way->sole[i])
            clear(x, i);
}

/* Where the caller writes, nobody else may overwrite. */
float *ctt_exec_grad(const struct ctt_exec *x, int node, int step)
{
    int of = x->r->slot[node].alias;

    if (x->way->seeding && x->way->sole[of]) {
        x->way->sole[of] = 0;
        clear(x, of);
    }
    return grad(x, node, step);
}

/* What reached the history of the window behind belongs to the last steps of
 * this one; if this one is shorter, to its history too. */
void ctt_way_carry_in(struct ctt_exec *x)
{
    const float *from = x->way->carry;
    int steps = x->way->part[x->way->hand].steps;

    for (int i = 0; i < x->r->g->clip; i++) {
        int64_t n = old_floats(x, i);
        float *to = n ? grad(x, i, steps) - n : NULL;

        for (int64_t j = 0; j < n; j++)
            to[j] += from[j];
        from += n;
    }
}

void ctt_way_carry_out(struct ctt_exec *x)
{
    float *to = x->way->carry;

    for (int i = 0; i < x->r->g->clip; i++) {
        int64_t n = old_floats(x, i);

        if (n)
            memcpy(to, grad(x, i, 0) - n, (size_t)n * sizeof(float));
        to += n;
    }
}

/* ---- calls ---- */

/* Points dout, din and dw at where the gradients of a bound call lie.  An act
 * that has no memory of its own works in place, a plus input that lies in the
 * result has its gradient there already. */
static void bind_gradients(const struct ctt_exec *x, int node, int want,
                           struct ctt_call *c)
{
    const struct ctt_run *r = x->r;
    const struct ctt_node *n = c->node;

    c->act = 0;
    c->dout = c->out;
    c->dout.data = place_of(x, node, c->out.data);
    c->dalso = c->also;
    if (c->also.data)
        c->dalso.data = place_of(x, n->cell, c->also.data);
    for (int k = 0; k < n->nin; k++) {
        c->din[k] = c->in[k];
        c->din[k].data = want & CTT_WANT_DIN && x->way->need[n->in[k]] &&
                         c->in[k].data && !(k == 1 && r->slot[node].inside)
                       ? place_of(x, n->in[k], c->in[k].data) : NULL;
        if (!r->slot[node].skip && !x->way->sole[r->slot[n->in[k]].alias])
            c->add |= 1u << k;
    }
    for (int k = 0; k < n->nw && want & CTT_WANT_DW; k++) {
        c->dw[k] = n->w[k];
        c->dw[k].data = n->fixed >> k & 1 ? NULL : x->dw + n->at[k];
    }
}

static int has_kernel(const struct ctt_run *r, int node)
{
    return !r->slot[node].skip || r->g->node[node].op == CTT_OP_ACT;
}

static int run(struct ctt_exec *x, int node, int step, int steps, int want,
               enum ctt_run_cache cache)
{
    struct ctt_call c;
    int rc = 0;

    want &= ctt_way_wants(x->r->g, x->way->need, node);
    if (!want || !has_kernel(x->r, node))
        goto out;
    ctt_run_bind(x->r, node, step, steps, &c);
    bind_gradients(x, node, want, &c);
    c.cache = &x->r->cache[node][cache];
    CTT_TRY(ctt_dev_run(x->r->dev, &c, CTT_BWD));
out:
    return rc;
}

/* One call for all steps, or asks, unless the node must be called for each. */
static int run_free(struct ctt_exec *x, int node, int steps)
{
    int each = ctt_run_single(x->r, node), rc = 0;

    for (int t = 0; t < (each ? steps : 1); t++)
        CTT_TRY(run(x, node, t, each ? 1 : steps, CTT_WANT_DIN | CTT_WANT_DW,
                    CTT_CACHE_BWD));
out:
    return rc;
}

/* The loop needs din only; dw follows once for all steps. */
static int run_bound(struct ctt_exec *x, const int *node, int count, int steps)
{
    int each = x->r->plain & CTT_RUN_DW_EACH ? CTT_WANT_DW : 0, rc = 0;

    for (int t = steps - 1; t >= 0; t--)
        for (int j = count - 1; j >= 0; j--)
            CTT_TRY(run(x, node[j], t, 1, CTT_WANT_DIN | each,
                        CTT_CACHE_BWD));
    for (int j = count - 1; j >= 0 && !each; j--)
        CTT_TRY(run(x, node[j], 0, steps, CTT_WANT_DW, CTT_CACHE_DW));
out:
    return rc;
}

int ctt_way_back(struct ctt_exec *x)
{
    const struct ctt_schedule *s = ctt_run_schedule(x->r);
    const struct ctt_part *p = &x->way->part[x->way->hand];
    const struct ctt_graph *g = x->r->g;
    int rc = 0;

    for (int i = g->count - 1; i >= g->clip && p->asks > 0; i--)
        CTT_TRY(run_free(x, i, p->asks));
    for (int k = s->comps - 1; k >= 0; k--) {
        const int *node = s->order + s->first[k];
        int count = s->first[k + 1] - s->first[k];
        if (s->bound[k])
            CTT_TRY(run_bound(x, node, count, p->steps));
        else
            CTT_TRY(run_free(x, *node, p->steps));
    }
out:
    return rc;
}
