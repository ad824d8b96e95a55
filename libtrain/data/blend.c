/* SPDX-License-Identifier: Apache-2.0
 * blend.c: clips of a batch mixed in pairs. */
#include "libtrain/data/blend.h"
#include "libtrain/chance.h"
#include "libtrain/data/data.h"

#include <math.h>
#include <string.h>

/* Numbers drawn with CTT_LOOK_PAIR; the share uses numbers from SHARE on. */
enum { KIND, PLACE_X, PLACE_Y, SHARE };

/* How two clips are mixed: own * x + (1 - own) * y, or y in a part of the
 * frame. */
struct way {
    float          own;
    struct ctt_box part;
    void (*mix)(const struct way *w, const struct ctt_input *in,
                const float *y, float *x);
};

/* A number of the beta distribution of (alpha, alpha), by Joehnk's method
 * (1964): at alpha <= 1 a try succeeds with a chance of at least a half. */
static float beta(float alpha, uint64_t key)
{
    for (uint64_t i = SHARE;; i += 2) {
        double x = pow((double)ctt_uniform(key, i), 1 / (double)alpha);
        double y = pow((double)ctt_uniform(key, i + 1), 1 / (double)alpha);

        if (x + y > 0 && x + y <= 1)
            return (float)(x / (x + y));
    }
}

static void add_weighted(const struct way *w, const struct ctt_input *in,
                         const float *y, float *x)
{
    int n = in->h * in->w * in->c;
    float own = w->own;

    for (int i = 0; i < n; i++)
        x[i] = own * x[i] + (1 - own) * y[i];
}

static void paste(const struct way *w, const struct ctt_input *in,
                  const float *y, float *x)
{
    const struct ctt_box *p = &w->part;
    size_t row = (size_t)p->w * (size_t)in->c * sizeof(*x);

    for (int k = p->y; k < p->y + p->h; k++) {
        size_t at = ((size_t)k * (size_t)in->w + (size_t)p->x) * (size_t)in->c;
        memcpy(x + at, y + at, row);
    }
}

/* A part of that share of the frame; the share becomes that of whole pixels. */
static void choose_part(const struct ctt_input *in, uint64_t key,
                        struct way *w)
{
    float side = sqrtf(1 - w->own);
    struct ctt_box *p = &w->part;

    p->w = (int)((float)in->w * side);
    p->h = (int)((float)in->h * side);
    p->x = (int)(ctt_uniform(key, PLACE_X) * (float)(in->w - p->w + 1));
    p->y = (int)(ctt_uniform(key, PLACE_Y) * (float)(in->h - p->h + 1));
    w->own = 1 - (float)(p->w * p->h) / (float)(in->w * in->h);
}

/* As each clip of a pair is mixed with the other, a share below a half would be
 * the same pair in another order. */
static struct way choose_way(const struct ctt_input *in,
                             const struct ctt_augment *a, uint64_t key)
{
    int cut = a->cutmix > 0 && (a->mixup <= 0 ||
                                ctt_uniform(key, KIND) < 0.5f);
    struct way w = { .mix = cut ? paste : add_weighted };

    w.own = beta(cut ? a->cutmix : a->mixup, key);
    w.own = w.own < 0.5f ? 1 - w.own : w.own;
    if (cut)
        choose_part(in, key, &w);
    return w;
}

static float *frame_of(const struct ctt_blend_batch *b, int place, int t)
{
    int64_t frame = (int64_t)b->d->in.h * b->d->in.w * b->d->in.c;

    return b->x + ((int64_t)t * b->n + place) * frame;
}

/* Mixes the frames y of a clip of `of` frames, which lie `next` floats apart,
 * into the frames of a place, and repeats the last one as padding. */
static void mix_clip(const struct ctt_blend_batch *b, const struct way *w,
                     int place, const float *y, int64_t next, int of)
{
    const struct ctt_input *in = &b->d->in;
    size_t bytes = (size_t)in->h * (size_t)in->w * (size_t)in->c *
                   sizeof(float);
    const struct ctt_look all = { .count = b->length[place] };

    for (int t = 0; t < b->steps; t++) {
        float *x = frame_of(b, place, t);
        if (t < all.count)
            w->mix(w, in, y + ctt_look_frame(&all, of, t) * next, x);
        else
            memcpy(x, frame_of(b, place, t - 1), bytes);
    }
}

static void mix_pair(const struct ctt_blend_batch *b, const struct way *w,
                     int j, float *spare)
{
    int64_t frame = (int64_t)b->d->in.h * b->d->in.w * b->d->in.c;

    for (int t = 0; t < b->length[j]; t++)
        memcpy(spare + t * frame, frame_of(b, j, t),
               (size_t)frame * sizeof(*spare));
    mix_clip(b, w, j, frame_of(b, j + 1, 0), frame * b->n, b->length[j + 1]);
    mix_clip(b, w, j + 1, spare, frame, b->length[j]);
}

void ctt_blend(const struct ctt_blend_batch *b, const struct ctt_augment *a,
               float *spare, struct ctt_blend *out)
{
    for (int j = 0; j < b->n; j++)
        out[j] = (struct ctt_blend){ j, 1 };
    if (!a->key || (a->mixup <= 0 && a->cutmix <= 0))
        return;
    for (int j = 0; j + 1 < b->n; j += 2) {
        struct ctt_augment own = ctt_augment_again(a, b->turn ? b->turn[j]
                                                              : 0);
        struct way w;
        if (!b->length[j] || !b->length[j + 1])
            continue;
        w = choose_way(&b->d->in, a,
                       ctt_look_key(b->d, b->clip[j], &own, CTT_LOOK_PAIR));
        mix_pair(b, &w, j, spare);
        out[j] = (struct ctt_blend){ j + 1, w.own };
        out[j + 1] = (struct ctt_blend){ j, w.own };
    }
}
