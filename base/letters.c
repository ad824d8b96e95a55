/* SPDX-License-Identifier: Apache-2.0
 * letters.c: texts that look alike and are different bytes, since Unicode
 * writes a letter with an accent in two ways. */
#include "base/letters.h"
#include "base/ctt.h"
#include "base/visible.h"

#include <string.h>

/* The letters and combining marks of a text, one after another. */
struct letters {
    const char *at;
    unsigned    later[2];    /* those of a character that follow, last first */
    int         n;
};

/* The character at s, of n bytes; a byte that is not UTF-8 is above all. */
static unsigned character(const char *s, int n)
{
    unsigned c = (unsigned char)*s;

    if (n == 0)
        return 0x110000 + c;
    c &= n == 1 ? 0x7f : 0xffu >> (n + 1);
    for (int i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return c;
}

static unsigned split(struct letters *l, unsigned letter, unsigned mark)
{
    l->later[l->n++] = mark;
    return letter;
}

/* U+00C0 to U+017F: the letter, and the mark less U+0300, from '0' on. */
static unsigned split_latin(struct letters *l, unsigned c)
{
    static const char letter[] =
        "AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y"
        "AaAaAaCcCcCcCcDd..EeEeEeEeEeGgGgGgGgHh..IiIiIiIiI...JjKk.LlLlLl."
        "...NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz.";
    static const char mark[] =
        "01238:.W01280128.301238..01281..01238:.W01280128.301238..01281.8"
        "4466XX112277<<<<..446677XX<<226677WW22..334466XX7...22WW.11WW<<."
        "...11WW<<...4466;;..11WW<<1122WW<<WW<<..334466::;;XX222281177<<.";
    unsigned i = c - 0xc0;

    if (c < 0xc0 || c > 0x17f || letter[i] == '.')
        return c;
    return split(l, (unsigned char)letter[i],
                 0x300 + (unsigned char)mark[i] - '0');
}

static unsigned split_cyrillic(struct letters *l, unsigned c)
{
    static const unsigned row[][3] = {
        { 0x400, 0x415, 0x300 }, { 0x401, 0x415, 0x308 },
        { 0x403, 0x413, 0x301 }, { 0x407, 0x406, 0x308 },
        { 0x40c, 0x41a, 0x301 }, { 0x40d, 0x418, 0x300 },
        { 0x40e, 0x423, 0x306 }, { 0x419, 0x418, 0x306 },
        { 0x439, 0x438, 0x306 }, { 0x450, 0x435, 0x300 },
        { 0x451, 0x435, 0x308 }, { 0x453, 0x433, 0x301 },
        { 0x457, 0x456, 0x308 }, { 0x45c, 0x43a, 0x301 },
        { 0x45d, 0x438, 0x300 }, { 0x45e, 0x443, 0x306 },
    };

    for (size_t i = 0; i < CTT_LEN(row); i++)
        if (row[i][0] == c)
            return split(l, row[i][1], row[i][2]);
    return c;
}

/* Hiragana, and katakana 0x60 behind them: voiced syllables stand behind the
 * plain ones, and half-voiced ones behind those. */
static unsigned split_kana(struct letters *l, unsigned c)
{
    unsigned k = c < 0x30a0 ? c : c - 0x60;

    if (k == 0x3094)
        return split(l, c - 0x4e, 0x3099);
    if ((k >= 0x304c && k <= 0x3062 && k % 2 == 0) || k == 0x3065 ||
        k == 0x3067 || k == 0x3069)
        return split(l, c - 1, 0x3099);
    if (k >= 0x306f && k <= 0x307d && k % 3 != 0x306f % 3)
        return (k - 0x306f) % 3 == 1 ? split(l, c - 1, 0x3099)
                                     : split(l, c - 2, 0x309a);
    return c;
}

/* A syllable is a leading consonant, a vowel and, but for the first of 28, a
 * consonant (The Unicode Standard, section 3.12). */
static unsigned split_hangul(struct letters *l, unsigned c)
{
    unsigned i = c - 0xac00;

    if (i % 28)
        l->later[l->n++] = 0x11a7 + i % 28;
    return split(l, 0x1100 + i / 588, 0x1161 + i % 588 / 28);
}

/* 0: the end. */
static unsigned next_letter(struct letters *l)
{
    int n = l->n ? 0 : ctt_utf8_length(l->at);
    unsigned c;

    if (l->n)
        return l->later[--l->n];
    c = character(l->at, n);
    if (c)
        l->at += n > 0 ? n : 1;
    return c < 0x180 ? split_latin(l, c) : c < 0x500 ? split_cyrillic(l, c) :
           c >= 0x3040 && c <= 0x30ff ? split_kana(l, c) :
           c >= 0xac00 && c <= 0xd7a3 ? split_hangul(l, c) : c;
}

int ctt_letters_differ_in_form(const char *a, const char *b)
{
    struct letters x = { .at = a }, y = { .at = b };
    unsigned c;

    if (strcmp(a, b) == 0)
        return 0;
    while ((c = next_letter(&x)) == next_letter(&y))
        if (c == 0)
            return 1;
    return 0;
}
