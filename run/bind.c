/* SPDX-License-Identifier: Apache-2.0
 * bind.c: the arguments of a node's call: values, weights, randomness, and the
 * nodes that are fused into it. */
#include "run/bind.h"
#include "run/joint.h"
#include "run/layout.h"
#include "base/half.h"
#include "net/op.h"
#include "net/quant.h"
#include "base/random.h"

#include <string.h>

/* ---- values that change from batch to batch ---- */

/* The key, then the asks, then their numbers. */
static struct ctt_ask *live_asks(const struct ctt_run *r)
{
    return (struct ctt_ask *)(r->live + sizeof(uint64_t));
}

static int32_t *live_which(const struct ctt_run *r)
{
    return (int32_t *)(live_asks(r) + r->max_asks);
}

int64_t ctt_run_live_bytes(const struct ctt_run *r)
{
    return (int64_t)sizeof(uint64_t) + r->max_asks *
           (int64_t)(sizeof(struct ctt_ask) + sizeof(int32_t));
}

/* Recorded work may have forms of the weights baked in that the device made
 * for calls, such as whole numbers. */
static void drop_stale_places(struct ctt_run *r)
{
    for (int i = 0; r->place && r->place_stamp != r->stamp &&
                    i < ctt_run_places(r); i++)
        ctt_dev_drop(r->dev, &r->place[i]);
    r->place_stamp = r->stamp;
}

int ctt_run_upload(struct ctt_run *r)
{
    char *p = r->live_host;
    int32_t *which;
    int rc = ctt_run_round(r);

    drop_stale_places(r);
    if (rc >= 0 && r->joints && r->joint_stamp != r->stamp)
        rc = ctt_joint_weights(r);
    r->joint_stamp = r->stamp;
    if (!p || rc < 0)
        return rc;
    memcpy(p, &r->key, sizeof(r->key));
    p += sizeof(uint64_t);
    memcpy(p, r->ask, (size_t)r->max_asks * sizeof(*r->ask));
    which = (int32_t *)(p + (size_t)r->max_asks * sizeof(*r->ask));
    for (int i = 0; i < r->max_asks; i++)
        which[i] = r->which && i < r->asks ? r->which[i] : i;
    return ctt_dev_copy(r->dev, CTT_TO_DEVICE, r->live_host, r->live,
                        ctt_run_live_bytes(r));
}

int64_t ctt_run_reach(const struct ctt_node *window)
{
    const struct ctt_window_attr *a = &window->attr.window;

    return a->spread ? INT64_MAX : (int64_t)(a->steps - 1) * a->every;
}

/* A window op gets all steps at once, and where there are values. */
static void bind_window(const struct ctt_run *r, int ask, struct ctt_call *c)
{
    int from = c->node->in[0];
    const struct ctt_slot *s = &r->slot[from];
    int64_t past = r->past, reach = ctt_run_reach(c->node);

    c->in[0] = ctt_run_tensor(r, from, 0, r->n);
    c->ask = r->ask + ask;
    if (r->live)
        c->live.ask = live_asks(r) + ask;
    c->stride = s->size;
    if (r->past_of)    /* calls are for one ask */
        past = r->past_of[r->ask[ask].sample];
    past = past < reach ? past : reach;    /* the same call from then on */
    c->place = (struct ctt_window_place){ .past = past,
        .oldest = s->delay - s->history, .kept = s->kept,
        .shift = ctt_kept_shift(s, past) };
}

/* A conv that multiplies 16 bits reads its kernel from the 16-bit copy, unless
 * it multiplies whole numbers. */
static void bind_weights(const struct ctt_run *r, const struct ctt_node *n,
                         enum ctt_dtype type, struct ctt_weight *w)
{
    for (int k = 0; k < n->nw; k++)
        w[k] = r->weight[n - r->g->node][k];
    if (r->mul && r->w16)
        type = r->mul[n - r->g->node];
    if (r->w16 && type != CTT_F32 && ctt_is_conv(n) &&
        !ctt_is_int8(r->g, (int)(n - r->g->node))) {
        w[0].t.data = (uint16_t *)r->w16 + n->at[0];
        w[0].t.dtype = type;
    }
}

/* The random key of a step, or of an ask. */
static void bind_chance(const struct ctt_run *r, int node, int step,
                        struct ctt_call *c)
{
    int clip = node >= r->g->clip;
    uint64_t at = (uint64_t)(r->past + step);
    uint64_t rank = (uint64_t)r->g->node[node].rank;

    if (clip)
        at = (uint64_t)(r->which ? r->which[step] : step);
    c->key = ctt_call_key(r->key, rank, at);
    if (!r->live)
        return;
    c->live.key = (const uint64_t *)r->live;
    c->live.node = rank;
    c->live.at = at;
    c->live.which = clip ? live_which(r) + step : NULL;
}

/* The arguments that only some ops have. */
static void bind_op(const struct ctt_run *r, int node, int step,
                    struct ctt_call *c)
{
    const struct ctt_node *n = c->node;

    if (n->op == CTT_OP_WINDOW)
        bind_window(r, step, c);
    if (n->cell >= 0)
        c->also = ctt_run_tensor(r, n->cell, step, c->out.n);
    for (int k = 0; k < n->nin; k++)
        if (ctt_is_feedback(n, k) && !r->feedback && node < r->g->clip)
            c->in[k].data = NULL;
    for (int k = 0; k < n->nw && r->recompute && r->train && !n->frozen; k++)
        if (n->fixed >> k & 1)
            c->w[k].t.data = r->sink;
}

void ctt_run_bind(const struct ctt_run *r, int node, int step, int steps,
                  struct ctt_call *c)
{
    const struct ctt_node *n = &r->g->node[node];
    int64_t count = node < r->g->clip ? (int64_t)steps * r->active : steps;
    int fused = r->slot[node].act;

    memset(c, 0, sizeof(*c));
    c->node = n;
    c->out = ctt_run_tensor(r, node, step, count);
    for (int k = 0; k < n->nin; k++)
        c->in[k] = ctt_run_tensor(r, n->in[k], step, count);
    bind_weights(r, n, c->out.dtype, c->w);
    bind_op(r, node, step, c);
    c->act = fused >= 0 ? r->g->node[fused].attr.act.kind + 1 : 0;
    c->mul = r->mul ? r->mul[node] : CTT_F32;
    c->train = r->train && !n->frozen;
    bind_chance(r, node, step, c);
    c->stamp = r->stamp;
    c->once = r->once && (node >= r->g->clip || steps == r->once);
    c->cache = &r->cache[node][CTT_CACHE_FWD];
    if (r->slot[node].joint)
        ctt_joint_bind(r, node, c);
}

int ctt_run_single(const struct ctt_run *r, int node)
{
    const struct ctt_node *n = &r->g->node[node];

    return (r->train && ctt_ops[n->op].together(n) == CTT_CHANCE) ||
           (r->past_of && n->op == CTT_OP_WINDOW);
}

/* ---- fused nodes ---- */

int ctt_run_is_fused(const struct ctt_run *r, int node, int single)
{
    const struct ctt_slot *z;

    if (r->slot[node].fused_into < 0)
        return 0;
    z = &r->slot[r->slot[node].fused_into];
    if (z->lstm == node)
        return !(r->plain & CTT_RUN_NO_LSTM);
    if (z->link >= 0)
        return !(r->plain & CTT_RUN_NO_CHAIN);
    return !(r->plain & CTT_RUN_NO_PAIR) &&
           (single || z->same_loop[r->feedback && r->sched[1]]);
}

static void bind_pair(const struct ctt_run *r, int node, int step,
                      struct ctt_call *c)
{
    const struct ctt_node *n = &r->g->node[node];

    c->in[1].data = NULL;
    c->pair.node = n;
    c->pair.in = ctt_run_tensor(r, n->in[0], step, c->out.n);
    c->pair.mul = r->mul ? r->mul[node] : CTT_F32;
    c->pair.cache = &r->cache[node][CTT_CACHE_FWD];
    bind_weights(r, n, CTT_F32, c->pair.w);
}

static void bind_lstm(const struct ctt_run *r, int node, int step,
                      struct ctt_call *c)
{
    const struct ctt_node *n = &r->g->node[node];

    c->lstm.node = n;
    c->lstm.old = ctt_run_tensor(r, n->in[1], step, c->out.n);
    c->lstm.h = ctt_run_tensor(r, node, step, c->out.n);
    if (n->cell >= 0)
        c->lstm.c = ctt_run_tensor(r, n->cell, step, c->out.n);
    c->lstm.keep = !r->slides &&
                   r->slot[r->slot[node].fused_into].block == CTT_SAVED;
}

/* Binds a conv of a chain.  If it was bound for as many steps before, only the
 * fields that differ from step to step are set, as binding takes a large part
 * of the time of a small conv. */
static void bind_link(const struct ctt_run *r, int node, int step, int steps,
                      struct ctt_call *c)
{
    int64_t n = node < r->g->clip ? (int64_t)steps * r->active : steps;

    if (!c->node || c->out.n != n) {
        ctt_run_bind(r, node, step, steps, c);
        return;
    }
    c->out.data = ctt_run_tensor(r, node, step, n).data;
    for (int k = 0; k < c->node->nin; k++)
        c->in[k].data = ctt_run_tensor(r, c->node->in[k], step, n).data;
    c->stamp = r->stamp;
}

/* The calls of a chain lie in their order. */
static void bind_chain(const struct ctt_run *r, int node, int step, int steps,
                       struct ctt_call *c)
{
    struct ctt_call *call = r->chain + r->slot[node].chain;

    c->chain = call;
    for (int at = node; r->slot[at].link >= 0; at = r->slot[at].link)
        c->links++;
    call += c->links;
    while ((node = r->slot[node].link) >= 0)
        bind_link(r, node, step, steps, --call);
}

void ctt_run_bind_fused(const struct ctt_run *r, int node, int step, int steps,
                        int single, struct ctt_call *c)
{
    const struct ctt_slot *s = &r->slot[node];

    if (s->link >= 0 && ctt_run_is_fused(r, s->link, single))
        bind_chain(r, node, step, steps, c);

    if (s->pair >= 0 && ctt_run_is_fused(r, s->pair, single))
        bind_pair(r, s->pair, step, c);
    if (s->lstm >= 0 && ctt_run_is_fused(r, s->lstm, single))
        bind_lstm(r, s->lstm, step, c);
}
