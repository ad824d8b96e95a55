/* SPDX-License-Identifier: Apache-2.0
 * load.c: threads that decode, crop and normalise the clips of the next batches
 * while the current one is used.  The result does not depend on the number of
 * threads: every random choice depends on seed, epoch and clip only. */
#include "libtrain/data/load.h"
#include "libtrain/data/show.h"
#include "base/clock.h"
#include "base/span.h"
#include "video/text/text.h"

#include <pthread.h>
#include <string.h>

/* SOME: floats of the clips that a thread loads at a time.  Most clips have
 * more; pictures have less, and locking for each one would take long. */
enum { RING = 3, WHY = 256, MAX_WORKERS = 256, SOME = 1 << 14 };

/* A batch in the ring buffer. */
struct buffer {
    float *x;
    int   *length;
    struct ctt_blend *blend;
    struct ctt_shots  shots;    /* if bytes: of the batch */
    int    loaded;         /* clips */
    int    ready;          /* the whole batch */
    int    pinned;
};

/* A thread and its memory. */
struct worker {
    struct ctt_loader *l;
    struct ctt_show    show;
    pthread_t          id;
};

struct ctt_loader {
    struct ctt_data    *d;
    int                 n;
    int64_t             frame;      /* floats */
    const struct ctt_order *plan;
    struct ctt_augment  a;
    struct buffer       ring[RING];
    int64_t             floats;     /* of a buffer */
    struct ctt_dev     *dev;        /* that has pinned them, or NULL */
    int                 bytes;      /* of frames lie in a buffer, not floats */
    int64_t             next;       /* clip of the plan to load next */
    int64_t             end;        /* of its clips; 0: nothing is loaded */
    int                 some;       /* clips that a thread takes */
    int                 batch;      /* that the caller has or waits for */
    int                 busy, stop, rc;
    char                why[WHY];
    pthread_mutex_t     lock;
    pthread_cond_t      work, news;
    pthread_mutex_t     mixing;     /* of spare */
    float              *spare;      /* room for a clip, or NULL: none is mixed
                                     */
    struct worker       worker[MAX_WORKERS];
    int                 workers;
};

/* ---- one clip ---- */

static float *frame_after(const struct ctt_loader *l, float *x)
{
    return x + l->frame * l->n;
}

/* The change that slot i of the plan is made with. */
static struct ctt_augment change_of(const struct ctt_loader *l, size_t i)
{
    return ctt_augment_again(&l->a, l->plan->turn ? l->plan->turn[i] : 0);
}

/* Writes the symbols of a sentence; padding repeats the last. */
static void write_symbols(const struct ctt_loader *l,
                          const struct ctt_frames *f, int steps, float *x)
{
    for (int t = 0; t < steps; t++, x = frame_after(l, x)) {
        int at = t < f->count ? t : f->count - 1;

        *x = (float)ctt_text_symbol(f->data + at * CTT_TEXT_BYTES_EACH);
    }
}

/* Writes nothing as clip j of a batch. */
static void write_none(const struct ctt_loader *l, const struct buffer *p,
                       int j, int steps)
{
    float *x = p->x + j * l->frame;

    if (l->bytes)
        ctt_show_none(&p->shots, j);
    for (int t = 0; !l->bytes && t < steps; t++, x = frame_after(l, x))
        memset(x, 0, (size_t)l->frame * sizeof(*x));
}

static int load_clip(struct worker *w, int batch, int j, struct buffer *p)
{
    struct ctt_loader *l = w->l;
    int steps = l->plan->steps[batch], own = 0, rc = 0;
    size_t at = (size_t)batch * (size_t)l->n + (size_t)j;
    struct ctt_augment a = change_of(l, at);
    int i = l->plan->clip[at];
    struct ctt_frames f = { 0 };
    struct ctt_look k = { .count = 0 };

    if (i >= 0) {
        ctt_look_choose(l->d, i, &a, steps, &k);
        rc = ctt_data_frames(l->d, i, a.key, &f, &own);
    }
    p->length[j] = rc < 0 ? 0 : k.count;
    if (i < 0 || rc < 0) {
        write_none(l, p, j, steps);
        return rc;
    }
    if (l->d->symbols)
        write_symbols(l, &f, steps, p->x + j * l->frame);
    else if (l->bytes)
        ctt_show_bytes(&w->show, &k, &f, &p->shots, j);
    else
        ctt_show_floats(&w->show, &k, &f, steps, l->frame * l->n,
                        p->x + j * l->frame);
    ctt_data_done(l->d, i, &f, own);
    return 0;
}

/* ---- the threads ---- */

static int has_work(const struct ctt_loader *l)
{
    return l->next < l->end && l->next / l->n < l->batch + RING;
}

/* Each clip has been read before (ctt_data_scan): a set that shrinks would give
 * another model, or choose by fewer clips, so the first error ends all. */
static void note_error(struct ctt_loader *l, int rc)
{
    pthread_mutex_lock(&l->lock);
    if (l->rc >= 0) {
        l->rc = rc;
        snprintf(l->why, sizeof(l->why), "%s%s", ctt_errmsg(),
                 ctt_clip_is_bad(rc) ? " (it was read before: its data has "
                 "changed, or the disk is gone)" : "");
    }
    pthread_mutex_unlock(&l->lock);
}

/* Mixes the clips of a batch when all are loaded. */
static void mix(struct ctt_loader *l, int batch, struct buffer *p)
{
    size_t first = (size_t)batch * (size_t)l->n;
    const struct ctt_blend_batch b = { .d = l->d, .x = p->x, .n = l->n,
        .steps = l->plan->steps[batch], .length = p->length,
        .clip = l->plan->clip + first,
        .turn = l->plan->turn ? l->plan->turn + first : NULL };

    pthread_mutex_lock(&l->mixing);
    ctt_blend(&b, &l->a, l->spare, p->blend);
    pthread_mutex_unlock(&l->mixing);
}

/* The bytes of a batch lie where its floats would. */
static void place_shots(struct ctt_loader *l, int batch, struct buffer *p)
{
    p->shots = ctt_shots_of(&l->worker[0].show, l->n, l->plan->steps[batch]);
    p->shots.block = (char *)p->x;
}

/* Loads the next clips of a batch. */
static void load_some(struct worker *w)
{
    struct ctt_loader *l = w->l;
    int batch = (int)(l->next / l->n), j = (int)(l->next % l->n);
    int n = l->n - j < l->some ? l->n - j : l->some;
    struct buffer *p = &l->ring[batch % RING];

    l->next += n;
    l->busy++;
    if (l->bytes && j == 0)
        place_shots(l, batch, p);
    pthread_mutex_unlock(&l->lock);
    for (int end = j + n; j < end; j++) {
        double start = ctt_span_begin();
        int rc = load_clip(w, batch, j, p);

        ctt_span_end(CTT_SPAN_LOAD, start);
        if (rc < 0)
            note_error(l, rc);
    }
    pthread_mutex_lock(&l->lock);
    p->loaded += n;
    if (p->loaded == l->n && l->spare) {
        pthread_mutex_unlock(&l->lock);
        mix(l, batch, p);
        pthread_mutex_lock(&l->lock);
    }
    p->ready = p->loaded == l->n;
    l->busy--;
    if (p->ready || l->rc < 0 || !l->busy)
        pthread_cond_signal(&l->news);
}

static void *worker(void *arg)
{
    struct worker *w = arg;
    struct ctt_loader *l = w->l;

    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (has_work(l))
            load_some(w);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static int start_workers(struct ctt_loader *l)
{
    int rc = 0;

    for (int k = 0; k < l->d->workers && k < MAX_WORKERS; k++) {
        struct worker *w = &l->worker[k];
        w->l = l;
        w->show.d = l->d;
        CTT_TRY(ctt_crop_new(&l->d->in, &w->show.crop));
        if (pthread_create(&w->id, NULL, worker, w) != 0)
            break;
        l->workers++;
    }
    CTT_CHECK(l->workers, CTT_EIO, "cannot start a thread");
out:
    return rc;
}

int64_t ctt_loader_bytes(int64_t frame, int n, int room)
{
    return RING * frame * n * room * (int64_t)sizeof(float);
}

int ctt_loader_open(struct ctt_data *d, int n, int room,
                    struct ctt_loader **out)
{
    struct ctt_loader *l = ctt_calloc(1, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->mixing, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->news, NULL);
    l->d = d;
    l->n = n;
    l->frame = (int64_t)d->in.h * d->in.w * d->in.c;
    l->floats = l->frame * n * room;
    l->some = (int)(SOME / (l->frame * (d->longest > 0 ? d->longest : 1)));
    l->some = l->some > 1 ? l->some : 1;
    for (int k = 0; k < RING; k++) {
        l->ring[k].x = ctt_calloc((size_t)l->floats, sizeof(float));
        l->ring[k].length = ctt_calloc((size_t)n, sizeof(int));
        l->ring[k].blend = ctt_calloc((size_t)n, sizeof(struct ctt_blend));
        CTT_TRY(l->ring[k].x && l->ring[k].length && l->ring[k].blend
                ? 0 : CTT_ENOMEM);
    }
    CTT_TRY(start_workers(l));
    *out = l;
    return 0;
out:
    ctt_loader_close(&l);
    return rc;
}

void ctt_loader_close(struct ctt_loader **p)
{
    struct ctt_loader *l = *p;

    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = 1;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    while (l->workers > 0)
        pthread_join(l->worker[--l->workers].id, NULL);
    for (int k = 0; k < MAX_WORKERS; k++)
        ctt_crop_free(&l->worker[k].show.crop);
    for (int k = 0; k < RING; k++) {
        if (l->ring[k].pinned)
            ctt_dev_unpin(l->dev, l->ring[k].x);
        ctt_free(l->ring[k].x);
        ctt_free(l->ring[k].length);
        ctt_free(l->ring[k].blend);
    }
    ctt_free(l->spare);
    pthread_cond_destroy(&l->news);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->mixing);
    pthread_mutex_destroy(&l->lock);
    ctt_free(l);
    *p = NULL;
}

/* 1 if batches can be bytes for a device whose memory is not the program's. */
static int can_be_bytes(const struct ctt_loader *l, const struct ctt_dev *dev)
{
    const struct ctt_data *d = l->d;
    struct ctt_shots s = ctt_shots_of(&l->worker[0].show, l->n, 1);

    return !ctt_dev_shared(dev) && !l->spare && !d->symbols &&
           d->in.normalise != CTT_NORMALISE_CLIP && s.bytes <= l->frame *
           l->n * (int64_t)sizeof(float);
}

int ctt_loader_pin(struct ctt_loader *l, struct ctt_dev *dev)
{
    int rc = 0;

    l->dev = dev;
    l->bytes = can_be_bytes(l, dev);
    for (int k = 0; k < RING; k++) {
        CTT_TRY(ctt_dev_pin(dev, l->ring[k].x,
                            l->floats * (int64_t)sizeof(float)));
        l->ring[k].pinned = 1;
    }
out:
    return rc;
}

int ctt_loader_mixes(struct ctt_loader *l)
{
    if (!l->spare)
        l->spare = ctt_calloc((size_t)(l->floats / l->n), sizeof(float));
    return l->spare ? 0 : CTT_ENOMEM;
}

void ctt_loader_rest(struct ctt_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->end = 0;
    while (l->busy)
        pthread_cond_wait(&l->news, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void ctt_loader_start(struct ctt_loader *l, const struct ctt_order *p,
                      const struct ctt_augment *a, int first)
{
    ctt_loader_rest(l);
    pthread_mutex_lock(&l->lock);
    l->plan = p;
    l->a = *a;
    l->batch = first;
    l->next = (int64_t)first * l->n;
    l->end = (int64_t)p->batches * l->n;
    for (int k = 0; k < RING; k++)
        l->ring[k].loaded = l->ring[k].ready = 0;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

void ctt_loader_more(struct ctt_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->end = (int64_t)l->plan->batches * l->n;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

int ctt_loader_next(struct ctt_loader *l, struct ctt_batch *b, double *seconds)
{
    struct buffer *p = &l->ring[l->batch % RING];
    double t = ctt_seconds(), start = ctt_span_begin();
    int rc = 1;

    if (l->batch >= l->plan->batches)
        return 0;
    pthread_mutex_lock(&l->lock);
    while (!p->ready && l->rc >= 0)
        pthread_cond_wait(&l->news, &l->lock);
    if (l->rc < 0)
        rc = ctt_error(l->rc, "%s", l->why);
    pthread_mutex_unlock(&l->lock);
    *seconds += ctt_seconds() - t;
    ctt_span_end(CTT_SPAN_WAIT, start);
    if (rc < 0)
        return rc;
    *b = (struct ctt_batch){ .x = p->x, .steps = l->plan->steps[l->batch],
        .n = l->n, .clip = l->plan->clip + (size_t)l->batch * l->n,
        .length = p->length, .blend = l->spare ? p->blend : NULL,
        .shots = l->bytes ? &p->shots : NULL };
    return 1;
}

void ctt_loader_done(struct ctt_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->ring[l->batch % RING].loaded = l->ring[l->batch % RING].ready = 0;
    l->batch++;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

int ctt_loader_peek(struct ctt_loader *l, struct ctt_batch *b)
{
    int at = l->batch + 1, ready;

    if (at >= l->plan->batches)
        return 0;
    pthread_mutex_lock(&l->lock);
    ready = l->ring[at % RING].ready;
    pthread_mutex_unlock(&l->lock);
    if (ready)
        *b = (struct ctt_batch){ .x = l->ring[at % RING].x,
            .steps = l->plan->steps[at], .n = l->n,
            .shots = l->bytes ? &l->ring[at % RING].shots : NULL };
    return ready;
}
