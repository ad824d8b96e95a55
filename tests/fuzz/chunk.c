/* SPDX-License-Identifier: Apache-2.0
 * chunk.c: an input of several named parts. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Copies p..end without zeros, as far as it fits. */
static void copy_text(const uint8_t *p, const uint8_t *end, char *to,
                      size_t room)
{
    size_t n = 0;

    for (; p < end && n + 1 < room; p++)
        if (*p)
            to[n++] = (char)*p;
    to[n] = 0;
}

/* Where the next c is, or the end. */
static const uint8_t *find_char(const uint8_t *p, const uint8_t *end, char c)
{
    const uint8_t *at = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;

    return at ? at : end;
}

/* Where the next line that begins with % is, or the end. */
static const uint8_t *next_chunk(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != '%') {
        p = find_char(p, end, '\n');
        p += p < end;
    }
    return p;
}

int ctt_chunks(const uint8_t *p, size_t n, struct ctt_chunk *out, int room)
{
    const uint8_t *end = p + n;
    int count = 0;

    for (p = next_chunk(p, end); p < end && count < room; count++) {
        struct ctt_chunk *c = &out[count];
        const uint8_t *stop = find_char(p, end, '\n'), *blank = find_char(p,
                                                                          stop,
                                                                          ' ');

        copy_text(p + 1, blank, c->name, sizeof(c->name));
        copy_text(blank + (blank < stop), stop, c->words, sizeof(c->words));
        c->p = stop + (stop < end);
        p = next_chunk(c->p, end);
        c->n = (size_t)(p - c->p);
        c->n -= c->n > 0 && p < end;    /* the line feed before the % */
    }
    return count;
}

const struct ctt_chunk *ctt_chunk_find(const struct ctt_chunk *c, int count,
                                       const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(c[i].name, name) == 0)
            return &c[i];
    return NULL;
}

char *ctt_chunk_text(const struct ctt_chunk *c)
{
    char *s = ctt_calloc(c->n + 1, 1);

    FUZZ_CHECK(s);
    if (c->n)
        memcpy(s, c->p, c->n);
    return s;
}
