/* SPDX-License-Identifier: Apache-2.0
 * load.c: threads that decode, crop and normalise the clips of the next batches
 * while the current one is used.  The result does not depend on the number of
 * threads: every random choice depends on seed, epoch and clip only. */
#include "libtrain/data/load.h"
#include "base/clock.h"
#include "base/span.h"
#include "video/text/text.h"

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
    struct ctt_blend *blend;
    int    loaded;         /* clips */
    int    ready;          /* the whole batch */
    int    pinned;
};

/* A thread and its memory. */
struct worker {
    struct ctt_loader *l;
    struct ctt_crop   *crop;
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

/* The pixels that a part of the stored frame touches. */
static struct ctt_box touched(const struct ctt_data *d,
                              const struct ctt_area *a)
{
    int x = (int)a->x, y = (int)a->y;
    int right = (int)ceilf(a->x + a->w), end = (int)ceilf(a->y + a->h);

    right = right < d->stored_w ? right : d->stored_w;
    end = end < d->stored_h ? end : d->stored_h;
    return (struct ctt_box){ x, y, right - x, end - y };
}

static int is_tinted(const struct ctt_tint *t)
{
    return t->gain != 1 || t->shift != 0 || t->bend != 1;
}

/* The values of a clip's frames; but for pixels they are set if a look needs
 * more than these. */
struct shades {
    struct ctt_pixels pixels;    /* of the frames so far, as they are */
    double value[256], fill[3];  /* tinted values of a byte, in 0..1, and
                                    the mean of each channel */
    float  table[3][256];        /* value, normalised as the last frame */
    float  plain[3][256];        /* value of a byte, in 0..1 */
    int    frames;
};

static void begin_shades(const struct ctt_data *d, const struct ctt_look *k,
                         const struct ctt_frames *f, struct shades *s)
{
    struct ctt_box seen = touched(d, &k->crop);
    struct ctt_light light = { { { 0 } } };
    struct ctt_input in = d->in;

    ctt_pixels_begin(&s->pixels, &d->in);
    s->frames = 0;
    if (!k->resized && !k->erased.w && !is_tinted(&k->tint))
        return;
    in.w = seen.w;
    in.h = seen.h;
    if (is_tinted(&k->tint) || k->erased.w)
        ctt_light_add(&light, &in, seen.x, seen.y, f, 0);
    ctt_tint_values(&light, &s->pixels, &k->tint, s->value);
    ctt_light_fill(&light, s->value, s->fill);
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            s->plain[c][v] = (float)s->pixels.light[v] / CTT_PIXELS_WHITE;
}

/* The next frame of the clip.  With normalise=clip it is measured as the model
 * would see it without a change of colours, which it would cancel.  x: memory
 * for a frame. */
static void next_shades(struct ctt_crop *crop, const struct ctt_look *k,
                        const uint8_t *p, struct shades *s, float *x)
{
    int clip = s->pixels.in.normalise == CTT_NORMALISE_CLIP;

    if (clip && k->resized) {
        ctt_crop_frame(crop, p, s->plain, x);
        ctt_pixels_next_values(&s->pixels, x);
    } else {
        ctt_frame_next(&s->pixels, p, (int)k->crop.x, (int)k->crop.y);
    }
    if ((clip || s->frames++ == 0) && (k->resized || is_tinted(&k->tint)))
        ctt_tint_table(s->value, &s->pixels, s->table);
}

static void erase(const struct ctt_input *in, const struct ctt_box *b,
                  const double fill[3], float *x)
{
    for (int y = b->y; y < b->y + b->h; y++) {
        float *p = x + ((int64_t)y * in->w + b->x) * in->c;
        for (int i = 0; i < b->w * in->c; i++) {
            int c = i % in->c;
            p[i] = ((float)fill[c] - in->mean[c]) / in->std[c];
        }
    }
}

static void write_frame(struct ctt_crop *crop, const struct ctt_look *k,
                        const struct shades *s, const uint8_t *p, float *x)
{
    const struct ctt_input *in = &s->pixels.in;
    int at_x = (int)k->crop.x, at_y = (int)k->crop.y;

    if (k->resized)
        ctt_crop_frame(crop, p, s->table, x);
    else if (is_tinted(&k->tint))
        ctt_frame_table(p, in, at_x, at_y, k->flip, s->table, x);
    else
        ctt_frame_float(p, &s->pixels, at_x, at_y, k->flip, x);
    if (k->erased.w)
        erase(in, &k->erased, s->fill, x);
    if (in->c == 3 && k->colour != 1)
        ctt_colour_spread(in, k->colour, (int64_t)in->h * in->w, x);
}

/* Writes the frames of one clip; padding repeats its last frame.  A frame that
 * is shown twice counts twice with normalise=clip, so its values may change. */
static void write_frames(const struct ctt_loader *l, struct ctt_crop *crop,
                         const struct ctt_look *k, const struct ctt_frames *f,
                         int steps, float *x)
{
    int64_t from = (int64_t)f->h * f->w * f->c;
    int anew = l->d->in.normalise == CTT_NORMALISE_CLIP;
    struct shades s;

    begin_shades(l->d, k, f, &s);
    if (k->resized)
        ctt_crop_set(crop, &k->crop, k->flip);
    for (int t = 0, was = -1; t < steps; t++, x = frame_after(l, x)) {
        int at = t < k->count ? ctt_look_frame(k, f->count, t) : was;
        if (t >= k->count || (at == was && !anew)) {
            memcpy(x, x - l->frame * l->n, (size_t)l->frame * sizeof(*x));
        } else {
            next_shades(crop, k, f->data + at * from, &s, x);
            write_frame(crop, k, &s, f->data + at * from, x);
        }
        was = at;
    }
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

static int load_clip(struct ctt_loader *l, struct ctt_crop *crop, int batch,
                     int j, float *x, int *length)
{
    int steps = l->plan->steps[batch], own = 0, rc = 0;
    size_t at = (size_t)batch * (size_t)l->n + (size_t)j;
    struct ctt_augment a = change_of(l, at);
    int i = l->plan->clip[at];
    struct ctt_frames f = { 0 };
    struct ctt_look k;

    if (i < 0)
        goto empty;
    ctt_look_choose(l->d, i, &a, steps, &k);
    rc = ctt_data_frames(l->d, i, a.key, &f, &own);
    if (rc < 0)
        goto empty;
    if (l->d->symbols)
        write_symbols(l, &f, steps, x);
    else
        write_frames(l, crop, &k, &f, steps, x);
    *length = k.count;
    ctt_data_done(l->d, i, &f, own);
    return 0;
empty:
    for (int t = 0; t < steps; t++, x = frame_after(l, x))
        memset(x, 0, (size_t)l->frame * sizeof(*x));
    *length = 0;
    return rc;
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

/* Loads the next clips of a batch. */
static void load_some(struct ctt_loader *l, struct ctt_crop *crop)
{
    int batch = (int)(l->next / l->n), j = (int)(l->next % l->n);
    int n = l->n - j < l->some ? l->n - j : l->some;
    struct buffer *p = &l->ring[batch % RING];

    l->next += n;
    l->busy++;
    pthread_mutex_unlock(&l->lock);
    for (int end = j + n; j < end; j++) {
        double start = ctt_span_begin();
        int rc = load_clip(l, crop, batch, j, p->x + j * l->frame,
                           &p->length[j]);

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
            load_some(l, w->crop);
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
        CTT_TRY(ctt_crop_new(&l->d->in, &w->crop));
        if (pthread_create(&w->id, NULL, worker, w) != 0)
            break;
        l->workers++;
    }
    CTT_CHECK(l->workers, CTT_EIO, "cannot start a thread");
out:
    return rc;
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
        ctt_crop_free(&l->worker[k].crop);
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
        .length = p->length, .blend = l->spare ? p->blend : NULL };
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
                                 .steps = l->plan->steps[at], .n = l->n };
    return ready;
}
