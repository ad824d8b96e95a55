/* SPDX-License-Identifier: Apache-2.0
 * wino16_tmpl.h: the integer Winograd kernels for one instruction set; the
 * including file sets LANES (sums in a register) and ROWS (tiles a micro-kernel
 * takes), and defines the registers vec (of uint32_t, whose sums are modulo
 * 2^32), ivec (signed), fvec (of floats) and shorts (16 or 8 of int16_t), wvec
 * and pvec, and:
 *   load_weights(p)         pairs of 16 bits, as wvec
 *   load_pair(p)            two numbers of 16 bits for each pair, as pvec
 *   add_products(s, a, b)   s + the products of the pairs a and b, summed
 *   load_bytes(p)           as many bytes as shorts
 *   lanes_max(a, b), lanes_min  of two floats; b if one is a NaN or both are 0
 *   store_bytes(p, v, l)    as bytes: what follows the product in ctt_quant(),
 *                           with struct limits: low -zero, high 255 - zero
 * and perhaps STORE_PIXELS and store_pixels(). */

#include <math.h>

enum { PANEL = 2 * LANES, SHORTS = sizeof(shorts) / sizeof(int16_t) };

/* Inverse of 9 modulo 2^32. */
#define INVERSE 0x38e38e39u

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define LOOP _Pragma("GCC unroll 1")

/* Unaligned vector: loads and stores at any address in one instruction. */
typedef vec loose_vec __attribute__((aligned(2), may_alias));
typedef shorts loose_shorts __attribute__((aligned(2), may_alias));

INLINE vec load(const void *p)
{
    return *(const loose_vec *)p;
}

INLINE void store(void *p, vec v)
{
    *(loose_vec *)p = v;
}

INLINE void store_shorts(int16_t *p, shorts v)
{
    *(loose_shorts *)p = v;
}

INLINE fvec load_few(const float *p, int64_t n)
{
    float some[LANES] = { 0 };

    if (n == LANES)
        return (fvec)load(p);
    memcpy(some, p, (size_t)n * sizeof(float));
    return (fvec)load(some);
}

INLINE void store_floats(void *p, fvec v, int64_t n)
{
    if (n == LANES)
        store(p, (vec)v);
    else
        memcpy(p, &v, (size_t)n * sizeof(float));
}

INLINE void store_some_bytes(void *p, fvec v, const struct limits *l, int64_t n)
{
    uint8_t some[LANES];

    store_bytes(n == LANES ? p : some, v, l);
    if (n < LANES)
        memcpy(p, some, (size_t)n);
}

#ifndef STORE_PIXELS
/* Stores the bytes of at most four pixels, `step` apart. */
INLINE void store_pixels(int pixels, char *p, int64_t step, const fvec *v,
                         const struct limits *l)
{
    UNROLL for (int i = 0; i < pixels; i++)
        store_bytes(p + i * step, v[i], l);
}
#endif

#include "device/cpu/conv/winograd/wino16_gemm_tmpl.h"
#include "device/cpu/conv/winograd/wino16_tile_tmpl.h"

/* m[freq][tile][width] = v times the weights of a panel. */
static void multiply_panel(const struct ctt_wino16_plan *p, int64_t tiles,
                           const int16_t *v, const int16_t *u, uint32_t *m,
                           int64_t width)
{
    product_fn *const *product = products[width / LANES];

    for (int f = 0; f < p->freqs; f++)
        for (int64_t t = 0, r; t < tiles; t += r) {
            r = even_rows(tiles - t);
            product[r](v + f * p->vstep + t * p->cp, p->cp,
                       u + f * p->pairs * 2 * width, p->pairs,
                       m + f * p->mstep + t * width);
        }
}

static void conv_item(const struct ctt_wino16_job *j, int item, int groups,
                      int64_t block, void *scratch)
{
    struct ctt_wino16_plan p = ctt_wino16_plan(j->s, LANES, block);
    int64_t first = item / groups * block;
    int64_t tiles = p.tiles - first < block ? p.tiles - first : block;
    int64_t g = item % groups, to = p.panels * (g + 1) / groups;
    int16_t *v = scratch;
    uint32_t *m = (uint32_t *)(v + p.freqs * p.vstep);

    scatter(j, &p, first, tiles, v);
    for (int64_t k = p.panels * g / groups; k < to; k++) {
        int64_t width = ctt_wino16_width(j->s, LANES, k);

        multiply_panel(&p, tiles, v, j->u + k * p.freqs * p.pairs * 2 * PANEL,
                       m, width);
        gather_panel(j, &p, first, tiles, k, m, width);
    }
}
