/* SPDX-License-Identifier: Apache-2.0
 * run.c: running a graph forward: free components once for all steps, bound
 * ones step by step, the clip part for those who ask. */
#include "device/run.h"

#include <string.h>
#include <unistd.h>

/* The clip part sees the step part through windows only. */
static int check_clip(const struct ctt_graph *g)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        for (int k = 0; k < n->nin; k++)
            CTT_CHECK((n->in[k] < g->clip) ==
                      (i < g->clip || n->op == CTT_OP_WINDOW), CTT_EFORMAT,
                      "%s: '%s' is on the other side of 'clip'", n->name,
                      g->node[n->in[k]].name);
        CTT_CHECK(n->op != CTT_OP_STATE ||
                  (i < g->clip && n->source < g->clip), CTT_EFORMAT,
                  "%s: a state stands before 'clip'", n->name);
    }
out:
    return rc;
}

static int check_bound_norms(const struct ctt_run *r)
{
    const struct ctt_schedule *s = r->s;
    int rc = 0;

    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; s->bound[k] && j < s->first[k + 1]; j++) {
            const struct ctt_node *n = &r->g->node[s->order[j]];
            CTT_CHECK(n->op != CTT_OP_NORM ||
                      n->attr.norm.kind != CTT_NORM_BATCH, CTT_EUNSUP,
                      "%s: in a loop over time kind=batch would be the "
                      "statistics of one step; use kind=layer", n->name);
        }
out:
    return rc;
}

/* Asked before, because a system that lends more than it has ends the program
 * later.  The way back needs a gradient for each value. */
static int check_memory(const struct ctt_run *r)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    int64_t floats = pages * (size / (int64_t)sizeof(float));
    int64_t need = r->train ? 2 * r->values : r->values;
    int rc = 0;

    CTT_CHECK(pages <= 0 || need <= floats, CTT_ENOMEM,
              "%d samples of %d steps need %lld MB, more than this machine has",
              r->n, r->room, (long long)(need >> 18));
out:
    return rc;
}

static int prepare(struct ctt_run *r, int train)
{
    const struct ctt_graph *g = r->g;
    int rc = 0;

    CTT_CHECK(g->sealed, CTT_EINVAL, "the model is not sealed");
    CTT_CHECK(r->n > 0 && r->room > 0, CTT_EINVAL,
              "a run of %d samples and %d steps", r->n, r->room);
    CTT_CHECK(g->clip == g->count || r->max_asks > 0, CTT_EINVAL,
              "a model with a clip part must be asked");
    CTT_TRY(check_clip(g));
    CTT_TRY(ctt_schedule_new(g, &r->s));
    if (train)
        CTT_TRY(check_bound_norms(r));
    CTT_TRY(ctt_run_layout(r));
    CTT_TRY(check_memory(r));
    r->ask = ctt_calloc((size_t)r->max_asks + 1, sizeof(*r->ask));
    r->cache = ctt_calloc((size_t)g->count, sizeof(*r->cache));
    r->val = ctt_calloc((size_t)r->values, sizeof(float));
    CTT_TRY(r->ask && r->cache && r->val ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int ctt_run_open(const struct ctt_graph *g, struct ctt_dev *dev,
                 const float *w, int n, int room, int asks, int train,
                 struct ctt_run **out)
{
    struct ctt_run *r = ctt_calloc(1, sizeof(*r));
    int rc = r ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    r->g = g;
    r->dev = dev;
    r->w = w;
    r->n = n;
    r->room = room;
    r->max_asks = asks;
    r->train = train;
    r->slides = !train;
    r->stamp = 1;
    CTT_TRY(prepare(r, train));
    *out = r;
    r = NULL;
out:
    ctt_run_close(&r);
    return rc;
}

void ctt_run_close(struct ctt_run **r)
{
    if (!*r)
        return;
    for (int i = 0; (*r)->cache && i < (*r)->g->count; i++)
        for (int k = 0; k < CTT_CACHES; k++)
            ctt_dev_forget((*r)->dev, &(*r)->cache[i][k]);
    ctt_schedule_free(&(*r)->s);
    ctt_free((*r)->ask);
    ctt_free((*r)->cache);
    ctt_free((*r)->slot);
    ctt_free((*r)->val);
    ctt_free(*r);
    *r = NULL;
}

void ctt_run_reset(struct ctt_run *r)
{
    for (int i = 0; i < r->g->clip; i++) {
        const struct ctt_slot *s = &r->slot[i];
        int64_t floats = s->history * s->size;

        if (s->alias == i && floats)
            memset(r->val + s->at - floats, 0,
                   (size_t)floats * sizeof(float));
    }
    r->cursor = 0;
    r->past = 0;
    r->asks = 0;
}

float *ctt_run_value(const struct ctt_run *r, int node, int step)
{
    const struct ctt_slot *s = &r->slot[node];

    if (node >= r->g->clip)
        step = 0;
    return r->val + s->at + (step - s->delay) * s->size + s->off;
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
        const struct ctt_slot *s = &r->slot[i];
        int64_t floats = s->history * s->size;

        if (s->alias == i && floats)
            memmove(r->val + s->at - floats,
                    r->val + s->at - floats + r->cursor * s->size,
                    (size_t)floats * sizeof(float));
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

    t.n = n;
    t.ld = r->slot[node].ld;
    t.data = ctt_run_value(r, node, step);
    return t;
}

/* A window is given all steps at once, and what it may look at. */
static void bind_window(const struct ctt_run *r, struct ctt_call *c)
{
    int from = c->node->in[0];
    const struct ctt_slot *s = &r->slot[from];

    c->in[0] = value(r, from, 0, r->n);
    c->ask = r->ask;
    c->stride = s->size;
    c->oldest = s->delay - s->history;
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
    if (n->op == CTT_OP_WINDOW)
        bind_window(r, c);
    if (n->op == CTT_OP_LSTM && n->cell >= 0)
        c->also = value(r, n->cell, step, count);
    for (int k = 0; k < n->nw; k++) {
        c->w[k] = n->w[k];
        c->w[k].data = (void *)(r->w + n->at[k]);
    }
    c->act = fused >= 0 ? r->g->node[fused].attr.act.kind + 1 : 0;
    c->train = r->train;
    c->key = mix(mix(r->key + (uint64_t)node) +
                 (node < r->g->clip ? (uint64_t)(r->past + step) : 0));
    c->stamp = r->stamp;
    c->cache = &r->cache[node][CTT_CACHE_FWD];
}

int ctt_run_single(const struct ctt_node *n)
{
    return n->op == CTT_OP_DROPOUT;
}

static int run(struct ctt_run *r, int node, int step, int steps)
{
    int each = ctt_run_single(&r->g->node[node]) && node < r->g->clip;
    struct ctt_call c;
    int rc = 0;

    if (r->slot[node].skip)
        goto out;
    for (int t = 0; t < (each ? steps : 1); t++) {
        ctt_run_bind(r, node, step + t, each ? 1 : steps, &c);
        CTT_TRY(ctt_dev_run(r->dev, &c, CTT_FWD));
    }
out:
    return rc;
}

static int run_component(struct ctt_run *r, int k, int step, int steps)
{
    const struct ctt_schedule *s = r->s;
    int rc = 0;

    for (int j = s->first[k]; j < s->first[k + 1]; j++)
        CTT_TRY(run(r, s->order[j], step, steps));
out:
    return rc;
}

int ctt_run_steps(struct ctt_run *r, int steps)
{
    int at = r->cursor, rc = 0;

    CTT_CHECK(steps > 0 && steps <= r->room - at, CTT_EINVAL,
              "no room for %d steps after %d of %d", steps, at, r->room);
    for (int k = 0; k < r->s->comps; k++) {
        int once = r->s->bound[k] ? 1 : steps;
        for (int t = 0; t < steps; t += once)
            CTT_TRY(run_component(r, k, at + t, once));
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
        CTT_TRY(run(r, i, 0, asks));
out:
    return rc;
}
