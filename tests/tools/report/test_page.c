/* SPDX-License-Identifier: Apache-2.0
 * test_page.c: axes, base 64, text that must not become markup, and the size of
 * a page. */
#include "tools/report/page.h"
#include "base/newfile.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

enum { LONG = 100000 };    /* points of a long curve */

/* All values are within the ticks, which are 1, 2 or 5 times a power of ten
 * apart, and neither few nor many. */
static void test_ticks(void)
{
    static const double ranges[][2] = {
        { 0, 1 }, { 1, 6 }, { 1.296, 1.48 }, { 0, 1e-7 }, { -3, 12345 },
        { 0.5, 0.5 }, { 99, 101 }, { 1e9, 1.0001e9 },
    };
    static const double ok[] = { 1, 2, 5, 10 };

    for (size_t i = 0; i < CTT_LEN(ranges); i++) {
        double low = ranges[i][0], high = ranges[i][1], first, step, part;
        int n = ctt_ticks(low, high, &first, &step), found = 0;

        part = step / pow(10, floor(log10(step) + 1e-9));
        for (size_t k = 0; k < CTT_LEN(ok); k++)
            found |= fabs(part - ok[k]) < 1e-6;
        CU_ASSERT(found);
        CU_ASSERT(first <= low + step / 1e3);
        CU_ASSERT(first + (n - 1) * step >= high - step / 1e3);
        CU_ASSERT(n <= 9 && (n >= 3 || low == high));
    }
}

/* The test vectors of RFC 4648. */
static void test_base64(void)
{
    static const char *const known[][2] = {
        { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
    };

    for (size_t i = 0; i < CTT_LEN(known); i++) {
        char *text = ctt_base64((const uint8_t *)known[i][0],
                                (int64_t)strlen(known[i][0]));

        CU_ASSERT_STRING_EQUAL(text, known[i][1]);
        ctt_free(text);
    }
}

static void test_numbers(void)
{
    static const struct { double v; int percent; const char *text; } known[] = {
        { 0, 0, "0" }, { 0.25, 1, "25%" }, { 9999, 0, "9999" },
        { 12500, 0, "12.5k" }, { 2.5e6, 0, "2.5M" }, { 3e-5, 0, "3e-5" },
        { -1e5, 0, "-100k" }, { 1e300, 0, "1e300" },
    };
    char text[CTT_PAGE_NUMBER];

    for (size_t i = 0; i < CTT_LEN(known); i++)
        CU_ASSERT_STRING_EQUAL(ctt_page_number(known[i].v, known[i].percent,
                                               text), known[i].text);
}

/* With a control character, a byte that is not UTF-8, and a mark that turns the
 * direction of text. */
static const char evil[] = "<script>alert('x')</script>\"&\x1b\xff\xe2\x80\xae";

static int print(FILE *f, const void *arg)
{
    static const int64_t clips[] = { 3, 1, 0, 0 };
    static const double x[] = { 1, 2, 3 }, y[] = { NAN, 0.5, 0.75 };
    static const double bars[] = { -2, NAN };
    static const char *const names[] = { evil, evil };
    static const struct ctt_bars column = { evil, "%.1f" };
    struct ctt_series s = { evil, 3, x, y, NULL, NULL };
    char *name[] = { (char *)evil, (char *)evil };

    (void)arg;
    ctt_page_begin(f, evil);
    ctt_page_section(f, evil, evil);
    ctt_page_heat(f, clips, 2, name);
    ctt_page_chart(f, &(struct ctt_chart){ evil, evil, evil, &s, 1, 0, 0, NAN,
                                           NAN });
    ctt_page_bars(f, evil, names, 2, &column, 1, bars);
    ctt_page_end(f);
    return 0;
}

/* Sides and channels of frames of noise, which PNG does not make smaller. */
enum { SIDE = 256, CLIPS = 6, FRAMES = 8 };

/* As many points as a chart and as many clips as a page can have. */
static int print_large(FILE *f, const void *arg)
{
    const double *v = arg;
    static uint8_t noise[FRAMES * SIDE * SIDE * 3];
    struct ctt_series s[CTT_CHART_SERIES];
    uint64_t x = 1;
    int rc = 0;

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)((x = x * 6364136223846793005u + 1) >> 56);
    for (int k = 0; k < CTT_CHART_SERIES; k++)
        s[k] = (struct ctt_series){ "a run with a name", LONG, v, v, v, v };
    ctt_page_begin(f, "large");
    for (int k = 0; k < CLIPS; k++)
        CTT_TRY(ctt_page_strip(f, &(struct ctt_page_clip){ "page", "clip",
                NULL, noise, FRAMES, SIDE, SIDE, 3 },
            &(struct ctt_chart){ "a", "x", "y", s, k ? 5 : CTT_CHART_SERIES,
                                 0, 1, NAN, NAN }));
    ctt_page_end(f);
out:
    return rc;
}

static int count(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

static void test_markup(void)
{
    char *page = NULL;

    CHECK_OK(ctt_text_collect("page", print, NULL, &page));
    CU_ASSERT(count(page, "&#60;script&#62;alert(&#39;x&#39;)") >= 9);
    CU_ASSERT(count(page, "<script") == 0 && count(page, "\x1b") == 0);
    CU_ASSERT(count(page, "\xff") == 0 && count(page, "\xe2\x80\xae") == 0);
    CU_ASSERT(count(page, "nan") == 0 && count(page, "inf") == 0);
    CU_ASSERT(count(page, "<b>3</b>") == 1 && count(page, "75%") >= 1);
    CU_ASSERT(count(page, "<td") == count(page, "</td>"));
    CU_ASSERT(count(page, "<tr") == count(page, "</tr>"));
    CU_ASSERT(count(page, "<svg") == count(page, "</svg>"));
    CU_ASSERT(count(page, "<figure>") == 1 && count(page, "</figure>") == 1);
    ctt_free(page);
}

/* A page with as much as can be is below 1 MB. */
static void test_size(void)
{
    static double v[LONG];
    char *page = NULL;

    for (int i = 0; i < LONG; i++)
        v[i] = i;
    CHECK_OK(ctt_text_collect("page", print_large, v, &page));
    CU_ASSERT(strlen(page) > 100000 && strlen(page) < 1000000);
    CU_ASSERT(count(page, "<img ") == CLIPS * FRAMES);
    ctt_free(page);
}

static int print_names(FILE *f, const void *arg)
{
    static const double x[] = { 0, 1 }, y[] = { 1, 1e-9 };
    struct ctt_series s = { "a", 2, x, y, NULL, NULL };

    ctt_page_chart(f, &(struct ctt_chart){ "a", "x", "y", &s, 1, 0, 0, NAN,
        NAN, arg, 4, .log_y = 1, .limit = 1e-3, .limit_name = "limit" });
    return 0;
}

/* Long names lean; an axis of powers has few of them, and none of it is NaN. */
static void test_axes(void)
{
    static const char *const shorts[] = { "a", "b", "c", "d" };
    static const char *const longs[] = {
        "a name with many letters, more than fit", "b", "c", "d" };
    char *page = NULL;

    CHECK_OK(ctt_text_collect("page", print_names, shorts, &page));
    CU_ASSERT(count(page, "rotate(-35") == 0 && count(page, "limit") >= 2);
    CU_ASSERT(count(page, ">1e-") >= 2 && count(page, ">1e-") <= 8);
    ctt_free(page);
    page = NULL;
    CHECK_OK(ctt_text_collect("page", print_names, longs, &page));
    CU_ASSERT(count(page, "rotate(-35") == 4 && count(page, "nan") == 0);
    ctt_free(page);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "ticks", test_ticks },
        { "numbers", test_numbers },
        { "base 64", test_base64 },
        { "size", test_size },
        { "axes", test_axes },
        { "markup", test_markup },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "pages", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
