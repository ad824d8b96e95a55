/* SPDX-License-Identifier: Apache-2.0
 * int8_depthwise.c: depthwise convs of quantised values for AVX2: registers of
 * channels, the products of two weights of a window at a time. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/conv/int8_job.h"

#define LANES 8

typedef int16_t elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));

#include "device/cpu/conv/int8_avx2_tmpl.h"
#include "device/cpu/conv/int8_end_tmpl.h"
#include "device/cpu/conv/int8_lay_tmpl.h"
#include "device/cpu/conv/int8_pixel_tmpl.h"

enum { PIXELS = 4, UNIT = 2, BLOCK = 2 * LANES };

/* A tile: its first row of the result, and where its windows begin. */
struct tile {
    int64_t       row;
    const elem   *x[PIXELS];
    struct ending end;
};

/* A weight of the window: its place there, and how far it is in the values. */
struct tap { int64_t h, w, off; };

static inline void next_tap(const struct ctt_int8_job *j, struct tap *t)
{
    const int *k = j->c->node->attr.conv.kernel;

    t->off += j->pixel;
    if (++t->w < k[2])
        return;
    t->w = 0;
    t->off += (j->size[2] - k[2]) * j->pixel;
    if (++t->h < k[1])
        return;
    t->h = 0;
    t->off += (j->size[1] - k[1]) * j->size[2] * j->pixel;
}

/* Channels 0-3 and 8-11 of the block in the first register, the others in the
 * second: as the values of two taps are mixed most easily. */
INLINE void get_pair(const int8_t *p, __m256i w[2])
{
    __m256i all = _mm256_loadu_si256((const __m256i *)(const void *)p);

    all = _mm256_permute4x64_epi64(all, 0xd8);
    w[0] = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(all));
    w[1] = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(all, 1));
}

INLINE __m256i values(const elem *x)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}

INLINE void add_pair(int P, const struct tile *t, int64_t one, int64_t other,
                     const int8_t *p, __m256i sum[PIXELS][2])
{
    __m256i w[2];

    get_pair(p, w);
    UNROLL for (int i = 0; i < P; i++) {
        __m256i a = values(t->x[i] + one), b = values(t->x[i] + other);
        __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w[0]);
        __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w[1]);
        sum[i][0] = _mm256_add_epi32(sum[i][0], low);
        sum[i][1] = _mm256_add_epi32(sum[i][1], high);
    }
}

INLINE void put_block(int P, const struct ctt_int8_job *j,
                      const struct tile *t, int64_t from,
                      __m256i sum[PIXELS][2])
{
    struct ending end = t->end;
    int64_t n = j->outs - from, more = n - LANES;

    UNROLL for (int i = 0; i < P; i++) {
        ivec a = (ivec)_mm256_permute2x128_si256(sum[i][0], sum[i][1], 0x20);
        ivec b = (ivec)_mm256_permute2x128_si256(sum[i][0], sum[i][1], 0x31);
        put_sums(end, t->row + i, from, from, n < LANES ? n : LANES, a);
        if (more > 0)
            put_sums(end, t->row + i, from + LANES, from + LANES,
                     more < LANES ? more : LANES, b);
    }
}

/* P, pixels, is a constant. */
INLINE void run_tile(int P, const struct ctt_int8_job *j,
                     const struct tile *t)
{
    const int8_t *w = j->w;

    for (int64_t from = 0; from < j->outs; from += BLOCK) {
        struct tap tap = { .off = from };
        __m256i sum[PIXELS][2];
        UNROLL for (int i = 0; i < P; i++)
            sum[i][0] = sum[i][1] = _mm256_setzero_si256();
        for (int64_t i = 0; i < j->run; i += 2, w += BLOCK * UNIT) {
            int64_t one = tap.off;
            next_tap(j, &tap);
            /* The last weight may be alone: the other is 0. */
            add_pair(P, t, one, i + 1 < j->run ? tap.off : one, w, sum);
            next_tap(j, &tap);
        }
        put_block(P, j, t, from, sum);
    }
}

#define TILE(P)                                                         \
    static void tile_##P(const struct ctt_int8_job *j,                  \
                         const struct tile *t)                          \
    {                                                                   \
        run_tile(P, j, t);                                              \
    }
TILE(1) TILE(2) TILE(3) TILE(4)

/* A task is not a block of channels of a chunk, which would read parts of cache
 * lines, but as large a part of its pixels. */
static void task(const struct ctt_int8_job *j, int64_t at)
{
    static void (*const tiles[])(const struct ctt_int8_job *,
                                 const struct tile *) = {
        NULL, tile_1, tile_2, tile_3, tile_4
    };
    int64_t rows = j->samples * j->out[0] * j->out[1] * j->out[2];
    int64_t chunk = at / j->blocks, part = at % j->blocks;
    int64_t many = (j->chunk + PIXELS - 1) / PIXELS;
    int64_t row = chunk * j->chunk + many * part / j->blocks * PIXELS;
    int64_t end = chunk * j->chunk + many * (part + 1) / j->blocks * PIXELS;
    struct tile t = { .end = ending_of(j) };
    struct pixel p = pixel_at(j, j->x, row);

    end = end < (chunk + 1) * j->chunk ? end : (chunk + 1) * j->chunk;
    end = end < rows ? end : rows;
    while (row < end) {
        int64_t n = end - row < PIXELS ? end - row : PIXELS;
        for (int64_t i = 0; i < n; i++, step_on(j, j->x, &p))
            t.x[i] = p.x;
        t.row = j->first * (rows / j->samples) + row;
        tiles[n](j, &t);
        row += n;
    }
}

const struct ctt_int8_isa ctt_int8_depthwise = {
    "depthwise:avx2", UNIT, BLOCK, sizeof(elem), 1, ctt_has_avx2, lay, task
};
#else
#include "device/cpu/conv/int8_job.h"

const struct ctt_int8_isa ctt_int8_depthwise = { .supported = ctt_has_avx2 };
#endif
