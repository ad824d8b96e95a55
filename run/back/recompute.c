/* SPDX-License-Identifier: Apache-2.0
 * recompute.c: chooses the steps per window and the number of windows whose
 * values are kept (Chen et al. 2016), and cuts a batch into windows. */
#include "run/back/backward.h"
#include "run/back/depth.h"

#include <stdio.h>

/* ---- the plan ---- */

/* The most windows of the longest clip, for any start of feedback: a single
 * step before it gives the most. */
static int most_windows(const struct ctt_back *y, int window)
{
    int cut = y->mixes && y->room > 1;

    return cut + (y->room - cut + window - 1) / window;
}

int64_t ctt_back_bytes(const struct ctt_back *y, const struct ctt_run *r,
                       int window, int kept)
{
    const struct ctt_extent *e = &r->extent[CTT_SAVED];
    int64_t steps = (int64_t)window * kept;

    steps = steps < y->room ? steps : y->room;
    return kept * e->fixed + steps * e->step + y->asks * e->ask;
}

/* Sets the sizes for windows of `window` steps of which `kept` are kept;
 * returns their sum in bytes. */
static int64_t sizes(struct ctt_back *y, const struct ctt_run *r, int window,
                     int kept)
{
    int windows = most_windows(y, window);

    kept = kept < windows ? kept : windows;
    y->history = windows > 1 ? y->past : 0;
    y->values = ctt_back_bytes(y, r, window, kept);
    y->transient = ctt_extent_bytes(&r->extent[CTT_TRANSIENT], window, y->asks);
    y->grads = y->transient + ctt_extent_bytes(&r->extent[CTT_SAVED], window,
                                               y->asks);
    y->stores = y->rest != CTT_OFFLOADED && windows - kept > 1 ? windows - kept
                                                               : 1;
    y->plan.window = window;
    y->plan.windows = windows;
    y->plan.kept = kept;
    y->plan.offloaded = y->rest == CTT_OFFLOADED ? windows - kept : 0;
    y->plan.away = ctt_back_bytes(y, r, window, 1);
    y->plan.bytes = y->values + y->transient + y->grads +
                    (y->stores + 1) * y->history;
    return y->plan.bytes;
}

/* The most windows that can be kept within `bytes`, or 0. */
static int most_kept(struct ctt_back *y, const struct ctt_run *r, int window,
                     int64_t bytes)
{
    int kept = most_windows(y, window);

    while (kept > 0 && sizes(y, r, window, kept) > bytes)
        kept--;
    return kept;
}

/* Steps that are recomputed, at most: the last window may have a single step,
 * if only the last step has feedback. */
static int recomputed(const struct ctt_back *y, int window, int kept)
{
    int left = y->room - window * kept + (y->mixes ? window - 1 : 0);

    return kept >= most_windows(y, window) || left < 0 ? 0 : left;
}

/* whole: a norm requires a single window. */
static int too_small(const struct ctt_back *y, const struct ctt_run *r,
                     int whole, int64_t need, int64_t bytes)
{
    long long mb = (long long)(need >> 20) + 1;
    long long most = (long long)(bytes >> 20);

    if (whole)
        return ctt_error(CTT_ENOMEM, "%d samples of %d steps need %lld MB in "
                         "one window, because %s: kind=batch takes the "
                         "statistics of the whole clip; %lld MB are allowed",
                         r->n, y->room, mb, y->norm, most);
    return ctt_error(CTT_ENOMEM, "%d samples of %d steps need at least %lld "
                     "MB, %lld MB are allowed", r->n, y->room, mb, most);
}

/* Memory that the program has already counts towards its limit. */
static int64_t allowed(const struct ctt_run *r, const struct ctt_memory *m)
{
    int64_t room;

    if (m->bytes > 0 && !(r->dev && ctt_dev_shared(r->dev)))
        return m->bytes;
    room = ctt_exec_room(r->dev);
    return m->bytes > 0 && m->bytes < room ? m->bytes : room;
}

static int choose_windows(struct ctt_back *y, const struct ctt_run *r,
                          const struct ctt_memory *m)
{
    int64_t bytes = allowed(r, m);
    int from = m->window > 0 && m->window < y->room ? m->window : y->room;
    int whole = y->norm && from == y->room;
    int to = m->window > 0 || whole ? from : 1, least = y->room + 1;
    int window = 0, kept = 0, rc = 0;
    int64_t smallest = INT64_MAX;

    for (int w = from; w >= to && least > 0; w--) {
        int k = most_kept(y, r, w, bytes), steps = recomputed(y, w, k);
        int64_t one = sizes(y, r, w, 1);
        smallest = one < smallest ? one : smallest;
        if (k > 0 && steps < least) {
            least = steps;
            window = w;
            kept = k;
        }
    }
    if (kept == 0)
        CTT_TRY(too_small(y, r, whole, smallest, bytes));
    sizes(y, r, window, kept);
out:
    return rc;
}

static void take_settings(struct ctt_back *y, const struct ctt_run *r,
                          const struct ctt_memory *m)
{
    y->past = ctt_run_history_bytes(r);
    y->rest = m->rest;
    y->sharers = m->sharers > 0 ? m->sharers : 1;
    snprintf(y->folder, sizeof(y->folder), "%s", m->folder);
}

int ctt_back_plan_depth(struct ctt_back *y, const struct ctt_run *r,
                        const struct ctt_memory *m, int whole)
{
    int64_t limit = m->keep == CTT_KEEP_AUTO ? allowed(r, m) : 0;
    int rc = 0;

    CTT_CHECK(!y->mixes, CTT_EUNSUP, "--keep=depth: a model whose frames are "
              "fed back can only recompute windows of steps: --keep=0");
    take_settings(y, r, m);
    y->rest = CTT_RECOMPUTED;
    sizes(y, r, m->window, 1);
    rc = ctt_depth_open(y, r, whole, limit);
    if (rc > 0)
        CTT_TRY(too_small(y, r, y->norm && m->window == y->room, y->plan.bytes,
                          limit));
out:
    return rc;
}

/* Fewer and longer windows: fewer calls, sums and copies of states.  Half of
 * the memory is left to kernels, and to others who use the device.  All of it
 * decides, not what is free: a window's length changes bits of sums. */
static int takes_whole(struct ctt_back *y, const struct ctt_run *r)
{
    return r->dev && !ctt_dev_shared(r->dev) &&
           sizes(y, r, y->room, y->room) <=
               ctt_dev_size(r->dev) / 2 / y->sharers;
}

int ctt_back_plan(struct ctt_back *y, const struct ctt_run *r,
                  const struct ctt_memory *m)
{
    int window = m->window > 0 && m->window < y->room ? m->window : y->room;

    take_settings(y, r, m);
    if (m->keep == CTT_KEEP_AUTO)
        return choose_windows(y, r, m);
    if (m->whole && m->keep == CTT_KEEP_ALL && takes_whole(y, r))
        return 0;
    sizes(y, r, window, m->keep == CTT_KEEP_ALL ? y->room
                        : m->keep > 0 ? m->keep : 1);
    return 0;
}

/* ---- a batch ---- */

static int check_job(const struct ctt_back *y, const struct ctt_run *r,
                     const struct ctt_job *job)
{
    int rc = 0;

    CTT_CHECK(job->steps > 0 && job->steps <= y->room, CTT_EINVAL,
              "no room for %d steps after 0 of %d", job->steps, y->room);
    CTT_CHECK(job->asks >= 0 && job->asks <= y->asks, CTT_EINVAL,
              "%d asks, but there is room for only %d", job->asks,
              y->asks);
    for (int i = 0; i < job->asks; i++)
        CTT_CHECK(job->ask[i].sample >= 0 && job->ask[i].sample < r->n &&
                  job->ask[i].step >= 0 && job->ask[i].step < job->steps,
                  CTT_EINVAL, "no step %d of sample %d has been run",
                  job->ask[i].step, job->ask[i].sample);
    if (y->mixes && job->feedback < job->steps)
        CTT_TRY(ctt_run_check_norms(r, 1));
out:
    return rc;
}

/* Appends the asks whose step is in the window. */
static int sort_asks(struct ctt_back *y, const struct ctt_job *job,
                     struct ctt_window *p, int n)
{
    p->which = y->which + n;
    for (int i = 0; i < job->asks; i++)
        if (job->ask[i].step >= p->first &&
            job->ask[i].step < p->first + p->steps)
            y->which[n++] = i;
    p->asks = n - (int)(p->which - y->which);
    return n;
}

/* Bytes of the saved values of window k. */
static int64_t window_bytes(const struct ctt_back *y, const struct ctt_run *r,
                            int k)
{
    return ctt_extent_bytes(&r->extent[CTT_SAVED], y->part[k].steps,
                            y->part[k].asks);
}

/* A slot is as large as the largest window that is ever in it.  As the sum of
 * windows is no less, ctt_back_bytes() of as many windows as slots are enough.
 * */
static void place_windows(struct ctt_back *y, const struct ctt_run *r)
{
    int slots = y->plan.kept;
    int64_t at = 0;

    y->dropped = y->parts > slots ? y->parts - slots : 0;
    for (int s = 0; s < slots && s < y->parts; s++) {
        int64_t most = 0;

        for (int k = s; k < y->parts; k += slots) {
            y->lie[k].at = at;
            most = window_bytes(y, r, k) > most ? window_bytes(y, r, k) : most;
        }
        at += most;
    }
}

/* Of a shorter clip the same share of windows is offloaded.  All windows that
 * are not recomputed share the last place for a history, which is valid only
 * until the next window runs. */
static void send_away(struct ctt_back *y, const struct ctt_run *r)
{
    int all = y->plan.windows - y->plan.kept, some = 0, stored = 0;
    int64_t away = 0;

    if (y->offload)
        some = (int)(((int64_t)y->dropped * y->plan.offloaded + all - 1) / all);
    for (int k = 0; k < y->parts; k++) {
        struct ctt_lie *lie = &y->lie[k];
        int leaves = k < y->dropped && ctt_back_leaves(k, y->dropped, some);

        lie->away = leaves ? away : -1;
        lie->store = (int)y->stores - 1;
        if (leaves)
            away += window_bytes(y, r, k);
        else if (k > 0 && k < y->dropped)
            lie->store = stored++;
    }
}

/* A remainder makes the first window the short one, as the last windows are the
 * kept ones. */
int ctt_back_cut(struct ctt_back *y, const struct ctt_run *r,
                 const struct ctt_job *job)
{
    int feedback = y->mixes && job->feedback > 0 ? job->feedback : job->steps;
    int first = 0, asks = 0, rc = 0;

    CTT_TRY(check_job(y, r, job));
    for (y->parts = 0; first < job->steps; y->parts++) {
        struct ctt_window *p = &y->part[y->parts];
        int end = first < feedback && feedback < job->steps ? feedback
                                                            : job->steps;

        p->first = first;
        p->steps = (end - first) % y->plan.window;
        if (p->steps == 0)
            p->steps = y->plan.window;
        asks = sort_asks(y, job, p, asks);
        first += p->steps;
    }
    place_windows(y, r);
    send_away(y, r);
out:
    return rc;
}
