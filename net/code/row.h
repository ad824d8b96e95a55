/* SPDX-License-Identifier: Apache-2.0
 * row.h: a row of each of the three tables of codings: positions, values,
 * bytes.  A new coding is a file with one row, declared here and listed in
 * code.c. */
#ifndef CTT_CODE_ROW_H
#define CTT_CODE_ROW_H

#include "net/code/code.h"

#include <string.h>

/* A weight that is encoded or decoded.  A decoder gets it without elements and
 * without w->keep. */
struct ctt_part {
    const struct ctt_weight *w;
    int64_t count, kept;    /* elements, and those of them not pruned */
    const uint32_t *at;     /* of a decoder: the kept ones, ascending; NULL: all
                               elements */
};

/* 1 if element i is not pruned. */
static inline int ctt_part_keeps(const struct ctt_part *p, int64_t i)
{
    return !p->w->keep || p->w->keep[i];
}

/* The place of kept element j, for a decoder. */
static inline int64_t ctt_part_place(const struct ctt_part *p, int64_t j)
{
    return p->at ? p->at[j] : j;
}

static inline int64_t ctt_bytes_of_bits(int64_t bits)
{
    return (bits + 7) / 8;
}

/* Little-endian numbers of `width` bytes. */
static inline void ctt_put_number(uint8_t *out, uint32_t x, int width)
{
    for (int k = 0; k < width; k++)
        out[k] = (uint8_t)(x >> 8 * k);
}

static inline uint32_t ctt_get_number(const uint8_t *in, int width)
{
    uint32_t x = 0;

    for (int k = 0; k < width; k++)
        x |= (uint32_t)in[k] << 8 * k;
    return x;
}

/* The same of 8 bytes, by one instruction. */
static inline uint64_t ctt_get_eight(const uint8_t *in)
{
    uint64_t x;

    memcpy(&x, in, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* The bits of a float, in which -0 is not 0 and a NaN equals itself.  A value
 * that is copied as a float may lose the sign of a zero: the compiler is told
 * that it does not matter. */
static inline uint32_t ctt_float_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

static inline void ctt_set_bits(float *to, uint32_t u)
{
    memcpy(to, &u, sizeof(u));
}

/* The bits of the float that is stored in half precision. */
static inline uint32_t ctt_f16_bits(const uint8_t *in)
{
    return ctt_float_bits(ctt_of_f16((uint16_t)ctt_get_number(in, 2)));
}

enum { CTT_READ_AHEAD = 8 };

/* Each row starts with its word, which is stored in files and never changes. */

/* The coding of positions: of the elements that are kept.  size: bytes of the
 * encoding, or -1 if this coding cannot represent them.  put writes it to
 * zeroed memory.  get fills at[p->kept] with the places of the kept ones,
 * ascending, and returns 1; or 0 unless in[size] is exactly an encoding of that
 * many.  whole: nothing is pruned, and there is no at. */
struct ctt_positions {
    const char *word;
    int64_t (*size)(const struct ctt_part *p);
    void    (*put)(const struct ctt_part *p, uint8_t *out);
    int     (*get)(const struct ctt_part *p, const uint8_t *in, int64_t size,
                   uint32_t *at);
    int     whole;
};

/* The bytes of a weight before compression: a head, its values, then its
 * positions. */
struct ctt_layout {
    int64_t head;      /* bytes before the values; 0 if width > 1 */
    int64_t values;    /* bytes of all values, a multiple of width */
    int     width;     /* bytes per value, at most 8; 1: also of values that are
                          not whole bytes */
};

/* The coding of values: of the kept elements.  To encode, layout sets *l for
 * p->w and returns 0 if this coding cannot represent it exactly; put writes
 * head and values to zeroed memory.  To decode, most returns the most bytes of
 * head and values, used the bytes that they take at the start of in[n], or -1
 * if they are damaged; get fills the kept elements of `to` and returns 1, or 0
 * if they are damaged.  It may read, not use, CTT_READ_AHEAD bytes more. */
struct ctt_values {
    const char *word;
    int         width;     /* of the layout */
    int         shares;    /* 1: gives each kept element a code */
    int     (*layout)(const struct ctt_part *p, struct ctt_layout *l);
    void    (*put)(const struct ctt_part *p, uint8_t *out);
    int64_t (*most)(const struct ctt_part *p);
    int64_t (*used)(const struct ctt_part *p, const uint8_t *in, int64_t n);
    int     (*get)(const struct ctt_part *p, const uint8_t *in,
                   const struct ctt_decoded *to);
};

/* The coding of bytes: their compression.  pack: raw[size] to (*out)[*n], which
 * the caller frees.  unpack: in[n] back to raw[room], *size bytes of it;
 * CTT_EFORMAT if they are damaged or do not fit.  A compression may ignore the
 * head. */
struct ctt_bytes {
    const char *word;
    int (*pack)(const struct ctt_layout *l, const uint8_t *raw, int64_t size,
                uint8_t **out, int64_t *n);
    int (*unpack)(const struct ctt_layout *l, const uint8_t *in, int64_t n,
                  uint8_t *raw, int64_t room, int64_t *size);
};

extern const struct ctt_positions ctt_positions_all, ctt_positions_mask,
                                  ctt_positions_index, ctt_positions_gaps,
                                  ctt_positions_block;
extern const struct ctt_values    ctt_values_f32, ctt_values_f16,
                                  ctt_values_int8, ctt_values_codebook,
                                  ctt_values_codebook_bits;
extern const struct ctt_bytes     ctt_bytes_raw, ctt_bytes_deflate;

#endif
