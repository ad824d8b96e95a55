/* SPDX-License-Identifier: Apache-2.0
 * depth_choose.c: chooses the plan of recomputation across nodes, by guessed
 * and then by measured times. */
#include "run/back/depth.h"

#include <math.h>

/* Until seconds are measured: multiplications, and numbers written, of which a
 * processor moves one in the time of 8 multiplications. */
static void guess_costs(struct ctt_depth *d)
{
    const struct ctt_graph *g = d->r->g;

    for (int k = 0; k < d->positions; k++)
        d->cost[0][k] = d->cost[1][k] = 0;
    for (int i = 0; i < d->count; i++) {
        double each = (double)ctt_node_macs(g, i) +
                      8 * (double)ctt_volume(&g->node[i].out);

        d->cost[0][d->place[i]] += each;
        d->cost[1][d->place[i]] += 2 * each;
    }
}

/* The plan of a clip's memory with that of a window. */
static void adopt_nodes(struct ctt_back *y)
{
    y->values = y->depth->bytes;
    y->transient = y->grads = 0;
    y->plan.bytes = y->values + (y->stores + 1) * y->history;
    y->plan.calls = y->whole ? 0 : y->depth->positions;
    y->plan.again = 0;
    for (int t = 0; t < y->depth->visits; t++)
        y->plan.again += y->depth->visit[t].turn == CTT_AGAIN;
}

/* Returns 1 if the plan does not fit.  share: of a step's time that may be
 * spent, if there is no limit of bytes. */
static int plan_nodes(struct ctt_back *y, double share)
{
    int64_t bytes = y->limit - (y->stores + 1) * y->history;
    int rc = y->whole ? ctt_depth_plan_all(y->depth)
           : y->limit ? ctt_depth_plan_within(y->depth, bytes) : 1;

    if (rc > 0)
        CTT_TRY(ctt_depth_plan_few(y->depth,
                                   y->limit ? INFINITY : share));
    else
        CTT_TRY(rc);
    adopt_nodes(y);
    rc = y->limit && y->plan.bytes > y->limit;
out:
    return rc;
}

int ctt_depth_open(struct ctt_back *y, const struct ctt_run *r, int whole,
                   int64_t limit)
{
    int rc = 0;

    y->whole = whole;
    y->limit = limit;
    CTT_TRY(ctt_depth_new(y, r, &y->depth));
    guess_costs(y->depth);
    rc = plan_nodes(y, INFINITY);
out:
    return rc;
}

/* ---- measuring ---- */

/* Runs a window, whose inputs are zeros and whose results are dropped; each
 * position has the shortest of RUNS times each way, after a run in which
 * kernels are prepared. */
static int time_positions(struct ctt_exec *x)
{
    enum { RUNS = 3 };
    struct ctt_depth *d = x->back->depth;
    int steps = x->back->plan.window, asks = x->back->asks, rc = 0;
    struct ctt_ask *ask = ctt_calloc((size_t)asks + 1, sizeof(*ask));
    const struct ctt_job job = { .steps = steps, .feedback = steps,
                                 .ask = ask, .asks = asks };

    CTT_TRY(ask ? 0 : CTT_ENOMEM);
    for (int i = 0; i < asks; i++)
        ask[i] = (struct ctt_ask){ i % x->r->n, steps - 1 };
    x->r->recompute = 1;
    for (d->timed = 1; d->timed <= 1 + RUNS; d->timed++) {
        for (int k = 0; k < d->positions && d->timed == 2; k++)
            d->cost[0][k] = d->cost[1][k] = INFINITY;
        CTT_TRY(ctt_exec_forward(x, &job));
        CTT_TRY(ctt_exec_backward(x, &job));
    }
out:
    ctt_free(ask);
    x->r->recompute = 0;
    d->timed = 0;
    return rc;
}

static void drop_block(struct ctt_exec *x)
{
    void *value = x->back->value;

    ctt_back_replays_free(x);
    ctt_dev_free(x->r->dev, &value);
    x->back->value = NULL;
}

/* A block of the size of the plan. */
static int take_block(struct ctt_exec *x)
{
    struct ctt_back *y = x->back;
    void *value = NULL;
    int rc = 0;

    CTT_TRY(ctt_back_replays_new(x));
    CTT_TRY(ctt_dev_alloc(x->r->dev, "values", y->values, &value));
    y->value = x->r->base[CTT_TRANSIENT] = value;
out:
    return rc;
}

/* Kernels may need more memory for themselves than was left to them, which the
 * first run shows: then the values get less.  The rest of the program needs
 * some, too: tests and files have copies of the weights. */
static int is_short(const struct ctt_exec *x)
{
    int64_t weights = x->r->g->weights * (int64_t)sizeof(float);

    return ctt_dev_room(x->r->dev) < x->back->limit / 8 + 12 * weights;
}

int ctt_depth_choose(struct ctt_exec *x)
{
    struct ctt_back *y = x->back;
    int rc;

    while ((rc = time_positions(x)) == CTT_ENOMEM ||
           (rc == 0 && y->limit && is_short(x))) {
        y->limit = y->plan.bytes / 8 * 7;
        guess_costs(y->depth);
        drop_block(x);
        rc = plan_nodes(y, INFINITY);
        if (rc > 0)
            CTT_TRY(ctt_error(CTT_ENOMEM, "the values of a step need %lld MB, "
                              "beside which kernels and the rest of the "
                              "program do not fit",
                              (long long)(y->plan.bytes >> 20) + 1));
        CTT_TRY(rc);
        CTT_TRY(take_block(x));
    }
    CTT_TRY(rc);
    drop_block(x);
    CTT_TRY(plan_nodes(y, 0.3));
    if (rc > 0) {    /* by guessed times one fitted */
        guess_costs(y->depth);
        CTT_TRY(plan_nodes(y, INFINITY));
    }
    y->plan.times = ctt_depth_times(y->depth);
    ctt_free_pages();    /* of the plan that was measured */
    CTT_TRY(take_block(x));
out:
    return rc;
}
