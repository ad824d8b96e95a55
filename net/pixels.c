/* SPDX-License-Identifier: Apache-2.0
 * pixels.c: the values that a model reads of the bytes of its frames. */
#include "net/pixels.h"

#include <math.h>

enum {
    BYTE = 255,
    STEP = CTT_PIXELS_WHITE / BYTE,    /* 257 */
    BLOCK = 1 << 16    /* so many values and their squares are added in 32
                          bits */
};

/* Two steps of a byte: the noise of a black picture is one or two, and stays
 * within a deviation of 1. */
static const float DEV_LEAST = 2 / 255.0f;

/* ---- means and deviations ---- */

/* The sums of the values of a frame, 0 to 65535 each, and of their squares. */
struct sums { uint64_t value, square; };

/* Without gamma bytes are added, which compilers vectorise. */
static void add_bytes(const uint8_t *v, size_t n, struct sums *s)
{
    uint32_t sum = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        sum += v[i];
        square += (uint32_t)v[i] * v[i];
    }
    s->value += (uint64_t)sum * STEP;
    s->square += (uint64_t)square * STEP * STEP;
}

static void add_light(const uint16_t *light, const uint8_t *v, size_t n,
                      struct sums *s)
{
    uint64_t square = 0;
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t u = light[v[i]];
        sum += u;
        square += u * u;
    }
    s->value += sum;
    s->square += square;
}

static void add_values(const struct ctt_pixels *p, const uint8_t *v, size_t n,
                       struct sums *s)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t some = n - at < BLOCK ? n - at : BLOCK;
        if (p->bent)
            add_light(p->light, v + at, some, s);
        else
            add_bytes(v + at, some, s);
    }
}

/* sum 2^bits / n, rounded down, for n of at most 2^30. */
static uint64_t mean_of(uint64_t sum, uint64_t n, int bits)
{
    return ((sum / n) << bits) + ((sum % n) << bits) / n;
}

static uint64_t values_of(const struct ctt_pixels *p)
{
    return (uint64_t)p->in.h * (uint64_t)p->in.w * (uint64_t)p->in.c;
}

/* From the 257th frame on each one replaces a 256th of the sums. */
static void take_in(struct ctt_pixels *p, const struct sums *s)
{
    uint64_t n = values_of(p);

    if (p->frames < CTT_PIXELS_MEMORY) {
        p->frames++;
    } else {
        p->mean -= p->mean / CTT_PIXELS_MEMORY;
        p->square -= p->square / CTT_PIXELS_MEMORY;
    }
    p->mean += mean_of(s->value, n, 32);
    p->square += mean_of(s->square, n, 16);
}

static void set_normal(struct ctt_pixels *p)
{
    double mean = (double)p->mean / (p->frames * 0x1p32);
    double square = (double)p->square / (p->frames * 0x1p16);
    double dev = sqrt(fmax(square - mean * mean, 0));
    float s = (float)(dev / CTT_PIXELS_WHITE);

    for (int k = 0; k < 3; k++) {
        p->in.mean[k] = (float)(mean / CTT_PIXELS_WHITE);
        p->in.std[k] = s > DEV_LEAST ? s : DEV_LEAST;
    }
}

/* ---- values ---- */

static void set_values(struct ctt_pixels *p)
{
    float white = p->bent ? CTT_PIXELS_WHITE : BYTE;

    p->alike = 1;
    for (int k = 0; k < 3; k++) {
        p->mul[k] = 1 / (white * p->in.std[k]);
        p->add[k] = -p->in.mean[k] / p->in.std[k];
        p->alike &= k >= p->in.c || (p->mul[k] == p->mul[0] &&
                                     p->add[k] == p->add[0]);
        for (int v = 0; p->bent && v <= BYTE; v++)
            p->table[k][v] = (float)p->light[v] * p->mul[k] + p->add[k];
    }
}

void ctt_pixels_begin(struct ctt_pixels *p, const struct ctt_input *in)
{
    double gamma = in->gamma > 0 ? (double)in->gamma : 1;

    p->in = *in;
    p->bent = in->gamma > 0 && in->gamma != 1;
    for (int v = 0; v <= BYTE; v++)
        p->light[v] = (uint16_t)(p->bent ? lrint(CTT_PIXELS_WHITE *
                                                 pow(v / 255.0, gamma))
                                         : v * STEP);
    ctt_pixels_reset(p);
    set_values(p);
}

void ctt_pixels_reset(struct ctt_pixels *p)
{
    p->frames = 0;
    p->mean = p->square = 0;
}

static void update_normal(struct ctt_pixels *p, const struct sums *s)
{
    take_in(p, s);
    set_normal(p);
    set_values(p);
}

void ctt_pixels_next(struct ctt_pixels *p, const uint8_t *frame, size_t row)
{
    size_t rows = (size_t)p->in.h, n = (size_t)p->in.w * (size_t)p->in.c;
    struct sums s = { 0, 0 };

    if (p->in.normalise != CTT_NORMALISE_CLIP)
        return;
    if (row == n) {
        n *= rows;
        rows = 1;
    }
    for (size_t y = 0; y < rows; y++)
        add_values(p, frame + y * row, n, &s);
    update_normal(p, &s);
}

void ctt_pixels_next_values(struct ctt_pixels *p, const float *value)
{
    uint64_t n = values_of(p);
    struct sums s = { 0, 0 };

    if (p->in.normalise != CTT_NORMALISE_CLIP)
        return;
    for (uint64_t i = 0; i < n; i++) {
        float v = value[i] < 0 ? 0 : value[i] < 1 ? value[i] : 1;
        uint64_t u = (uint64_t)(v * CTT_PIXELS_WHITE + 0.5f);
        s.value += u;
        s.square += u * u;
    }
    update_normal(p, &s);
}

static void float_bytes(const uint8_t *v, int64_t n, float mul, float add,
                        float *out)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)v[i] * mul + add;
}

/* Channels that differ: SOME values at a time, a multiple of 1, 2 and 3 and of
 * a register's bytes.  Returns how many were written. */
static int64_t float_blocks(const struct ctt_pixels *p, const uint8_t *v,
                            int64_t n, float *out)
{
    enum { SOME = 48 };
    float mul[SOME], add[SOME];
    int64_t at = 0;

    for (int i = 0; i < SOME && n >= SOME; i++) {
        mul[i] = p->mul[i % p->in.c];
        add[i] = p->add[i % p->in.c];
    }
    for (; at + SOME <= n; at += SOME)
#pragma omp simd
        for (int i = 0; i < SOME; i++)
            out[at + i] = (float)v[at + i] * mul[i] + add[i];
    return at;
}

void ctt_pixels_float(const struct ctt_pixels *p, const uint8_t *pixel,
                      int64_t n, int step, float *out)
{
    int c = p->in.c;

    if (!p->bent && p->alike && step == c) {
        float_bytes(pixel, n * c, p->mul[0], p->add[0], out);
        return;
    }
    if (!p->bent && step == c) {
        int64_t done = float_blocks(p, pixel, n * c, out);
        pixel += done;
        out += done;
        n -= done / c;
    }
    for (int64_t i = 0; i < n; i++, pixel += step)
        for (int k = 0; k < c; k++)
            *out++ = p->bent ? p->table[k][pixel[k]]
                             : (float)pixel[k] * p->mul[k] + p->add[k];
}

int ctt_pixels_reversible(const struct ctt_node *input)
{
    const struct ctt_input *in = &input->attr.input;
    int rc = 0;

    CTT_CHECK(in->normalise == CTT_NORMALISE_SET && in->gamma == 1,
              CTT_EUNSUP, "%s: a model that predicts frames needs "
              "normalise=set and gamma=1, so that its answers are pictures",
              input->name);
out:
    return rc;
}
