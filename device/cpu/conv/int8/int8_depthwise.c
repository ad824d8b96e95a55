/* SPDX-License-Identifier: Apache-2.0
 * int8_depthwise.c: depthwise convs of quantised values for AVX2: two values of
 * each channel beside each other, and the sum of their products at a time. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/conv/int8/int8_job.h"

#define LANES 8
#define REGS 2
#define UNIT 2

typedef int16_t elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef __m256i wvec;

#include "device/cpu/conv/int8/int8_avx2_tmpl.h"
#include "device/cpu/conv/int8/int8_depthwise_tmpl.h"
#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_layout_tmpl.h"

/* Channels interleaved at a time. */
enum { PIECE = 64 };

/* Reads pixel i of the line, or zeros. */
static void lay_pixel(const struct ctt_int8_job *j, struct line l, int64_t i,
                      int64_t from, int64_t n, elem *to)
{
    if (i >= l.left && i < l.left + l.n)
        lay_some(j, l.row + i - l.left, from, to, n);
    else
        memset(to, 0, PIECE * sizeof(*to));    /* a fixed size is faster */
}

static void interleave(const elem *a, const elem *b, elem *to, int64_t n)
{
    SIMD for (int64_t i = 0; i < n; i++) {
        to[2 * i] = a[i];
        to[2 * i + 1] = b[i];
    }
}

/* Lays out pairs of a pixel and the next one; the last pixel's partner is 0. */
static void lay_line(const struct ctt_int8_job *j, int64_t line)
{
    struct line l = line_bounds(j, line);
    elem *to = (elem *)j->x + line * j->size[2] * j->pixel, x[2][PIECE];

    for (int64_t c = 0; c < j->ins; c += PIECE) {
        int64_t n = j->ins - c < PIECE ? j->ins - c : PIECE;
        lay_pixel(j, l, 0, c, n, x[0]);
        for (int64_t i = 0; i < j->size[2]; i++) {
            lay_pixel(j, l, i + 1, c, n, x[(i + 1) % 2]);
            interleave(x[i % 2], x[(i + 1) % 2], to + i * j->pixel + UNIT * c,
                       n);
        }
    }
}

static inline wvec load_weights(const int8_t *w)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)
                                                w));
}

/* Elements from one pair of a run to the next: two pixels. */
static inline int64_t unit_stride(const struct ctt_int8_job *j)
{
    return UNIT * j->pixel;
}

static inline ivec load_values(const elem *x, int r)
{
    return (ivec)_mm256_loadu_si256((const __m256i *)(const void *)
                                    (x + r * LANES * UNIT));
}

static inline ivec dot(ivec sum, ivec v, wvec w)
{
    return sum + (ivec)_mm256_madd_epi16((__m256i)v, w);
}

#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_int8_depthwise = {
    .name = "depthwise:avx2", .unit = UNIT, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .depthwise = 1, .supported = ctt_has_avx2,
    .lay = lay_line, .task = task, .plan = one_group_plan
};
#else
#include "device/cpu/conv/int8/int8_job.h"

const struct ctt_int8_isa ctt_int8_depthwise = { .supported = ctt_has_avx2 };
#endif
