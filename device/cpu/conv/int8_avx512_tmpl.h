/* SPDX-License-Identifier: Apache-2.0
 * int8_avx512_tmpl.h: what int8_end_tmpl.h needs of registers of 512 bits, of
 * LANES numbers. */

typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));

static inline fvec bigger(fvec a, fvec b)
{
    return (fvec)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline fvec smaller(fvec a, fvec b)
{
    return (fvec)_mm512_min_ps((__m512)a, (__m512)b);
}

#ifndef CTT_EMULATED    /* SIMDe may lack it */
#define WHOLE(v) ((ivec)_mm512_cvtps_epi32((__m512)(v)))
#endif

/* The low bytes of the first n lanes; all are 0 to 255. */
static inline void put_low(uint8_t *p, ivec v, int64_t n)
{
    typedef uint8_t bvec __attribute__((vector_size(LANES)));
    bvec b = __builtin_convertvector(v, bvec);

    if (n == LANES)
        memcpy(p, &b, sizeof(b));
    else
        memcpy(p, &b, (size_t)n);
}
