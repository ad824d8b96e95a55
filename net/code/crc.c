/* SPDX-License-Identifier: Apache-2.0
 * crc.c: checksums: by zlib, and faster where the processor multiplies
 * polynomials, one or four at a time (Gopal and others 2009, "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction"). */
#include "net/code/zip.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)

enum { LANES = 4, EACH = 16, BLOCK = LANES * EACH, WIDE = LANES * BLOCK };

#define FOLDS __attribute__((target("pclmul,sse2")))

/* x and y are polynomials, the first coefficient in the lowest bit; by: the
 * remainders of x^(n+32) and x^(n-32), so that the result has the remainder of
 * x * x^n + y, where n is the distance of x and y in bits. */
FOLDS static inline __m128i fold(__m128i x, __m128i by, __m128i y)
{
    __m128i low = _mm_clmulepi64_si128(x, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(x, by, 0x11);

    return _mm_xor_si128(_mm_xor_si128(low, high), y);
}

FOLDS static inline __m128i load(const uint8_t *p, int64_t at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(p + at));
}

/* Of n >= BLOCK bytes.  They are folded to 16 bytes with the same remainder,
 * whose CRC zlib goes on with; ~0 is the CRC at which its own inversions leave
 * a remainder of 0. */
FOLDS static uint32_t by_folding(uint32_t crc, const uint8_t *p, int64_t n)
{
    const __m128i far = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i near = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i x[LANES];
    uint8_t rest[EACH];
    int64_t at = BLOCK;

    for (int k = 0; k < LANES; k++)
        x[k] = load(p, k * EACH);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)~crc));
    for (; n - at >= BLOCK; at += BLOCK)
        for (int k = 0; k < LANES; k++)
            x[k] = fold(x[k], far, load(p, at + k * EACH));
    for (int k = 1; k < LANES; k++)
        x[k] = fold(x[k - 1], near, x[k]);
    _mm_storeu_si128((__m128i *)(void *)rest, x[LANES - 1]);
    crc = ctt_crc32_plain(~UINT32_C(0), rest, EACH);
    return ctt_crc32_plain(crc, p + at, n - at);
}

#define FOLDS_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul")))

FOLDS_WIDE static inline __m512i fold_wide(__m512i x, __m512i by, __m512i y)
{
    __m512i low = _mm512_clmulepi64_epi128(x, by, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(x, by, 0x11);

    return _mm512_ternarylogic_epi64(low, high, y, 0x96);
}

/* Of n >= WIDE bytes: four registers of four, folded to a block. */
FOLDS_WIDE static uint32_t by_wide(uint32_t crc, const uint8_t *p, int64_t n)
{
    const __m512i far = _mm512_broadcast_i32x4(
        _mm_set_epi64x(0x1322d1430, 0x11542778a));
    const __m512i near = _mm512_broadcast_i32x4(
        _mm_set_epi64x(0x1c6e41596, 0x154442bd4));
    __m512i x[LANES];
    uint8_t rest[BLOCK];
    int64_t at = WIDE;

    for (int k = 0; k < LANES; k++)
        x[k] = _mm512_loadu_si512(p + k * BLOCK);
    x[0] = _mm512_xor_si512(x[0], _mm512_castsi128_si512(
        _mm_cvtsi32_si128((int)~crc)));
    for (; n - at >= WIDE; at += WIDE)
        for (int k = 0; k < LANES; k++)
            x[k] = fold_wide(x[k], far, _mm512_loadu_si512(p + at + k * BLOCK));
    for (int k = 1; k < LANES; k++)
        x[k] = fold_wide(x[k - 1], near, x[k]);
    _mm512_storeu_si512(rest, x[LANES - 1]);
    crc = by_folding(~UINT32_C(0), rest, BLOCK);
    return n - at < BLOCK ? ctt_crc32_plain(crc, p + at, n - at)
                          : by_folding(crc, p + at, n - at);
}

static int folds(void)
{
    return __builtin_cpu_supports("pclmul") != 0;
}

static int folds_wide(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("vpclmulqdq");
}

#else

enum { BLOCK = 1, WIDE = 1 };

static uint32_t by_folding(uint32_t crc, const uint8_t *p, int64_t n)
{
    return ctt_crc32_plain(crc, p, n);
}

static uint32_t by_wide(uint32_t crc, const uint8_t *p, int64_t n)
{
    return ctt_crc32_plain(crc, p, n);
}

static int folds(void)
{
    return 0;
}

static int folds_wide(void)
{
    return 0;
}

#endif

static uint32_t crc_bytes(uint32_t crc, const uint8_t *p, int64_t n)
{
    if (n >= WIDE && folds_wide())
        return by_wide(crc, p, n);
    return (n >= BLOCK && folds() ? by_folding : ctt_crc32_plain)(crc, p, n);
}

uint32_t ctt_crc32(uint32_t crc, const void *p, int size, int64_t count)
{
    const uint16_t one = 1;
    const uint8_t *s = p;
    uint8_t turned[16];

    if (*(const uint8_t *)&one == 1 || size == 1 || size > 16)
        return crc_bytes(crc, s, size * count);
    for (int64_t i = 0; i < count; i++, s += size) {
        for (int k = 0; k < size; k++)
            turned[k] = s[size - 1 - k];
        crc = crc_bytes(crc, turned, size);
    }
    return crc;
}
