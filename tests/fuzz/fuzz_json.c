/* SPDX-License-Identifier: Apache-2.0
 * fuzz_json.c: any JSON text is an error in one line, or reads the same in
 * three ways: skipped as a whole, walked through value by value, and walked
 * after it was written anew. */
#include "tests/fuzz/fuzz.h"
#include "video/list/json.h"

#include <string.h>

enum { ROOM = 8 * CTT_FUZZ_ROOM };

const char *const ctt_fuzz_words[] = {
    "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u0041", "\\ud83d\\ude00",
    "\\ud800", "\\u0000", "\\n", "\\\"", "\"a\":", "true", "false", "null",
    "0", "-1", "1e9", "1.5E-3", "-0", "[[[[[[[[", "{\"a\":{\"a\":",
    "\xef\xbb\xbf",
    "\n", "\t", " ", "\xff", "{}", "[]", NULL
};

/* What is written while walking; NULL: nothing. */
struct out { char *p; size_t n; };

static void put(struct out *o, const char *s, size_t n)
{
    FUZZ_CHECK(o->n + n < ROOM);
    memcpy(o->p + o->n, s, n);
    o->n += n;
    o->p[o->n] = 0;
}

/* A string with every byte that may be escaped escaped. */
static void put_string(struct out *o, const char *s)
{
    char hex[12];

    put(o, "\"", 1);
    for (; *s; s++) {
        if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\') {
            snprintf(hex, sizeof(hex), "\\u%04x", (unsigned)(uint8_t)*s);
            put(o, hex, 6);
        } else {
            put(o, s, 1);
        }
    }
    put(o, "\"", 1);
}

static int walk(struct ctt_json *j, struct out *o);

static int walk_inside(struct ctt_json *j, char open, struct out *o)
{
    char *key;
    int rc, first = 1;

    CTT_TRY(ctt_json_enter(j, open));
    put(o, &open, 1);
    while ((rc = ctt_json_next(j)) > 0) {
        if (!first)
            put(o, ",", 1);
        first = 0;
        if (open == '{') {
            CTT_TRY(ctt_json_key(j, &key));
            put_string(o, key);
            put(o, ":", 1);
        }
        CTT_TRY(walk(j, o));
    }
    put(o, open == '{' ? "}" : "]", rc == 0);
out:
    return rc;
}

/* Reads any value; the errors of a wrong kind tell which it is not, and leave
 * the reader where it was. */
static int walk(struct ctt_json *j, struct out *o)
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
        put(o, s, strlen(s));
        return 0;
    }
    if (!strstr(ctt_errmsg(), "expected a string or a number"))
        return CTT_EFORMAT;
    rc = walk_inside(j, '{', o);
    if (rc < 0 && strstr(ctt_errmsg(), "expected an object"))
        rc = walk_inside(j, '[', o);
    if (rc < 0 && strstr(ctt_errmsg(), "expected an array")) {
        rc = ctt_json_skip(j);    /* true, false, null */
        put(o, "null", rc >= 0 ? 4 : 0);
    }
    return rc;
}

/* Reads the file, skipping or walking; o: what was walked through. */
static int read_file(const char *path, int walks, struct out *o)
{
    struct ctt_json *j = NULL;
    int rc;

    CTT_TRY(ctt_json_open(path, &j));
    CTT_TRY(walks ? walk(j, o) : ctt_json_skip(j));
    CTT_TRY(ctt_json_end(j));
out:
    ctt_json_close(&j);
    if (rc < 0)
        ctt_fuzz_refused(path);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char first[ROOM], second[ROOM];
    struct out a = { first, 0 }, b = { second, 0 };
    long live = ctt_live_blocks();
    const char *path = ctt_scratch_put("a.json", data, size);
    int skipped = read_file(path, 0, NULL), walked = read_file(path, 1, &a);

    FUZZ_CHECK((skipped < 0) == (walked < 0));
    if (walked >= 0) {
        path = ctt_scratch_put("b.json", a.p, a.n);
        FUZZ_CHECK(read_file(path, 1, &b) >= 0);
        FUZZ_CHECK(a.n == b.n && memcmp(a.p, b.p, a.n) == 0);
    }
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("[{\"id\": \"12\", \"label\": \"a \\u00e9\\n\", "
              "\"n\": [1, -2.5e3],\n \"x\": null}]\n"),
    FUZZ_TEXT("{\"a\": {\"b\": [true, false, {}], \"c\": []}, \"\": 0}"),
    FUZZ_TEXT("\xef\xbb\xbf\"\\ud83d\\ude00 \\\" \\\\ \\/ \\b\\f\\r\\t\""),
    FUZZ_TEXT("[1,]"), FUZZ_TEXT("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}
