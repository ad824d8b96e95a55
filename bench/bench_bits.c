/* SPDX-License-Identifier: Apache-2.0
 * bench_bits.c: products of a matrix of pixels and one of weights of 8, 4 and 1
 * bits, with values of 8 bits and of 1 bit (XNOR: Rastegari and others 2016):
 * what fewer bits could save of the time of INT8.  A study: no kernel of convtt
 * is measured.  Requires AVX-512 with VNNI and VPOPCNTDQ. */
#include "base/clock.h"
#include "base/ctt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#pragma GCC optimize "unroll-loops"
#define WIDE __attribute__((target( \
    "avx512f,avx512bw,avx512vnni,avx512vpopcntdq")))
#define INLINE WIDE static inline __attribute__((always_inline))

enum { OUTS = 16, ROWS = 12, TURNS = 9 };    /* outputs of a panel */

/* Weights of a panel of 16 outputs, as many inputs a step:
 *   8 bits, 1 bit beside values of 8: [inputs / 4][16][4]
 *   4 bits: the same, 8 inputs a step, the second four in the high halves
 *   1 bit beside values of 1: [inputs / 32][16][32 bits] */
struct form {
    const char *name;
    int bits, values;    /* of a weight, of a value */
    void (*run)(const uint8_t *x, const uint8_t *w, int rows, int outs, int in,
                int32_t *y);
};

INLINE __m512i four(const uint8_t *x)
{
    int32_t v;

    memcpy(&v, x, 4);
    return _mm512_set1_epi32(v);
}

INLINE void panel8(const uint8_t *x, const uint8_t *w, int rows, int in,
                   __m512i *sum)
{
    for (int k = 0; k < in; k += 4, w += 64) {
        __m512i a = _mm512_loadu_si512(w);

        for (int r = 0; r < rows; r++)
            sum[r] = _mm512_dpbusd_epi32(sum[r], four(x + r * in + k), a);
    }
}

INLINE void panel4(const uint8_t *x, const uint8_t *w, int rows, int in,
                   __m512i *sum)
{
    __m512i low = _mm512_set1_epi8(15);

    for (int k = 0; k < in; k += 8, w += 64) {
        __m512i v = _mm512_loadu_si512(w), a = _mm512_and_si512(v, low);
        __m512i b = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);

        for (int r = 0; r < rows; r++) {
            sum[r] = _mm512_dpbusd_epi32(sum[r], four(x + r * in + k), a);
            sum[r] = _mm512_dpbusd_epi32(sum[r], four(x + r * in + k + 4), b);
        }
    }
}

INLINE void panel1(const uint8_t *x, const uint8_t *w, int rows, int in,
                   __m512i *sum)
{
    __m512i one = _mm512_set1_epi8(1);

    for (int k = 0; k < in; k += 4, w += 8) {
        uint64_t bits;
        __m512i a;

        memcpy(&bits, w, 8);
        a = _mm512_maskz_mov_epi8(bits, one);
        for (int r = 0; r < rows; r++)
            sum[r] = _mm512_dpbusd_epi32(sum[r], four(x + r * in + k), a);
    }
}

INLINE void panel_xnor(const uint8_t *x, const uint8_t *w, int rows, int in,
                       __m512i *sum)
{
    for (int k = 0; k < in; k += 32, w += 64) {
        __m512i a = _mm512_loadu_si512(w);

        for (int r = 0; r < rows; r++)
            sum[r] = _mm512_add_epi32(sum[r], _mm512_popcnt_epi32(
                     _mm512_xor_si512(four(x + r * in / 8 + k / 8), a)));
    }
}

#define FORM(name, panel, bits, per)                                           \
WIDE static void name(const uint8_t *x, const uint8_t *w, int rows, int outs,  \
                      int in, int32_t *y)                                      \
{                                                                              \
    for (int r = 0; r < rows; r += ROWS)                                       \
        for (int o = 0; o < outs; o += OUTS) {                                 \
            __m512i sum[ROWS] = { _mm512_setzero_si512() };                    \
            int n = rows < ROWS ? rows : ROWS;                                 \
                                                                               \
            for (int i = 1; i < ROWS; i++)                                     \
                sum[i] = _mm512_setzero_si512();                               \
            if (n == ROWS)                                                     \
                panel(x + (size_t)r * in * per / 8,                            \
                      w + (size_t)o * in * bits / 8, ROWS, in, sum);           \
            else                                                               \
                panel(x, w + (size_t)o * in * bits / 8, 1, in, sum);           \
            for (int i = 0; i < n; i++)                                        \
                _mm512_storeu_si512(y + (size_t)(r + i) * outs + o, sum[i]);   \
        }                                                                      \
}

FORM(run8, panel8, 8, 8)
FORM(run4, panel4, 4, 8)
FORM(run1, panel1, 1, 8)
FORM(run_xnor, panel_xnor, 1, 1)

static const struct form forms[] = {
    { "8 bits, values of 8", 8, 8, run8 },
    { "4 bits, values of 8", 4, 8, run4 },
    { "1 bit, values of 8", 1, 8, run1 },
    { "1 bit, values of 1", 1, 1, run_xnor },
};

/* ---- what the sums must be ---- */

/* Weight of output o and input k in a form's own order. */
static int weight_at(const struct form *f, const uint8_t *w, int o, int k,
                     int in)
{
    const uint8_t *p = w + (size_t)(o / OUTS) * OUTS * in * f->bits / 8;

    o %= OUTS;
    if (f->values == 1)
        return p[k / 32 * 64 + o * 4 + k % 32 / 8] >> k % 8 & 1;
    if (f->bits == 8)
        return (int8_t)p[k / 4 * 64 + o * 4 + k % 4];
    if (f->bits == 4)
        return p[k / 8 * 64 + o * 4 + k % 4] >> 4 * (k % 8 / 4) & 15;
    return p[k / 4 * 8 + o / 2] >> (o % 2 * 4 + k % 4) & 1;
}

static int32_t plain_sum(const struct form *f, const uint8_t *x,
                         const uint8_t *w, int o, int in)
{
    int32_t sum = 0;

    for (int k = 0; k < in; k++) {
        int a = weight_at(f, w, o, k, in);

        sum += f->values == 8 ? x[k] * a : (x[k / 8] >> k % 8 & 1) != a;
    }
    return sum;
}

/* ---- measuring ---- */

struct size { const char *what; int rows, outs, in; };
static const struct size sizes[] = {
    { "conv 3x3 of 128 channels, 6x6", 36, 128, 1152 },
    { "conv 1x1 of 64 channels, 28x30", 840, 64, 64 },
    { "dense, one pixel, weights beyond the caches", 1, 4096, 16384 },
};

static double seconds_of(const struct form *f, const struct size *s,
                         const uint8_t *x, const uint8_t *w, int32_t *y)
{
    int64_t work = (int64_t)s->rows * s->outs * s->in;
    int turns = (int)(100000000 / work) + 1;
    double from = ctt_seconds();

    for (int i = 0; i < turns; i++)
        f->run(x, w, s->rows, s->outs, s->in, y);
    return (ctt_seconds() - from) / turns;
}

/* Least seconds of each form, in turns. */
static int measure(const struct size *s, const uint8_t *x, const uint8_t *w,
                   int32_t *y, double least[CTT_LEN(forms)])
{
    for (size_t i = 0; i < CTT_LEN(forms); i++) {
        least[i] = 1e9;
        forms[i].run(x, w, s->rows, s->outs, s->in, y);
        for (int o = 0; o < s->outs; o += 37)
            if (y[o] != plain_sum(&forms[i], x, w, o, s->in)) {
                printf("%s: another sum\n", forms[i].name);
                return 0;
            }
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < CTT_LEN(forms); i++) {
            double t = seconds_of(&forms[i], s, x, w, y);

            least[i] = t < least[i] ? t : least[i];
        }
    return 1;
}

int main(void)
{
    enum { MOST = 4096 * 16384 };
    uint8_t *x = ctt_calloc(1 << 20, 1), *w = ctt_calloc(MOST, 1);
    int32_t *y = ctt_calloc(1 << 20, sizeof(*y));
    double least[CTT_LEN(forms)];
    int has = __builtin_cpu_supports("avx512vnni") &&
              __builtin_cpu_supports("avx512vpopcntdq");
    int ok = x && w && y && has;

    for (int i = 0; ok && i < MOST; i++)
        w[i] = (uint8_t)(i * 2654435761u >> 13);
    for (int i = 0; ok && i < 1 << 20; i++)
        x[i] = (uint8_t)(i * 2246822519u >> 11);
    for (size_t k = 0; ok && k < CTT_LEN(sizes); k++) {
        const struct size *s = &sizes[k];

        ok = measure(s, x, w, y, least);
        printf("%s\n", s->what);
        for (size_t i = 0; ok && i < CTT_LEN(forms); i++)
            printf("  weights of %-20s %8.1f us %7.0f GOP/s, of 8 bits %.2f\n",
                   forms[i].name, 1e6 * least[i], 2e-9 * s->rows * s->outs *
                   s->in / least[i], least[0] / least[i]);
    }
    if (!has)
        printf("bench_bits: the processor has no AVX512-VNNI and VPOPCNTDQ\n");
    ctt_free(x);
    ctt_free(w);
    ctt_free(y);
    return !has ? 77 : !ok;
}
#else
int main(void) { return 77; }
#endif
