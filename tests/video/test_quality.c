/* SPDX-License-Identifier: Apache-2.0
 * test_quality.c: MSE, PSNR and SSIM against a literal writing in double and
 * against numbers of scikit-image; what linear motion foresees. */
#include "tests/lib/check.h"
#include "video/baseline.h"
#include "video/quality.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 150, MOST = SIDE * SIDE };

static float truth[MOST], guess[MOST];

static double clamped(float v)
{
    return v < 0 ? 0 : v > 1 ? 1 : (double)v;
}

/* ---- a literal writing ---- */

struct moments { double x, y, xx, yy, xy; };

/* Means, then sums of products of what differs from them, of the 7x7 pixels of
 * channel k from (row, column) on. */
static struct moments window(int w, int c, int k, int row, int column)
{
    struct moments m = { 0, 0, 0, 0, 0 };

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 49; i++) {
            int at = ((row + i / 7) * w + column + i % 7) * c + k;
            double x = (double)truth[at], y = clamped(guess[at]);
            if (pass == 0) {
                m.x += x / 49;
                m.y += y / 49;
            } else {
                m.xx += (x - m.x) * (x - m.x) / 48;
                m.yy += (y - m.y) * (y - m.y) / 48;
                m.xy += (x - m.x) * (y - m.y) / 48;
            }
        }
    return m;
}

static double slow_ssim(int h, int w, int c, double range)
{
    double c1 = pow(0.01 * range, 2), c2 = pow(0.03 * range, 2), all = 0;

    for (int k = 0; k < c; k++) {
        double sum = 0;
        for (int y = 0; y + 7 <= h; y++)
            for (int x = 0; x + 7 <= w; x++) {
                struct moments m = window(w, c, k, y, x);
                sum += (2 * m.x * m.y + c1) * (2 * m.xy + c2) /
                       ((m.x * m.x + m.y * m.y + c1) * (m.xx + m.yy + c2));
            }
        all += sum / ((h - 6) * (w - 6)) / c;
    }
    return all;
}

static double slow_mse(int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += pow((double)truth[i] - clamped(guess[i]), 2);
    return sum / n;
}

/* The guess is near the truth, and outside of 0..1 at places; half of all is
 * black, where sums that slide must come back to nothing. */
static void draw(int n, uint64_t key)
{
    ctt_check_fill(truth, n, key);
    ctt_check_fill(guess, n, key + 1);
    for (int i = 0; i < n; i++) {
        truth[i] = i < n / 2 && truth[i] < 0.9f ? 0 : fabsf(truth[i]);
        guess[i] = truth[i] + 0.4f * guess[i];
    }
}

static void test_literal(void)
{
    static const struct { int h, w, c; } shape[] = {
        { 7, 7, 1 }, { 8, 7, 3 }, { 7, 20, 2 }, { 64, 64, 1 }, { 33, 65, 2 },
        { 9, 66, 3 }, { 150, 150, 1 }, { 12, 131, 1 } };

    for (size_t i = 0; i < CTT_LEN(shape); i++) {
        int h = shape[i].h, w = shape[i].w, c = shape[i].c, n = h * w * c;
        struct ctt_quality q;

        draw(n, 10 * i + 3);
        CHECK_OK(ctt_quality(truth, guess, h, w, c, &q));
        CU_ASSERT_DOUBLE_EQUAL(q.mse, slow_mse(n), 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(q.psnr, 10 * log10(1 / slow_mse(n)), 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(q.ssim, slow_ssim(h, w, c, 1), 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(q.ssim2, slow_ssim(h, w, c, 2), 1e-9);
        CU_ASSERT(q.ssim < q.ssim2);
    }
}

/* ---- scikit-image 0.26.0, structural_similarity ---- */

/* 32 steps of grey from small whole numbers, the same in any language. */
static float grey(int y, int x, int k, int a, int b)
{
    return (float)((a * y + b * x + y * x % 5 + 7 * k) % 33) / 32;
}

static void test_known(void)
{
    static const struct {
        int h, w, c;
        double mse, psnr, ssim, ssim2;
    } known[] = {
        { 7, 7, 1, 0.012695312500, 18.9635660433,
          0.94109364144, 0.94210162075 },
        { 16, 20, 1, 0.178613281250, 7.4808625116,
          -0.11833678076, -0.10087316369 },
        { 64, 64, 1, 0.183718442917, 7.3584724405,
          -0.04802888465, -0.03153395519 },
        { 20, 11, 3, 0.136572265625, 8.6463748593,
          0.21372201423, 0.22624798854 },
    };

    for (size_t i = 0; i < CTT_LEN(known); i++) {
        int h = known[i].h, w = known[i].w, c = known[i].c;
        struct ctt_quality q;

        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int k = 0; k < c; k++) {
                    truth[(y * w + x) * c + k] = grey(y, x, k, 3, 1);
                    guess[(y * w + x) * c + k] = grey(y, x, k, 3, 2);
                }
        CHECK_OK(ctt_quality(truth, guess, h, w, c, &q));
        CU_ASSERT_DOUBLE_EQUAL(q.mse, known[i].mse, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(q.psnr, known[i].psnr, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(q.ssim, known[i].ssim, 1e-8);
        CU_ASSERT_DOUBLE_EQUAL(q.ssim2, known[i].ssim2, 1e-8);
    }
}

/* ---- what is special ---- */

static void test_equal(void)
{
    struct ctt_quality q;

    draw(30 * 30, 9);
    CHECK_OK(ctt_quality(truth, truth, 30, 30, 1, &q));
    CU_ASSERT_EQUAL(q.mse, 0);
    CU_ASSERT_EQUAL(q.psnr, 100);
    CU_ASSERT_DOUBLE_EQUAL(q.ssim, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(q.ssim2, 1, 1e-12);
    for (int i = 0; i < 30 * 30; i++) {
        truth[i] = 0.5f;
        guess[i] = 0.500001f;
    }
    CHECK_OK(ctt_quality(truth, guess, 30, 30, 1, &q));
    CU_ASSERT(q.mse > 0 && q.mse < 1e-11);
    CU_ASSERT_EQUAL(q.psnr, 100);
}

/* ---- linear motion ---- */

/* A square goes 2 down and 3 to the left a frame, till it is outside. */
static float square(int t, int y, int x)
{
    y -= 9 + 2 * t;
    x -= 16 - 3 * t;
    return y >= 0 && y < 5 && x >= 0 && x < 5 ? 0.9f : 0.2f;
}

/* What has been found once is right for any time ahead. */
static void test_motion(void)
{
    enum { H = 30, W = 29 };
    static float before[H * W], last[H * W], want[H * W], got[H * W];
    struct ctt_motion *m = NULL;

    for (int i = 0; i < H * W; i++) {
        before[i] = square(0, i / W, i % W);
        last[i] = square(1, i / W, i % W);
    }
    CHECK_OK(ctt_motion_find(before, last, H, W, 1, &m));
    for (int ahead = 12; ahead >= 0; ahead--) {
        for (int i = 0; i < H * W; i++)
            want[i] = square(1 + ahead, i / W, i % W);
        ctt_motion_go_on(m, ahead, got);
        CHECK_CLOSE(got, want, H * W, 0);
        CHECK_OK(ctt_baseline_linear(before, last, H, W, 1, ahead, got));
        CHECK_CLOSE(got, want, H * W, 0);
    }
    ctt_motion_free(&m);
    CU_ASSERT_PTR_NULL(m);
    for (long k = 1; k <= 3; k++) {
        long live = ctt_live_blocks();
        ctt_fail_alloc(k);
        CU_ASSERT_EQUAL(ctt_motion_find(before, last, H, W, 1, &m),
                        CTT_ENOMEM);
        ctt_fail_alloc(0);
        CU_ASSERT(!m && ctt_live_blocks() == live);
    }
}

static void test_refused(void)
{
    struct ctt_quality q = { 1, 2, 3, 4 };

    draw(100, 9);
    CU_ASSERT_EQUAL(ctt_quality(truth, guess, 6, 10, 1, &q), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_quality(truth, guess, 10, 6, 1, &q), CTT_EINVAL);
    guess[50] = NAN;
    CU_ASSERT_EQUAL(ctt_quality(truth, guess, 10, 10, 1, &q), CTT_ENAN);
    CU_ASSERT(q.mse == 1 && q.ssim2 == 4);
}

static void test_memory(void)
{
    struct ctt_quality q;
    long before = ctt_alloc_calls();

    draw(64 * 64, 9);
    CHECK_OK(ctt_quality(truth, guess, 64, 64, 1, &q));
    CU_ASSERT_EQUAL(ctt_alloc_calls(), before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "a literal writing", test_literal },
        { "known numbers", test_known },
        { "equal pictures", test_equal },
        { "linear motion", test_motion },
        { "refused", test_refused },
        { "no memory taken", test_memory },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "quality", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return ctt_check_main(suites);
}
