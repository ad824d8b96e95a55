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

/* Text written while walking; NULL: none. */
struct out { char *p; size_t n; };

static void put_bytes(struct out *o, const char *s, size_t n)
{
    const struct ctt_value *member;
    const char *key;
    int n = 0;

/* A string with every byte that may be escaped escaped. */
static void put_string(struct out *o, const char *s)
{
    char hex[12];

    put_bytes(o, "\"", 1);
    for (; *s; s++) {
        if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\') {
            snprintf(hex, sizeof(hex), "\\u%04x", (unsigned)(uint8_t)*s);
            put_bytes(o, hex, 6);
        } else {
            put_bytes(o, s, 1);
        }
    }
    put_bytes(o, "\"", 1);
}

static int walk_value(struct ctt_json *j, struct out *o);

static int walk_inside(struct ctt_json *j, char open, struct out *o)
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
    put_bytes(o, &open, 1);
    while ((rc = ctt_json_next(j)) > 0) {
        if (!first)
            put_bytes(o, ",", 1);
        first = 0;
        if (open == '{') {
            CTT_TRY(ctt_json_key(j, &key));
            put_string(o, key);
            put_bytes(o, ":", 1);
        }
        CTT_TRY(walk_value(j, o));
    }
    put_bytes(o, open == '{' ? "}" : "]", rc == 0);
out:
    return rc;
}

/* Reads any value; the errors of a wrong kind tell which it is not, and leave
 * the reader where it was. */
static int walk_value(struct ctt_json *j, struct out *o)
{
    char *s;
    int rc;

    if (ctt_json_string(j, &s) >= 0) {
        put_string(o, s);
        return 0;
    }
    if (!strstr(ctt_errmsg(), "expected a string"))
        return CTT_EFORMAT;
    if (ctt_json_scalar(j, &s) >= 0) {
        put_bytes(o, s, strlen(s));
        return 0;
    }
    if (!strstr(ctt_errmsg(), "expected a string or a number"))
        return CTT_EFORMAT;
    rc = walk_inside(j, '{', o);
    if (rc < 0 && strstr(ctt_errmsg(), "expected an object"))
        rc = walk_inside(j, '[', o);
    if (rc < 0 && strstr(ctt_errmsg(), "expected an array")) {
        rc = ctt_json_skip(j);    /* true, false, null */
        put_bytes(o, "null", rc >= 0 ? 4 : 0);
    }
    return rc;
}

/* Reads the file, skipping or walking; o: the walked text. */
static int try_file(const char *path, int walks, struct out *o)
{
    const struct ctt_value *v;
    struct ctt_json *j = NULL;
    int rc;

    CTT_TRY(ctt_json_open(path, &j));
    CTT_TRY(walks ? walk_value(j, o) : ctt_json_skip(j));
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
    const char *path = ctt_scratch_put("a.json", data, size);
    int skipped = try_file(path, 0, NULL), walked = try_file(path, 1, &a);

    FUZZ_CHECK((skipped < 0) == (walked < 0));
    if (walked >= 0) {
        path = ctt_scratch_put("b.json", a.p, a.n);
        FUZZ_CHECK(try_file(path, 1, &b) >= 0);
        FUZZ_CHECK(a.n == b.n && memcmp(a.p, b.p, a.n) == 0);
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
