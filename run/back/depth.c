/* SPDX-License-Identifier: Apache-2.0
 * depth.c: runs a step by its plan of recomputation across nodes. */
#include "run/back/depth.h"
#include "run/place.h"
#include "base/clock.h"

#include <math.h>

/* On a host others may compute at the same time, which must not count. */
static double time_of_work(const struct ctt_exec *x)
{
    return ctt_dev_shared(x->r->dev) ? ctt_thread_seconds() : ctt_seconds();
}

static void set_life(struct ctt_exec *x, const struct ctt_life *l)
{
    struct ctt_depth *d = x->back->depth;
    struct ctt_run *r = x->r;
    int i = l->memory < d->count ? l->memory : l->memory - d->count;
    int64_t at = l->at + ctt_place_before(r, i);

    if (l->memory < d->count)
        r->slot[i].at = at;
    else
        d->grad[i] = at;
}

void ctt_depth_begin(struct ctt_exec *x)
{
    const struct ctt_depth *d = x->back->depth;

    for (int i = 0; i < d->visit[0].life; i++)
        set_life(x, &d->life[i]);
    ctt_place_names(x->r);
}

/* Values and gradients that begin to live; a gradient that calls add to begins
 * as 0. */
static int begin_lives(struct ctt_exec *x, const struct ctt_visit *v)
{
    const struct ctt_depth *d = x->back->depth;
    int rc = 0;

    for (int i = v->life; i < v->life + v->lives; i++)
        set_life(x, &d->life[i]);
    if (v->lives)
        ctt_place_names(x->r);
    for (int i = v->life; i < v->life + v->lives; i++) {
        int node = d->life[i].memory - d->count;

        if (node >= 0 && *ctt_back_writer(x, node) < 0)
            CTT_TRY(ctt_back_clear_node(x, node));
    }
out:
    return rc;
}

static int make_visit(struct ctt_exec *x, const struct ctt_visit *v)
{
    struct ctt_depth *d = x->back->depth;
    double *cost = &d->cost[v->turn == CTT_BACK][v->position], start = 0;
    const struct ctt_window *p = &x->back->part[x->back->hand];
    int was = x->r->recompute, rc = 0;

    if (d->timed)
        start = time_of_work(x);
    CTT_TRY(begin_lives(x, v));
    x->r->recompute |= v->turn == CTT_AGAIN;
    rc = v->turn == CTT_BACK
       ? ctt_back_position(x, v->position)
       : ctt_run_position(x->r, v->position, p->steps, p->asks);
    x->r->recompute = was;
    CTT_TRY(rc);
    if (d->timed && v->turn != CTT_AGAIN) {    /* as often as the others */
        CTT_TRY(ctt_dev_sync(x->r->dev));
        *cost = fmin(*cost, time_of_work(x) - start);
    }
out:
    return rc;
}

static int run_visits(struct ctt_exec *x, int from, int to)
{
    const struct ctt_depth *d = x->back->depth;
    int rc = 0;

    for (int t = from; t < to; t++)
        CTT_TRY(make_visit(x, &d->visit[t]));
out:
    return rc;
}

int ctt_depth_forward(struct ctt_exec *x)
{
    return run_visits(x, 0, x->back->depth->positions);
}

int ctt_depth_backward(struct ctt_exec *x)
{
    const struct ctt_depth *d = x->back->depth;

    for (int i = 0; i < d->visit[d->positions].life; i++)
        set_life(x, &d->life[i]);    /* a replayed forward pass did not */
    ctt_place_names(x->r);
    return run_visits(x, d->positions, d->visits);
}
