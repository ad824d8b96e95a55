/* SPDX-License-Identifier: Apache-2.0
 * synth_draw.c: an anti-aliased rasteriser for the generated clips: shapes are
 * signed distances to an edge, negative inside, which give a pixel's coverage.
 */
#include "video/synth/synth_draw.h"

#include <math.h>

enum { PARTS = 2, GRID = 16, OCTAVES = 3, FINGERS = 4 };

/* A rounded box of half size (w, h) around (x, y); its width grows by taper
 * from middle to bottom. */
struct part { float x, y, w, h, round, taper; };

const char *const ctt_synth_shape[CTT_SYNTH_SHAPES] = {
    "bottle", "box", "cup", "candle", "figure", "house", "card", "lamp"
};

static const struct part shape[CTT_SYNTH_SHAPES][PARTS] = {
    { { 0, .27f, .45f, .73f, .12f, 0 }, { 0, -.66f, .19f, .34f, .05f, 0 } },
    { { 0, 0, .62f, .85f, .02f, 0 },    { 0, 0, .3f, .3f, 0, 0 } },
    { { 0, 0, .58f, .8f, .05f, -.2f },  { .62f, -.1f, .2f, .36f, .15f, 0 } },
    { { 0, .1f, .33f, .9f, .06f, 0 },   { 0, -.85f, .08f, .15f, .05f, 0 } },
    { { 0, .32f, .5f, .66f, .2f, .15f }, { 0, -.64f, .34f, .34f, .34f, 0 } },
    { { 0, .3f, .6f, .65f, 0, 0 },      { 0, -.6f, .45f, .4f, .02f, .9f } },
    { { 0, 0, .5f, .95f, .15f, 0 },     { 0, .2f, .3f, .3f, 0, 0 } },
    { { 0, -.5f, .45f, .5f, .05f, .4f }, { 0, .4f, .2f, .6f, .04f, .3f } },
};

const char *const ctt_synth_colour[CTT_SYNTH_COLOURS] = {
    "red", "green", "blue", "yellow", "white", "black", "orange", "purple",
    "pink", "brown"
};

static const uint8_t colour[CTT_SYNTH_COLOURS][3] = {
    { 200, 40, 40 },   { 50, 150, 60 },  { 50, 80, 190 },  { 220, 200, 60 },
    { 225, 225, 220 }, { 40, 40, 45 },   { 225, 130, 40 }, { 130, 60, 160 },
    { 225, 140, 170 }, { 115, 75, 45 },
};

static const uint8_t skin[][3] = {
    { 235, 195, 170 }, { 215, 165, 130 }, { 180, 125, 90 }, { 130, 85, 60 },
    { 90, 60, 45 },
};

static float clampf(float x, float lo, float hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

int ctt_canvas_new(struct ctt_canvas *v, int size)
{
    int margin = size / 12 + 2, wide = size + 2 * margin;

    v->size = size;
    v->margin = margin;
    v->back = ctt_calloc((size_t)wide * wide * 3, sizeof(float));
    v->rgb = ctt_calloc((size_t)size * size * 3, sizeof(float));
    if (v->back && v->rgb)
        return 0;
    ctt_canvas_free(v);
    return CTT_ENOMEM;
}

void ctt_canvas_free(struct ctt_canvas *v)
{
    ctt_free(v->back);
    ctt_free(v->rgb);
    v->back = v->rgb = NULL;
}

static void vary(struct ctt_rng *r, const uint8_t *from, float by, float *rgb)
{
    for (int k = 0; k < 3; k++)
        rgb[k] = clampf(from[k] + ctt_rng_in(r, -by, by), 15, 240);
}

void ctt_thing_pick(struct ctt_rng *r, struct ctt_thing *t)
{
    int band = ctt_rng_below(r, CTT_SYNTH_COLOURS - 1);

    t->shape = ctt_rng_below(r, CTT_SYNTH_SHAPES);
    t->colour = ctt_rng_below(r, CTT_SYNTH_COLOURS);
    vary(r, colour[t->colour], 25, t->rgb);
    vary(r, colour[band + (band >= t->colour)], 25, t->band);
}

void ctt_hand_pick(struct ctt_rng *r, struct ctt_hand *h)
{
    vary(r, skin[ctt_rng_below(r, CTT_LEN(skin))], 12, h->skin);
    vary(r, colour[ctt_rng_below(r, CTT_SYNTH_COLOURS)], 40, h->sleeve);
}

static float part_distance(const struct part *p, float x, float y)
{
    float w = p->w * (1 + p->taper * (y - p->y) / p->h);
    float dx = fabsf(x - p->x) - (w > .02f ? w : .02f) + p->round;
    float dy = fabsf(y - p->y) - p->h + p->round;
    float ox = dx > 0 ? dx : 0, oy = dy > 0 ? dy : 0;
    float in = dx > dy ? dx : dy;

    return sqrtf(ox * ox + oy * oy) + (in < 0 ? in : 0) - p->round;
}

static float shape_distance(int k, float x, float y)
{
    float a = part_distance(&shape[k][0], x, y);
    float b = part_distance(&shape[k][1], x, y);

    return a < b ? a : b;
}

float ctt_thing_edge(int k, float nx, float ny)
{
    float far = 1.3f;

    while (far > .1f && shape_distance(k, far * nx, far * ny) > 0)
        far -= .02f;
    return far;
}

/* A jagged line, for the edge of a tear. */
static float zigzag(float x)
{
    float f = x * 3 - floorf(x * 3);

    return (fabsf(f - .5f) - .25f) * .25f;
}

/* Distance to the piece on side (-1 or 1) of the tear.  Changes x, y, in the
 * object's coordinates, to the point of the whole object that is there. */
static float piece_distance(const struct ctt_thing *t, int side, float *x,
                            float *y)
{
    float by = side > 0 ? t->gap : 0, d, e;

    *x -= by * t->nx;
    *y -= by * t->ny;
    d = shape_distance(t->shape, *x, *y);
    e = *x * t->nx + *y * t->ny - zigzag(*y * t->nx - *x * t->ny);
    e *= (float)-side;
    return d > e ? d : e;
}

static void blend(float *to, const float *rgb, float cover, float shade)
{
    for (int k = 0; k < 3; k++)
        to[k] += (rgb[k] * shade - to[k]) * cover;
}

/* One pixel of an object: (x, y) in its coordinates, px pixels per unit. */
static void thing_pixel(const struct ctt_thing *t, float x, float y, float px,
                        float *to)
{
    float ux = x, uy = y, d, shade;

    if (t->gap > 0) {
        float vx = x, vy = y, e;

        d = piece_distance(t, -1, &ux, &uy);
        e = piece_distance(t, 1, &vx, &vy);
        if (e < d) {
            d = e;
            ux = vx;
            uy = vy;
        }
    } else {
        d = shape_distance(t->shape, x, y);
    }
    if (d * px > .5f)
        return;
    shade = d > -.09f ? .45f : 1.05f - .18f * ux;
    blend(to, fabsf(uy + .25f) < .16f ? t->band : t->rgb,
          clampf(.5f - d * px, 0, 1), shade);
}

static int first(float at, int size)
{
    return (int)clampf(floorf(at), 0, (float)size);
}

void ctt_draw_thing(struct ctt_canvas *v, const struct ctt_view *w,
                    const struct ctt_thing *t)
{
    float px = t->s * (float)v->size, inv = 1 / px;
    float co = (float)cos(t->a) * inv, si = (float)sin(t->a) * inv;
    float cx = (t->x + w->x) * (float)v->size;
    float cy = (t->y + w->y) * (float)v->size;
    float reach = (1.3f + t->gap) * px + 1;
    int x0 = first(cx - reach, v->size), x1 = first(cx + reach + 1, v->size);
    int y0 = first(cy - reach, v->size), y1 = first(cy + reach + 1, v->size);

    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            float dx = (float)x + .5f - cx, dy = (float)y + .5f - cy;
            thing_pixel(t, co * dx + si * dy, co * dy - si * dx, px,
                        v->rgb + ((size_t)y * v->size + x) * 3);
        }
}

/* Distance to a line along x, from `from` to `to`, of half thickness r. */
static float bar(float x, float y, float from, float to, float r)
{
    float dx = x < from ? from - x : x > to ? x - to : 0;

    return sqrtf(dx * dx + y * y) - r;
}

/* The hand points along its x axis: finger tips at 0, the arm to infinity. */
static void hand_pixel(const struct ctt_hand *h, float x, float y, float px,
                       float *to)
{
    float d = bar(x, y, .95f, 1.25f, .42f), e;

    for (int k = 0; k < FINGERS; k++) {
        e = bar(x, y - ((float)k - 1.5f) * .24f, k == 0 || k == 3 ? .2f : .1f,
                1, .12f);
        d = e < d ? e : d;
    }
    e = bar(x, y, 1.2f, 20, .32f);
    d = e < d ? e : d;
    e = bar(x, y, 2.1f, 20, .4f);
    if (d * px <= .5f)
        blend(to, h->skin, clampf(.5f - d * px, 0, 1), d > -.06f ? .7f : 1);
    if (e * px <= .5f)
        blend(to, h->sleeve, clampf(.5f - e * px, 0, 1),
              e > -.07f ? .6f : 1);
}

void ctt_draw_hand(struct ctt_canvas *v, const struct ctt_view *w,
                   const struct ctt_hand *h)
{
    float px = h->s * (float)v->size, inv = 1 / px;
    float co = (float)cos(h->a) * inv, si = (float)sin(h->a) * inv;
    float cx = (h->x + w->x) * (float)v->size;
    float cy = (h->y + w->y) * (float)v->size;

    for (int y = 0; y < v->size; y++)
        for (int x = 0; x < v->size; x++) {
            float dx = (float)x + .5f - cx, dy = (float)y + .5f - cy;
            float hx = co * dx + si * dy, hy = co * dy - si * dx;
            if (hx > -.2f && fabsf(hy) < .7f)
                hand_pixel(h, hx, hy, px,
                           v->rgb + ((size_t)y * v->size + x) * 3);
        }
}

/* Smooth noise: a grid of random numbers, interpolated. */
static float lattice(const float *g, float x, float y)
{
    int i = (int)x, j = (int)y;
    float u = x - (float)i, w = y - (float)j;
    const float *p = g + j % GRID * GRID, *q = g + (j + 1) % GRID * GRID;
    int k = i % GRID, l = (i + 1) % GRID;

    u = u * u * (3 - 2 * u);
    w = w * w * (3 - 2 * w);
    return (p[k] + (p[l] - p[k]) * u) * (1 - w) +
           (q[k] + (q[l] - q[k]) * u) * w;
}

struct texture {
    float grid[OCTAVES][GRID * GRID];
    float scale, co, si, stripes, ground[3], other[3];
};

static void texture_pick(struct ctt_rng *r, struct texture *t)
{
    float a = ctt_rng_in(r, 0, 6.2832f);
    uint8_t rgb[3];

    for (int o = 0; o < OCTAVES; o++)
        for (int k = 0; k < GRID * GRID; k++)
            t->grid[o][k] = ctt_rng_in(r, 0, 1);
    t->scale = ctt_rng_in(r, 2.5f, 6);
    t->co = (float)cos(a);
    t->si = (float)sin(a);
    t->stripes = ctt_rng_below(r, 2) ? ctt_rng_in(r, 15, 45) : 0;
    for (int k = 0; k < 3; k++)
        rgb[k] = (uint8_t)ctt_rng_in(r, 60, 200);
    vary(r, rgb, 10, t->ground);
    vary(r, rgb, 70, t->other);
}

static float texture_at(const struct texture *t, float x, float y)
{
    float u = 2 + t->co * x - t->si * y, w = 2 + t->si * x + t->co * y;
    float f = t->scale, sum = 0, weight = .5f;

    for (int o = 0; o < OCTAVES; o++, f *= 2.1f, weight /= 2)
        sum += weight * lattice(t->grid[o], u * f, w * f);
    if (t->stripes > 0)
        sum = .7f * sum + .3f * clampf(zigzag(u * t->stripes / 9) * 8 + .5f,
                                       0, 1);
    return clampf(sum * 1.2f, 0, 1);
}

void ctt_draw_back(struct ctt_canvas *v, struct ctt_rng *r)
{
    struct texture t;
    int wide = v->size + 2 * v->margin;
    float inv = 1 / (float)v->size;

    texture_pick(r, &t);
    for (int y = 0; y < wide; y++)
        for (int x = 0; x < wide; x++) {
            float f = texture_at(&t, (float)x * inv, (float)y * inv);
            float *to = v->back + ((size_t)y * wide + x) * 3;
            for (int k = 0; k < 3; k++)
                to[k] = t.ground[k] + (t.other[k] - t.ground[k]) * f;
        }
}

void ctt_draw_view(struct ctt_canvas *v, const struct ctt_view *w)
{
    int wide = v->size + 2 * v->margin;
    float limit = (float)(2 * v->margin - 1);
    float sx = clampf((float)v->margin - w->x * (float)v->size, 0, limit);
    float sy = clampf((float)v->margin - w->y * (float)v->size, 0, limit);
    int ix = (int)sx, iy = (int)sy;
    float u = sx - (float)ix, f = sy - (float)iy;

    for (int y = 0; y < v->size; y++) {
        const float *p = v->back + ((size_t)(y + iy) * wide + ix) * 3;
        const float *q = p + (size_t)wide * 3;
        float *to = v->rgb + (size_t)y * v->size * 3;
        for (int x = 0; x < 3 * v->size; x++)
            to[x] = (p[x] + (p[x + 3] - p[x]) * u) * (1 - f) +
                    (q[x] + (q[x + 3] - q[x]) * u) * f;
    }
}

void ctt_draw_bytes(const struct ctt_canvas *v, const struct ctt_rng *r,
                    float gain, float sigma, uint8_t *out)
{
    /* The sum of two numbers of five bits has a standard deviation of 13. */
    float step = sigma / 13;
    int64_t n = (int64_t)v->size * v->size;

    for (int64_t i = 0; i < n; i++) {
        uint32_t b = ctt_random(r->key, r->i + (uint64_t)i);
        for (int k = 0; k < 3; k++, b >>= 10) {
            int e = (int)(b & 31) + (int)(b >> 5 & 31) - 31;
            float x = v->rgb[3 * i + k] * gain + (float)e * step;
            out[3 * i + k] = (uint8_t)(clampf(x, 0, 255) + .5f);
        }
    }
}
