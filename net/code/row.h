/* SPDX-License-Identifier: Apache-2.0
 * row.h: a row of each of the three tables of codings: positions, values,
 * bytes.  A new coding is a file with one row, declared here and listed in
 * code.c. */
#ifndef CTT_CODE_ROW_H
#define CTT_CODE_ROW_H

#include "net/weight.h"

/* A weight that is encoded or decoded.  A decoder gets it without elements
 * (w->t.data is NULL), and without w->keep until positions are decoded. */
struct ctt_part {
    const struct ctt_weight *w;
    int64_t count, kept;    /* elements, and those of them not pruned */
};

/* 1 if element i is not pruned. */
static inline int ctt_part_keeps(const struct ctt_part *p, int64_t i)
{
    return !p->w->keep || p->w->keep[i];
}

static inline int64_t ctt_bytes_of_bits(int64_t bits)
{
    return (bits + 7) / 8;
}

/* Each row starts with its word, which is stored in files: never change one. */

/* Which elements are kept.  size: bytes of the encoding, or -1 if this coding
 * cannot represent them.  put writes it to zeroed memory.  get fills keep with
 * p->count bytes, 0 or 1, and returns 1; or 0 unless in[size] is exactly an
 * encoding with p->kept ones. */
struct ctt_positions {
    const char *word;
    int64_t (*size)(const struct ctt_part *p);
    void    (*put)(const struct ctt_part *p, uint8_t *out);
    int     (*get)(const struct ctt_part *p, const uint8_t *in, int64_t size,
                   uint8_t *keep);
};

/* The kept elements.  size: bytes of the encoding of p->kept elements, or -1 if
 * this coding cannot represent p->w exactly.  width: bytes per value, of which
 * size is a multiple (1: values that are not whole bytes).  put writes to
 * zeroed memory; get fills to[p->count], with 0 for pruned elements. */
struct ctt_values {
    const char *word;
    int         width;
    int64_t (*size)(const struct ctt_part *p);
    void    (*put)(const struct ctt_part *p, uint8_t *out);
    void    (*get)(const struct ctt_part *p, const uint8_t *in, float *to);
};

/* The bytes of a weight before compression: its values, then its positions. */
struct ctt_layout {
    int64_t values;    /* bytes of all values */
    int     width;     /* bytes per value, at most 8 */
};

/* Compression of these bytes.  pack: raw[size] to (*out)[*n], which the caller
 * frees.  unpack: in[n] back to raw[room], *size bytes of it; CTT_EFORMAT if
 * they are damaged or do not fit. */
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
