/* SPDX-License-Identifier: Apache-2.0
 * live_choose.c: which frames of a live source become steps of the model, and
 * when the stream begins anew. */
#include "base/clock.h"
#include "video/live/live_inside.h"

#include <time.h>

/* Paced frames that would be due later than that, in seconds: the times leap,
 * and the clock follows them. */
#define PACE_MAX 10

static double wall(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time after which a further frame is one of another stream; 0: never. */
static double gap(const struct ctt_live *l)
{
    double most = l->set.reset_after;

    if (l->every || !l->ahead)
        return most;
    return most <= 0 || most > CTT_LIVE_STILL ? CTT_LIVE_STILL : most;
}

static int is_gap(const struct ctt_live *l, double seconds)
{
    return gap(l) > 0 && seconds > gap(l);
}

/* The steps of a part of a video count from its begin, which may be after its
 * first frame. */
static void begin_stream(struct ctt_live *l, double now, enum ctt_fresh why)
{
    now = !l->came && now < 0 ? 0 : now;
    l->fresh = l->fresh ? l->fresh : why;
    l->base += l->pick.k;
    l->zero = l->base;
    ctt_pick_begin(&l->pick, now);
}

/* Frames are not given before they are due. */
static int pace(struct ctt_live *l, double now)
{
    double at = ctt_seconds(), due = l->pace + now;

    if (!l->paced)
        return 0;
    if (!l->came || due > at + PACE_MAX)
        l->pace = at - now;
    return due > at ? ctt_live_sleep(l, l->pace + now) : 0;
}

/* Gives a slot those of n steps from number `first` on that the stride allows.
 */
static void stride(struct ctt_live *l, int64_t first, int64_t n,
                   struct ctt_live_slot *s)
{
    int64_t end = first + n;

    pthread_mutex_lock(&l->lock);
    s->every = l->stride;
    pthread_mutex_unlock(&l->lock);
    s->first = l->next > first && !l->fresh ? l->next : first;
    s->n = s->first < end ? (end - s->first + s->every - 1) / s->every : 0;
    if (s->n > 0)
        l->next = s->first + s->n * s->every;
}

/* Writes the model's frame and the picture. */
static int render(struct ctt_live *l, struct ctt_video *v,
                  struct ctt_live_slot *s)
{
    const struct ctt_input *in = &l->in;
    int rc;

    CTT_TRY(ctt_render(&l->render, v, l->stored));
    ctt_frame_middle(l->stored, l->render.w, l->render.h, in, s->data);
    if (l->set.want_picture)
        CTT_TRY(ctt_render_picture(&l->render, v, &s->picture, &s->room,
                                   &s->picture_w, &s->picture_h));
    if (l->set.cut > 0 && ctt_cut_next(&l->cut, s->data, in->h, in->w,
                                       in->c) >= l->set.cut && !l->fresh) {
        l->fresh = CTT_FRESH_CUT;
        l->zero = s->first;
    }
out:
    return rc;
}

/* A frame for the steps that s has. */
static int use(struct ctt_live *l, struct ctt_video *v, double now,
               double arrived, struct ctt_live_slot *chosen)
{
    struct ctt_live_slot *s;
    int rc;

    CTT_TRY(ctt_live_slot(l, &s));
    s->first = chosen->first;
    s->every = chosen->every;
    s->n = chosen->n;
    s->given = 0;
    rc = render(l, v, s);
    if (rc < 0) {
        ctt_live_free(l, s);
        l->hopeless = 1;
        goto out;
    }
    s->time = now;
    s->arrived = arrived;
    s->wall = wall() - (ctt_seconds() - arrived);
    s->fresh = l->fresh;
    s->zero = l->zero;
    l->fresh = CTT_FRESH_NO;
    ctt_live_put(l, s);
out:
    return rc;
}

int ctt_live_choose(struct ctt_live *l, struct ctt_video *v, double now,
                    double next, int ended)
{
    struct ctt_live_slot s = { 0 };
    double arrived;
    int64_t n, lost;
    int rc;

    if (!l->came || is_gap(l, now - l->now) || l->fresh)
        begin_stream(l, now, CTT_FRESH_GAP);
    CTT_TRY(pace(l, now));
    arrived = ctt_seconds();
    l->came = 1;
    l->now = now;
    if (ended ? next - now > CTT_LIVE_STILL : is_gap(l, next - now))
        next = now + l->interval;
    if (!l->ahead && l->pick.fps > 0) {
        double step = 1 / l->pick.fps;
        l->pick.fill = 2 * (step > l->interval ? step : l->interval);
    }
    n = ctt_pick_frame(&l->pick, now, next, ended, &lost);
    stride(l, l->base + l->pick.k - n, n, &s);
    if (s.n > 0)
        CTT_TRY(use(l, v, now, arrived, &s));
    else
        ctt_live_between(l);
out:
    return rc;
}
