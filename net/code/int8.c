/* SPDX-License-Identifier: Apache-2.0
 * int8.c: values "int8": a scale per output channel, a float, then a signed
 * byte per kept element: its value is their product. */
#include "base/avx2.h"
#include "net/code/row.h"

#include <math.h>

enum { SCALE = 4, LARGEST = 127, ULPS = 2 };

static const uint32_t minus_zero = 0x80000000;

static int64_t channels(const struct ctt_part *p)
{
    return p->w->t.n;
}

/* Elements of each of them. */
static int64_t each(const struct ctt_part *p)
{
    return p->count / channels(p);
}

/* ---- the scales of a weight that has none ---- */

/* The byte for x, or LARGEST + 1 if there is none. */
static int byte_of(float x, float scale)
{
    float q = scale > 0 ? rintf(x / scale) : 0;

    if (!(fabsf(q) <= LARGEST) || ctt_float_bits(x) == minus_zero ||
        ctt_float_bits(scale * q) != ctt_float_bits(x))
        return LARGEST + 1;
    return (int)q;
}

static int fits_scale(const struct ctt_part *p, int64_t channel, float scale)
{
    const float *w = p->w->t.data;

    for (int64_t i = channel * each(p); i < (channel + 1) * each(p); i++)
        if (ctt_part_keeps(p, i) && byte_of(w[i], scale) > LARGEST)
            return 0;
    return 1;
}

/* The power of two of which x is an odd multiple; 0 or inf for no number. */
static float unit_of(float x)
{
    int e;
    float m = frexpf(x, &e);

    if (!isfinite(x) || x == 0)
        return x == 0 ? INFINITY : 0;
    for (; m != rintf(m); e--)
        m *= 2;
    return ldexpf(1, e);
}

/* Up to the rounding of a product. */
static int fits_near(const struct ctt_part *p, int64_t channel, float near,
                     float *scale)
{
    *scale = near;
    for (int k = 0; k < ULPS; k++)
        *scale = nextafterf(*scale, 0);
    for (int k = 0; k <= 2 * ULPS; k++) {
        if (fits_scale(p, channel, *scale))
            return 1;
        *scale = nextafterf(*scale, INFINITY);
    }
    return 0;
}

/* Numbers that were rounded have a scale that is either the largest power of
 * two that divides them all, or the largest of them over 127 or, in fewer bits,
 * 63, 31 and so on. */
static int find_scale(const struct ctt_part *p, int64_t channel, float *scale)
{
    const float *w = p->w->t.data;
    float unit = INFINITY, most = 0;

    for (int64_t i = channel * each(p); i < (channel + 1) * each(p); i++) {
        if (!ctt_part_keeps(p, i))
            continue;
        unit = fminf(unit, unit_of(w[i]));
        most = fmaxf(most, fabsf(w[i]));
    }
    *scale = isfinite(unit) ? unit : 0;
    if (fits_scale(p, channel, *scale))
        return 1;
    for (int q = LARGEST; q > 0; q /= 2)
        if (fits_near(p, channel, most / (float)q, scale))
            return 1;
    return 0;
}

/* ---- the row ---- */

static int layout(const struct ctt_part *p, struct ctt_layout *l)
{
    float scale;

    *l = (struct ctt_layout){ SCALE * channels(p), p->kept, 1 };
    if (!ctt_weight_is_floats(p->w) || p->w->share)
        return 0;
    for (int64_t o = 0; o < channels(p); o++)
        if (!find_scale(p, o, &scale))
            return 0;
    return 1;
}

static void put_int8(const struct ctt_part *p, uint8_t *out)
{
    const float *w = p->w->t.data;
    uint8_t *q = out + SCALE * channels(p);
    float scale = 0;

    for (int64_t o = 0; o < channels(p); o++) {
        find_scale(p, o, &scale);
        ctt_put_number(out + SCALE * o, ctt_float_bits(scale), SCALE);
        for (int64_t i = o * each(p); i < (o + 1) * each(p); i++)
            if (ctt_part_keeps(p, i))
                *q++ = (uint8_t)byte_of(w[i], scale);
    }
}

static int64_t most(const struct ctt_part *p)
{
    return SCALE * channels(p) + p->kept;
}

static int64_t used(const struct ctt_part *p, const uint8_t *in, int64_t n)
{
    (void)in;
    return most(p) <= n ? most(p) : -1;
}

/* A channel of which nothing is pruned; returns 0 if a number is none. */
static inline __attribute__((always_inline)) int whole_row(const uint8_t *q,
                                                           float scale,
                                                           int64_t n, float *w)
{
    int least = 0;

#pragma omp simd reduction(min : least)
    for (int64_t i = 0; i < n; i++) {
        int x = (int8_t)q[i];

        least = x < least ? x : least;
        w[i] = scale * (float)x;
    }
    return least >= -LARGEST;
}

CTT_ALSO_AVX2(int, get_whole, whole_row,
              (const uint8_t *q, float scale, int64_t n, float *w),
              (q, scale, n, w))

static int get_int8(const struct ctt_part *p, const uint8_t *in,
                    const struct ctt_decoded *to)
{
    const uint8_t *q = in + SCALE * channels(p);
    int64_t n = each(p), j = 0;

    for (int64_t o = 0; o < channels(p); o++) {
        float scale;

        ctt_set_bits(&scale, ctt_get_number(in + SCALE * o, SCALE));
        if (!isfinite(scale) || scale < 0)
            return 0;
        if (!p->at) {
            if (!get_whole(q + o * n, scale, n, to->w + o * n))
                return 0;
            continue;
        }
        for (; j < p->kept && p->at[j] < (o + 1) * n; j++) {
            int x = (int8_t)q[j];

            if (x < -LARGEST)
                return 0;
            ctt_set_bits(&to->w[p->at[j]],
                         x ? ctt_float_bits(scale * (float)x) : 0);
        }
    }
    return 1;
}

const struct ctt_values ctt_values_int8 = {
    "int8", 1, 0, layout, put_int8, most, used, get_int8
};
