/* SPDX-License-Identifier: Apache-2.0
 * run.c: running a graph forward: free components once for all steps, bound
 * ones step by step, the clip part for those who ask. */
#include "run/layout.h"
#include "net/half.h"
#include "net/op.h"
#include "net/random.h"

#include <string.h>

/* Bytes of a step's values. */
static int64_t step_bytes(const struct ctt_slot *s)
{
    return s->size * ctt_dtype_size(s->type);
}

/* Bytes of history that node i has memory for.  Where histories are packed one
 * behind the other, each begins at a multiple of 64: numbers of 16 bits may be
 * odd in number. */
static int64_t old_bytes(const struct ctt_run *r, int i)
{
    const struct ctt_slot *s = &r->slot[i];

    return s->alias == i ? s->history * step_bytes(s) : 0;
}

/* Where the value lies that the node had at step 0. */
static char *start(const struct ctt_run *r, int i)
{
    return r->base[r->slot[i].block] + r->slot[i].at;
}

int64_t ctt_run_history(const struct ctt_run *r)
{
    int64_t sum = 0;

    for (int i = 0; i < r->g->clip; i++)
        sum += ctt_align(old_bytes(r, i), 64);
    return sum;
}

int ctt_run_save(const struct ctt_run *r, char *to)
{
    int rc = 0;

    for (int i = 0; i < r->g->clip; i++) {
        int64_t n = old_bytes(r, i);

        if (n)
            CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, start(r, i) + r->cursor *
                                 step_bytes(&r->slot[i]) - n, to, n));
        to += ctt_align(n, 64);
    }
out:
    return rc;
}

int ctt_run_load(struct ctt_run *r, const char *from)
{
    int rc = 0;

    for (int i = 0; i < r->g->clip; i++) {
        int64_t n = old_bytes(r, i);

        if (n && from)
            CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, from, start(r, i) - n,
                                 n));
        else if (n)
            CTT_TRY(ctt_dev_clear(r->dev, start(r, i) - n, n));
        from = from ? from + ctt_align(n, 64) : NULL;
    }
out:
    return rc;
}

void ctt_run_reset(struct ctt_run *r)
{
    ctt_run_load(r, NULL);    /* a failure is reported by what runs next */
    r->cursor = 0;
    r->past = 0;
    r->asks = 0;
}

void *ctt_run_value(const struct ctt_run *r, int node, int step)
{
    const struct ctt_slot *s = &r->slot[node];

    if (node >= r->g->clip)
        step = 0;
    return start(r, node) + (step - s->delay) * step_bytes(s) +
           s->off * ctt_dtype_size(s->type);
}

/* Towards the front, in pieces that do not overlap. */
static int slide(struct ctt_run *r, int node, int64_t by)
{
    int64_t n = old_bytes(r, node);
    char *to = start(r, node) - n;
    int rc = 0;

    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < by ? n - i : by;
        CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, to + i + by, to + i, some));
    }
out:
    return rc;
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
    for (int i = 0; i < r->g->clip; i++)
        CTT_TRY(slide(r, i, r->cursor * step_bytes(&r->slot[i])));
    r->past += r->cursor;
    r->cursor = 0;
out:
    return rc;
}

static struct ctt_tensor value(const struct ctt_run *r, int node, int step,
                               int64_t n)
{
    struct ctt_tensor t = r->g->node[node].out;

    t.n = 1;
    t.ld = r->slot[node].ld;
    t.dtype = r->slot[node].type;
    t.data = ctt_run_value(r, node, step);
    if (node >= r->g->clip)    /* step is an ask */
        t.data = (char *)t.data +
                 step * ctt_rows(&t) * t.ld * ctt_dtype_size(t.dtype);
    t.n = n;
    return t;
}

/* Rows of one pixel each. */
static struct ctt_tensor rows_of(const struct ctt_run *r, int node, int step,
                                 int64_t rows)
{
    struct ctt_tensor t = value(r, node, node < r->g->clip ? step : 0, rows);

    t.d = t.h = t.w = 1;
    return t;
}

int ctt_run_put(const struct ctt_run *r, int node, int step,
                const float *from, int64_t rows)
{
    struct ctt_tensor t = rows_of(r, node, step, rows);

    return ctt_dev_put(r->dev, from, &t);
}

int ctt_run_get(const struct ctt_run *r, int node, int step, int64_t rows,
                float *to)
{
    struct ctt_tensor t = rows_of(r, node, step, rows);

    return ctt_dev_get(r->dev, &t, to);
}

int ctt_run_sums(const struct ctt_run *r, int node, int step, int64_t rows,
                 int64_t groups, double *sums)
{
    struct ctt_tensor t = rows_of(r, node, step, rows);

    return ctt_dev_group_sums(r->dev, &t, groups, sums);
}

/* ---- what changes from batch to batch ---- */

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

int ctt_run_tell(struct ctt_run *r)
{
    char *p = r->ashore;
    int32_t *which;

    if (!p)
        return 0;
    memcpy(p, &r->key, sizeof(r->key));
    p += sizeof(uint64_t);
    memcpy(p, r->ask, (size_t)r->max_asks * sizeof(*r->ask));
    which = (int32_t *)(p + (size_t)r->max_asks * sizeof(*r->ask));
    for (int i = 0; i < r->max_asks; i++)
        which[i] = r->which && i < r->asks ? r->which[i] : i;
    return ctt_dev_copy(r->dev, CTT_TO_DEVICE, r->ashore, r->live,
                        ctt_run_live_bytes(r));
}

/* A window is given all steps at once, and what it may look at. */
static void bind_window(const struct ctt_run *r, int ask, struct ctt_call *c)
{
    int from = c->node->in[0];
    const struct ctt_slot *s = &r->slot[from];

    c->in[0] = value(r, from, 0, r->n);
    c->ask = r->ask + ask;
    if (r->live)
        c->live.ask = live_asks(r) + ask;
    c->stride = s->size;
    c->oldest = s->delay - s->history;
}

/* The kernel of a conv whose result has 16 bits is read from the copy. */
static void bind_weights(const struct ctt_run *r, const struct ctt_node *n,
                         enum ctt_dtype type, struct ctt_weight *w)
{
    for (int k = 0; k < n->nw; k++)
        w[k] = r->weight[n - r->g->node][k];
    if (r->w16 && type != CTT_F32 && ctt_is_conv(n)) {
        w[0].t.data = (uint16_t *)r->w16 + n->at[0];
        w[0].t.dtype = type;
    }
}

/* Of the samples of a step, or of an ask. */
static void bind_chance(const struct ctt_run *r, int node, int step,
                        struct ctt_call *c)
{
    int clip = node >= r->g->clip;
    uint64_t at = (uint64_t)(r->past + step);

    if (clip)
        at = (uint64_t)(r->which ? r->which[step] : step);
    c->key = ctt_call_key(r->key, (uint64_t)node, at);
    if (!r->live)
        return;
    c->live.key = (const uint64_t *)r->live;
    c->live.node = (uint64_t)node;
    c->live.at = at;
    c->live.which = clip ? live_which(r) + step : NULL;
}

/* What differs from op to op. */
static void bind_op(const struct ctt_run *r, int node, int step,
                    struct ctt_call *c)
{
    const struct ctt_node *n = c->node;

    if (n->op == CTT_OP_WINDOW)
        bind_window(r, step, c);
    if (n->cell >= 0)
        c->also = value(r, n->cell, step, c->out.n);
    for (int k = 0; k < n->nin; k++)
        if (ctt_is_fed(n, k) && !r->fed && node < r->g->clip)
            c->in[k].data = NULL;
    for (int k = 0; k < n->nw && r->again && r->train; k++)
        if (n->fixed >> k & 1)
            c->w[k].t.data = r->sink;
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
    bind_weights(r, n, c->out.dtype, c->w);
    bind_op(r, node, step, c);
    c->act = fused >= 0 ? r->g->node[fused].attr.act.kind + 1 : 0;
    c->train = r->train;
    bind_chance(r, node, step, c);
    c->stamp = r->stamp;
    c->cache = &r->cache[node][CTT_CACHE_FWD];
}

int ctt_run_single(const struct ctt_run *r, int node)
{
    const struct ctt_node *n = &r->g->node[node];

    return r->train && ctt_ops[n->op].together(n) == CTT_CHANCE;
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
    bind_weights(r, n, CTT_F32, c->pair.w);
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

static void touch_node(const struct ctt_run *r, const struct ctt_node *n,
                       struct ctt_touch *t)
{
    for (int k = 0; n && k < n->nin; k++)
        ctt_touch(t, ctt_run_memory(r, n->in[k], 0), 0);
    if (n)
        ctt_touch(t, ctt_run_memory(r, (int)(n - r->g->node), 0), 1);
    if (n && n->cell >= 0)
        ctt_touch(t, ctt_run_memory(r, n->cell, 0), 1);
}

/* A sliding run's nodes share memory, so they stay in order. */
static int touch(struct ctt_run *r, const struct ctt_call *c)
{
    struct ctt_touch t = { .count = 0 };

    if (r->slides)
        return 0;
    touch_node(r, c->node, &t);
    touch_node(r, c->pair.node, &t);
    touch_node(r, c->lstm.node, &t);
    return ctt_lanes_call(r->lanes, r->dev, &t);
}

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
        CTT_TRY(touch(r, &c));
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

static int run_all(struct ctt_run *r, const struct ctt_schedule *s, int at,
                   int steps)
{
    int rc = 0;

    for (int k = 0; k < s->comps; k++) {
        int once = s->bound[k] ? 1 : steps;
        for (int t = 0; t < steps; t += once)
            CTT_TRY(run_component(r, s, k, at + t, once, steps == 1));
    }
out:
    return rc;
}

static int run_in_lanes(struct ctt_run *r, int at, int steps)
{
    int rc = 0;

    CTT_TRY(ctt_lanes_begin(r->lanes, r->dev));
    rc = run_all(r, ctt_run_schedule(r), at, steps);
    rc = ctt_lanes_end(r->lanes, r->dev, rc);
out:
    return rc;
}

static int one_step(void *run)
{
    struct ctt_run *r = run;

    return run_in_lanes(r, r->cursor, 1);
}

int ctt_run_steps(struct ctt_run *r, int steps)
{
    int at = r->cursor, rc = 0;

    CTT_CHECK(steps > 0 && steps <= r->room - at, CTT_EINVAL,
              "no room for %d steps after %d of %d", steps, at, r->room);
    if (r->val)
        CTT_TRY(ctt_run_tell(r));
    if (steps == 1 && r->place)    /* the same whenever it is as full */
        CTT_TRY(ctt_dev_repeat(r->dev, &r->place[2 * at + (r->fed != 0)],
                               one_step, r));
    else
        CTT_TRY(run_in_lanes(r, at, steps));
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
    if (r->val)
        CTT_TRY(ctt_run_tell(r));
    CTT_TRY(ctt_lanes_begin(r->lanes, r->dev));
    for (int i = r->g->clip; i < r->g->count && rc >= 0; i++)
        rc = run(r, i, 0, asks, 0);
    rc = ctt_lanes_end(r->lanes, r->dev, rc);
out:
    return rc;
}
