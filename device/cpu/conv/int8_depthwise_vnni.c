/* SPDX-License-Identifier: Apache-2.0
 * int8_depthwise_vnni.c: depthwise convs of quantised values for AVX-512 VNNI:
 * four neighbours of each channel beside each other, made from four pixels in
 * registers, and the sum of their products at a time. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#ifndef CTT_EMULATED
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#endif
#include "device/cpu/conv/int8_job.h"

/* FOUR: registers of sums of a block; the neighbours that a product takes; the
 * registers that are turned together. */
enum { FOUR = 4 };

#define LANES 16
#define REGS FOUR
#define BLOCK (FOUR * LANES)

typedef uint8_t elem;

#include "device/cpu/conv/int8_avx512_tmpl.h"
#include "device/cpu/conv/int8_end_tmpl.h"
#include "device/cpu/conv/int8_line_tmpl.h"
#include "device/cpu/conv/int8_pixel_tmpl.h"

/* ---- the order of channels ---- */

/* Neighbours are interleaved within 128 bits, so register i of sums has of each
 * 16 channels those from 4 i on; this makes that order of the usual one, and
 * the other way round: the quarters of registers change places. */
INLINE void turn(ivec v[FOUR])
{
    __m512i a = _mm512_shuffle_i32x4((__m512i)v[0], (__m512i)v[1], 0x44);
    __m512i b = _mm512_shuffle_i32x4((__m512i)v[0], (__m512i)v[1], 0xee);
    __m512i c = _mm512_shuffle_i32x4((__m512i)v[2], (__m512i)v[3], 0x44);
    __m512i d = _mm512_shuffle_i32x4((__m512i)v[2], (__m512i)v[3], 0xee);

    v[0] = (ivec)_mm512_shuffle_i32x4(a, c, 0x88);
    v[1] = (ivec)_mm512_shuffle_i32x4(a, c, 0xdd);
    v[2] = (ivec)_mm512_shuffle_i32x4(b, d, 0x88);
    v[3] = (ivec)_mm512_shuffle_i32x4(b, d, 0xdd);
}

/* Where channel i of a block is in that order. */
static int64_t turned(int64_t i)
{
    return i % LANES / FOUR * LANES + i / LANES * FOUR + i % FOUR;
}

/* ---- sizes ---- */

/* With a stride of 1, two results beside each other read the same registers. */
static int results(const struct ctt_call *c)
{
    return c->node->attr.conv.stride[2] == 1 ? 2 : 1;
}

/* Groups of four neighbours that the results read. */
static int64_t fours(const struct ctt_call *c)
{
    const int *kernel = c->node->attr.conv.kernel;

    return (kernel[2] + results(c) - 1 + FOUR - 1) / FOUR;
}

/* Rows are longer by what is read there and multiplied by zeros. */
static void plan(struct ctt_int8_job *j)
{
    const struct ctt_call *c = j->c;
    int64_t wide = (j->out[2] - 1) * c->node->attr.conv.stride[2] +
                   fours(c) * FOUR;

    j->groups = 1;
    j->ins = j->outs = c->out.c;
    j->pixel = ctt_align(j->ins, BLOCK);
    j->run = fours(c) * results(c) * FOUR;
    j->size[2] = wide;
}

/* [four][result][channel][neighbour] of each run. */
static void pack(const struct ctt_int8_job *j, int64_t group, int64_t o,
                 const int8_t *q, int8_t *to)
{
    const struct ctt_tensor *w = &j->c->w[0].t;
    int64_t runs = w->d * w->h, many = results(j->c);
    int8_t *at = to + o / BLOCK * runs * j->steps * BLOCK * FOUR +
                 turned(o % BLOCK) * FOUR;

    (void)group;
    for (int64_t r = 0; r < runs; r++, at += j->steps * BLOCK * FOUR)
        for (int64_t p = 0; p < many; p++)
            for (int64_t i = 0; i < w->w; i++)
                at[((i + p) / FOUR * many + p) * BLOCK * FOUR +
                   (i + p) % FOUR] = q[r * w->w + i];
}

/* ---- sums ---- */

/* The neighbours of each channel of four pixels. */
INLINE void load_fours(const elem *x, int64_t pixel, __m512i v[FOUR])
{
    __m512i a = _mm512_loadu_si512(x), b = _mm512_loadu_si512(x + pixel);
    __m512i c = _mm512_loadu_si512(x + 2 * pixel);
    __m512i d = _mm512_loadu_si512(x + 3 * pixel);
    __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    __m512i low2 = _mm512_unpacklo_epi8(c, d);
    __m512i high2 = _mm512_unpackhi_epi8(c, d);

    v[0] = _mm512_unpacklo_epi16(low, low2);
    v[1] = _mm512_unpackhi_epi16(low, low2);
    v[2] = _mm512_unpacklo_epi16(high, high2);
    v[3] = _mm512_unpackhi_epi16(high, high2);
}

/* P results beside each other of 64 channels, a constant. */
INLINE void add_up(int P, const struct ctt_int8_job *j, const elem *x,
                   const int8_t *w, ivec sum[2][FOUR])
{
    const int *k = j->c->node->attr.conv.kernel;
    int64_t steps = j->steps / P;

    for (int64_t d = 0; d < k[0]; d++)
        for (int64_t h = 0; h < k[1]; h++) {
            const elem *at = x + (d * j->size[1] + h) * j->size[2] * j->pixel;
            for (int64_t s = 0; s < steps; s++, at += FOUR * j->pixel) {
                __m512i v[FOUR];
                load_fours(at, j->pixel, v);
                UNROLL for (int p = 0; p < P; p++)
                    UNROLL for (int i = 0; i < FOUR; i++, w += 64)
                        sum[p][i] = (ivec)_mm512_dpbusd_epi32(
                            (__m512i)sum[p][i], v[i], _mm512_loadu_si512(w));
            }
        }
}

/* ---- what becomes of them ---- */

/* A block of channels of the result, in the turned order. */
struct block {
    fvec    factor[FOUR], bias[FOUR];
    ivec    start[FOUR];
    int64_t from, left;
    int     fast;
};

/* Results that need no other numbers, and fit into one register. */
static int is_fast(const struct ending *e)
{
    return e->bytes && !e->plus && (e->relu || !e->act);
}

static struct block block_of(const struct ctt_int8_job *j,
                             const struct ending *e, int64_t from)
{
    struct block b = { .from = from, .fast = is_fast(e),
                       .left = j->outs - from < BLOCK ? j->outs - from
                                                      : BLOCK };

    for (int i = 0; i < FOUR; i++) {
        b.factor[i] = load(e->factor + from + i * LANES);
        b.bias[i] = e->bias ? load(e->bias + from + i * LANES) : -(fvec){ 0 };
        memcpy(&b.start[i], j->start + from + i * LANES, sizeof(ivec));
    }
    turn((ivec *)b.factor);
    turn((ivec *)b.bias);
    turn(b.start);
    return b;
}

/* Packing saturates, and puts channels into the usual order. */
INLINE void put_block(struct ending e, const struct block *b, int64_t row,
                      ivec sum[FOUR])
{
    __mmask64 some = ~(__mmask64)0 >> (BLOCK - b->left);
    char *y = e.y + row * e.ldy + b->from;
    __m512i v[FOUR];

    UNROLL for (int i = 0; i < FOUR; i++)
        v[i] = (__m512i)to_bytes(e, __builtin_convertvector(sum[i], fvec) *
                                    b->factor[i] + b->bias[i]);
    v[0] = _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]),
                               _mm512_packs_epi32(v[2], v[3]));
    if (b->left == BLOCK)
        _mm512_storeu_si512(y, v[0]);
    else
        _mm512_mask_storeu_epi8(y, some, v[0]);
}

static __attribute__((noinline))
void put_slowly(const struct ending *e, const struct block *b, int64_t row,
                ivec sum[FOUR])
{
    int regs = (int)((b->left + LANES - 1) / LANES);

    turn(sum);
    put_any(e, row, 1, b->from, b->from, b->left, sum, regs);
}

/* n results of a row of the image, P at a time. */
INLINE void run_row(int P, const struct ctt_int8_job *j,
                    const struct ending *e, const struct block *b,
                    const elem *x, int64_t row, int64_t n)
{
    const int8_t *w = j->w + b->from / BLOCK * j->c->w[0].t.d *
                      j->c->w[0].t.h * j->steps * BLOCK * FOUR;
    int64_t step = P * j->c->node->attr.conv.stride[2] * j->pixel;
    struct ending end = *e;

    for (int64_t i = 0; i < n; i += P, x += step) {
        ivec sum[2][FOUR];

        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < FOUR; r++)
                sum[p][r] = b->start[r];
        add_up(P, j, x + b->from, w, sum);
        UNROLL for (int p = 0; p < P; p++)
            if (i + p < n) {
                if (b->fast)
                    put_block(end, b, row + i + p, sum[p]);
                else
                    put_slowly(e, b, row + i + p, sum[p]);
            }
    }
}

static void run_one(const struct ctt_int8_job *j, const struct ending *e,
                    const struct block *b, const elem *x, int64_t row,
                    int64_t n)
{
    run_row(1, j, e, b, x, row, n);
}

static void run_two(const struct ctt_int8_job *j, const struct ending *e,
                    const struct block *b, const elem *x, int64_t row,
                    int64_t n)
{
    run_row(2, j, e, b, x, row, n);
}

/* All blocks of a chunk. */
static void task(const struct ctt_int8_job *j, int64_t at)
{
    struct ending e = ending_of(j);
    int64_t first = at * j->chunk, end = first + j->chunk;

    end = end < j->rows ? end : j->rows;
    for (int64_t from = 0; from < j->outs; from += BLOCK) {
        struct block b = block_of(j, &e, from);
        for (int64_t row = first, n; row < end; row += n) {
            struct pixel p = pixel_at(j, j->x, row);
            n = j->out[2] - p.w < end - row ? j->out[2] - p.w : end - row;
            (results(j->c) == 2 ? run_two : run_one)(j, &e, &b, p.x,
                                                     j->first_row + row, n);
        }
    }
}

const struct ctt_int8_isa ctt_int8_depthwise_vnni = {
    "depthwise:vnni", FOUR, LANES, BLOCK, sizeof(elem), 1, ctt_has_vnni, lay, task,
    plan, pack
};
#else
#include "device/cpu/conv/int8_job.h"

const struct ctt_int8_isa ctt_int8_depthwise_vnni = {
    .supported = ctt_has_vnni
};
#endif
