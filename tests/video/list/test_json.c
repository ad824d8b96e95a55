/* SPDX-License-Identifier: Apache-2.0
 * test_json.c: the reader of JSON: what it accepts, its strings, its errors. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/list/json.h"

#include <stdio.h>
#include <string.h>

static void test_json(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "[1,2.5e-3,-0,\"\\u00e9\\ud83d\\ude00\\n\",true,null,{\"a\":[]}]",
          NULL },
        { " [ ] ", NULL }, { "", "expected an array" },
        { "[1,]", "comma without" }, { "[1 2]", "expected ','" },
        { "[01]", "expected ','" }, { "[-]", "a string or a number" },
        { "[1.]", "a string or a number" }, { "[1e]", "a string or a" },
        { "[\"a]", "ends in a string" }, { "[\"\n\"]", "control character" },
        { "[\"\\x\"]", "bad escape" }, { "[\"\\u12g4\"]", "bad escape" },
        { "[\"\\u0000\"]", "bad escape" }, { "[\"\\ud800x\"]", "bad escape" },
        { "[\"\\udc00\"]", "bad escape" }, { "[\"\\", "bad escape" },
        { "[tru]", "not a value" }, { "[{\"a\" 1}]", "expected ':'" },
        { "[{a:1}]", "expected a string" }, { "[1}", "expected ',' or ']'" },
        { "[", "not a value" }, { "[1]]", "something follows" },
        { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deeply" },
    };
    struct ctt_json *j = NULL;
    int rc;

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("x.json", row[r].text);
        CHECK_OK(ctt_json_open(clip_path("x.json"), &j));
        rc = ctt_json_enter(j, '[');
        while (rc >= 0 && (rc = ctt_json_next(j)) > 0)
            rc = ctt_json_skip(j);
        rc = rc < 0 ? rc : ctt_json_end(j);
        CU_ASSERT_EQUAL(rc, row[r].says ? CTT_EFORMAT : 0);
        if (rc < 0 && row[r].says && !strstr(ctt_errmsg(), row[r].says)) {
            printf("\n    %s: '%s'", row[r].text, ctt_errmsg());
            CU_FAIL("message");
        }
        ctt_json_close(&j);
    }
}

static void test_json_text(void)
{
    struct ctt_json *j = NULL;
    char *s;

    clip_text("y.json", "[\"\\u00e9\\ud83d\\ude00\\/\\t\", -1.5]");
    CHECK_OK(ctt_json_open(clip_path("y.json"), &j));
    CHECK_OK(ctt_json_enter(j, '['));
    CHECK_OK(ctt_json_next(j));
    CHECK_OK(ctt_json_string(j, &s));
    CU_ASSERT_STRING_EQUAL(s, "\xc3\xa9\xf0\x9f\x98\x80/\t");
    CHECK_OK(ctt_json_next(j));
    CHECK_OK(ctt_json_scalar(j, &s));
    CU_ASSERT_STRING_EQUAL(s, "-1.5");
    ctt_json_close(&j);
    clip_file("z.json", "[1]\0 ", 5);
    CU_ASSERT_EQUAL(ctt_json_open(clip_path("z.json"), &j), CTT_EFORMAT);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "JSON", test_json }, { "its strings", test_json_text },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "JSON", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
