/* SPDX-License-Identifier: Apache-2.0
 * load.c: threads that decode, crop and normalise the clips of the next batches
 * while the current one is used.  The result does not depend on the number of
 * threads: every random choice depends on seed, epoch and clip only. */
#include "libtrain/data/load.h"
#include "libtrain/chance.h"
#include "libtrain/data/light.h"
#include "libtrain/data/sequence.h"
#include "net/clock.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* SOME: floats of the clips that a thread loads at a time.  Most clips have
 * more; pictures have less, and locking for each one would take long. */
enum { RING = 3, WHY = 256, MAX_WORKERS = 256, SOME = 1 << 14 };

/* A batch in the ring buffer. */
struct buffer {
    float *x;
    int   *length;
    int    ready;          /* clips loaded */
    int    pinned;
    char   bad[WHY];
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
    int64_t             next;       /* clip of the plan to load next */
    int                 some;       /* clips that a thread takes */
    int                 batch;      /* that the caller has or waits for */
    int                 busy, stop, rc;
    char                why[WHY];
    pthread_mutex_t     lock;
    pthread_cond_t      work, news;
    pthread_t           id[MAX_WORKERS];
    int                 workers;
};

/* ---- one clip ---- */

/* The augmentation of a clip: crop position, mirroring, colours. */
struct look { int x, y, flip; struct ctt_tint tint; };

struct ctt_augment ctt_augment_of(const struct ctt_train_cfg *cfg, uint64_t key)
{
    return (struct ctt_augment){ .jitter = cfg->jitter, .flip = cfg->flip,
        .brightness = cfg->brightness, .contrast = cfg->contrast,
        .gamma = cfg->random_gamma, .key = key };
}

/* The key of slot i of the plan: an epoch that has a clip again changes it in
 * another way. */
static uint64_t key_of(const struct ctt_loader *l, size_t i)
{
    int turn = l->a.key && l->plan->turn ? l->plan->turn[i] : 0;

    return turn ? ctt_key(l->a.key, (uint64_t)turn) | 1 : l->a.key;
}

static struct look choose(const struct ctt_loader *l, int i, uint64_t epoch)
{
    const struct ctt_data *d = l->d;
    int w = d->stored_w - d->in.w, h = d->stored_h - d->in.h;
    uint64_t key = ctt_clip_key(&d->clip[i], epoch);
    struct look k = { w / 2, h / 2, 0, { 1, 0, 1 } };

    if (!l->a.key)
        return k;
    if (l->a.jitter) {
        k.x = (int)(ctt_uniform(key, 0) * (float)(w + 1));
        k.y = (int)(ctt_uniform(key, 1) * (float)(h + 1));
    }
    k.flip = l->a.flip && ctt_uniform(key, 2) < 0.5f;
    k.tint.gain = 1 + l->a.contrast * (2 * ctt_uniform(key, 3) - 1);
    k.tint.shift = l->a.brightness * (2 * ctt_uniform(key, 4) - 1);
    k.tint.bend = powf(1 + l->a.gamma, 2 * ctt_uniform(key, 6) - 1);
    return k;
}

/* Writes the frames of one clip; padding repeats its last frame. */
static void write_frames(const struct ctt_loader *l, const struct look *k,
                         const struct ctt_frames *f, int steps, float *x)
{
    int64_t from = (int64_t)f->h * f->w * f->c, next = l->frame * l->n;
    const struct ctt_tint *to = &k->tint;
    int tinted = to->gain != 1 || to->shift != 0 || to->bend != 1;
    struct ctt_light light = { { { 0 } } };
    struct ctt_pixels pixels;
    double value[256];
    float table[3][256];

    ctt_pixels_begin(&pixels, &l->d->in);
    if (tinted) {
        ctt_light_add(&light, &l->d->in, k->x, k->y, f, 0);
        ctt_tint_values(&light, &pixels, to, value);
    }
    for (int t = 0; t < steps; t++, x += next) {
        const uint8_t *p = f->data + (t < f->count ? t : 0) * from;
        if (t >= f->count) {
            memcpy(x, x - next, (size_t)l->frame * sizeof(*x));
            continue;
        }
        ctt_frame_next(&pixels, p, k->x, k->y);
        if (tinted) {
            if (t == 0 || l->d->in.normalise == CTT_NORMALISE_CLIP)
                ctt_tint_table(value, &pixels, table);
            ctt_frame_table(p, &l->d->in, k->x, k->y, k->flip, table, x);
        } else {
            ctt_frame_float(p, &pixels, k->x, k->y, k->flip, x);
        }
    }
}

static int load_clip(struct ctt_loader *l, int batch, int j, float *x,
                     int *length)
{
    int steps = l->plan->steps[batch], own = 0, rc = 0;
    size_t at = (size_t)batch * (size_t)l->n + (size_t)j;
    uint64_t key = key_of(l, at);
    int i = l->plan->clip[at];
    struct ctt_frames f = { 0 };
    struct look k;

    if (i < 0)
        goto empty;
    k = choose(l, i, key);
    rc = ctt_data_frames(l->d, i, key, &f, &own);
    if (rc < 0)
        goto empty;
    write_frames(l, &k, &f, steps, x);
    *length = f.count;
    ctt_data_done(l->d, i, &f, own);
    return 0;
empty:
    for (int t = 0; t < steps; t++)
        memset(x + (int64_t)t * l->n * l->frame, 0,
               (size_t)l->frame * sizeof(*x));
    *length = 0;
    return rc;
}

/* ---- the threads ---- */

static int has_work(const struct ctt_loader *l)
{
    return l->plan && l->next < (int64_t)l->plan->batches * l->n &&
           l->next / l->n < l->batch + RING;
}

static void note_bad(struct ctt_loader *l, struct buffer *p, int rc)
{
    pthread_mutex_lock(&l->lock);
    snprintf(p->bad, sizeof(p->bad), "%s", ctt_errmsg());
    if ((!ctt_clip_is_bad(rc) || l->d->strict) && l->rc >= 0) {
        l->rc = rc;
        memcpy(l->why, p->bad, sizeof(l->why));
    }
    pthread_mutex_unlock(&l->lock);
}

/* Loads the next clips of a batch. */
static void load_some(struct ctt_loader *l)
{
    int batch = (int)(l->next / l->n), j = (int)(l->next % l->n);
    int n = l->n - j < l->some ? l->n - j : l->some;
    struct buffer *p = &l->ring[batch % RING];

    l->next += n;
    l->busy++;
    pthread_mutex_unlock(&l->lock);
    for (int end = j + n; j < end; j++) {
        int rc = load_clip(l, batch, j, p->x + j * l->frame, &p->length[j]);
        if (rc < 0)
            note_bad(l, p, rc);
    }
    pthread_mutex_lock(&l->lock);
    p->ready += n;
    l->busy--;
    if (p->ready == l->n || l->rc < 0 || !l->busy)
        pthread_cond_signal(&l->news);
}

static void *worker(void *arg)
{
    struct ctt_loader *l = arg;

    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (has_work(l))
            load_some(l);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static int start_workers(struct ctt_loader *l)
{
    for (int k = 0; k < l->d->workers && k < MAX_WORKERS; k++) {
        if (pthread_create(&l->id[k], NULL, worker, l) != 0)
            break;
        l->workers++;
    }
    return l->workers ? 0 : ctt_error(CTT_EIO, "cannot start a thread");
}

int ctt_loader_open(struct ctt_data *d, int n, int room,
                    struct ctt_loader **out)
{
    struct ctt_loader *l = ctt_calloc(1, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    pthread_mutex_init(&l->lock, NULL);
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
        CTT_TRY(l->ring[k].x && l->ring[k].length ? 0 : CTT_ENOMEM);
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
        pthread_join(l->id[--l->workers], NULL);
    for (int k = 0; k < RING; k++) {
        if (l->ring[k].pinned)
            ctt_dev_unpin(l->dev, l->ring[k].x);
        ctt_free(l->ring[k].x);
        ctt_free(l->ring[k].length);
    }
    pthread_cond_destroy(&l->news);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    ctt_free(l);
    *p = NULL;
}

int ctt_loader_pin(struct ctt_loader *l, struct ctt_dev *dev)
{
    int rc = 0;

    l->dev = dev;
    for (int k = 0; k < RING; k++) {
        CTT_TRY(ctt_dev_pin(dev, l->ring[k].x,
                            l->floats * (int64_t)sizeof(float)));
        l->ring[k].pinned = 1;
    }
out:
    return rc;
}

void ctt_loader_start(struct ctt_loader *l, const struct ctt_order *p,
                      const struct ctt_augment *a, int first)
{
    pthread_mutex_lock(&l->lock);
    l->next = INT64_MAX;    /* no more work; busy threads still read the plan */
    while (l->busy)
        pthread_cond_wait(&l->news, &l->lock);
    l->plan = p;
    l->a = *a;
    l->batch = first;
    l->next = (int64_t)first * l->n;
    for (int k = 0; k < RING; k++) {
        l->ring[k].ready = 0;
        l->ring[k].bad[0] = '\0';
    }
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

int ctt_loader_next(struct ctt_loader *l, struct ctt_batch *b, double *seconds)
{
    struct buffer *p = &l->ring[l->batch % RING];
    double t = ctt_seconds();
    int rc = 1;

    if (l->batch >= l->plan->batches)
        return 0;
    pthread_mutex_lock(&l->lock);
    while (p->ready < l->n && l->rc >= 0)
        pthread_cond_wait(&l->news, &l->lock);
    if (l->rc < 0)
        rc = ctt_error(l->rc, "%s", l->why);
    pthread_mutex_unlock(&l->lock);
    *seconds += ctt_seconds() - t;
    if (rc < 0)
        return rc;
    *b = (struct ctt_batch){ .x = p->x, .steps = l->plan->steps[l->batch],
        .n = l->n, .clip = l->plan->clip + (size_t)l->batch * l->n,
        .length = p->length, .bad = p->bad[0] ? p->bad : NULL };
    return 1;
}

void ctt_loader_done(struct ctt_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->ring[l->batch % RING].ready = 0;
    l->ring[l->batch % RING].bad[0] = '\0';
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
    ready = l->ring[at % RING].ready == l->n;
    pthread_mutex_unlock(&l->lock);
    if (ready)
        *b = (struct ctt_batch){ .x = l->ring[at % RING].x,
                                 .steps = l->plan->steps[at], .n = l->n };
    return ready;
}
