/* SPDX-License-Identifier: Apache-2.0
 * test_amp_measure.c: the shares of numbers that 16 bits lose, by their powers
 * of two, are those of numbers that are rounded. */
#include "libtrain/doctor/amp_measure.h"
#include "base/half.h"
#include "tests/lib/check.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { NUMBERS = 4096 };

/* Numbers of all magnitudes that a float has, both signs and some zeros, but
 * none that fp16 rounds up to infinity. */
static void make_numbers(float *x)
{
    for (int i = 0; i < NUMBERS; i++) {
        float digits = 1.01F + 0.9F * (float)(i * 37 % 101) / 101;

        x[i] = i % 16 ? ldexpf(digits, i * 7 % 277 - 149) : 0;
        if (i % 2)
            x[i] = -x[i];
    }
}

struct counts { int over, lost, subnormal, numbers; };

/* What rounding makes of the numbers times 2^power. */
static struct counts round_all(const float *x, enum ctt_dtype type, int power)
{
    double least = type == CTT_F16 ? 0x1p-14 : 0x1p-126;
    struct counts c = { 0 };

    for (int i = 0; i < NUMBERS; i++) {
        double y = ldexp((double)x[i], power);
        float z = fabs(y) > FLT_MAX ? INFINITY : (float)y;

        z = type == CTT_F16 ? ctt_of_f16(ctt_f16_of(z))
                            : ctt_of_bf16(ctt_bf16_of(z));
        c.numbers += x[i] != 0;
        c.over += !!isinf(z);
        c.lost += x[i] != 0 && z == 0;
        c.subnormal += z != 0 && fabs(y) < least;
    }
    return c;
}

static void shares(void)
{
    static const enum ctt_dtype types[] = { CTT_F16, CTT_BF16 };
    static const int powers[] = { 0, 7, 24 };
    static struct ctt_magnitudes m;
    static float x[NUMBERS];

    make_numbers(x);
    memset(&m, 0, sizeof(m));
    ctt_magnitudes_add(&m, x, NUMBERS);
    CU_ASSERT(m.zeros == NUMBERS / 16);
    for (size_t t = 0; t < CTT_LEN(types); t++)
        for (size_t p = 0; p < CTT_LEN(powers); p++) {
            struct ctt_magnitude_shares s =
                ctt_magnitudes_in(&m, types[t], powers[p]);
            struct counts c = round_all(x, types[t], powers[p]);

            CU_ASSERT(lround(s.over * c.numbers) == c.over);
            CU_ASSERT(lround(s.lost * c.numbers) == c.lost);
            CU_ASSERT(lround(s.subnormal * c.numbers) == c.subnormal);
            CU_ASSERT(s.most == 127);
        }
}

/* Infinity and numbers that are none are too large for any type. */
static void infinite(void)
{
    static const float x[] = { 0, INFINITY, NAN, 1, 0x1p-30F };
    static struct ctt_magnitudes m;
    struct ctt_magnitude_shares s;

    memset(&m, 0, sizeof(m));
    s = ctt_magnitudes_in(&m, CTT_F16, 0);
    CU_ASSERT(s.most == INT_MIN && s.over == 0 && s.lost == 0);
    ctt_magnitudes_add(&m, x, CTT_LEN(x));
    s = ctt_magnitudes_in(&m, CTT_F16, 0);
    CU_ASSERT(m.infinite == 2 && m.zeros == 1 && s.most == 0);
    CU_ASSERT(s.over == 0.5 && s.lost == 0.25 && s.subnormal == 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "shares", shares }, { "infinite", infinite }, CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "magnitudes", NULL, NULL, NULL, NULL, tests },
                              CU_SUITE_INFO_NULL };

    return ctt_check_main(suites);
}
