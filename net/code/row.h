/* SPDX-License-Identifier: Apache-2.0
 * row.h: the rows of the three tables of codings: positions, values, bytes.
 * A new coding is a file with one row, declared here and listed in code.c. */
#ifndef CTT_CODE_ROW_H
#define CTT_CODE_ROW_H

#include "net/weight.h"

/* A weight that is encoded or decoded.  The decoder knows its shape first, then
 * what is kept; its numbers (w->t.data) are NULL until the end. */
struct ctt_part {
    const struct ctt_weight *w;
    int64_t count, kept;    /* numbers, and those of them not pruned */
};

/* 1 if number i is not pruned. */
static inline int ctt_part_keeps(const struct ctt_part *p, int64_t i)
{
    return !p->w->keep || p->w->keep[i];
}

static inline int64_t ctt_bytes_of_bits(int64_t bits)
{
    return (bits + 7) / 8;
}

/* Each row starts with its word, which is on disk: never change one. */

/* Which numbers are kept.  size: bytes it takes, or -1 where this row cannot
 * say which are kept.  put writes them to zeroed memory.  get fills keep with
 * p->count bytes, 0 or 1, from exactly `size` bytes that say p->kept ones; or
 * returns 0: they do not. */
struct ctt_positions {
    const char *word;
    int64_t (*size)(const struct ctt_part *p);
    void    (*put)(const struct ctt_part *p, uint8_t *out);
    int     (*get)(const struct ctt_part *p, const uint8_t *in, int64_t size,
                   uint8_t *keep);
};

/* The kept numbers.  size: bytes they take, or -1 where this row cannot hold
 * the numbers of p->w exactly; without numbers, what p->kept of them take.
 * width: bytes of one value, of which size is a multiple (1: the values are no
 * rows of whole bytes).  get fills to[p->count], with 0 where pruned. */
struct ctt_values {
    const char *word;
    int         width;
    int64_t (*size)(const struct ctt_part *p);
    void    (*put)(const struct ctt_part *p, uint8_t *out);
    void    (*get)(const struct ctt_part *p, const uint8_t *in, float *to);
};

/* Bytes of a weight: its values, then its positions. */
struct ctt_layout {
    int64_t values;    /* bytes of the values */
    int     width;     /* of one value, at most 8 */
};

/* What these bytes become in the file.  pack: size bytes into *out, which the
 * caller frees.  unpack: the same back into raw[room], their number to *size;
 * CTT_EFORMAT where they are damaged or do not fit. */
struct ctt_bytes {
    const char *word;
    int (*pack)(const struct ctt_layout *l, const uint8_t *raw, int64_t size,
                uint8_t **out, int64_t *n);
    int (*unpack)(const struct ctt_layout *l, const uint8_t *in, int64_t n,
                  uint8_t *raw, int64_t room, int64_t *size);
};

extern const struct ctt_positions ctt_positions_all, ctt_positions_mask,
                                  ctt_positions_index;
extern const struct ctt_values    ctt_values_f32;
extern const struct ctt_bytes     ctt_bytes_raw, ctt_bytes_deflate;

#endif
