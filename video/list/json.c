/* SPDX-License-Identifier: Apache-2.0
 * json.c: a small strict JSON reader; strings are unescaped in place. */
#include "video/list/json.h"
#include "video/disk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 32, NUMBER = 64, LIMIT = 1 << 28 };

struct ctt_json {
    char  *path, *text, *at;
    int    line, depth, first;    /* first: no element was read yet */
    char   open[DEPTH];
    char   number[NUMBER];
};

int ctt_json_error(const struct ctt_json *j, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return ctt_error(CTT_EFORMAT, "%s:%d: %s", j->path, j->line, text);
}

static int bad(const struct ctt_json *j, const char *what)
{
    return ctt_json_error(j, "%s", what);
}

int ctt_json_open(const char *path, struct ctt_json **out)
{
    struct ctt_json *j = ctt_calloc(1, sizeof(*j));
    size_t size;
    int rc = j ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    j->path = ctt_strdup(path);
    CTT_TRY(j->path ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_text_read(path, LIMIT, &j->text, &size));
    j->at = j->text;
    j->line = 1;
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

int ctt_json_enter(struct ctt_json *j, char open)
{
    if (peek(j) != open)
        return bad(j, open == '{' ? "expected an object" :
                                    "expected an array");
    if (j->depth == DEPTH)
        return bad(j, "nested too deeply");
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
        return bad(j, close == '}' ? "expected ',' or '}'" :
                                     "expected ',' or ']'");
    j->at++;
    return peek(j) == close ? bad(j, "a comma without an element") : 1;
}

int ctt_json_line(const struct ctt_json *j)
{
    return j->line;
}

static int hex4(const char *s)
{
    static const char digit[] = "0123456789abcdef0123456789ABCDEF";
    int x = 0;

    for (int i = 0; i < 4; i++) {
        const char *p = s[i] ? strchr(digit, s[i]) : NULL;
        if (!p)
            return -1;
        x = x * 16 + (int)(p - digit) % 16;
    }
    return x;
}

static char *utf8(char *to, int x)
{
    static const int lead[] = { 0, 0xc0, 0xe0, 0xf0 };
    int more = x < 0x80 ? 0 : x < 0x800 ? 1 : x < 0x10000 ? 2 : 3;

    *to++ = (char)(lead[more] | x >> 6 * more);
    while (more--)
        *to++ = (char)(0x80 | (x >> 6 * more & 0x3f));
    return to;
}

/* Decodes \uXXXX at s, or a pair of surrogates; returns its length, or -1. */
static int unicode(const char *s, int *x)
{
    int low;

    *x = hex4(s + 2);
    if (*x <= 0 || (*x >= 0xdc00 && *x < 0xe000))
        return -1;
    if (*x < 0xd800 || *x >= 0xe000)
        return 6;
    low = s[6] == '\\' && s[7] == 'u' ? hex4(s + 8) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return -1;
    *x = 0x10000 + ((*x - 0xd800) << 10) + (low - 0xdc00);
    return 12;
}

/* Decodes the escape at s into *to; returns its length, or -1. */
static int escape(const char *s, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *p = s[1] ? strchr(from, s[1]) : NULL;
    int n = 2, x;

    if (p) {
        *(*to)++ = into[p - from];
    } else {
        n = s[1] == 'u' ? unicode(s, &x) : -1;
        if (n > 0)
            *to = utf8(*to, x);
    }
    return n;
}

int ctt_json_string(struct ctt_json *j, char **out)
{
    char *s, *to, *from;
    int n;

    if (peek(j) != '"')
        return bad(j, "expected a string");
    s = to = from = j->at + 1;
    while (*from != '"') {
        if ((unsigned char)*from < ' ')
            return bad(j, *from ? "a control character in a string" :
                                  "the file ends in a string");
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        n = escape(from, &to);
        if (n < 0)
            return bad(j, "a bad escape in a string");
        from += n;
    }
    *to = 0;
    j->at = from + 1;
    *out = s;
    return 0;
}

int ctt_json_key(struct ctt_json *j, char **out)
{
    char *s;
    int rc;

    CTT_TRY(ctt_json_string(j, &s));
    if (peek(j) != ':')
        return bad(j, "expected ':'");
    j->at++;
    *out = s;
out:
    return rc;
}

static const char *digits(const char *s)
{
    size_t n = strspn(s, "0123456789");

    return n ? s + n : NULL;
}

/* The end of a number (-? int frac? exp?), or NULL. */
static const char *number_end(const char *s)
{
    s += *s == '-';
    s = *s == '0' ? s + 1 : digits(s);
    if (s && *s == '.')
        s = digits(s + 1);
    if (s && (*s == 'e' || *s == 'E'))
        s = digits(s + 1 + (s[1] == '+' || s[1] == '-'));
    return s;
}

int ctt_json_scalar(struct ctt_json *j, char **out)
{
    const char *end;
    size_t n;

    if (peek(j) == '"')
        return ctt_json_string(j, out);
    end = number_end(j->at);
    n = end ? (size_t)(end - j->at) : 0;
    if (n == 0 || n >= NUMBER)
        return bad(j, "expected a string or a number");
    memcpy(j->number, j->at, n);
    j->number[n] = 0;
    j->at += n;
    *out = j->number;
    return 0;
}

static int skip_word(struct ctt_json *j)
{
    static const char *const word[] = { "true", "false", "null" };

    for (size_t i = 0; i < CTT_LEN(word); i++) {
        if (strncmp(j->at, word[i], strlen(word[i])) == 0) {
            j->at += strlen(word[i]);
            return 0;
        }
    }
    return bad(j, "not a value");
}

int ctt_json_skip(struct ctt_json *j)
{
    char c = peek(j), *s;
    int rc = 0;

    if (c == '"' || c == '-' || (c >= '0' && c <= '9'))
        return ctt_json_scalar(j, &s);
    if (c != '{' && c != '[')
        return skip_word(j);
    CTT_TRY(ctt_json_enter(j, c));    /* it limits the depth */
    while ((rc = ctt_json_next(j)) > 0) {
        if (c == '{')
            CTT_TRY(ctt_json_key(j, &s));
        CTT_TRY(ctt_json_skip(j));
    }
out:
    return rc;
}

int ctt_json_end(struct ctt_json *j)
{
    return peek(j) ? bad(j, "something follows the last value") : 0;
}
