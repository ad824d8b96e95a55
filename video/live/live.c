/* SPDX-License-Identifier: Apache-2.0
 * live.c: opens and closes a live source. */
#include "video/live/live.h"
#include "video/live/live_inside.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* Conditions that wait by the clock of ctt_seconds(). */
static int make_locks(struct ctt_live *l)
{
    pthread_condattr_t a;

    if (pthread_mutex_init(&l->lock, NULL) != 0)
        return ctt_error(CTT_ENOMEM, "%s: no lock", l->plan.name);
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&l->room, &a);
    pthread_cond_init(&l->news, &a);
    pthread_condattr_destroy(&a);
    l->locks = 1;
    return 0;
}

static int make_frames(struct ctt_live *l)
{
    const struct ctt_input *in = &l->in;
    size_t size = (size_t)in->h * (size_t)in->w;
    int rc = 0;

    l->render = (struct ctt_render){ .path = l->plan.name, .in = *in };
    ctt_frame_size(in, &l->render.w, &l->render.h);
    l->stored = ctt_calloc((size_t)l->render.w * (size_t)l->render.h,
                           (size_t)in->c);
    CTT_TRY(l->stored ? 0 : CTT_ENOMEM);
    for (int i = 0; i < CTT_LIVE_SLOTS; i++) {
        l->slot[i].data = ctt_calloc(size, (size_t)in->c);
        CTT_TRY(l->slot[i].data ? 0 : CTT_ENOMEM);
    }
out:
    return rc;
}

/* Signals are for the program's own threads. */
static int start_reading(struct ctt_live *l)
{
    sigset_t all, before;
    int e;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    e = pthread_create(&l->thread, NULL, ctt_live_read, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    l->runs = e == 0;
    return e == 0 ? 0 : ctt_error(CTT_EIO, "%s: no thread to read it: %s",
                                  l->plan.name, strerror(e));
}

int ctt_live_check(const struct ctt_live_set *set, const struct ctt_input *in)
{
    struct ctt_live_plan plan = { 0 };
    int rc;

    CTT_TRY(ctt_input_check(in));
    CTT_TRY(ctt_live_plan(set, &plan));
out:
    ctt_live_plan_clear(&plan);
    return rc;
}

int ctt_live_open(const struct ctt_live_set *set, const struct ctt_input *in,
                  struct ctt_live **out)
{
    struct ctt_live *l = ctt_calloc(1, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    l->set = *set;
    l->in = *in;
    l->last = -1;
    l->stride = 1;
    CTT_TRY(ctt_input_check(in));
    CTT_TRY(ctt_live_plan(set, &l->plan));
    l->set.source = l->set.raw = NULL;
    l->plan.how.quit = ctt_live_asked;
    l->plan.how.arg = l;
    CTT_TRY(make_locks(l));
    CTT_TRY(make_frames(l));
    CTT_TRY(start_reading(l));
    *out = l;
    l = NULL;
out:
    ctt_live_close(&l);
    return rc;
}

void ctt_live_close(struct ctt_live **live)
{
    struct ctt_live *l = *live;

    if (!l)
        return;
    if (l->runs) {
        pthread_mutex_lock(&l->lock);
        l->closing = 1;
        pthread_cond_broadcast(&l->room);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    if (l->locks) {
        pthread_cond_destroy(&l->news);
        pthread_cond_destroy(&l->room);
        pthread_mutex_destroy(&l->lock);
    }
    for (int i = 0; i < CTT_LIVE_SLOTS; i++) {
        ctt_free(l->slot[i].data);
        ctt_free(l->slot[i].picture);
    }
    ctt_render_clear(&l->render);
    ctt_free(l->stored);
    ctt_live_plan_clear(&l->plan);
    ctt_free(l);
    *live = NULL;
}
