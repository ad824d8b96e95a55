/* SPDX-License-Identifier: Apache-2.0
 * choose.c: the choice between offloading and recomputing for windows that are
 * not kept, by the times of both on this machine. */
#include "run/back/backward.h"
#include "run/back/depth.h"
#include "base/clock.h"
#include "base/limits.h"

#include <math.h>

/* ---- the time of a step ---- */

enum { WINDOWS = 4096 };    /* as many as --window and --keep may give */

int ctt_back_leaves(int k, int dropped, int offloaded)
{
    return (int)((int64_t)(k + 1) * offloaded / dropped) >
           (int)((int64_t)k * offloaded / dropped);
}

static int leaves(const struct ctt_back_cost *c, int k, int offloaded)
{
    int dropped = c->windows - c->kept;

    return k >= 0 && k < dropped && ctt_back_leaves(k, dropped, offloaded);
}

/* The forward pass of a window waits until its slot is free.  done: when the
 * values of each window have left.  Returns when the last window is through;
 * *io: when all copies are. */
static double there(const struct ctt_back_cost *c, int offloaded, double *done,
                    double *io)
{
    double now = 0;

    for (int k = 0; k < c->windows; k++) {
        if (k >= c->kept)
            now = fmax(now, done[k - c->kept]);
        now += c->there;
        if (leaves(c, k, offloaded)) {
            now += c->busy;
            *io = done[k] = fmax(now, *io) + c->out;
        }
    }
    return now;
}

double ctt_back_seconds(const struct ctt_back_cost *c, int offloaded)
{
    double done[WINDOWS] = { 0 }, io = 0, now = there(c, offloaded, done, &io);

    for (int k = c->windows - 1; k >= 0; k--) {
        if (leaves(c, k, offloaded))
            now = fmax(now, done[k]);
        else if (k < c->windows - c->kept)
            now += c->there;
        now += c->back;
        if (leaves(c, k - c->kept, offloaded)) {
            now += c->busy;
            io = done[k - c->kept] = fmax(now, io) + c->in;
        }
    }
    return now;
}

/* As few as can be within 2% of the shortest time: a copy wears a disk, and
 * times are measured. */
int ctt_back_best(const struct ctt_back_cost *c, int most)
{
    double best = INFINITY;
    int n = 0;

    for (int k = 0; k <= most; k++)
        best = fmin(best, ctt_back_seconds(c, k));
    while (n < most && ctt_back_seconds(c, n) > 1.02 * best)
        n++;
    return n;
}

/* ---- measuring ---- */

/* Times the forward and backward pass through one window, whose inputs are
 * zeros and whose results are dropped: the shorter time of two, as others may
 * use the machine, after one in which kernels are prepared. */
static int time_window(struct ctt_exec *x, struct ctt_back_cost *c)
{
    int steps = x->back->plan.window, rc = 0;
    const struct ctt_job job = { .steps = steps, .feedback = steps };
    double at[3];

    x->r->recompute = 1;
    c->there = c->back = INFINITY;
    for (int k = 0; k < 3; k++) {
        CTT_TRY(ctt_dev_sync(x->r->dev));
        at[0] = ctt_seconds();
        CTT_TRY(ctt_exec_forward(x, &job));
        CTT_TRY(ctt_dev_sync(x->r->dev));
        at[1] = ctt_seconds();
        CTT_TRY(ctt_exec_backward(x, &job));
        CTT_TRY(ctt_dev_sync(x->r->dev));
        at[2] = ctt_seconds();
        if (k > 0) {
            c->there = fmin(c->there, at[1] - at[0]);
            c->back = fmin(c->back, at[2] - at[1]);
        }
    }
out:
    x->r->recompute = 0;
    return rc;
}

/* Measures the time of a window's copies; opens room for one window only. */
static int time_copies(struct ctt_exec *x, struct ctt_back_cost *c)
{
    enum { MOST = 64 << 20 };
    struct ctt_back *y = x->back;
    double bytes = (double)y->plan.away;
    int64_t some = y->plan.away < MOST ? y->plan.away : MOST;
    struct ctt_offload_rate rate;
    int rc = 0;

    CTT_TRY(ctt_back_offload(x, 1));
    CTT_TRY(ctt_offload_measure(y->offload, y->value, some, &rate));
    c->out = rate.out * bytes;
    c->in = rate.in * bytes;
    c->busy = rate.busy * bytes / 2 / ctt_dev_threads(x->r->dev);
    y->plan.rate = 2 / (rate.out + rate.in);
out:
    ctt_offload_close(&y->offload);
    return rc;
}

/* The number of windows with room; too small a disk is an error, as the user
 * has named it. */
static int most(const struct ctt_back *y)
{
    int dropped = y->plan.windows - y->plan.kept;
    int64_t room = ctt_memory_left() / 4 * 3 / y->sharers / y->plan.away;

    return *y->folder || room > dropped ? dropped : (int)room;
}

int ctt_exec_choose(struct ctt_exec *x)
{
    struct ctt_back *y = x->back;
    struct ctt_memory_plan *p = &y->plan;
    struct ctt_back_cost c = { .windows = p->windows, .kept = p->kept };
    int rc = 0;

    if (y->depth)
        return y->whole ? 0 : ctt_depth_choose(x);
    if (y->rest != CTT_CHEAPEST || p->windows <= p->kept || p->away <= 0 ||
        p->windows > WINDOWS || most(y) < 1)
        goto out;
    CTT_TRY(time_window(x, &c));
    CTT_TRY(time_copies(x, &c));
    p->offloaded = ctt_back_best(&c, most(y));
    p->times = ctt_back_seconds(&c, p->offloaded) /
               (p->windows * (c.there + c.back));
    if (p->offloaded)
        CTT_TRY(ctt_back_offload(x, p->offloaded));
out:
    return rc;
}
