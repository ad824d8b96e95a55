/* SPDX-License-Identifier: Apache-2.0
 * fuzz_json.c: any JSON text is an error in one line, or a value that is the
 * same after it was written anew; and so it is element by element. */
#include "tests/fuzz/fuzz.h"
#include "base/json.h"
#include "base/newfile.h"

#include <string.h>

#define NAME "a.json"

const char *const ctt_fuzz_words[] = {
    "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u0041", "\\ud83d\\ude00",
    "\\ud800", "\\u0000", "\\n", "\\\"", "\"a\":", "true", "false", "null",
    "0", "-1", "1e9", "1.5E-3", "-0", "[[[[[[[[", "{\"a\":{\"a\":",
    "\xef\xbb\xbf",
    "\n", "\t", " ", "\xff", "{}", "[]", NULL
};

/* ---- written anew ---- */

static void put(struct ctt_json_out *o, const char *name,
                const struct ctt_value *v);

static void put_inside(struct ctt_json_out *o, const struct ctt_value *v)
{
    const struct ctt_value *member;
    const char *key;
    int n = 0;

    if (ctt_json_kind(v) == '[')
        for (; n < ctt_json_size(v); n++)
            put(o, NULL, ctt_json_at(v, n));
    else
        for (void *at = NULL; ctt_json_each(v, &at, &key, &member); n++) {
            FUZZ_CHECK(ctt_json_get(v, key) == member);
            ctt_json_put_text(o, NULL, key);
            fputc(':', o->f);
            o->more = 0;
            put(o, NULL, member);
        }
    FUZZ_CHECK(n == ctt_json_size(v));
}

static void put(struct ctt_json_out *o, const char *name,
                const struct ctt_value *v)
{
    static const char *const words[] = { "true", "false", "null" };
    char kind = ctt_json_kind(v), digits[CTT_JSON_NUMBER];

    if (kind == '[' || kind == '{') {
        ctt_json_begin(o, name, kind);
        put_inside(o, v);
        ctt_json_finish(o, kind == '[' ? ']' : '}');
    } else if (kind == '"') {
        ctt_json_put_text(o, name, ctt_json_text(v));
    } else if (kind == '0') {
        ctt_json_put_word(o, name, ctt_json_scalar(v, digits));
    }
    for (size_t i = 0; i < CTT_LEN(words); i++)
        if (kind == words[i][0])
            ctt_json_put_word(o, name, words[i]);
}

static int print(FILE *f, const void *v)
{
    struct ctt_json_out o = { f, "", 0 };

    put(&o, NULL, v);
    return 0;
}

/* ---- read element by element ---- */

/* The members of an object or the elements of an array; *n: how many. */
static int walk(struct ctt_json *j, char open, int *n)
{
    const struct ctt_value *v;
    const char *key;
    int rc;

    CTT_TRY(ctt_json_enter(j, open));
    for (; (rc = ctt_json_next(j)) > 0; ++*n) {
        if (open == '{') {
            CTT_TRY(ctt_json_key(j, &key));
            FUZZ_CHECK(key);
        }
        CTT_TRY(ctt_json_value(j, &v));
        FUZZ_CHECK(ctt_json_kind(v));
    }
out:
    return rc;
}

static int read_file(const char *text, int *n)
{
    const struct ctt_value *v;
    struct ctt_json *j = NULL;
    int rc;

    CTT_TRY(ctt_json_open(NAME, ctt_strdup(text), &j));
    if (ctt_json_is(j, '{'))
        CTT_TRY(walk(j, '{', n));
    else if (ctt_json_is(j, '['))
        CTT_TRY(walk(j, '[', n));
    else
        CTT_TRY(ctt_json_value(j, &v));
    CTT_TRY(ctt_json_end(j));
out:
    ctt_json_close(&j);
    if (rc < 0)
        ctt_fuzz_refused(NAME);
    return rc;
}

/* Written anew, it is the same value. */
static void check_value(const struct ctt_value *v)
{
    struct ctt_value *again = NULL;
    char *text = NULL;

    FUZZ_CHECK(ctt_text_collect(NAME, print, v, &text) >= 0);
    FUZZ_CHECK(ctt_json_parse(NAME, 1, text, &again) >= 0);
    FUZZ_CHECK(ctt_json_equal(v, again));
    ctt_json_free(&again);
    ctt_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = ctt_calloc(size + 1, 1);
    long live = ctt_live_blocks();
    struct ctt_value *v = NULL;
    int n = 0, rc, walked;

    FUZZ_CHECK(text);
    if (size)
        memcpy(text, data, size);
    walked = read_file(text, &n);
    rc = ctt_json_parse(NAME, 1, text, &v);
    /* jansson limits the depth, which is one less in an element, and sees keys
     * twice only in what is read as a whole. */
    FUZZ_CHECK(walked < 0 ? rc < 0 : rc >= 0 ||
               strstr(ctt_errmsg(), "maximum parsing depth") ||
               strstr(ctt_errmsg(), "duplicate object key"));
    if (rc >= 0) {
        FUZZ_CHECK(n >= ctt_json_size(v));    /* keys may occur twice */
        check_value(v);
    } else {
        ctt_fuzz_refused(NAME);
    }
    ctt_json_free(&v);
    FUZZ_CHECK(ctt_live_blocks() == live);
    ctt_free(text);
    return 0;
}

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("[{\"id\": \"12\", \"label\": \"a \\u00e9\\n\", "
              "\"n\": [1, -2.5e3],\n \"x\": null}]\n"),
    FUZZ_TEXT("{\"a\": {\"b\": [true, false, {}], \"c\": []}, \"\": 0}"),
    FUZZ_TEXT("\"\\ud83d\\ude00 \\\" \\\\ \\/ \\b\\f\\r\\t\""),
    FUZZ_TEXT("[1,]"), FUZZ_TEXT("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}
