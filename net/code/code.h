/* SPDX-License-Identifier: Apache-2.0
 * code.h: how the numbers of one weight become bytes (doc/format.md,
 * section 6). */
#ifndef CTT_PACK_H
#define CTT_PACK_H

#include "net/ctt.h"

/* How one weight is stored: a word of each of the three tables of pack.c. */
struct ctt_coding { const char *positions, *values, *bytes; };

/* Encodes the kept ones of count floats (keep NULL: all are) in the given way.
 * CTT_EUNSUP where that way cannot hold them.  The caller frees *out. */
int ctt_encode(const struct ctt_coding *how, const float *w,
               const uint8_t *keep, int64_t count, uint8_t **out,
               int64_t *size);

/* The same in the way that takes the fewest bytes, which is put in *how. */
int ctt_encode_best(const float *w, const uint8_t *keep, int64_t count,
                    struct ctt_coding *how, uint8_t **out, int64_t *size);

/* Decodes to w[count], 0 where pruned, and keep[count], 0 or 1.  kept must be
 * right and every byte of in[size] have a meaning, or it is CTT_EFORMAT and w
 * and keep hold anything.  A word that is not known is CTT_EUNSUP. */
int ctt_decode(const struct ctt_coding *how, const uint8_t *in, int64_t size,
               int64_t count, int64_t kept, float *w, uint8_t *keep);

/* Row i of a table (0: positions, 1: values, 2: bytes), NULL behind the last
 * one: for reports and tests. */
const char *ctt_coding_word(int table, int i);

#endif
