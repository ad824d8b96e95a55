/* SPDX-License-Identifier: Apache-2.0
 * show.c: the frames of a clip, changed, as floats or as bytes. */
#include "libtrain/data/show.h"
#include "base/span.h"

#include <math.h>
#include <string.h>

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

static int is_changed(const struct ctt_input *in, const struct ctt_look *k)
{
    return k->resized || k->erased.w || is_tinted(&k->tint) ||
           (in->c == 3 && k->colour != 1);
}

/* The values of a clip's frames; but for pixels they are set if a look changes
 * more than the place and the side. */
struct shades {
    struct ctt_pixels pixels;    /* of the frames so far, as they are */
    double value[256], fill[3];  /* tinted values of a byte, in 0..1, and
                                    the mean of each channel */
    struct ctt_paint  paint;     /* value, normalised as the last frame */
    struct ctt_paint  plain;     /* value of a byte, in 0..1 */
    int    changed, frames;
};

static void begin_shades(const struct ctt_data *d, const struct ctt_look *k,
                         const struct ctt_frames *f, struct shades *s)
{
    struct ctt_box seen = touched(d, &k->crop);
    struct ctt_light light = { { { 0 } } };
    struct ctt_input in = d->in;

    ctt_pixels_begin(&s->pixels, &d->in);
    s->frames = 0;
    s->changed = is_changed(&d->in, k);
    if (!s->changed)
        return;
    in.w = seen.w;
    in.h = seen.h;
    if (is_tinted(&k->tint) || k->erased.w)
        ctt_light_add(&light, &in, seen.x, seen.y, f, 0);
    ctt_tint_values(&light, &s->pixels, &k->tint, s->value);
    ctt_light_fill(&light, s->value, s->fill);
    s->plain.mixed = s->plain.w = s->plain.h = 0;
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            s->plain.table[c][v] = (float)s->pixels.light[v] / CTT_PIXELS_WHITE;
}

/* The meaning of a byte without a change of light, as ctt_frame_float() has
 * it. */
static void plain_table(const struct ctt_pixels *p, struct ctt_paint *paint)
{
    for (int v = 0; v < 256; v++) {
        const uint8_t pixel[3] = { (uint8_t)v, (uint8_t)v, (uint8_t)v };
        float x[3];

        ctt_pixels_float(p, pixel, 1, p->in.c, x);
        for (int c = 0; c < p->in.c; c++)
            paint->table[c][v] = x[c];
    }
}

static void set_paint(const struct ctt_look *k, struct shades *s)
{
    const struct ctt_input *in = &s->pixels.in;
    struct ctt_paint *p = &s->paint;

    if (k->resized || is_tinted(&k->tint))
        ctt_tint_table(s->value, &s->pixels, p);
    else
        plain_table(&s->pixels, p);
    ctt_colour_mix(in, k->colour, p);
    p->x = k->erased.x;
    p->y = k->erased.y;
    p->w = k->erased.w;
    p->h = k->erased.h;
    for (int c = 0; p->w && c < in->c; c++)
        p->fill[c] = ((float)s->fill[c] - in->mean[c]) / in->std[c];
}

/* The next frame of the clip.  With normalise=clip it is measured as the model
 * would see it without a change of colours, which it would cancel.  x: memory
 * for a frame. */
static void next_shades(struct ctt_crop *crop, const struct ctt_look *k,
                        const uint8_t *p, struct shades *s, float *x)
{
    int clip = s->pixels.in.normalise == CTT_NORMALISE_CLIP;

    if (clip && k->resized) {
        ctt_crop_frame(crop, p, &s->plain, x);
        ctt_pixels_next_values(&s->pixels, x);
    } else {
        ctt_frame_next(&s->pixels, p, (int)k->crop.x, (int)k->crop.y);
    }
    if (s->changed && (clip || s->frames++ == 0))
        set_paint(k, s);
}

static void write_frame(struct ctt_crop *crop, const struct ctt_look *k,
                        const struct shades *s, const uint8_t *p, float *x)
{
    if (s->changed)
        ctt_crop_frame(crop, p, &s->paint, x);
    else
        ctt_frame_float(p, &s->pixels, (int)k->crop.x, (int)k->crop.y,
                        k->flip, x);
}

/* A frame that is shown twice counts twice with normalise=clip, so its values
 * may change. */
void ctt_show_floats(const struct ctt_show *w, const struct ctt_look *k,
                     const struct ctt_frames *f, int steps, int64_t apart,
                     float *x)
{
    size_t frame = (size_t)w->d->in.h * (size_t)w->d->in.w *
                   (size_t)w->d->in.c * sizeof(*x);
    int64_t from = (int64_t)f->h * f->w * f->c;
    int anew = w->d->in.normalise == CTT_NORMALISE_CLIP;
    double start = ctt_span_begin();
    struct shades s;

    begin_shades(w->d, k, f, &s);
    if (s.changed)
        ctt_crop_set(w->crop, &k->crop, k->flip);
    for (int t = 0, was = -1; t < steps; t++, x += apart) {
        int at = t < k->count ? ctt_look_frame(k, f->count, t) : was;
        if (t >= k->count || (at == was && !anew)) {
            memcpy(x, x - apart, frame);
        } else {
            next_shades(w->crop, k, f->data + at * from, &s, x);
            write_frame(w->crop, k, &s, f->data + at * from, x);
        }
        was = at;
    }
    if (s.changed)
        ctt_span_end(CTT_SPAN_AUGMENT, start);
}

struct ctt_shots ctt_shots_of(const struct ctt_show *w, int n, int steps)
{
    const struct ctt_input *in = &w->d->in;
    struct ctt_shots s = { .n = n, .steps = steps, .c = in->c, .w = in->w,
        .h = in->h, .stored_w = w->d->stored_w,
        .stored = (int64_t)w->d->stored_h * w->d->stored_w * in->c };
    struct ctt_render r = ctt_crop_render(w->crop, NULL);

    s.most_x = r.most_x;
    s.most_y = r.most_y;
    ctt_shots_place(&s);
    return s;
}

void ctt_show_none(const struct ctt_shots *s, int j)
{
    int32_t *at = (int32_t *)(void *)(s->block + s->frame);

    for (int t = 0; t < s->steps; t++)
        at[t * s->n + j] = -1;
}

/* Copies the description of a clip to place j of a batch. */
static void write_clip(const struct ctt_shots *s, int j,
                       const struct ctt_render *r)
{
    size_t w = (size_t)s->w, h = (size_t)s->h;
    size_t x = w * (size_t)s->most_x, y = h * (size_t)s->most_y;
    size_t i = (size_t)j;

    memcpy(s->block + i * sizeof(*r->paint), r->paint, sizeof(*r->paint));
    memcpy(s->block + s->x + i * w * sizeof(*r->x), r->x, w * sizeof(*r->x));
    memcpy(s->block + s->y + i * h * sizeof(*r->y), r->y, h * sizeof(*r->y));
    memcpy(s->block + s->wx + i * x * sizeof(*r->wx), r->wx,
           x * sizeof(*r->wx));
    memcpy(s->block + s->wy + i * y * sizeof(*r->wy), r->wy,
           y * sizeof(*r->wy));
}

void ctt_show_bytes(const struct ctt_show *w, const struct ctt_look *k,
                    const struct ctt_frames *f, const struct ctt_shots *s,
                    int j)
{
    int32_t *number = (int32_t *)(void *)(s->block + s->frame);
    int32_t next = j * s->steps - 1;
    double start = ctt_span_begin();
    struct shades shades;
    struct ctt_render r;

    begin_shades(w->d, k, f, &shades);
    set_paint(k, &shades);
    ctt_crop_set(w->crop, &k->crop, k->flip);
    r = ctt_crop_render(w->crop, &shades.paint);
    write_clip(s, j, &r);
    for (int t = 0, was = -1; t < s->steps; t++) {
        int at = t < k->count ? ctt_look_frame(k, f->count, t) : was;
        if (at != was)
            memcpy(s->block + s->data + ++next * s->stored,
                   f->data + at * s->stored, (size_t)s->stored);
        number[t * s->n + j] = next;
        was = at;
    }
    if (shades.changed)
        ctt_span_end(CTT_SPAN_AUGMENT, start);
}
