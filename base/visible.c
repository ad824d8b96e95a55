/* SPDX-License-Identifier: Apache-2.0
 * visible.c: text of strangers as text that a terminal only shows. */
#include "base/visible.h"
#include "base/ctt.h"

#include <string.h>

enum { PIECE = 20 };    /* bytes for any one character made visible */

int ctt_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    /* range of the second byte: excludes overlong forms and surrogates */
    int low = *s == 0xe0 ? 0xa0 : *s == 0xf0 ? 0x90 : 0x80;
    int high = *s == 0xed ? 0x9f : *s == 0xf4 ? 0x8f : 0xbf;
    int n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3
                      : *s < 0xf5 ? 4 : 0;

    if (n > 1 && (s[1] < low || s[1] > high))
        return 0;
    for (int i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

int ctt_utf8_is_control(const char *s, int n)
{
    /* first and last of each range, as bytes */
    static const struct { const char *from, *to; } ranges[] = {
        { "\x01", "\x1f" }, { "\x7f", "\x7f" },
        { "\xc2\x80", "\xc2\x9f" },            /* C1 */
        { "\xd8\x9c", "\xd8\x9c" },            /* U+061C */
        { "\xe2\x80\x8e", "\xe2\x80\x8f" },    /* U+200E, U+200F */
        { "\xe2\x80\xa8", "\xe2\x80\xae" },    /* U+2028 to U+202E */
        { "\xe2\x81\xa6", "\xe2\x81\xa9" },    /* U+2066 to U+2069 */
    };

    for (size_t i = 0; i < CTT_LEN(ranges); i++)
        if ((int)strlen(ranges[i].from) == n &&
            memcmp(s, ranges[i].from, (size_t)n) >= 0 &&
            memcmp(s, ranges[i].to, (size_t)n) <= 0)
            return 1;
    return 0;
}

/* Puts the visible form of the next character into piece; returns the bytes of
 * the character in s. */
static int show_char(const char *s, char keep, char piece[PIECE])
{
    static const char letters[] = "\n" "n" "\t" "t" "\r" "r";
    int n = ctt_utf8_length(s), used = n > 0 ? n : 1;
    const char *letter = strchr(letters, *s);

    if (n > 0 && (*s == keep || !ctt_utf8_is_control(s, n))) {
        snprintf(piece, PIECE, "%.*s", n, s);
        return n;
    }
    if (letter && (unsigned char)*s < ' ') {
        snprintf(piece, PIECE, "\\%c", letter[1]);
        return 1;
    }
    for (int i = 0; i < used; i++)
        snprintf(piece + 4 * i, PIECE - 4 * (size_t)i, "\\x%02x",
                 (unsigned)(unsigned char)s[i]);
    return used;
}

char *ctt_visible(const char *s, char keep, char *to, size_t size)
{
    char piece[PIECE];
    size_t at = 0;

    while (*s) {
        int n = show_char(s, keep, piece);
        size_t more = strlen(piece);
        if (at + more >= size)
            break;
        memcpy(to + at, piece, more);
        at += more;
        s += n;
    }
    to[at] = '\0';
    return to;
}

/* The number of a UTF-8 character of at most three bytes. */
static unsigned number_of(const char *s, int n)
{
    unsigned u = (unsigned char)*s & (n == 1 ? 0x7fu : n == 2 ? 0x1fu : 0xfu);

    for (int i = 1; i < n; i++)
        u = u << 6 | ((unsigned char)s[i] & 0x3fu);
    return u;
}

/* A character that a terminal would obey has at most three bytes. */
void ctt_json_put(FILE *f, const char *s)
{
    fputc('"', f);
    for (int n; *s; s += n ? n : 1) {
        n = ctt_utf8_length(s);
        if (n == 0)
            fprintf(f, "\\\\x%02x", (unsigned)(unsigned char)*s);
        else if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if (ctt_utf8_is_control(s, n))
            fprintf(f, "\\u%04x", number_of(s, n));
        else
            fprintf(f, "%.*s", n, s);
    }
    fputc('"', f);
}

size_t ctt_mark_utf8(const char *s, size_t n)
{
    return n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int ctt_mark_utf16(const char *s, size_t n)
{
    return n >= 2 && (memcmp(s, "\xff\xfe", 2) == 0 ||
                      memcmp(s, "\xfe\xff", 2) == 0);
}
