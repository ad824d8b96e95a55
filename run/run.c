/* SPDX-License-Identifier: Apache-2.0
 * run.c: the order of a forward pass: free components once for all steps, bound
 * ones step by step, the clip part for each ask. */
#include "run/bind.h"

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

/* Nodes that share memory run in order in one stream. */
static int runs_in_order(const struct ctt_run *r)
{
    return r->slides || r->shares;
}

static int touch(struct ctt_run *r, int node, const struct ctt_call *c)
{
    struct ctt_touch t;    /* large: only count is set */

    if (runs_in_order(r))
        return 0;
    t.count = 0;
    touch_node(r, &r->g->node[node], &t);
    touch_node(r, c->pair.node, &t);
    touch_node(r, c->lstm.node, &t);
    for (int i = 0; i < c->links; i++)
        touch_node(r, c->chain[i].node, &t);
    return ctt_streams_call(r->streams, r->dev, &t);
}

/* At a state's place in the schedule its node, which is above it, has step 0,
 * and no reader of the state has run. */
static int begin_state(struct ctt_run *r, int state, int step)
{
    struct ctt_touch t;
    int rc = 0;

    t.count = 0;
    ctt_touch(&t, ctt_run_memory(r, state, 0), 1);
    if (!runs_in_order(r))
        CTT_TRY(ctt_streams_call(r->streams, r->dev, &t));
    CTT_TRY(ctt_run_copy_first(r, state, step));
out:
    return rc;
}

/* single: the whole run is one step long. */
static int run_node(struct ctt_run *r, int node, int step, int steps,
                    int single)
{
    int each = ctt_run_single(r, node);
    struct ctt_call c;
    int rc = 0;

    if (ctt_run_is_first(r, node, step))
        CTT_TRY(begin_state(r, node, step));
    if (r->slot[node].skip || ctt_run_is_fused(r, node, single))
        goto out;
    for (int t = 0; t < (each ? steps : 1); t++) {
        ctt_run_bind(r, node, step + t, each ? 1 : steps, &c);
        ctt_run_bind_fused(r, node, step + t, each ? 1 : steps, single, &c);
        CTT_TRY(touch(r, node, &c));
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
        CTT_TRY(run_node(r, s->order[j], step, steps, single));
out:
    return rc;
}

const struct ctt_schedule *ctt_run_schedule(const struct ctt_run *r)
{
    return r->sched[r->feedback && r->sched[1]];
}

static int run_loop(struct ctt_run *r, const struct ctt_schedule *s, int k,
                    int at, int steps)
{
    int once = s->bound[k] ? 1 : steps, rc = 0;

    for (int t = 0; t < steps; t += once)
        CTT_TRY(run_component(r, s, k, at + t, once, steps == 1));
out:
    return rc;
}

static int run_all(struct ctt_run *r, const struct ctt_schedule *s, int at,
                   int steps)
{
    int rc = 0;

    for (int k = 0; k < s->comps; k++)
        CTT_TRY(run_loop(r, s, k, at, steps));
out:
    return rc;
}

int ctt_run_position(struct ctt_run *r, int position, int steps, int asks)
{
    const struct ctt_schedule *s = ctt_run_schedule(r);

    if (position < s->comps)
        return run_loop(r, s, position, 0, steps);
    return asks ? run_node(r, r->g->clip + position - s->comps, 0, asks, 0) : 0;
}

static int run_in_streams(struct ctt_run *r, int at, int steps)
{
    int rc = 0;

    CTT_TRY(ctt_streams_begin(r->streams, r->dev));
    rc = run_all(r, ctt_run_schedule(r), at, steps);
    rc = ctt_streams_end(r->streams, r->dev, rc);
out:
    return rc;
}

static int one_step(void *run)
{
    struct ctt_run *r = run;

    return run_in_streams(r, r->cursor, 1);
}

/* 1 if a step is the same work as any other at its cursor, which a device may
 * have recorded: not where a clip begins or samples are left out. */
static int is_usual(const struct ctt_run *r)
{
    if (r->active < r->n)
        return 0;
    for (int i = 0; r->firsts && i < (r->past_of ? r->n : 1); i++)
        if ((r->past_of ? r->past_of[i] : r->past) + r->cursor == 0)
            return 0;
    return 1;
}

int ctt_run_steps(struct ctt_run *r, int steps)
{
    int at = r->cursor, rc = 0;

    CTT_CHECK(steps > 0 && steps <= r->room - at, CTT_EINVAL,
              "no room for %d steps after %d of %d", steps, at, r->room);
    CTT_CHECK(steps == 1 || r->active == r->n, CTT_EINVAL,
              "%d steps of %d samples of %d", steps, r->active, r->n);
    if (r->val)
        CTT_TRY(ctt_run_upload(r));
    if (steps == 1 && r->place && is_usual(r))
        CTT_TRY(ctt_dev_repeat(r->dev, &r->place[2 * at + (r->feedback != 0)],
                               one_step, r));
    else
        CTT_TRY(run_in_streams(r, at, steps));
    r->cursor = at + steps;
out:
    return rc;
}

void ctt_run_profile(struct ctt_run *r, struct ctt_profile (*sum)[CTT_PASSES])
{
    r->sum = sum;
    ctt_dev_profile(r->dev, r->g, sum);
}

static int one_clip(void *run)
{
    struct ctt_run *r = run;
    int rc;

    CTT_TRY(ctt_streams_begin(r->streams, r->dev));
    for (int i = r->g->clip; i < r->g->count && rc >= 0; i++)
        rc = run_node(r, i, 0, r->asks, 0);
    rc = ctt_streams_end(r->streams, r->dev, rc);
out:
    return rc;
}

/* 1 if the clip part is the same work as any other of as many asks: no window
 * looks at what was before the clip. */
static int is_usual_clip(const struct ctt_run *r)
{
    for (int i = r->g->clip; i < r->g->count; i++)
        for (int k = 0; r->g->node[i].op == CTT_OP_WINDOW && k < r->asks; k++)
            if ((r->past_of ? r->past_of[r->ask[k].sample] : r->past) <
                ctt_run_reach(&r->g->node[i]))
                return 0;
    return 1;
}

int ctt_run_clip(struct ctt_run *r, int asks)
{
    int rc = 0;

    CTT_CHECK(asks > 0 && asks <= r->max_asks, CTT_EINVAL,
              "%d asks, but there is room for only %d", asks,
              r->max_asks);
    for (int i = 0; i < asks; i++)
        CTT_CHECK(r->ask[i].sample >= 0 && r->ask[i].sample < r->n &&
                  r->ask[i].step >= 0 && r->ask[i].step < r->cursor,
                  CTT_EINVAL, "no step %d of sample %d has been run",
                  r->ask[i].step, r->ask[i].sample);
    r->asks = asks;
    if (r->val)
        CTT_TRY(ctt_run_upload(r));
    if (r->place && is_usual_clip(r))
        CTT_TRY(ctt_dev_repeat(r->dev, &r->place[2 * r->room + asks - 1],
                               one_clip, r));
    else
        CTT_TRY(one_clip(r));
out:
    return rc;
}
