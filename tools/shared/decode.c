/* SPDX-License-Identifier: Apache-2.0
 * decode.c: threads that decode clips ahead of their turn. */
#include "tools/shared/decode.h"
#include "base/span.h"

#include <pthread.h>
#include <stdio.h>

enum { MAX_WORKERS = 256, MESSAGE = 1024 };

struct slot {
    struct ctt_decoded clip;
    char               why[MESSAGE];    /* of clip.rc; errors belong to their
                                           thread */
    double             ms;
    int                done;
};

/* Clips are numbered as they are put; number k lies in slot k % room. */
struct ctt_decoder {
    pthread_mutex_t lock;
    pthread_cond_t  put, done;
    pthread_t       id[MAX_WORKERS];
    int             workers, room, max, quit;
    uint64_t        seed;
    int64_t         taken, begun, queued;    /* clips */
    struct ctt_decode_times *times;
    struct slot     slot[MAX_WORKERS];
};

static struct slot *slot_of(struct ctt_decoder *d, int64_t k)
{
    return &d->slot[k % d->room];
}

static void decode_slot(const struct ctt_decoder *d, struct slot *s)
{
    struct ctt_decoded *c = &s->clip;
    double start = ctt_milliseconds(), span = ctt_span_begin();

    c->rc = ctt_source_frames(c->from, c->i, d->seed, d->max, &c->f);
    if (c->rc < 0)
        snprintf(s->why, sizeof(s->why), "%s", ctt_errmsg());
    s->ms = ctt_milliseconds() - start;
    ctt_span_end(CTT_SPAN_DECODE, span);
}

static void *decode_ahead(void *arg)
{
    struct ctt_decoder *d = arg;

    pthread_mutex_lock(&d->lock);
    for (;;) {
        struct slot *s;

        while (!d->quit && d->begun == d->queued)
            pthread_cond_wait(&d->put, &d->lock);
        if (d->quit)
            break;
        s = slot_of(d, d->begun++);
        pthread_mutex_unlock(&d->lock);
        decode_slot(d, s);
        pthread_mutex_lock(&d->lock);
        s->done = 1;
        pthread_cond_signal(&d->done);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

int ctt_decoder_open(int workers, uint64_t seed, int max,
                     struct ctt_decode_times *times, struct ctt_decoder **out)
{
    struct ctt_decoder *d = ctt_calloc(1, sizeof(*d));
    int rc = d ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->put, NULL);
    pthread_cond_init(&d->done, NULL);
    d->seed = seed;
    d->max = max;
    d->times = times;
    while (d->workers < workers && d->workers < MAX_WORKERS &&
           pthread_create(&d->id[d->workers], NULL, decode_ahead, d) == 0)
        d->workers++;
    d->room = d->workers ? d->workers : 1;
    CTT_CHECK(d->workers || !workers, CTT_EIO, "cannot start a thread");
    *out = d;
    d = NULL;
out:
    ctt_decoder_close(&d);
    return rc;
}

void ctt_decoder_close(struct ctt_decoder **decoder)
{
    struct ctt_decoder *d = *decoder;

    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->quit = 1;
    pthread_cond_broadcast(&d->put);
    pthread_mutex_unlock(&d->lock);
    for (int k = 0; k < d->workers; k++)
        pthread_join(d->id[k], NULL);
    for (; d->taken < d->queued; d->taken++) {
        struct ctt_decoded *c = &slot_of(d, d->taken)->clip;
        ctt_frames_free(&c->f);
        if (c->last)
            ctt_source_close(&c->from);
    }
    pthread_cond_destroy(&d->done);
    pthread_cond_destroy(&d->put);
    pthread_mutex_destroy(&d->lock);
    ctt_free(d);
    *decoder = NULL;
}

/* Only the caller changes taken and queued. */
int ctt_decoder_full(const struct ctt_decoder *d)
{
    return d->queued - d->taken == d->room;
}

void ctt_decoder_put(struct ctt_decoder *d, struct ctt_source *from, int i,
                     int last)
{
    struct slot *s = slot_of(d, d->queued);

    pthread_mutex_lock(&d->lock);
    s->clip = (struct ctt_decoded){ .from = from, .i = i, .last = last };
    s->done = 0;
    d->queued++;
    pthread_cond_signal(&d->put);
    pthread_mutex_unlock(&d->lock);
}

/* Until the clip is there. */
static void await(struct ctt_decoder *d, struct slot *s)
{
    if (!d->workers) {
        decode_slot(d, s);
        return;
    }
    pthread_mutex_lock(&d->lock);
    while (!s->done)
        pthread_cond_wait(&d->done, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

int ctt_decoder_take(struct ctt_decoder *d, struct ctt_decoded *out)
{
    struct slot *s = slot_of(d, d->taken);
    double start = ctt_milliseconds();
    int rc = 0;

    if (d->taken == d->queued)
        return 0;
    await(d, s);
    *out = s->clip;
    d->taken++;
    if (out->rc < 0)
        ctt_error(out->rc, "%s", s->why);
    if (!d->times || out->rc < 0)
        return 1;
    CTT_TRY(ctt_times_add(&d->times->wait, ctt_milliseconds() - start));
    CTT_TRY(ctt_times_add(&d->times->decode, s->ms));
    return 1;
out:
    out->rc = rc;
    return 1;
}
