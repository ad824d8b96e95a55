/* SPDX-License-Identifier: Apache-2.0
 * test_json.c: JSON: what is accepted, values, errors, writing. */
#include "base/json.h"
#include "base/newfile.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

static struct ctt_value *parse(const char *text)
{
    struct ctt_value *v = NULL;

    CHECK_OK(ctt_json_parse("x", 1, text, &v));
    return v;
}

/* Reads an array element by element. */
static int walk(const char *text)
{
    const struct ctt_value *v;
    struct ctt_json *j = NULL;
    char *copy = ctt_strdup(text);
    int rc = copy ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_json_open("x.json", copy, &j));
    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0)
        CTT_TRY(ctt_json_value(j, &v));
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    ctt_json_close(&j);
    return rc;
}

/* What is wrong as an array of elements is wrong as one value. */
static void test_errors(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "[1,2.5e-3,-0,\"\\u00e9\\ud83d\\ude00\\n\",true,null,{\"a\":[]}]",
          NULL },
        { " [ ] ", NULL }, { "[1,\n]", "x.json:2: expected an element" },
        { "", "x.json:1: expected an array" },
        { "[1 2]", "expected ','" }, { "[01]", "invalid token" },
        { "[-]", "invalid token" }, { "[1.]", "invalid token" },
        { "[1e]", "invalid token" }, { "[\"a]", "premature end" },
        { "[\n\"\n\"]", "x.json:2: unexpected newline" },
        { "[\"\x01\"]", "control character 0x1" },
        { "[\"\\x\"]", "invalid escape" },
        { "[\"\\u12g4\"]", "invalid escape" },
        { "[\"\\u0000\"]", "\\u0000 is not allowed" },
        { "[\"\\ud800x\"]", "invalid Unicode" },
        { "[\"\\udc00\"]", "invalid Unicode" }, { "[\"\\", "invalid escape" },
        { "[\"caf\xe9\"]", "unable to decode byte 0xe9" },
        { "[tru]", "invalid token" }, { "[{\"a\" 1}]", "':' expected" },
        { "[1,\n2,\n{a:1}]", "x.json:3: string or '}' expected" },
        { "[\n{\"a\":1,\n\"b\"}]", "x.json:3: ':' expected" },
        { "[1}", "expected ',' or ']'" },
        { "[\n{\"a\":1,\"b\":2,\n\"a\":1}]", "x.json:3: duplicate object key" },
        { "[{\"a\":1},{\"a\":2}]", NULL },
        { "[", "unexpected token near end of file" },
        { "[1]]", "expected the end" },
        { "[1e999]", "real number overflow" },
        { "[123456789012345678901]", "too big integer" },
    };
    struct ctt_value *v = NULL;
    int rc;

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        rc = walk(row[r].text);
        CU_ASSERT_EQUAL(rc, row[r].says ? CTT_EFORMAT : 0);
        if (rc < 0 && row[r].says && !strstr(ctt_errmsg(), row[r].says)) {
            printf("\n    %s: '%s'", row[r].text, ctt_errmsg());
            CU_FAIL("message");
        }
        CU_ASSERT_EQUAL(ctt_json_parse("x", 1, row[r].text, &v), rc);
        ctt_json_free(&v);
    }
}

static void test_depth(void)
{
    static char text[6000];

    for (int i = 0; i < 3000; i++) {
        text[i] = '[';
        text[3000 + i - 1] = ']';
    }
    CU_ASSERT_EQUAL(walk(text), CTT_EFORMAT);
    CU_ASSERT(strstr(ctt_errmsg(), "maximum parsing depth") != NULL);
    memset(text + 2000, ']', 2000);
    text[4000] = 0;
    CHECK_OK(walk(text));
}

static void test_values(void)
{
    static const char text[] = " {\"i\":7,\"r\":[1.5,null,-2],\"s\":"
        "\"\\u00e9\\ud83d\\ude00\\/\\t\",\"t\":true,\"c\":\"00ff00ff\","
        "\"n\":[0.1,1.0,-1e-7,12]}\n";
    static const char *const number[] = { "0.1", "1.0", "-1e-07", "12" };
    static const char kinds[] = "0[\"t\"[";
    struct ctt_value *v = parse(text), *w = parse("{\"i\":7}");
    const struct ctt_value *m;
    char room[CTT_JSON_NUMBER];
    const char *key;
    void *at = NULL;
    double x[3];
    uint32_t crc = 0;
    int i = 0, n;

    CU_ASSERT_EQUAL(ctt_json_size(v), 6);
    for (n = 0; ctt_json_each(v, &at, &key, &m); n++)
        CU_ASSERT_EQUAL(ctt_json_kind(m), kinds[n]);
    CU_ASSERT(ctt_json_int(ctt_json_get(v, "i"), 0, 7, &i) && i == 7);
    CU_ASSERT(!ctt_json_int(ctt_json_get(v, "i"), 0, 6, &i));
    CU_ASSERT(!ctt_json_int(ctt_json_get(v, "i"), 8, 9, &i));
    CU_ASSERT(!ctt_json_int(ctt_json_get(v, "none"), 0, 9, &i));
    CU_ASSERT(ctt_json_reals(ctt_json_get(v, "r"), NAN, x, 3));
    CU_ASSERT(x[0] == 1.5 && isnan(x[1]) && x[2] == -2);
    CU_ASSERT(!ctt_json_reals(ctt_json_get(v, "r"), NAN, x, 2));
    CU_ASSERT(!ctt_json_real(ctt_json_get(v, "s"), 0, x));
    CU_ASSERT_STRING_EQUAL(ctt_json_text(ctt_json_get(v, "s")),
                           "\xc3\xa9\xf0\x9f\x98\x80/\t");
    CU_ASSERT(ctt_json_crc(ctt_json_get(v, "c"), &crc) && crc == 0xff00ff);
    CU_ASSERT(!ctt_json_crc(ctt_json_get(v, "s"), &crc));
    for (n = 0; n < 4; n++)
        CU_ASSERT_STRING_EQUAL(ctt_json_scalar(
            ctt_json_at(ctt_json_get(v, "n"), n), room), number[n]);
    CU_ASSERT(ctt_json_scalar(ctt_json_get(v, "t"), room) == NULL);
    CU_ASSERT(ctt_json_kind(NULL) == 0 && ctt_json_get(NULL, "a") == NULL);
    CU_ASSERT(ctt_json_equal(ctt_json_get(v, "i"), ctt_json_get(w, "i")));
    CU_ASSERT(!ctt_json_equal(v, w));
    ctt_json_free(&v);
    ctt_json_free(&w);
}

static void test_memory(void)
{
    /* jansson's buffers grow several times for the long string */
    static const char text[] = "[{\"a\": [1, \"b\", 0.5]},\n\"a text that "
        "is longer than the buffer with which a string begins, \\u00e9\"]";
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM, k;

    for (k = 1; rc < 0 && k < 200; k++) {
        ctt_fail_alloc(k);
        rc = walk(text);
        ctt_fail_alloc(0);
        CU_ASSERT(rc >= 0 || rc == CTT_ENOMEM);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT(rc == 0 && k > 4);
}

static int print(FILE *f, const void *gap)
{
    static const double x[] = { 0.1, NAN };
    struct ctt_json_out o = { f, gap, 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "s", "\"\n");
    ctt_json_put_word(&o, "w", "true");
    ctt_json_put_int(&o, "i", -5);
    ctt_json_put_crc(&o, "c", 255);
    ctt_json_put_real(&o, "r", 6, 1.0);
    ctt_json_put_fixed(&o, "f", 3, 1);
    ctt_json_put_fixed(&o, "n", 3, INFINITY);
    ctt_json_put_reals(&o, "x", 17, x, 2);
    ctt_json_begin(&o, "rows", '[');
    ctt_json_begin_row(&o, "\n ");
    ctt_json_finish(&o, '}');
    ctt_json_begin_row(&o, "\n ");
    ctt_json_finish(&o, '}');
    ctt_json_finish(&o, ']');
    ctt_json_finish(&o, '}');
    return 0;
}

static void test_writer(void)
{
    char *text = NULL;
    struct ctt_value *v;

    CHECK_OK(ctt_text_collect("x", print, "", &text));
    CU_ASSERT_STRING_EQUAL(text, "{\"s\":\"\\\"\\u000a\",\"w\":true,\"i\":-5,"
        "\"c\":\"000000ff\",\"r\":1,\"f\":1.000,\"n\":null,"
        "\"x\":[0.10000000000000001,null],\"rows\":[\n {},\n {}]}");
    v = parse(text);
    CU_ASSERT_EQUAL(ctt_json_size(v), 9);
    ctt_json_free(&v);
    ctt_free(text);
    CHECK_OK(ctt_text_collect("x", print, " ", &text));
    CU_ASSERT(strstr(text, "\"i\": -5, \"c\": \"000000ff\"") != NULL);
    ctt_free(text);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "errors", test_errors }, { "depth", test_depth },
        { "values", test_values }, { "memory", test_memory },
        { "writer", test_writer }, CU_TEST_INFO_NULL };
    static CU_SuiteInfo suites[] = {
        { "JSON", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL };

    return ctt_check_main(suites);
}
