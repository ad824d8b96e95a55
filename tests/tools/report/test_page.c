/* SPDX-License-Identifier: Apache-2.0
 * test_page.c: ticks of axes, base 64, and text that must not become markup. */
#include "tools/report/page.h"
#include "base/newfile.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

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

static const char evil[] = "<script>alert('x')</script>\"&\x1b";

static int print(FILE *f, const void *arg)
{
    static const int64_t clips[] = { 3, 1, 0, 0 };
    static const double x[] = { 1, 2, 3 }, y[] = { NAN, 0.5, 0.75 };
    struct ctt_series s = { evil, 3, x, y, NULL, NULL };
    char *name[] = { (char *)evil, (char *)evil };

    (void)arg;
    ctt_page_begin(f, evil);
    ctt_page_section(f, evil, evil);
    ctt_page_heat(f, clips, 2, name);
    ctt_page_chart(f, &(struct ctt_chart){ evil, evil, evil, &s, 1, 0, 0, NAN,
                                           NAN });
    ctt_page_end(f);
    return 0;
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
    CU_ASSERT(count(page, "nan") == 0 && count(page, "inf") == 0);
    CU_ASSERT(count(page, "<b>3</b>") == 1 && count(page, "75%") >= 1);
    CU_ASSERT(count(page, "<td") == count(page, "</td>"));
    CU_ASSERT(count(page, "<tr") == count(page, "</tr>"));
    CU_ASSERT(count(page, "<svg") == count(page, "</svg>"));
    CU_ASSERT(count(page, "<figure>") == 1 && count(page, "</figure>") == 1);
    ctt_free(page);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "ticks", test_ticks },
        { "base 64", test_base64 },
        { "markup", test_markup },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "pages", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
