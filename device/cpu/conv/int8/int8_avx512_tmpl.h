/* SPDX-License-Identifier: Apache-2.0
 * int8_avx512_tmpl.h: operations on registers of 512 bits (LANES numbers) for
 * int8_epilogue_tmpl.h. */

typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));

static inline fvec lanes_max(fvec a, fvec b)
{
    return (fvec)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline fvec lanes_min(fvec a, fvec b)
{
    return (fvec)_mm512_min_ps((__m512)a, (__m512)b);
}

#ifndef CTT_EMULATED    /* SIMDe may lack it */
#define WHOLE(v) ((ivec)_mm512_cvtps_epi32((__m512)(v)))

/* The first n <= LANES bytes as integers. */
static inline __attribute__((always_inline))
ivec widen_bytes(const void *p, int64_t n)
{
    __m128i b = n == LANES ? _mm_loadu_si128(p) :
                _mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1), p);

    return (ivec)_mm512_cvtepu8_epi32(b);
}
#define WIDEN_BYTES widen_bytes

/* Loads the first n lanes, n < LANES. */
#define LOAD_FEW(p, n) \
    ((fvec)_mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p))
#define STORE_FEW(p, v, n) \
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), (__m512)(v))
#endif

/* Packing works within quarters of a register, so they are permuted
 * afterwards. */
static inline __attribute__((always_inline))
ivec in_order(ivec v)
{
    return (ivec)_mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
                          15), (__m512i)v);
}

/* Adding and packing saturate. */
static inline __attribute__((always_inline))
ivec pack_two(ivec a, ivec b, ivec zero)
{
    return (ivec)_mm512_adds_epi16(_mm512_packs_epi32((__m512i)a, (__m512i)b),
                                   (__m512i)zero);
}

static inline __attribute__((always_inline))
ivec pack_bytes(ivec a, ivec b)
{
    return (ivec)_mm512_packus_epi16((__m512i)a, (__m512i)b);
}

/* Stores the first n bytes. */
static inline __attribute__((always_inline))
void store_some(uint8_t *p, ivec v, int64_t n)
{
    if (n >= 64)
        _mm512_storeu_si512(p, (__m512i)v);
    else if (n == 32)
        _mm256_storeu_si256((__m256i *)(void *)p,
                            _mm512_castsi512_si256((__m512i)v));
    else if (n == 8)    /* masked stores are slow */
        _mm_storel_epi64((__m128i *)(void *)p,
                         _mm512_castsi512_si128((__m512i)v));
    else
#ifdef CTT_EMULATED    /* SIMDe lacks it */
        memcpy(p, &v, (size_t)n);
#else
        _mm512_mask_storeu_epi8(p, ~(__mmask64)0 >> (64 - n), (__m512i)v);
#endif
}

#define LOWS_AT_ONCE
static inline __attribute__((always_inline))
void put_lows(int R, uint8_t *p, const ivec *v, int zero, int64_t n)
{
    ivec z = (ivec)_mm512_set1_epi16((short)zero);
    ivec a = pack_two(v[0], v[R > 1], z), b = a;

    if (R > 2)
        b = pack_two(v[2], v[R - 1], z);
    a = in_order(pack_bytes(a, b));
    store_some(p, a, n < R * LANES ? n : R * LANES);
}
