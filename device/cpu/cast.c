/* SPDX-License-Identifier: Apache-2.0
 * cast.c: numbers of one type into another by one thread. */
#include "device/cpu/cast.h"
#include "device/cpu/cpu.h"
#include "base/half.h"

#include <assert.h>

#if defined(__AVX512F__) || defined(__F16C__)
#include <immintrin.h>
#endif

/* Instructions for half precision, where there are some; their NaNs are quiet
 * ones.  Those for bfloat16 take subnormal numbers for zero, and integers are
 * as fast. */
#if defined(__AVX512F__)

static __m256i half16(__m512 v)
{
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* A mask for the last numbers only: masked stores are slow. */
static void to_f16(const float *x, void *to, int64_t n)
{
    uint16_t *y = to;
    __mmask16 rest = (__mmask16)((1u << n % 16) - 1);
    int64_t j = 0;

    for (; j + 16 <= n; j += 16)
        _mm256_storeu_epi16(y + j, half16(_mm512_loadu_ps(x + j)));
    if (rest)
        _mm256_mask_storeu_epi16(y + j, rest,
                                 half16(_mm512_maskz_loadu_ps(rest, x + j)));
}

static void from_f16(const void *from, float *y, int64_t n)
{
    const uint16_t *x = from;
    __mmask16 rest = (__mmask16)((1u << n % 16) - 1);
    int64_t j = 0;

    for (; j + 16 <= n; j += 16)
        _mm512_storeu_ps(y + j, _mm512_cvtph_ps(_mm256_loadu_epi16(x + j)));
    if (rest)
        _mm512_mask_storeu_ps(y + j, rest, _mm512_cvtph_ps(
            _mm256_maskz_loadu_epi16(rest, x + j)));
}

#elif defined(__F16C__)

static void to_f16(const float *x, void *to, int64_t n)
{
    uint16_t *y = to;
    int64_t j = 0;

    for (; j + 8 <= n; j += 8) {
        __m256 v = _mm256_loadu_ps(x + j);
        _mm_storeu_si128((__m128i *)(void *)(y + j),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    for (; j < n; j++)
        y[j] = ctt_f16_of(x[j]);
}

static void from_f16(const void *from, float *y, int64_t n)
{
    const uint16_t *x = from;
    int64_t j = 0;

    for (; j + 8 <= n; j += 8) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(x + j));
        _mm256_storeu_ps(y + j, _mm256_cvtph_ps(v));
    }
    for (; j < n; j++)
        y[j] = ctt_of_f16(x[j]);
}

#else

static void to_f16(const float *x, void *to, int64_t n)
{
    uint16_t *y = to;

    for (int64_t j = 0; j < n; j++)
        y[j] = ctt_f16_of(x[j]);
}

static void from_f16(const void *from, float *y, int64_t n)
{
    const uint16_t *x = from;

    for (int64_t j = 0; j < n; j++)
        y[j] = ctt_of_f16(x[j]);
}

#endif

static void to_bf16(const float *x, void *to, int64_t n)
{
    uint16_t *y = to;

    SIMD for (int64_t j = 0; j < n; j++)
        y[j] = ctt_bf16_of(x[j]);
}

static void from_bf16(const void *from, float *y, int64_t n)
{
    const uint16_t *x = from;

    SIMD for (int64_t j = 0; j < n; j++)
        y[j] = ctt_of_bf16(x[j]);
}

static void to_f32(const float *x, void *y, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof(float));
}

static void from_f32(const void *x, float *y, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof(float));
}

/* Integers are only read. */
#define FROM_INTEGER(name, type)                                        \
static void name(const void *from, float *y, int64_t n)                 \
{                                                                       \
    const type *x = from;                                               \
                                                                        \
    SIMD for (int64_t j = 0; j < n; j++)                                \
        y[j] = (float)x[j];                                             \
}
FROM_INTEGER(from_i8, int8_t)
FROM_INTEGER(from_u8, uint8_t)
FROM_INTEGER(from_i32, int32_t)

/* By type; NULL: no conversion from floats. */
static const struct {
    void (*to)(const float *x, void *to, int64_t n);
    void (*from)(const void *from, float *y, int64_t n);
} casts[] = {
    [CTT_F32]  = { to_f32,  from_f32 },
    [CTT_F16]  = { to_f16,  from_f16 },
    [CTT_BF16] = { to_bf16, from_bf16 },
    [CTT_I8]   = { NULL,    from_i8 },
    [CTT_U8]   = { NULL,    from_u8 },
    [CTT_I32]  = { NULL,    from_i32 },
};

static void cast_to(const float *x, enum ctt_dtype type, void *y, int64_t n)
{
    assert(type < CTT_LEN(casts) && casts[type].to);
    casts[type].to(x, y, n);
}

static void cast_from(enum ctt_dtype type, const void *x, float *y, int64_t n)
{
    assert(type < CTT_LEN(casts));
    casts[type].from(x, y, n);
}

static void cast_sum(enum ctt_dtype type, const void *x, void *y, int64_t n)
{
    const char *px = x;
    char *py = y;
    int64_t size = ctt_dtype_size(type);
    float a[CTT_PIECE], b[CTT_PIECE];

    for (int64_t j = 0; j < n; j += CTT_PIECE) {
        int64_t len = ctt_piece(n, j);
        cast_from(type, px + j * size, a, len);
        cast_from(type, py + j * size, b, len);
        ctt_put(b, a, len, 1);
        cast_to(b, type, py + j * size, len);
    }
}

static void to_bytes(const float *x, float scale, int zero, uint8_t *y,
                     int64_t n)
{
    float inv = 1 / scale, z = (float)zero;

    SIMD for (int64_t j = 0; j < n; j++)
        y[j] = (uint8_t)((int32_t)ctt_quant(x[j], inv, z) + zero);
}

static void from_bytes(const uint8_t *x, float scale, int zero, float *y,
                       int64_t n)
{
    SIMD for (int64_t j = 0; j < n; j++)
        y[j] = (float)(x[j] - zero) * scale;
}

const struct ctt_cast K(cast) = { cast_to, cast_from, cast_sum, to_bytes,
                                  from_bytes };
