/* SPDX-License-Identifier: Apache-2.0
 * glob.c: names that a pattern matches.  fnmatch() may take a time that is
 * exponential in the number of '*'; here only the last one is tried again. */
#include "libtrain/layers.h"

#include <stddef.h>
#include <string.h>

/* The end of the set that begins at p, or NULL if it is not closed: then '[' is
 * a character.  A ']' that comes first belongs to it. */
static const char *set_end(const char *p)
{
    p += p[1] == '!' || p[1] == '^';
    return p[1] ? strchr(p + 2, ']') : NULL;
}

/* 1 if c is in the set from p, at '[', to end. */
static int in_set(const char *p, const char *end, char c)
{
    int not = p[1] == '!' || p[1] == '^', found = 0;

    for (p += 1 + not; p < end; p++) {
        int range = p[1] == '-' && p + 2 < end;
        unsigned char low = (unsigned char)*p, x = (unsigned char)c;
        unsigned char high = range ? (unsigned char)p[2] : low;
        found |= low <= x && x <= high;
        p += 2 * range;
    }
    return found != not;
}

/* 1 if the part of a pattern at *p, no '*', matches c; moves *p behind it. */
static int one(const char **p, char c)
{
    const char *s = *p, *end = *s == '[' ? set_end(s) : NULL;

    int escaped = *s == '\\' && s[1];

    s += escaped;
    *p = (end ? end : s) + 1;
    return end ? in_set(s, end, c) : *s == c || (*s == '?' && !escaped);
}

int ctt_glob(const char *pattern, const char *name)
{
    const char *p = pattern, *star = NULL, *from = NULL;

    while (*name) {
        const char *q = p;
        if (*p == '*') {
            star = ++p;
            from = name;
        } else if (*p && one(&q, *name)) {
            p = q;
            name++;
        } else if (star) {
            p = star;
            name = ++from;
        } else {
            return 0;
        }
    }
    p += strspn(p, "*");
    return !*p;
}
