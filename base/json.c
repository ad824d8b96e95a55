/* SPDX-License-Identifier: Apache-2.0
 * json.c: reads JSON: values by the library jansson, long files element by
 * element. */
#include "base/json.h"

#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8 };    /* of elements that are read one by one */

struct ctt_json {
    char       *path, *text;
    const char *at, *end;
    int         line, said, depth, first;    /* said: line of the last value;
                                                first: no element was read */
    char        open[DEPTH];
    json_t     *key, *value;
};

/* ---- jansson's memory ---- */

/* A value has dozens of small blocks, so they are cut from chunks, which are
 * freed with the last of their blocks.  jansson 2.14 overruns its buffers after
 * an allocation that failed in its lexer; therefore such an allocation leaves
 * it at once, by longjmp. */
enum { CHUNK = 4096, ALIGN = 16 };

struct chunk {
    struct chunk *older;    /* of the value that is read */
    size_t        used, size;
    int           blocks, reading;
};

static _Thread_local struct chunk *chunks;    /* of the value that is read */
static _Thread_local jmp_buf no_memory;

static size_t aligned_size(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* A chunk as large as all before, with room for n bytes at least. */
static struct chunk *new_chunk(size_t n)
{
    size_t head = aligned_size(sizeof(struct chunk));
    size_t size = chunks ? 2 * chunks->size : CHUNK;
    struct chunk *c;

    size = size < head + n ? head + n : size;
    c = n < SIZE_MAX / 4 ? ctt_realloc(NULL, size) : NULL;
    if (!c)
        longjmp(no_memory, 1);
    *c = (struct chunk){ chunks, head, size, 0, 1 };
    return c;
}

/* A block has its chunk in front of it. */
static void *chunk_alloc(size_t size)
{
    size_t n = size < SIZE_MAX / 4 ? ALIGN + aligned_size(size) : size;
    struct chunk *c = chunks;
    char *p;

    if (!c || n > c->size - c->used)
        chunks = c = new_chunk(n);
    p = (char *)c + c->used;
    memcpy(p, &c, sizeof(c));
    c->used += n;
    c->blocks++;
    return p + ALIGN;
}

static void chunk_free(void *p)
{
    struct chunk *c;

    memcpy(&c, (char *)p - ALIGN, sizeof(c));
    if (--c->blocks == 0 && !c->reading)
        ctt_free(c);
}

/* The chunks that have blocks outlive the reading of a value, unless it
 * failed. */
static void leave_chunks(int failed)
{
    for (struct chunk *c = chunks, *older; c; c = older) {
        older = c->older;
        c->reading = 0;
        if (failed || c->blocks == 0)
            ctt_free(c);
    }
    chunks = NULL;
}

static void init(void)
{
    json_set_alloc_funcs(chunk_alloc, chunk_free);
}

/* NULL, and e->line 0: out of memory. */
static json_t *parse_text(const char *text, size_t n, json_error_t *e)
{
    if (setjmp(no_memory) == 0)
        return json_loadb(text, n, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK |
                          JSON_REJECT_DUPLICATES, e);
    e->line = 0;
    return NULL;
}

/* Reads the value at text; *bytes: of the text, which goes on behind it. */
static int parse_value(const char *path, int line, const char *text, size_t n,
                       json_t **out, size_t *bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_error_t e = { .line = 0 };

    pthread_once(&once, init);
    *out = parse_text(text, n, &e);
    leave_chunks(!*out);
    *bytes = *out ? (size_t)e.position : 0;
    if (*out)
        return 0;
    return e.line == 0 ? CTT_ENOMEM :
           ctt_error(CTT_EFORMAT, "%s:%d: %s", path, line + e.line - 1,
                     e.text);
}

/* ---- values ---- */

static const json_t *json_of(const struct ctt_value *v)
{
    return (const json_t *)v;
}

static const struct ctt_value *value(const json_t *v)
{
    return (const struct ctt_value *)v;
}

/* The text as a file whose text stays the caller's. */
int ctt_json_parse(const char *path, int line, const char *text,
                   struct ctt_value **out)
{
    size_t n = strlen(text), bytes;
    json_t *v;
    int rc;

    CTT_TRY(parse_value(path, line, text, n, &v, &bytes));
    if (text[bytes + strspn(text + bytes, " \t\r\n")]) {
        json_decref(v);
        return ctt_error(CTT_EFORMAT, "%s:%d: text behind the value", path,
                         line);
    }
    *out = (struct ctt_value *)v;
out:
    return rc;
}

void ctt_json_free(struct ctt_value **v)
{
    json_decref((json_t *)*v);
    *v = NULL;
}

char ctt_json_kind(const struct ctt_value *v)
{
    static const char kind[] = {
        [JSON_OBJECT] = '{', [JSON_ARRAY] = '[', [JSON_STRING] = '"',
        [JSON_INTEGER] = '0', [JSON_REAL] = '0', [JSON_TRUE] = 't',
        [JSON_FALSE] = 'f', [JSON_NULL] = 'n',
    };

    return v ? kind[json_typeof(json_of(v))] : 0;
}

const struct ctt_value *ctt_json_get(const struct ctt_value *v,
                                     const char *name)
{
    return value(json_object_get(json_of(v), name));
}

const struct ctt_value *ctt_json_at(const struct ctt_value *v, int i)
{
    return value(json_array_get(json_of(v), (size_t)i));
}

int ctt_json_size(const struct ctt_value *v)
{
    return (int)(json_object_size(json_of(v)) + json_array_size(json_of(v)));
}

int ctt_json_each(const struct ctt_value *v, void **at, const char **key,
                  const struct ctt_value **member)
{
    json_t *o = (json_t *)(uintptr_t)v;

    *at = *at ? json_object_iter_next(o, *at) : json_object_iter(o);
    if (!*at)
        return 0;
    *key = json_object_iter_key(*at);
    *member = value(json_object_iter_value(*at));
    return 1;
}

const char *ctt_json_text(const struct ctt_value *v)
{
    return json_string_value(json_of(v));
}

/* The shortest text that is the same number. */
static void real_text(double x, char room[CTT_JSON_NUMBER])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(room, CTT_JSON_NUMBER, "%.*g", digits, x);
        if (strtod(room, NULL) == x)
            break;
    }
    if (!room[strspn(room, "-0123456789")])
        snprintf(room + strlen(room), 3, ".0");
}

const char *ctt_json_scalar(const struct ctt_value *v,
                            char room[CTT_JSON_NUMBER])
{
    if (json_is_real(json_of(v)))
        real_text(json_real_value(json_of(v)), room);
    else if (json_is_integer(json_of(v)))
        snprintf(room, CTT_JSON_NUMBER, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(json_of(v)));
    else
        return ctt_json_text(v);
    return room;
}

int ctt_json_int64(const struct ctt_value *v, int64_t low, int64_t *out)
{
    if (!json_is_integer(json_of(v)) || json_integer_value(json_of(v)) < low)
        return 0;
    *out = json_integer_value(json_of(v));
    return 1;
}

int ctt_json_int(const struct ctt_value *v, int low, int high, int *out)
{
    int64_t x;

    if (!ctt_json_int64(v, low, &x) || x > high)
        return 0;
    *out = (int)x;
    return 1;
}

int ctt_json_real(const struct ctt_value *v, double none, double *out)
{
    if (!json_is_number(json_of(v)) && !json_is_null(json_of(v)))
        return 0;
    *out = json_is_null(json_of(v)) ? none : json_number_value(json_of(v));
    return 1;
}

int ctt_json_reals(const struct ctt_value *v, double none, double *out, int n)
{
    int good = json_is_array(json_of(v)) && ctt_json_size(v) == n;

    for (int i = 0; i < n && good; i++)
        good = ctt_json_real(ctt_json_at(v, i), none, &out[i]);
    return good;
}

int ctt_json_crc(const struct ctt_value *v, uint32_t *out)
{
    const char *s = ctt_json_text(v);

    if (!s || strlen(s) != 8 || strspn(s, "0123456789abcdef") != 8)
        return 0;
    *out = (uint32_t)strtoul(s, NULL, 16);
    return 1;
}

int ctt_json_equal(const struct ctt_value *a, const struct ctt_value *b)
{
    return json_equal(json_of(a), json_of(b));
}

/* ---- reading a file element by element ---- */

int ctt_json_error(const struct ctt_json *j, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return ctt_error(CTT_EFORMAT, "%s:%d: %s", j->path, j->said, text);
}

int ctt_json_open(const char *path, char *text, struct ctt_json **out)
{
    struct ctt_json *j = ctt_calloc(1, sizeof(*j));
    int rc = j ? 0 : CTT_ENOMEM;

    if (rc < 0)
        ctt_free(text);
    CTT_TRY(rc);
    j->text = text;
    j->at = text;
    j->end = text + strlen(text);
    j->line = j->said = 1;
    j->path = ctt_strdup(path);
    CTT_TRY(j->path ? 0 : CTT_ENOMEM);
    *out = j;
    j = NULL;
out:
    ctt_json_close(&j);
    return rc;
}

void ctt_json_close(struct ctt_json **j)
{
    if (!*j)
        return;
    json_decref((*j)->key);
    json_decref((*j)->value);
    ctt_free((*j)->path);
    ctt_free((*j)->text);
    ctt_free(*j);
    *j = NULL;
}

/* Skips white space and returns the next character. */
static char peek(struct ctt_json *j)
{
    for (;; j->at++) {
        if (*j->at == '\n')
            j->line++;
        else if (*j->at != ' ' && *j->at != '\t' && *j->at != '\r')
            return *j->at;
    }
}

/* An error at the next character. */
static int expected(struct ctt_json *j, const char *what)
{
    j->said = j->line;
    return ctt_json_error(j, "expected %s", what);
}

int ctt_json_enter(struct ctt_json *j, char open)
{
    if (peek(j) != open)
        return expected(j, open == '{' ? "an object" : "an array");
    if (j->depth == DEPTH)
        return expected(j, "fewer levels");
    j->said = j->line;
    j->at++;
    j->open[j->depth++] = open;
    j->first = 1;
    return 0;
}

int ctt_json_is(struct ctt_json *j, char first)
{
    return peek(j) == first;
}

int ctt_json_next(struct ctt_json *j)
{
    char close = j->open[j->depth - 1] == '{' ? '}' : ']', c = peek(j);
    int first = j->first;

    j->first = 0;
    if (c == close) {
        j->at++;
        j->depth--;
        return 0;
    }
    if (first)
        return 1;
    if (c != ',')
        return expected(j, close == '}' ? "',' or '}'" : "',' or ']'");
    j->at++;
    return peek(j) == close ? expected(j, "an element behind ','") : 1;
}

int ctt_json_line(struct ctt_json *j)
{
    peek(j);
    return j->line;
}

/* Reads the next value in the place of an old one. */
static int read_value(struct ctt_json *j, json_t **out)
{
    size_t bytes;
    int rc;

    json_decref(*out);
    *out = NULL;
    peek(j);
    CTT_TRY(parse_value(j->path, j->line, j->at, (size_t)(j->end - j->at), out,
                        &bytes));
    j->said = j->line;
    for (const char *end = j->at + bytes; j->at < end; j->at++)
        j->line += *j->at == '\n';
out:
    return rc;
}

int ctt_json_key(struct ctt_json *j, const char **out)
{
    int rc = 0;

    if (peek(j) != '"')
        return expected(j, "a key");
    CTT_TRY(read_value(j, &j->key));
    if (peek(j) != ':')
        return expected(j, "':'");
    j->at++;
    *out = json_string_value(j->key);
out:
    return rc;
}

int ctt_json_value(struct ctt_json *j, const struct ctt_value **out)
{
    int rc = read_value(j, &j->value);

    *out = value(j->value);
    return rc;
}

int ctt_json_end(struct ctt_json *j)
{
    return peek(j) ? expected(j, "the end of the file") : 0;
}
