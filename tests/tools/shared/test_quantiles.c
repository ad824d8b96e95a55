/* SPDX-License-Identifier: Apache-2.0
 * test_quantiles.c: quantiles of many times in fixed memory, and letters and
 * boxes that stay within their picture. */
#include "base/random.h"
#include "tests/lib/check.h"
#include "tools/shared/picture.h"
#include "tools/shared/measure.h"

#include <math.h>
#include <string.h>

enum { MANY = 20000 };

/* From half a microsecond to 13 minutes, evenly by orders of magnitude. */
static double some_time(uint64_t i)
{
    return 5e-4 * pow(10, 9.2 * ctt_random(11, i) / UINT32_MAX);
}

static void test_quantiles(void)
{
    static const double shares[] = { 0.001, 0.25, 0.5, 0.9, 0.99 };
    static struct ctt_quantiles t;
    struct ctt_times exact = { NULL, 0, 0 };
    struct ctt_spread s;

    CU_ASSERT_EQUAL(ctt_quantiles_at(&t, 0.5), 0);
    for (uint64_t i = 0; i < MANY; i++) {
        ctt_quantiles_add(&t, some_time(i));
        CHECK_OK(ctt_times_add(&exact, some_time(i)));
    }
    s = ctt_times_spread(&exact);
    CU_ASSERT_EQUAL(t.count, MANY);
    CU_ASSERT_EQUAL(t.max, s.max);
    for (size_t i = 0; i < CTT_LEN(shares); i++) {
        double x = exact.ms[(int)ceil(shares[i] * MANY) - 1];
        double got = ctt_quantiles_at(&t, shares[i]);

        x = x < 1e-3 ? 1e-3 : x;
        CU_ASSERT(got >= x * (1 - 1e-9) && got <= x * 1.01 * (1 + 1e-9));
    }
    CU_ASSERT_EQUAL(ctt_quantiles_at(&t, 1), t.max);
    ctt_free(exact.ms);
}

static void test_extremes(void)
{
    static struct ctt_quantiles t;

    ctt_quantiles_add(&t, 0);
    ctt_quantiles_add(&t, -1);
    CU_ASSERT_EQUAL(ctt_quantiles_at(&t, 1), 0);
    ctt_quantiles_add(&t, 1e12);
    CU_ASSERT_EQUAL(t.count, 3);
    CU_ASSERT_EQUAL(t.max, 1e12);
    CU_ASSERT(ctt_quantiles_at(&t, 0.5) <= 1e-3);
    CU_ASSERT(ctt_quantiles_at(&t, 1) > 1e6);
}

/* ---- letters ---- */

enum { W = 40, H = 24, EDGE = 64 };

struct sheet { uint8_t before[EDGE], data[W * H * 3], after[EDGE]; };

static int lit(const struct sheet *s)
{
    int n = 0;

    for (int i = 0; i < W * H * 3; i++)
        n += s->data[i] != 0;
    return n;
}

static const uint8_t white[3] = { 255, 255, 255 };

/* Wherever a text and a box begin, nothing outside is touched. */
static void test_bounds(void)
{
    static struct sheet s;
    struct ctt_picture p = { s.data, W, H };
    char all[257];

    for (int i = 1; i < 257; i++)
        all[i - 1] = (char)i;
    all[255] = '\0';
    for (int y = -20; y < H + 20; y += 7)
        for (int x = -3000; x < W + 20; x += 13) {
            ctt_bitmap_font_text(&p, x, y, 2, white, all);
            ctt_bitmap_font_box(&p, x, y, 60, 30, white, 100);
        }
    for (int i = 0; i < EDGE; i++)
        CU_ASSERT(s.before[i] == 0 && s.after[i] == 0);
    CU_ASSERT(lit(&s) > 0);
}

static void test_letters(void)
{
    static struct sheet a, b;
    struct ctt_picture p = { a.data, W, H }, q = { b.data, W, H };

    ctt_bitmap_font_text(&p, 1, 1, 1, white, "I");
    CU_ASSERT_EQUAL(lit(&a), 3 * (3 + 5 + 3));
    ctt_bitmap_font_text(&q, 1, 1, 1, white, "i");
    CU_ASSERT_EQUAL(memcmp(a.data, b.data, sizeof(a.data)), 0);
    memset(a.data, 0, sizeof(a.data));
    memset(b.data, 0, sizeof(b.data));
    ctt_bitmap_font_text(&p, 0, 0, 1, white, "\303\251x");    /* e acute */
    ctt_bitmap_font_text(&q, 0, 0, 1, white, "?X");
    CU_ASSERT_EQUAL(memcmp(a.data, b.data, sizeof(a.data)), 0);
    memset(a.data, 0, sizeof(a.data));
    ctt_bitmap_font_box(&p, 2, 3, 4, 5, white, 128);
    CU_ASSERT_EQUAL(lit(&a), 3 * 4 * 5);
    CU_ASSERT_EQUAL(a.data[3 * (3 * W + 2)], 127);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "quantiles", test_quantiles },
        { "extreme times", test_extremes },
        { "within the picture", test_bounds },
        { "letters", test_letters },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "quantiles", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
