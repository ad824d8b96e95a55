/* SPDX-License-Identifier: Apache-2.0
 * test_range.c: steps and zero bytes of values: histograms that do not depend
 * on the order, ends, clipping, and what is refused. */
#include "compress/stage/range.h"
#include "base/byte.h"
#include "base/random.h"
#include "tests/lib/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 200000 };

static struct ctt_range r, other;
static float x[N];

static double uniform(uint64_t key, uint64_t i)
{
    return ((double)ctt_random(key, i) + 0.5) * 0x1p-32;
}

/* Box and Muller 1958. */
static float gauss(uint64_t i)
{
    return (float)(sqrt(-2 * log(uniform(1, i))) *
                   cos(6.283185307179586 * uniform(2, i)));
}

static void fill_gauss(void)
{
    for (int i = 0; i < N; i++)
        x[i] = gauss((uint64_t)i);
}

static void choose(const float *y, int64_t n, enum ctt_range_method method,
                   double percentile, float *scale, int *zero)
{
    *scale = -1, *zero = -1;
    ctt_range_begin(&r);
    ctt_range_add(&r, y, n);
    CHECK_OK(ctt_range_choose(&r, method, percentile, scale, zero));
    CU_ASSERT(*scale > 0 && *zero >= 0 && *zero <= 255);
}

/* The mean squared error of the bytes that base/byte.h makes. */
static double error_of(const float *y, int n, float scale, int zero)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        double d = (double)ctt_quant(y[i], 1 / scale, (float)zero) *
            (double)scale - (double)y[i];
        sum += d * d;
    }
    return sum / n;
}

/* ---- what is counted ---- */

/* All but the sum, of which the rounding depends on the order. */
static void check_same(const struct ctt_range *a, const struct ctt_range *b)
{
    CU_ASSERT(a->least == b->least && a->most == b->most);
    CU_ASSERT_EQUAL(a->width, b->width);
    CU_ASSERT(a->count == b->count && a->zeros == b->zeros);
    CU_ASSERT_DOUBLE_EQUAL(a->sum, b->sum, 1e-9 * fabs(a->sum) + 1e-9);
    CU_ASSERT(memcmp(a->bins, b->bins, sizeof(a->bins)) == 0);
}

/* Values of many orders of magnitude, zeros of both signs among them: in one
 * call, one by one from the last to the first, and in parts of all sizes. */
static void test_order(void)
{
    int n = 30000;

    for (int i = 0; i < n; i++)
        x[i] = i % 7 == 0 ? (i % 2 ? 0.0f : -0.0f)
             : ldexpf(gauss((uint64_t)i), i % 23 - 15);
    ctt_range_begin(&r);
    ctt_range_add(&r, x, n);
    ctt_range_begin(&other);
    for (int i = n - 1; i >= 0; i--)
        ctt_range_add(&other, x + i, 1);
    check_same(&r, &other);
    ctt_range_begin(&other);
    for (int at = 0, size = 1; at < n; at += size, size = size * 3 % 10007)
        ctt_range_add(&other, x + at, size < n - at ? size : n - at);
    check_same(&r, &other);
}

/* The bins hold what they say, and the range grows by 2^40 and more. */
static void test_growth(void)
{
    int64_t all = 0;

    ctt_range_begin(&r);
    for (int e = -20; e <= 20; e++) {
        const float two[] = { 1.5f * ldexpf(1, e), -ldexpf(1, e) };
        ctt_range_add(&r, two, 2);
    }
    CU_ASSERT_EQUAL(r.width, 21 - 11);
    CU_ASSERT(r.bins[0][1536] == 1 && r.bins[0][768] == 1);
    CU_ASSERT(r.bins[1][1024] == 1 && r.bins[1][512] == 1);
    CU_ASSERT(r.bins[0][1] == 1 && r.bins[0][0] == 30 && r.bins[1][0] == 30);
    for (int k = 0; k < CTT_RANGE_BINS; k++)
        all += r.bins[0][k] + r.bins[1][k];
    CU_ASSERT(all == 82 && r.count == 82 && r.zeros == 0);
    CU_ASSERT(r.sum == 0.5 * (0x1p21 - 0x1p-20));
}

/* ---- ends ---- */

static void check_inside(float least, float most, float scale, int zero)
{
    CU_ASSERT((double)least >= -zero * (double)scale * (1 + 1e-6));
    CU_ASSERT((double)most <= (255 - zero) * (double)scale * (1 + 1e-6));
}

/* Both ends are kept, one of them is a byte's value, and no step less would
 * do. */
static void check_both(float least, float most)
{
    const float y[] = { least, 0, most };
    double lo, hi;
    float scale;
    int zero;

    choose(y, 3, CTT_RANGE_MINMAX, 0, &scale, &zero);
    CU_ASSERT(zero >= 1 && zero <= 254);
    lo = -zero * (double)scale;
    hi = (255 - zero) * (double)scale;
    check_inside(least, most, scale, zero);
    CU_ASSERT(fabs(lo / (double)least - 1) < 1e-6 ||
              fabs(hi / (double)most - 1) < 1e-6);
    CU_ASSERT(hi - lo >= (double)(most - least) * (1 - 1e-6));
    CU_ASSERT(hi - lo <= (double)(most - least) * (1 + 1 / 120.0));
}

static void test_minmax(void)
{
    const float up[] = { 3, 0.5f, 7 }, down[] = { -3, -0.5f, -7 };
    float scale;
    int zero;

    choose(up, 3, CTT_RANGE_MINMAX, 0, &scale, &zero);
    CU_ASSERT(scale == (float)(7 / 255.0) && zero == 0);
    choose(down, 3, CTT_RANGE_MINMAX, 0, &scale, &zero);
    CU_ASSERT(scale == (float)(7 / 255.0) && zero == 255);
    check_both(-1, 1);
    check_both(-1, 2);
    check_both(-5, 0.1f);
    check_both(-0.001f, 10);    /* less than half a step below 0 */
    check_both(-1e-15f, 3e-15f);
}

/* Values of one sign get all 256 bytes, by whatever method. */
static void test_one_sided(void)
{
    float scale;
    int zero;

    fill_gauss();
    for (int i = 0; i < N; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
    for (int m = 0; m <= CTT_RANGE_MSE; m++) {
        choose(x, N, m, 99.99, &scale, &zero);
        CU_ASSERT_EQUAL(zero, 0);
        CU_ASSERT(scale * 255 > 3.4f && scale <= r.most / 255);
    }
    for (int i = 0; i < N; i++)
        x[i] = -x[i];
    for (int m = 0; m <= CTT_RANGE_MSE; m++) {
        choose(x, N, m, 99.99, &scale, &zero);
        CU_ASSERT_EQUAL(zero, 255);
    }
}

static void test_zeros(void)
{
    const float y[] = { 0, -0.0f, 0, 0 };
    float scale;
    int zero;

    for (int m = 0; m <= CTT_RANGE_MSE; m++) {
        choose(y, 4, m, 99.99, &scale, &zero);
        CU_ASSERT(scale == 1 && zero == 0);
    }
    CU_ASSERT(r.bins[0][0] == 4 && r.zeros == 4);
}

/* ---- clipping ---- */

static int clipped(int sign, int steps, float scale)
{
    int n = 0;

    for (int i = 0; i < N; i++)
        n += sign * (double)x[i] > steps * (double)scale;
    return n;
}

/* At most the share is clipped at each end, and not much less; 100% is all. */
static void test_percentile(void)
{
    float scale, whole;
    int zero, z;

    fill_gauss();
    for (int i = 0; i < N; i++)    /* two sides that differ */
        x[i] = x[i] < 0 ? x[i] / 4 : x[i];
    choose(x, N, CTT_RANGE_PERCENTILE, 99.5, &scale, &zero);
    CU_ASSERT(clipped(1, 255 - zero, scale) <= N / 200);
    CU_ASSERT(clipped(1, 253 - zero, scale) >= N / 250);
    CU_ASSERT(clipped(-1, zero, scale) <= N / 200);
    CU_ASSERT(clipped(-1, zero - 2, scale) >= N / 250);
    choose(x, N, CTT_RANGE_MINMAX, 0, &whole, &z);
    choose(x, N, CTT_RANGE_PERCENTILE, 100, &scale, &zero);
    CU_ASSERT(scale == whole && zero == z);
    memset(x, 0, sizeof(x));
    x[7] = 5;    /* so few that they could all be clipped: none is */
    x[8] = -1;
    choose(x, N, CTT_RANGE_PERCENTILE, 99.99, &scale, &zero);
    check_inside(-1, 5, scale, zero);
}

/* The least error of 300 steps with the values themselves. */
static double brute(const float *y, int n, double most, int zero)
{
    double least = INFINITY;

    for (int i = 1; i <= 300; i++)
        least = fmin(least, error_of(y, n, (float)(most * i / 300 /
                                                   (255 - zero)), zero));
    return least;
}

static void check_mse(int n, int zero_wanted, double low, double high)
{
    double best, e;
    float scale;
    int zero;

    choose(x, n, CTT_RANGE_MSE, 0, &scale, &zero);
    best = brute(x, n, (double)r.most, zero_wanted);
    e = error_of(x, n, scale, zero);
    if (!(e <= best * 1.02))
        printf("\n    error %g, %g at best", e, best);
    CU_ASSERT(e <= best * 1.02);
    CU_ASSERT((double)scale * (255 - zero) > low);
    CU_ASSERT((double)scale * (255 - zero) < high);
}

/* A Gaussian of 256 levels is best clipped at 3.9 or so (Max 1960: steps of
 * 0.0308), half of one at 4.2. */
static void test_mse_gauss(void)
{
    fill_gauss();
    check_mse(N, 127, 3.7, 4.2);
    for (int i = 0; i < N; i++)
        x[i] = fabsf(x[i]);
    check_mse(N, 0, 3.9, 4.5);
    for (int i = 0; i < N; i++)    /* most are 0, which costs nothing */
        x[i] = i % 10 ? 0 : x[i];
    check_mse(N, 0, 3.7, 4.5);    /* and those that are not are fewer */
}

/* Sides that differ: no step and zero byte are much better. */
static void test_mse_sides(void)
{
    double least = INFINITY;
    float scale;
    int zero, n = 4000;

    fill_gauss();
    for (int i = 0; i < n; i++)
        x[i] = x[i] < 0 ? x[i] / 5 : x[i];
    choose(x, n, CTT_RANGE_MSE, 0, &scale, &zero);
    for (int i = 20; i <= 60; i++)
        for (int z = 10; z <= 100; z++)
            least = fmin(least, error_of(x, n, r.most * (float)i / 50 / 255,
                                         z));
    CU_ASSERT(zero > 30 && zero < 60);
    CU_ASSERT(error_of(x, n, scale, zero) <= least * 1.02);
}

/* One value far from very many near 0 is clipped, and so is one for which whole
 * numbers would no longer be kept. */
static void test_mse_far(void)
{
    float scale;
    int zero;

    fill_gauss();
    x[5] = 8;
    choose(x, N, CTT_RANGE_MSE, 0, &scale, &zero);
    CU_ASSERT((255 - zero) * (double)scale < 6);
    CU_ASSERT(error_of(x, N, scale, zero) < error_of(x, N, 12.5f / 255, 92));
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 100);
    x[0] = 300;
    choose(x, N, CTT_RANGE_MSE, 0, &scale, &zero);
    CU_ASSERT_EQUAL(zero, 0);
    CU_ASSERT(error_of(x, N, scale, zero) < 0.05);    /* 0.115 unclipped */
}

/* The divergence as in its definition, bin by bin. */
static double divergence(const double *count, int bins)
{
    double p[CTT_RANGE_BINS], q[CTT_RANGE_BINS] = { 0 }, all = 0, mass = 0;
    double d = 0, inside = 0;

    for (int k = 0; k < CTT_RANGE_BINS; k++) {
        p[k < bins ? k : bins - 1] = k < bins ? count[k]
            : p[bins - 1] + count[k];
        all += count[k];
        inside += k < bins ? count[k] : 0;
    }
    for (int j = 0, k = 0; j < 128; j++) {
        double sum = 0, full = 0;
        int from = k;
        for (; k < bins && k * 128 / bins == j; k++) {
            sum += count[k];
            full += p[k] > 0;
        }
        for (int i = from; i < k; i++)
            q[i] = p[i] > 0 ? (sum > 0 ? sum / full : 1e-4) : 0;
    }
    for (int k = 0; k < bins; k++)
        mass += q[k];
    for (int k = 0; k < bins; k++)
        d += p[k] > 0 ? p[k] / all * log(p[k] / all / (q[k] / mass)) : 0;
    return inside > 0 ? d : INFINITY;
}

static double entropy_end(void)
{
    double count[CTT_RANGE_BINS] = { 0 }, least = INFINITY, end = 0;

    for (int k = 1; k < CTT_RANGE_BINS; k++)
        count[k] = (double)(r.bins[0][k] + r.bins[1][k]);
    for (int bins = 128; bins <= CTT_RANGE_BINS; bins++) {
        double d = divergence(count, bins);
        if (d < least - 1e-12) {
            least = d;
            end = ldexp(bins + 0.5, r.width);
        }
    }
    return end;
}

/* A peak (Laplace) with far values: as many as fill the bins, and few, which
 * leave bins empty. */
static void check_peak(int n)
{
    double end;
    float scale;
    int zero;

    for (int i = 0; i < n; i++)
        x[i] = (float)(-log(uniform(3, (uint64_t)i)) * (i % 2 ? 1 : -1));
    x[11] = 150;
    x[12] = -100;
    x[13] = 77;
    choose(x, n, CTT_RANGE_ENTROPY, 0, &scale, &zero);
    end = entropy_end();
    CU_ASSERT(end > 6 && (end < 50 || n < 1000));
    CU_ASSERT(abs(zero - 128) <= 1);
    CU_ASSERT_DOUBLE_EQUAL((double)scale * 255, 2 * end, end * 0.01);
}

/* The end is where the definition says; what lies evenly is not clipped. */
static void test_entropy(void)
{
    float scale;
    int zero;

    check_peak(N);
    check_peak(3000);
    check_peak(300);
    for (int i = 0; i < N; i++)
        x[i] = (float)uniform(4, (uint64_t)i);
    choose(x, N, CTT_RANGE_ENTROPY, 0, &scale, &zero);
    CU_ASSERT(zero == 0 && scale * 255 > 0.97f && scale * 255 <= 1);
    for (int i = 0; i < N; i++)    /* one side is shorter than the limit */
        x[i] = i % 2 ? x[i] : -x[i] / 5;
    choose(x, N, CTT_RANGE_ENTROPY, 0, &scale, &zero);
    CU_ASSERT(zero > 35 && zero < 50);
}

/* ---- extremes, errors ---- */

static void test_extremes(void)
{
    float y[64], scale;
    int zero;

    for (int m = 0; m <= CTT_RANGE_MSE; m++) {
        for (int i = 0; i < 64; i++)
            y[i] = 1e-30f * (float)(i % 9 - 4);
        choose(y, 64, m, 99.99, &scale, &zero);
        CU_ASSERT(scale == 0x1p-66f);
        for (int i = 0; i < 64; i++)
            y[i] = FLT_MIN / 1024 * (float)i;
        choose(y, 64, m, 99.99, &scale, &zero);
        CU_ASSERT(scale == 0x1p-66f && zero == 0);
        for (int i = 0; i < 64; i++)
            y[i] = 1e20f * (float)(i % 9 - 4);
        choose(y, 64, m, 99.99, &scale, &zero);
        if (m == CTT_RANGE_MINMAX || m == CTT_RANGE_PERCENTILE)
            check_inside(-4e20f, 4e20f, scale, zero);
        for (int i = 0; i < 64; i++)
            y[i] = 1e30f * (float)(i % 9 - 4);
        ctt_range_begin(&r);
        ctt_range_add(&r, y, 64);
        ctt_check_refused(ctt_range_choose(&r, m, 99.99, &scale, &zero),
                          CTT_EINVAL, "too large");
    }
    y[0] = FLT_MAX;
    ctt_range_begin(&r);
    ctt_range_add(&r, y, 64);
    CU_ASSERT(r.width == 128 - 11 && r.bins[0][2047] == 1);
}

static void test_refused(void)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY, -NAN };
    float y[5] = { 1, 2, 3, 4, 5 }, scale = 7;
    int zero = 7;

    ctt_range_begin(&r);
    ctt_check_refused(ctt_range_choose(&r, CTT_RANGE_MSE, 0, &scale, &zero),
                      CTT_EINVAL, "no values");
    ctt_range_add(&r, y, 5);
    ctt_check_refused(ctt_range_choose(&r, CTT_RANGE_PERCENTILE, 101, &scale,
                                       &zero), CTT_EINVAL, "percentile");
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        y[3] = bad[i];
        ctt_range_begin(&r);
        ctt_range_add(&r, y, 5);
        y[3] = 4;
        ctt_range_add(&r, y, 5);
        ctt_check_refused(ctt_range_choose(&r, CTT_RANGE_MINMAX, 0, &scale,
                                           &zero), CTT_ENAN, "not finite");
    }
    CU_ASSERT(scale == 7 && zero == 7);
}

static void test_memory(void)
{
    float scale;
    int zero;

    fill_gauss();
    ctt_range_begin(&r);
    ctt_range_add(&r, x, N);
    for (int m = CTT_RANGE_ENTROPY; m <= CTT_RANGE_MSE; m++) {
        ctt_fail_alloc(1);
        CU_ASSERT_EQUAL(ctt_range_choose(&r, m, 0, &scale, &zero), CTT_ENOMEM);
        ctt_fail_alloc(0);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "any order, any parts: the same", test_order },
        { "the range grows", test_growth },
        { "minmax keeps both ends", test_minmax },
        { "one sign has all bytes", test_one_sided },
        { "zeros", test_zeros },
        { "percentile", test_percentile },
        { "least squares of a Gaussian", test_mse_gauss },
        { "least squares of sides that differ", test_mse_sides },
        { "least squares with far values", test_mse_far },
        { "entropy", test_entropy },
        { "tiny and huge values", test_extremes },
        { "what is refused", test_refused },
        { "memory runs out", test_memory },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "ranges of values", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
