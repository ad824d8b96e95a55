/* SPDX-License-Identifier: Apache-2.0
 * augment.c: the presets of augmentation, and the change of one clip, which
 * depends on seed, epoch and clip only. */
#include "libtrain/data/augment.h"
#include "libtrain/chance.h"
#include "libtrain/data/sequence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the presets ---- */

enum change { BY_AREA, BY_ASPECT, BY_SPEED, BY_START, BY_SHIFT, BY_GAIN,
              BY_BEND, BY_COLOUR, BY_GREY, BY_ERASE, BY_MIXUP, BY_CUTMIX };

/* Presets of --augment: a row per option.  light is small enough to harm on no
 * set; so it neither mirrors nor hides nor mixes.  Options that --rand-augment
 * draws from have a value at magnitude 10; of erase it is a share of the frame,
 * not of the clips. */
#define ROW(name, of, ...) \
    { name, offsetof(struct ctt_train_cfg, of), \
      offsetof(struct ctt_augment, of), { __VA_ARGS__ } }
enum { MOST = 3 };
static const struct preset {
    const char *name;
    size_t      given, of;
    float       value[4];    /* off, light, strong, and at magnitude 10; 0:
                                never drawn */
} presets[] = {
    [BY_AREA] = ROW("crop-area", crop_area, 1, 0.8f, 0.5f, 0.4f),
    [BY_ASPECT] = ROW("crop-aspect", crop_aspect, 1, 1.15f, 1.33f, 1.6f),
    [BY_SPEED] = ROW("speed", speed, 1, 1.15f, 1.4f, 2),
    [BY_START] = ROW("start", start, 0, 0, 0.1f, 0.4f),
    [BY_SHIFT] = ROW("brightness", brightness, 0, 0.2f, 0.6f, 1),
    [BY_GAIN] = ROW("contrast", contrast, 0, 0.2f, 0.4f, 0.6f),
    [BY_BEND] = ROW("random-gamma", random_gamma, 0, 0.2f, 0.5f, 1),
    [BY_COLOUR] = ROW("saturation", saturation, 0, 0.2f, 0.5f, 0.8f),
    [BY_GREY] = ROW("grey", grey, 0, 0, 0.1f, 0),
    [BY_ERASE] = ROW("erase", erase, 0, 0, 0.25f, 0.4f),
    [BY_MIXUP] = ROW("mixup", mixup, 0, 0, 0.2f, 0),
    [BY_CUTMIX] = ROW("cutmix", cutmix, 0, 0, 1, 0),
};

static float *at(void *p, size_t offset)
{
    return (float *)((char *)p + offset);
}

struct ctt_augment ctt_augment_of(const struct ctt_train_cfg *cfg, uint64_t key)
{
    int by = ctt_cfg_recognises(cfg) ? cfg->augment : CTT_AUGMENT_OFF;
    struct ctt_augment a = { .jitter = cfg->jitter, .flip = cfg->flip,
                             .magnitude = cfg->magnitude, .key = key };

    if (ctt_cfg_recognises(cfg))
        a.draws = cfg->rand_augment;
    for (size_t i = 0; i < CTT_LEN(presets); i++) {
        const struct preset *p = &presets[i];
        float given;

        memcpy(&given, (const char *)cfg + p->given, sizeof(given));
        *at(&a, p->of) = isnan(given) ? p->value[by] : given;
        if (a.draws && isnan(given) && p->value[MOST] > 0) {
            *at(&a, p->of) = p->value[CTT_AUGMENT_OFF];
            a.open |= 1u << i;
        }
    }
    return a;
}

/* A drawn change's value. */
static float drawn(const struct ctt_augment *a, enum change i)
{
    const float *v = presets[i].value;

    return v[CTT_AUGMENT_OFF] +
           (v[MOST] - v[CTT_AUGMENT_OFF]) * a->magnitude / CTT_MAGNITUDES;
}

struct ctt_augment ctt_augment_again(const struct ctt_augment *a, int turn)
{
    struct ctt_augment again = *a;

    if (a->key && turn)
        again.key = ctt_key(a->key, (uint64_t)turn) | 1;
    return again;
}

void ctt_augment_none(struct ctt_train_cfg *cfg)
{
    cfg->augment = CTT_AUGMENT_OFF;
    cfg->jitter = cfg->flip = cfg->rand_augment = 0;
    for (size_t i = 0; i < CTT_LEN(presets); i++)
        *at(cfg, presets[i].given) = presets[i].value[CTT_AUGMENT_OFF];
}

int ctt_augment_mixes(const struct ctt_train_cfg *cfg)
{
    struct ctt_augment a = ctt_augment_of(cfg, 0);

    return a.mixup > 0 || a.cutmix > 0;
}

/* Adds " name=x" to the line, or, if x is NAN, " name". */
static void add_change(char *line, size_t size, const char *name, float x)
{
    size_t n = strlen(line);

    n += (size_t)snprintf(line + n, size - n, "%s%s", n ? " " : "", name);
    if (!isnan(x) && n < size)
        snprintf(line + n, size - n, "=%g", (double)x);
}

int ctt_augment_tell(const struct ctt_train_cfg *cfg, char *line, size_t size)
{
    struct ctt_augment a = ctt_augment_of(cfg, 0);
    char some[24];

    line[0] = '\0';
    for (size_t i = 0; i < CTT_LEN(presets); i++) {
        float x = *at(&a, presets[i].of), off = presets[i].value[0];
        if (x < off || x > off)
            add_change(line, size, presets[i].name, x);
    }
    if (a.jitter)
        add_change(line, size, "jitter", NAN);
    if (a.flip)
        add_change(line, size, "flip", NAN);
    if (a.open) {
        snprintf(some, sizeof(some), "%s%d of", *line ? "and " : "", a.draws);
        add_change(line, size, some, NAN);
    }
    for (int i = 0; i < (int)CTT_LEN(presets); i++)
        if (a.open >> i & 1)
            add_change(line, size, presets[i].name, drawn(&a, i));
    return *line != '\0';
}

/* ---- chance ---- */

/* Numbers drawn with the key of a clip; 5 and numbers from 16 on are
 * sequence.c's. */
enum { DRAW_X, DRAW_Y, DRAW_FLIP, DRAW_GAIN, DRAW_SHIFT, DRAW_BEND = 6 };

/* Numbers drawn with CTT_LOOK_SHAPE. */
enum { AREA, ASPECT, SPEED, START, COLOUR, GREY, ERASED, ERASED_AREA,
       ERASED_ASPECT, ERASED_X, ERASED_Y };

uint64_t ctt_look_key(const struct ctt_data *d, int i,
                      const struct ctt_augment *a, enum ctt_look_use use)
{
    uint64_t own = ctt_clip_key(&d->clip[i], a->key);

    /* ctt_key() draws two numbers: 2 * use and the next */
    return use == CTT_LOOK_SHAPE ? ctt_key(own, CTT_LOOK_SHAPE)
                                 : ctt_key(ctt_key(own, CTT_LOOK_SHAPE), use);
}

/* -1 to 1. */
static float both_ways(uint64_t key, uint64_t i)
{
    return 2 * ctt_uniform(key, i) - 1;
}

/* 1 / most to most, its logarithm uniform; 1 or less: 1. */
static float ratio(float most, uint64_t key, uint64_t i)
{
    return most > 1 ? powf(most, both_ways(key, i)) : 1;
}

/* The same of a change, which, if it was drawn, has one magnitude: -1 or 1, and
 * 1 / most or most. */
static float way_of(const struct ctt_augment *a, enum change by, uint64_t key,
                    uint64_t i)
{
    float x = both_ways(key, i);

    return a->drawn >> by & 1 ? copysignf(1, x) : x;
}

static float ratio_of(const struct ctt_augment *a, enum change by, float most,
                      uint64_t key, uint64_t i)
{
    return most > 1 ? powf(most, way_of(a, by, key, i)) : 1;
}

/* ---- a few changes a clip ---- */

/* Removes options that do not change the clip. */
static unsigned which_change(const struct ctt_data *d, int i, unsigned open)
{
    if (d->in.c != 3)
        open &= ~(1u << BY_COLOUR);
    if (d->clip[i].length == 1)
        open &= ~(1u << BY_SPEED | 1u << BY_START);
    return open;
}

static int count_of(unsigned bits)
{
    int n = 0;

    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

/* The number of the n-th bit that is set. */
static int nth_of(unsigned bits, int n)
{
    int i = 0;

    while (!(bits >> i & 1) || n--)
        i++;
    return i;
}

/* The changes of clip i: the fixed ones and the drawn ones, none twice, with
 * one magnitude (Cubuk and others 2020). */
static struct ctt_augment augment_clip(const struct ctt_data *d, int i,
                                       const struct ctt_augment *all)
{
    struct ctt_augment a = *all;
    uint64_t key = ctt_look_key(d, i, all, CTT_LOOK_DRAW);
    unsigned open = a.key ? which_change(d, i, a.open) : 0;

    for (int k = 0; k < a.draws && open; k++) {
        int n = (int)(ctt_uniform(key, (uint64_t)k) * (float)count_of(open));
        int by = nth_of(open, n);

        open &= ~(1u << by);
        a.drawn |= 1u << by;
        *at(&a, presets[by].of) = drawn(&a, by);
    }
    if (a.drawn >> BY_ERASE & 1) {
        a.erase_area = a.erase;
        a.erase = 1;
    }
    return a;
}

/* ---- place ---- */

static float within(float side, float most)
{
    return side < most ? side : most;
}

/* The area of the model's frame times A to 1 / A, within the stored frame:
 * objects are then as large, on average, as in a test, and are enlarged by
 * sqrt(R / A) at most. */
static void choose_area(const struct ctt_data *d, const struct ctt_augment *a,
                        uint64_t key, uint64_t shape, struct ctt_look *k)
{
    float least = a->crop_area > 0 && a->crop_area < 1 ? a->crop_area : 1;
    float area = ratio_of(a, BY_AREA, 1 / least, shape, AREA);
    float aspect = ratio_of(a, BY_ASPECT, a->crop_aspect, shape, ASPECT);
    struct ctt_area *c = &k->crop;

    k->resized = 1;
    c->w = within((float)d->in.w * sqrtf(area * aspect), (float)d->stored_w);
    c->h = within((float)d->in.h * sqrtf(area / aspect), (float)d->stored_h);
    c->x = ctt_uniform(key, DRAW_X) * ((float)d->stored_w - c->w);
    c->y = ctt_uniform(key, DRAW_Y) * ((float)d->stored_h - c->h);
}

/* A place of the crop at whole pixels. */
static void choose_place(const struct ctt_data *d, const struct ctt_augment *a,
                         uint64_t key, struct ctt_look *k)
{
    int w = d->stored_w - d->in.w, h = d->stored_h - d->in.h;
    int x = w / 2, y = h / 2;

    if (a->key && a->jitter) {
        x = (int)(ctt_uniform(key, DRAW_X) * (float)(w + 1));
        y = (int)(ctt_uniform(key, DRAW_Y) * (float)(h + 1));
    }
    k->crop = (struct ctt_area){ (float)x, (float)y, (float)d->in.w,
                                 (float)d->in.h };
}

/* 2% to 33% of the frame, or the drawn share, with sides of 0.3 to 1 / 0.3. */
static void choose_erased(const struct ctt_input *in,
                          const struct ctt_augment *a, uint64_t shape,
                          struct ctt_box *b)
{
    float share = a->erase_area > 0 ? a->erase_area :
                  0.02f + 0.31f * ctt_uniform(shape, ERASED_AREA);
    float aspect = ratio(1 / 0.3f, shape, ERASED_ASPECT);
    float area = share * (float)in->w * (float)in->h;

    b->w = (int)ceilf(within(sqrtf(area * aspect), (float)in->w));
    b->h = (int)ceilf(within(sqrtf(area / aspect), (float)in->h));
    b->x = (int)(ctt_uniform(shape, ERASED_X) * (float)(in->w - b->w + 1));
    b->y = (int)(ctt_uniform(shape, ERASED_Y) * (float)(in->h - b->h + 1));
}

/* ---- time ---- */

/* Sequences to predict keep their time. */
static void choose_time(const struct ctt_data *d, int i,
                        const struct ctt_augment *a, int most,
                        struct ctt_look *k)
{
    uint64_t shape = ctt_look_key(d, i, a, CTT_LOOK_SHAPE);
    int length = d->clip[i].length, least = d->min_frames, n = length;

    least = least < 1 ? 1 : least < length ? least : length;
    if (a->key && !d->steps) {
        k->first = (int)(a->start * (a->drawn >> BY_START & 1 ? 1 :
                         ctt_uniform(shape, START)) * (float)length);
        k->first = k->first < length - least ? k->first : length - least;
        n = (int)lroundf((float)(length - k->first) /
                         ratio_of(a, BY_SPEED, a->speed, shape, SPEED));
        n = n > least ? n : least;
    }
    k->count = n < most ? n : most;
}

int ctt_look_frame(const struct ctt_look *k, int frames, int t)
{
    int64_t of = frames - k->first;

    return k->first + (int)((2 * (int64_t)t + 1) * of / (2 * k->count));
}

int ctt_look_length(const struct ctt_data *d, int i,
                    const struct ctt_augment *a)
{
    struct ctt_augment own = augment_clip(d, i, a);
    struct ctt_look k = { .first = 0 };

    choose_time(d, i, &own, d->longest, &k);
    return k.count;
}

/* ---- all of it ---- */

static void choose_colours(const struct ctt_augment *a, uint64_t key,
                           uint64_t shape, struct ctt_look *k)
{
    k->tint.gain = 1 + a->contrast * way_of(a, BY_GAIN, key, DRAW_GAIN);
    k->tint.shift = a->brightness * way_of(a, BY_SHIFT, key, DRAW_SHIFT);
    k->tint.bend = powf(1 + a->random_gamma,
                        way_of(a, BY_BEND, key, DRAW_BEND));
    k->colour = 1 + a->saturation * way_of(a, BY_COLOUR, shape, COLOUR);
    if (ctt_uniform(shape, GREY) < a->grey)
        k->colour = 0;
}

void ctt_look_choose(const struct ctt_data *d, int i,
                     const struct ctt_augment *all, int most,
                     struct ctt_look *out)
{
    uint64_t key = ctt_clip_key(&d->clip[i], all->key);
    uint64_t shape = ctt_look_key(d, i, all, CTT_LOOK_SHAPE);
    const struct ctt_augment own = augment_clip(d, i, all), *a = &own;
    struct ctt_look k = { .tint = { 1, 0, 1 }, .colour = 1 };

    choose_time(d, i, a, most, &k);
    if (a->key && ((a->crop_area > 0 && a->crop_area < 1) ||
                   a->crop_aspect > 1))
        choose_area(d, a, key, shape, &k);
    else
        choose_place(d, a, key, &k);
    if (a->key) {
        k.flip = a->flip && ctt_uniform(key, DRAW_FLIP) < 0.5f;
        choose_colours(a, key, shape, &k);
        if (ctt_uniform(shape, ERASED) < a->erase)
            choose_erased(&d->in, a, shape, &k.erased);
    }
    *out = k;
}
