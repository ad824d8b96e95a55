/* SPDX-License-Identifier: Apache-2.0
 * int8_avx2_tmpl.h: operations on registers of 256 bits for
 * int8_epilogue_tmpl.h. */

static inline fvec lanes_max(fvec a, fvec b)
{
    return (fvec)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline fvec lanes_min(fvec a, fvec b)
{
    return (fvec)_mm256_min_ps((__m256)a, (__m256)b);
}

#define WHOLE(v) ((ivec)_mm256_cvtps_epi32((__m256)(v)))

/* Adding and packing saturate. */
static inline void put_low(uint8_t *p, ivec v, int zero, int64_t n)
{
    __m128i w = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)v),
                                _mm256_extracti128_si256((__m256i)v, 1));
    int64_t b;

    w = _mm_adds_epi16(w, _mm_set1_epi16((short)zero));
    b = _mm_cvtsi128_si64(_mm_packus_epi16(w, w));
    if (n == LANES)
        memcpy(p, &b, sizeof(b));
    else
        memcpy(p, &b, (size_t)n);
}
