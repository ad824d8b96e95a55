/* SPDX-License-Identifier: Apache-2.0
 * code.h: how the numbers of one weight become bytes (doc/format.md,
 * section 6). */
#ifndef CTT_CODE_H
#define CTT_CODE_H

#include "net/weight.h"

/* How one weight is stored: a word of each of the three tables of code.c. */
struct ctt_coding { const char *positions, *values, *bytes; };

/* Encodes the kept numbers of a weight, of a legal form (weight.h), in the
 * given way.  CTT_EUNSUP where that way cannot hold them exactly.  The caller
 * frees *out. */
int ctt_encode(const struct ctt_coding *how, const struct ctt_weight *w,
               uint8_t **out, int64_t *size);

/* The same in the way that takes the fewest bytes, which is put in *how. */
int ctt_encode_best(const struct ctt_weight *w, struct ctt_coding *how,
                    uint8_t **out, int64_t *size);

/* Decodes a weight of that shape (whose data is not read) to w, a float for
 * each of its numbers, 0 where pruned, and to keep, as many bytes, 0 or 1.
 * kept must be right and every byte of in[size] have a meaning, or it is
 * CTT_EFORMAT and w and keep hold anything.  A word that is not known is
 * CTT_EUNSUP. */
int ctt_decode(const struct ctt_coding *how, const uint8_t *in, int64_t size,
               const struct ctt_tensor *shape, int64_t kept, float *w,
               uint8_t *keep);

/* Row i of a table (0: positions, 1: values, 2: bytes), NULL behind the last
 * one: for reports and tests. */
const char *ctt_coding_word(int table, int i);

#endif
