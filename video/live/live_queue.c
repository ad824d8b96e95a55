/* SPDX-License-Identifier: Apache-2.0
 * live_queue.c: the frames that wait between the reader thread and the caller:
 * two at most, of which the older one gives way. */
#include "base/clock.h"
#include "base/limits.h"
#include "video/live/live_inside.h"

#include <string.h>

/* Seconds after which a thread that waits looks whether the user asked to
 * stop. */
#define TICK 0.05

int ctt_live_closing(void *live)
{
    struct ctt_live *l = live;
    int closing;

    pthread_mutex_lock(&l->lock);
    closing = l->closing;
    pthread_mutex_unlock(&l->lock);
    return closing;
}

/* Waits for c, with the lock held, at most TICK and until a moment of
 * ctt_seconds(). */
static void wait_until(struct ctt_live *l, pthread_cond_t *c, double until)
{
    double most = ctt_seconds() + TICK, t = until < most ? until : most;
    struct timespec at = { .tv_sec = (time_t)t };

    at.tv_nsec = (long)(1e9 * (t - (double)at.tv_sec));
    pthread_cond_timedwait(c, &l->lock, &at);
}

static struct ctt_live_slot *find_free(struct ctt_live *l)
{
    for (int i = 0; i < CTT_LIVE_SLOTS; i++)
        if (!l->slot[i].busy)
            return &l->slot[i];
    return NULL;
}

/* With the lock. */
static int stops(const struct ctt_live *l)
{
    return l->closing || ctt_stopped();
}

/* Where the source is kept waiting, a frame is not begun before there is room
 * for it. */
static int is_full(const struct ctt_live *l)
{
    return l->behind == CTT_BEHIND_WAIT && l->queued == CTT_LIVE_QUEUE;
}

int ctt_live_slot(struct ctt_live *l, struct ctt_live_slot **out)
{
    int rc = 0;

    pthread_mutex_lock(&l->lock);
    while (is_full(l) && !stops(l))
        wait_until(l, &l->room, ctt_seconds() + TICK);
    if (stops(l))
        rc = ctt_error(CTT_ESTOP, "%s: stopped", l->plan.name);
    else {
        *out = find_free(l);
        (*out)->busy = 1;
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

void ctt_live_free(struct ctt_live *l, struct ctt_live_slot *s)
{
    pthread_mutex_lock(&l->lock);
    s->busy = 0;
    pthread_mutex_unlock(&l->lock);
}

/* Why the stream begins anew is not lost with the frame. */
static void drop_oldest(struct ctt_live *l, struct ctt_live_slot *s)
{
    struct ctt_live_slot *old = l->queue[0], *heir;

    l->queued--;
    memmove(l->queue, l->queue + 1, sizeof(l->queue[0]) * (size_t)l->queued);
    heir = l->queued ? l->queue[0] : s;
    heir->fresh = heir->fresh ? heir->fresh : old->fresh;
    l->counts.dropped++;
    old->busy = 0;
}

void ctt_live_put(struct ctt_live *l, struct ctt_live_slot *s)
{
    pthread_mutex_lock(&l->lock);
    if (l->queued == CTT_LIVE_QUEUE)
        drop_oldest(l, s);
    l->queue[l->queued++] = s;
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
    ctt_live_tell(l);
}

void ctt_live_tell(struct ctt_live *l)
{
    if (l->set.news)
        l->set.news(l->set.arg);
}

void ctt_live_between(struct ctt_live *l)
{
    pthread_mutex_lock(&l->lock);
    l->counts.between++;
    pthread_mutex_unlock(&l->lock);
}

int ctt_live_sleep(struct ctt_live *l, double until)
{
    int rc = 0;

    pthread_mutex_lock(&l->lock);
    while (!stops(l) && ctt_seconds() < until)
        wait_until(l, &l->room, until);
    if (stops(l))
        rc = ctt_error(CTT_ESTOP, "%s: stopped", l->plan.name);
    pthread_mutex_unlock(&l->lock);
    return rc;
}

/* ---- the caller ---- */

/* The step at hand, of the caller's slot. */
static void give_step(struct ctt_live *l, struct ctt_live_frame *frame)
{
    struct ctt_live_slot *s = l->taken;
    int64_t number = s->first + s->given * s->every;

    *frame = (struct ctt_live_frame){
        .data = s->data, .h = l->in.h, .w = l->in.w, .c = l->in.c,
        .time = s->time, .arrived = s->arrived, .wall = s->wall,
        .fresh = s->given ? CTT_FRESH_NO : s->fresh,
        .step = number - s->zero, .skipped = number - l->last - 1,
        .picture = l->set.want_picture ? s->picture : NULL,
        .picture_h = s->picture_h, .picture_w = s->picture_w,
    };
    l->last = number;
    s->given++;
    l->counts.steps++;
    l->counts.skipped += frame->skipped;
}

/* How long a step keeps the caller busy, as a mean of SMOOTH steps. */
enum { SMOOTH = 8 };

/* That in steps; 0: not known. */
static double needs(const struct ctt_live *l)
{
    return l->step > 0 && l->measured >= SMOOTH / 2 ? l->busy / l->step : 0;
}

/* The oldest frame that waits becomes the caller's. */
static void take_oldest(struct ctt_live *l)
{
    struct ctt_live_slot *s = l->queue[0];

    if (l->taken)
        l->taken->busy = 0;
    l->taken = s;
    l->queued--;
    memmove(l->queue, l->queue + 1, sizeof(l->queue[0]) * (size_t)l->queued);
    l->counts.taken++;
    l->counts.resets += s->fresh && s->fresh != CTT_FRESH_START;
    l->counts.late += l->step > 0 && (l->paced || !l->waits) &&
                      ctt_seconds() - s->arrived > l->step;
    pthread_cond_signal(&l->room);
}

/* Two frames bridge a moment in which the caller is late.  One that is always
 * late would only get each frame later, so it takes the newer one. */
static void take_next(struct ctt_live *l)
{
    if (l->behind == CTT_BEHIND_DROP && l->queued == CTT_LIVE_QUEUE &&
        needs(l) > 1)
        drop_oldest(l, l->queue[1]);
    take_oldest(l);
}

/* The frame at hand is one for a further step, unless newer ones crowd. */
static int has_more(const struct ctt_live *l)
{
    return l->taken && l->taken->given < l->taken->n &&
           (l->behind == CTT_BEHIND_WAIT || l->queued < CTT_LIVE_QUEUE);
}

/* A longer stride is taken at once, a shorter one with some room. */
static void set_stride(struct ctt_live *l)
{
    enum { STRIDE_MAX = 1 << 16 };
    double need = needs(l);

    if (l->set.behind != CTT_BEHIND_STRIDE || need <= 0)
        return;
    need = need < STRIDE_MAX ? need : STRIDE_MAX;
    if (need > l->stride)
        l->stride = (int)need + 1;
    else if (need < 0.9 * (l->stride - 1))
        l->stride--;
}

/* Updates the mean time that the caller needs for a step: the last one ends
 * when the next one is asked for. */
static void measure_busy(struct ctt_live *l)
{
    if (l->gave <= 0)
        return;
    l->measured += l->measured < SMOOTH;
    l->busy += (ctt_seconds() - l->gave - l->busy) / l->measured;
    set_stride(l);
}

/* 1 and the next step, CTT_LIVE_LATER, or the result at the stream's end. */
static int take_step(struct ctt_live *l, struct ctt_live_frame *frame)
{
    int more = has_more(l);

    if (ctt_stopped())
        return ctt_error(CTT_ESTOP, "%s: stopped", l->plan.name);
    if (!more && !l->queued && !l->ended)
        return CTT_LIVE_LATER;
    if (!more && !l->queued)
        return l->rc < 0 ? ctt_error(l->rc, "%s", l->why) : 0;
    if (!more)
        take_next(l);
    give_step(l, frame);
    return 1;
}

static int next_step(struct ctt_live *l, int wait,
                     struct ctt_live_frame *frame)
{
    int rc;

    pthread_mutex_lock(&l->lock);
    measure_busy(l);
    while ((rc = take_step(l, frame)) == CTT_LIVE_LATER && wait)
        wait_until(l, &l->news, ctt_seconds() + TICK);
    l->gave = rc == 1 ? ctt_seconds() : 0;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

int ctt_live_next(struct ctt_live *l, struct ctt_live_frame *frame)
{
    return next_step(l, 1, frame);
}

int ctt_live_poll(struct ctt_live *l, struct ctt_live_frame *frame)
{
    return next_step(l, 0, frame);
}

void ctt_live_counts(struct ctt_live *l, struct ctt_live_counts *counts)
{
    pthread_mutex_lock(&l->lock);
    *counts = l->counts;
    counts->decoded = counts->between + counts->dropped + counts->taken;
    counts->waiting = l->all - counts->decoded;
    counts->stride = l->stride;
    pthread_mutex_unlock(&l->lock);
}
