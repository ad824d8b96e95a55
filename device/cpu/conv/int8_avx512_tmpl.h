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

/* Packing goes by quarters of registers, which are then put in order. */
static inline __attribute__((always_inline))
void put_packed(int R, uint8_t *p, const ivec *v)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10,
                                            14, 3, 7, 11, 15);
    __m512i a = _mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]), b = a;

    if (R == 4)
        b = _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]);
    a = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(a, b));
    if (R == 4)
        _mm512_storeu_si512(p, a);
    else
        _mm256_storeu_si256((__m256i *)(void *)p, _mm512_castsi512_si256(a));
}

static inline __attribute__((always_inline))
void put_lows(int R, uint8_t *p, const ivec *v, int64_t n)
{
    if (n < R * LANES || R == 1 || R == 3) {
        for (int r = 0; r < R; r++, n -= LANES)
            put_low(p + r * LANES, v[r], n < LANES ? n : LANES);
        return;
    }
    put_packed(R, p, v);
}
