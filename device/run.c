/* SPDX-License-Identifier: Apache-2.0
 * run.c: running a graph forward: free components once for all steps, bound
 * ones step by step, the clip part for those who ask. */
#include "device/layout.h"

#include <string.h>

/* Floats of history that node i has memory for. */
static int64_t old_floats(const struct ctt_run *r, int i)
{
    const struct ctt_slot *s = &r->slot[i];

    return s->alias == i ? s->history * s->size : 0;
}

/* Where the value lies that the node had at step 0. */
static float *start(const struct ctt_run *r, int i)
{
    return r->base[r->slot[i].block] + r->slot[i].at;
}

int64_t ctt_run_history(const struct ctt_run *r)
{
    int64_t sum = 0;

    for (int i = 0; i < r->g->clip; i++)
        sum += old_floats(r, i);
    return sum;
}

void ctt_run_save(const struct ctt_run *r, float *to)
{
    for (int i = 0; i < r->g->clip; i++) {
        int64_t n = old_floats(r, i);

        if (n)
            memcpy(to, start(r, i) + r->cursor * r->slot[i].size - n,
                   (size_t)n * sizeof(float));
        to += n;
    }
}

void ctt_run_load(struct ctt_run *r, const float *from)
{
    for (int i = 0; i < r->g->clip; i++) {
        int64_t n = old_floats(r, i);

        if (n && from)
            memcpy(start(r, i) - n, from, (size_t)n * sizeof(float));
        else if (n)
            memset(start(r, i) - n, 0, (size_t)n * sizeof(float));
        from = from ? from + n : NULL;
    }
}

void ctt_run_reset(struct ctt_run *r)
{
    ctt_run_load(r, NULL);
    r->cursor = 0;
    r->past = 0;
    r->asks = 0;
}

float *ctt_run_value(const struct ctt_run *r, int node, int step)
{
    const struct ctt_slot *s = &r->slot[node];

    if (node >= r->g->clip)
        step = 0;
    return start(r, node) + (step - s->delay) * s->size + s->off;
}

int ctt_run_make_room(struct ctt_run *r, int steps)
{
    int rc = 0;

    CTT_CHECK(steps > 0 && steps <= r->room, CTT_EINVAL,
              "%d steps do not fit a window of %d", steps, r->room);
    if (r->cursor + steps <= r->room)
        goto out;
    CTT_CHECK(r->slides, CTT_EINVAL, "%d steps are more than the window's %d",
              r->cursor + steps, r->room);
    for (int i = 0; i < r->g->clip; i++) {
        int64_t n = old_floats(r, i);

        if (n)
            memmove(start(r, i) - n,
                    start(r, i) - n + r->cursor * r->slot[i].size,
                    (size_t)n * sizeof(float));
    }
    r->past += r->cursor;
    r->cursor = 0;
out:
    return rc;
}

/* The finalizer of SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static struct ctt_tensor value(const struct ctt_run *r, int node, int step,
                               int64_t n)
{
    struct ctt_tensor t = r->g->node[node].out;

    t.n = 1;
    t.ld = r->slot[node].ld;
    t.data = ctt_run_value(r, node, step);
    if (node >= r->g->clip)    /* step is an ask */
        t.data = (float *)t.data + step * ctt_rows(&t) * t.ld;
    t.n = n;
    return t;
}

/* A window is given all steps at once, and what it may look at. */
static void bind_window(const struct ctt_run *r, int ask, struct ctt_call *c)
{
    int from = c->node->in[0];
    const struct ctt_slot *s = &r->slot[from];

    c->in[0] = value(r, from, 0, r->n);
    c->ask = r->ask + ask;
    c->stride = s->size;
    c->oldest = s->delay - s->history;
}

static void bind_weights(const struct ctt_run *r, const struct ctt_node *n,
                         struct ctt_tensor *w)
{
    for (int k = 0; k < n->nw; k++) {
        w[k] = n->w[k];
        w[k].data = (void *)(r->w + n->at[k]);
    }
}

/* Of the samples of a step, or of an ask. */
static uint64_t key(const struct ctt_run *r, int node, int step)
{
    uint64_t at = (uint64_t)(r->past + step);

    if (node >= r->g->clip)
        at = (uint64_t)(r->which ? r->which[step] : step);
    return mix(mix(r->key + (uint64_t)node) + at);
}

/* What differs from op to op. */
static void bind_op(const struct ctt_run *r, int node, int step,
                    struct ctt_call *c)
{
    const struct ctt_node *n = c->node;

    if (n->op == CTT_OP_WINDOW)
        bind_window(r, step, c);
    if (n->op == CTT_OP_LSTM && n->cell >= 0)
        c->also = value(r, n->cell, step, c->out.n);
    if (n->op == CTT_OP_MIX && !r->fed && node < r->g->clip)
        c->in[1].data = NULL;
    if (ctt_is_batch_norm(n) && r->again && r->train)
        c->w[2].data = c->w[3].data = r->sink;
}

void ctt_run_bind(const struct ctt_run *r, int node, int step, int steps,
                  struct ctt_call *c)
{
    const struct ctt_node *n = &r->g->node[node];
    int64_t count = node < r->g->clip ? (int64_t)steps * r->n : steps;
    int fused = r->slot[node].fused;

    memset(c, 0, sizeof(*c));
    c->node = n;
    c->out = value(r, node, step, count);
    for (int k = 0; k < n->nin; k++)
        c->in[k] = value(r, n->in[k], step, count);
    bind_weights(r, n, c->w);
    bind_op(r, node, step, c);
    c->act = fused >= 0 ? r->g->node[fused].attr.act.kind + 1 : 0;
    c->train = r->train;
    c->key = key(r, node, step);
    c->stamp = r->stamp;
    c->cache = &r->cache[node][CTT_CACHE_FWD];
}

int ctt_run_single(const struct ctt_run *r, int node)
{
    return r->train && r->g->node[node].op == CTT_OP_DROPOUT;
}

/* ---- what goes along ---- */

/* Whether the node is done by the conv that it may go along with: a pair, if
 * both run for one step now. */
static int goes_along(const struct ctt_run *r, int node, int single)
{
    const struct ctt_slot *z;

    if (r->slot[node].with < 0)
        return 0;
    z = &r->slot[r->slot[node].with];
    if (z->lstm == node)
        return !(r->plain & CTT_RUN_NO_LSTM);
    return !(r->plain & CTT_RUN_NO_PAIR) &&
           (single || z->joint[r->fed && r->sched[1]]);
}

static void bind_pair(const struct ctt_run *r, int node, int step,
                      struct ctt_call *c)
{
    const struct ctt_node *n = &r->g->node[node];

    c->in[1].data = NULL;
    c->pair.node = n;
    c->pair.in = value(r, n->in[0], step, c->out.n);
    c->pair.cache = &r->cache[node][CTT_CACHE_FWD];
    bind_weights(r, n, c->pair.w);
}

static void bind_lstm(const struct ctt_run *r, int node, int step,
                      struct ctt_call *c)
{
    const struct ctt_node *n = &r->g->node[node];

    c->lstm.node = n;
    c->lstm.old = value(r, n->in[1], step, c->out.n);
    c->lstm.h = value(r, node, step, c->out.n);
    if (n->cell >= 0)
        c->lstm.c = value(r, n->cell, step, c->out.n);
    c->lstm.keep = !r->slides &&
                   r->slot[r->slot[node].with].block == CTT_KEPT;
}

static void bind_along(const struct ctt_run *r, int node, int step, int single,
                       struct ctt_call *c)
{
    const struct ctt_slot *s = &r->slot[node];

    if (s->pair >= 0 && goes_along(r, s->pair, single))
        bind_pair(r, s->pair, step, c);
    if (s->lstm >= 0 && goes_along(r, s->lstm, single))
        bind_lstm(r, s->lstm, step, c);
}

/* ---- running ---- */

/* single: the whole run is of one step. */
static int run(struct ctt_run *r, int node, int step, int steps, int single)
{
    int each = ctt_run_single(r, node);
    struct ctt_call c;
    int rc = 0;

    if (r->slot[node].skip || goes_along(r, node, single))
        goto out;
    for (int t = 0; t < (each ? steps : 1); t++) {
        ctt_run_bind(r, node, step + t, each ? 1 : steps, &c);
        bind_along(r, node, step + t, single, &c);
        CTT_TRY(ctt_dev_run(r->dev, &c, CTT_FWD));
    }
out:
    return rc;
}

static int run_component(struct ctt_run *r, const struct ctt_schedule *s,
                         int k, int step, int steps, int single)
{
    int rc = 0;

    for (int j = s->first[k]; j < s->first[k + 1]; j++)
        CTT_TRY(run(r, s->order[j], step, steps, single));
out:
    return rc;
}

const struct ctt_schedule *ctt_run_schedule(const struct ctt_run *r)
{
    return r->sched[r->fed && r->sched[1]];
}

int ctt_run_steps(struct ctt_run *r, int steps)
{
    const struct ctt_schedule *s = ctt_run_schedule(r);
    int at = r->cursor, rc = 0;

    CTT_CHECK(steps > 0 && steps <= r->room - at, CTT_EINVAL,
              "no room for %d steps after %d of %d", steps, at, r->room);
    for (int k = 0; k < s->comps; k++) {
        int once = s->bound[k] ? 1 : steps;
        for (int t = 0; t < steps; t += once)
            CTT_TRY(run_component(r, s, k, at + t, once, steps == 1));
    }
    r->cursor = at + steps;
out:
    return rc;
}

int ctt_run_clip(struct ctt_run *r, int asks)
{
    int rc = 0;

    CTT_CHECK(asks > 0 && asks <= r->max_asks, CTT_EINVAL,
              "%d answers asked where there is room for %d", asks,
              r->max_asks);
    for (int i = 0; i < asks; i++)
        CTT_CHECK(r->ask[i].sample >= 0 && r->ask[i].sample < r->n &&
                  r->ask[i].step >= 0 && r->ask[i].step < r->cursor,
                  CTT_EINVAL, "no step %d of sample %d has been run",
                  r->ask[i].step, r->ask[i].sample);
    r->asks = asks;
    for (int i = r->g->clip; i < r->g->count; i++)
        CTT_TRY(run(r, i, 0, asks, 0));
out:
    return rc;
}
