/* SPDX-License-Identifier: Apache-2.0
 * backward.c: the backward pass through one window. */
#include "run/back/backward.h"
#include "run/back/depth.h"
#include "run/joint.h"
#include "run/place.h"
#include "base/half.h"
#include "net/op.h"

/* ---- where gradients lie ---- */

/* Gradients have the layout of the window's values, the saved block first. */
static char *gradient_place(const struct ctt_exec *x, int node,
                            const void *value)
{
    const struct ctt_run *r = x->r;
    const struct ctt_window *p = &x->back->part[x->back->hand];
    const struct ctt_slot *s = &r->slot[node];
    enum ctt_block b = s->block;
    int64_t before = b == CTT_SAVED ? 0
                   : ctt_extent_bytes(&r->extent[CTT_SAVED], p->steps,
                                      p->asks);

    if (x->back->depth)
        return x->back->value + x->back->depth->grad[s->alias] +
               ((const char *)value - r->base[b] - s->at);
    return x->back->grad + before + ((const char *)value - r->base[b]);
}

static char *grad(const struct ctt_exec *x, int node, int step)
{
    return gradient_place(x, node, ctt_run_value(x->r, node, step));
}

int ctt_exec_needs(const struct ctt_exec *x, int node)
{
    return x->back->need[node];
}

/* Numbers in a node's memory before step 0, or 0 if it needs no gradient. */
static int64_t old_numbers(const struct ctt_exec *x, int node)
{
    const struct ctt_slot *s = &x->r->slot[node];

    return s->alias == node && x->back->need[node]
         ? ctt_slot_before(s) * s->size : 0;
}

static int64_t old_bytes(const struct ctt_exec *x, int node)
{
    return old_numbers(x, node) * ctt_dtype_size(x->r->slot[node].type);
}

int ctt_back_clear_node(const struct ctt_exec *x, int i)
{
    const struct ctt_graph *g = x->r->g;
    const struct ctt_window *p = &x->back->part[x->back->hand];
    const struct ctt_slot *s = &x->r->slot[i];
    int64_t before = i < g->clip ? old_bytes(x, i) : 0;
    int64_t after = i < g->clip ? p->steps * s->size
                                : p->asks * ctt_volume(&g->node[i].out);

    return ctt_dev_clear(x->r->dev, grad(x, i, 0) - before,
                         before + after * ctt_dtype_size(s->type));
}

int ctt_back_clear(struct ctt_exec *x)
{
    int rc = 0;

    for (int i = 0; i < x->r->g->count; i++)
        if (x->r->slot[i].alias == i && x->back->need[i] &&
            *ctt_back_writer(x, i) < 0 &&
            (!x->back->depth || x->back->depth->fixed[i]))
            CTT_TRY(ctt_back_clear_node(x, i));
out:
    return rc;
}

static struct ctt_tensor gradient_rows(const struct ctt_exec *x, int node,
                                       int step, int64_t rows)
{
    struct ctt_tensor t = { .n = rows, .d = 1, .h = 1, .w = 1 };

    t.c = x->r->g->node[node].out.c;
    t.ld = x->r->slot[node].ld;
    t.dtype = x->r->slot[node].type;
    t.data = grad(x, node, step);
    return t;
}

/* A gradient that the caller seeds must be added to, not overwritten. */
static int claim(const struct ctt_exec *x, int node)
{
    int of = x->r->slot[node].alias;

    if (!x->back->seeding || *ctt_back_writer(x, of) < 0)
        return 0;
    *ctt_back_writer(x, of) = -1;
    x->back->overwrites++;
    return ctt_back_clear_node(x, of);
}

int ctt_exec_put_grad(const struct ctt_exec *x, int node, int step,
                      const float *from, int64_t rows)
{
    struct ctt_tensor t = gradient_rows(x, node, step, rows);
    int rc = 0;

    CTT_TRY(claim(x, node));
    CTT_TRY(ctt_dev_put(x->r->dev, from, &t));
out:
    return rc;
}

int ctt_exec_fill_grad(const struct ctt_exec *x, int node, int step,
                       const float *value, int64_t groups, int64_t rows)
{
    struct ctt_tensor t = gradient_rows(x, node, step, rows);
    int rc = 0;

    CTT_TRY(claim(x, node));
    CTT_TRY(ctt_dev_group_fill(x->r->dev, value, groups, &t));
out:
    return rc;
}

int ctt_exec_get_grad(const struct ctt_exec *x, int node, int step,
                      int64_t rows, float *to)
{
    const struct ctt_tensor t = gradient_rows(x, node, step, rows);

    return ctt_dev_get(x->r->dev, &t, to);
}

/* Gradients of the kept values of the next window belong to steps of this
 * window and to its own kept values. */
static int carry_kept(struct ctt_exec *x, int i, const char *from)
{
    const struct ctt_slot *s = &x->r->slot[i];
    const struct ctt_window *p = &x->back->part[x->back->hand];
    int64_t end = s->kept ? (int64_t)p->first + p->steps : 0;
    int64_t apart = INT64_C(1) << ctt_kept_shift(s, end);
    int64_t n = s->size * ctt_dtype_size(s->type);
    int rc = 0;

    for (int64_t step = 0; step < end; step += apart, from += n)
        CTT_TRY(ctt_dev_sum(x->r->dev, s->type, from, grad(x, i, 0) + n *
                            ctt_kept_at(s, p->first, step), s->size));
out:
    return rc;
}

/* Gradients of the next window's history belong to the last steps of this
 * window and, if it is shorter, also to its history. */
static int carry(struct ctt_exec *x, int i, const char *from)
{
    const struct ctt_slot *s = &x->r->slot[i];
    int64_t n = s->size * ctt_dtype_size(s->type), old = s->history * n;
    int steps = x->back->part[x->back->hand].steps, rc = 0;

    CTT_TRY(carry_kept(x, i, from));
    if (old)
        CTT_TRY(ctt_dev_sum(x->r->dev, s->type, from + s->kept * n,
                            grad(x, i, steps) - old, s->history * s->size));
out:
    return rc;
}

int ctt_back_carry_in(struct ctt_exec *x)
{
    const char *from = x->back->carry;
    int rc = 0;

    for (int i = 0; i < x->r->g->clip; i++) {
        if (old_bytes(x, i))
            CTT_TRY(carry(x, i, from));
        from += ctt_align(old_bytes(x, i), 64);
    }
out:
    return rc;
}

int ctt_back_carry_out(struct ctt_exec *x)
{
    char *to = x->back->carry;
    int rc = 0;

    for (int i = 0; i < x->r->g->clip; i++) {
        int64_t n = old_bytes(x, i);

        if (n)
            CTT_TRY(ctt_dev_copy(x->r->dev, CTT_WITHIN, grad(x, i, 0) - n, to,
                                 n));
        to += ctt_align(n, 64);
    }
out:
    return rc;
}

/* ---- calls ---- */

/* Points dout, din and dw of a bound call at the gradients.  An act without
 * memory of its own works in place; a plus input that is a name of the result
 * has its gradient there already. */
static void bind_gradients(const struct ctt_exec *x, int node, int want,
                           struct ctt_call *c)
{
    const struct ctt_run *r = x->r;
    const struct ctt_node *n = c->node;

    c->act = 0;
    c->dout = c->out;
    c->dout.data = gradient_place(x, node, c->out.data);
    c->dalso = c->also;
    if (c->also.data)
        c->dalso.data = gradient_place(x, n->cell, c->also.data);
    for (int k = 0; k < n->nin; k++) {
        int there = k == 1 && r->slot[node].plus_in_place;

        c->din[k] = c->in[k];
        c->din[k].data = want & CTT_WANT_DIN && x->back->need[n->in[k]] &&
                         c->in[k].data && !there
                       ? gradient_place(x, n->in[k], c->in[k].data) : NULL;
        if (!r->slot[node].skip && *ctt_back_writer(x, n->in[k]) != node)
            c->add |= 1u << k;
    }
    for (int k = 0; k < n->nw && want & CTT_WANT_DW; k++) {
        c->dw[k] = n->w[k];
        c->dw[k].data = n->fixed >> k & 1 ? NULL : x->dw + n->at[k];
    }
}

/* The memories that the backward pass of a call reads and writes: it may change
 * its dout, and two calls must not add to a gradient at the same time. */
static void touch_back(const struct ctt_run *r, int node, struct ctt_touch *t)
{
    const struct ctt_node *n = &r->g->node[node];

    ctt_touch(t, ctt_run_memory(r, node, 0), 0);
    ctt_touch(t, ctt_run_memory(r, node, 1), 1);
    if (n->cell >= 0)
        ctt_touch(t, ctt_run_memory(r, n->cell, 1), 1);
    for (int k = 0; k < n->nin; k++) {
        ctt_touch(t, ctt_run_memory(r, n->in[k], 0), 0);
        ctt_touch(t, ctt_run_memory(r, n->in[k], 1), 1);
    }
}

static int touch(struct ctt_exec *x, int node, const struct ctt_call *c)
{
    struct ctt_run *r = x->r;
    struct ctt_touch t;

    if (r->shares)
        return 0;
    t.count = 0;
    touch_back(r, node, &t);
    for (int i = 0; i < c->links; i++)
        touch_back(r, (int)(c->chain[i].node - r->g->node), &t);
    return ctt_streams_call(r->streams, r->dev, &t);
}

/* Before step 0 a state has the value of step 0, to whose gradient those before
 * it are added; another state of the same node must not add them again. */
static int give_first(struct ctt_exec *x, int state)
{
    const struct ctt_run *r = x->r;
    int of = r->slot[state].alias, rc = 0;
    const struct ctt_slot *s = &r->slot[of];
    int64_t n = s->size * ctt_dtype_size(s->type);
    struct ctt_touch t;

    t.count = 0;
    ctt_touch(&t, ctt_run_memory(r, of, 1), 1);
    if (!r->shares)
        CTT_TRY(ctt_streams_call(r->streams, r->dev, &t));
    for (int k = 1; k <= r->slot[state].delay; k++) {
        char *before = grad(x, of, -k);

        CTT_TRY(ctt_dev_sum(r->dev, s->type, before, grad(x, of, 0), s->size));
        CTT_TRY(ctt_dev_clear(r->dev, before, n));
    }
out:
    return rc;
}

/* A train in a loop over steps is one call, which gives no gradients of
 * weights; links: those before node. */
static int in_train(const struct ctt_exec *x, int node, int want)
{
    const struct ctt_slot *s = &x->r->slot[node];

    return want == CTT_WANT_DIN && !x->r->slides && s->fused_into >= 0 &&
           x->r->slot[s->fused_into].link >= 0 &&
           !(x->r->plain & CTT_RUN_NO_CHAIN);
}

static void bind_train(const struct ctt_exec *x, int node, int step, int want,
                       struct ctt_call *c)
{
    const struct ctt_slot *slot = x->r->slot;
    struct ctt_call *call = x->r->chain + x->r->links + slot[node].chain;

    if (!in_train(x, slot[node].link, want))
        return;
    c->chain = call;
    for (int at = node; slot[at].link >= 0; at = slot[at].link)
        c->links++;
    call += c->links;
    for (int at = node; (at = slot[at].link) >= 0;) {
        ctt_run_bind(x->r, at, step, 1, --call);
        bind_gradients(x, at, want, call);
        call->cache = &x->r->cache[at][CTT_CACHE_BWD];
    }
}

/* The gradients of the weights of a joint conv; the lstm behind it ran for all
 * steps at once if they come with that of the input, otherwise for each. */
static int give_joint(struct ctt_exec *x, int node, int steps, int want,
                      struct ctt_call *c)
{
    int lstm = ctt_joint_of(x->r, node)->lstm, all = want & CTT_WANT_DIN;
    int rc = 0;

    ctt_joint_bind_dw(x->r, node, x->dw, c);
    CTT_TRY(ctt_dev_run(x->r->dev, c, CTT_BWD));
    CTT_TRY(ctt_joint_give(x->r, node, x->dw));
    if (lstm < 0)
        goto out;
    ctt_run_bind(x->r, lstm, 0, all ? steps : 1, c);
    bind_gradients(x, lstm, CTT_WANT_DIN, c);
    ctt_joint_bind_sums(x->r, lstm, all ? 1 : steps, x->dw, c);
    CTT_TRY(ctt_dev_run(x->r->dev, c, CTT_BWD));
out:
    return rc;
}

static int run_backward(struct ctt_exec *x, int node, int step, int steps,
                        int want, enum ctt_run_cache cache)
{
    int all = want & CTT_WANT_DW, rc = 0;
    struct ctt_call c;

    if (in_train(x, node, want))
        goto out;
    if (want & CTT_WANT_DIN && ctt_run_is_first(x->r, node, step) &&
        x->back->need[x->r->slot[node].alias])
        CTT_TRY(give_first(x, node));
    want &= ctt_back_wants(x->r->g, x->back->need, node);
    if (ctt_joint_copies(x->r, node))
        want &= CTT_WANT_DIN;
    if (!want || ctt_ops[x->r->g->node[node].op].memory != CTT_COMPUTED)
        goto out;
    ctt_run_bind(x->r, node, step, steps, &c);
    bind_gradients(x, node, want, &c);
    c.cache = &x->r->cache[node][cache];
    if (x->r->slot[node].link >= 0)
        bind_train(x, node, step, want, &c);
    CTT_TRY(touch(x, node, &c));
    if (ctt_joint_sums(x->r, node))
        ctt_joint_bind_sums(x->r, node, all ? 0 : step, NULL, &c);
    if (ctt_joint_convolves(x->r, node) && want & CTT_WANT_DW)
        return give_joint(x, node, steps, want, &c);
    CTT_TRY(ctt_dev_run(x->r->dev, &c, CTT_BWD));
out:
    return rc;
}

/* One call for all steps, or asks, unless the node needs a call for each. */
static int run_free(struct ctt_exec *x, int node, int steps)
{
    int each = ctt_run_single(x->r, node), rc = 0;

    for (int t = 0; t < (each ? steps : 1); t++)
        CTT_TRY(run_backward(x, node, t, each ? 1 : steps,
                             CTT_WANT_DIN | CTT_WANT_DW, CTT_CACHE_BWD));
out:
    return rc;
}

/* The loop needs din only; dw follows once for all steps. */
static int run_bound(struct ctt_exec *x, const int *node, int count, int steps)
{
    int each = x->r->plain & CTT_RUN_DW_EACH ? CTT_WANT_DW : 0, rc = 0;

    for (int t = steps - 1; t >= 0; t--)
        for (int j = count - 1; j >= 0; j--)
            CTT_TRY(run_backward(x, node[j], t, 1, CTT_WANT_DIN | each,
                                 CTT_CACHE_BWD));
    for (int j = count - 1; j >= 0 && !each; j--)
        CTT_TRY(run_backward(x, node[j], 0, steps, CTT_WANT_DW, CTT_CACHE_DW));
out:
    return rc;
}

int ctt_back_position(struct ctt_exec *x, int position)
{
    const struct ctt_schedule *s = ctt_run_schedule(x->r);
    const struct ctt_window *p = &x->back->part[x->back->hand];
    int k = position < s->comps ? position : s->comps;
    const int *node = s->order + s->first[k];

    if (k < position || k == s->comps)
        return p->asks > 0 ? run_free(x, x->r->g->clip + position - k, p->asks)
                           : 0;
    return s->bound[k] ? run_bound(x, node, s->first[k + 1] - s->first[k],
                                   p->steps)
                       : run_free(x, *node, p->steps);
}

static int back(struct ctt_exec *x)
{
    const struct ctt_graph *g = x->r->g;
    int k = ctt_run_schedule(x->r)->comps + g->count - g->clip, rc = 0;

    if (x->back->depth)
        return ctt_depth_backward(x);
    while (--k >= 0)
        CTT_TRY(ctt_back_position(x, k));
out:
    return rc;
}

int ctt_back_window(struct ctt_exec *x)
{
    int rc = 0;

    CTT_TRY(ctt_streams_begin(x->r->streams, x->r->dev));
    rc = ctt_streams_end(x->r->streams, x->r->dev, back(x));
out:
    return rc;
}
