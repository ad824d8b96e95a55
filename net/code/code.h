/* SPDX-License-Identifier: Apache-2.0
 * code.h: encoding and decoding one weight (doc/format.md, section 6). */
#ifndef CTT_CODE_H
#define CTT_CODE_H

#include "net/weight.h"

/* The coding of one weight: a word from each of the three tables of code.c. */
struct ctt_coding { const char *positions, *values, *bytes; };

/* Encodes a weight of a legal form (weight.h) with this coding.  CTT_EUNSUP if
 * the coding is not known or cannot represent the weight exactly.  The caller
 * frees *out. */
int ctt_encode(const struct ctt_coding *how, const struct ctt_weight *w,
               uint8_t **out, int64_t *size);

/* The same with the coding that takes the fewest bytes, written to *how. */
int ctt_encode_best(const struct ctt_weight *w, struct ctt_coding *how,
                    uint8_t **out, int64_t *size);

/* The result of decoding, per element: w, the value, 0 if pruned; keep, 0 if
 * pruned, else 1; share, the code (weight.h), or 0.  share may be NULL unless
 * ctt_coding_shares(), and both if only w is wanted. */
struct ctt_decoded { float *w; uint8_t *keep, *share; };

/* Decodes a weight of this shape (shape->data is not read).  CTT_EFORMAT if
 * in[size] does not encode exactly `kept` elements that are not pruned, with no
 * byte left over; `to` then holds any values.  CTT_EUNSUP for a word that is
 * not known, CTT_EINVAL if it has no room for codes. */
int ctt_decode(const struct ctt_coding *how, const uint8_t *in, int64_t size,
               const struct ctt_tensor *shape, int64_t kept,
               const struct ctt_decoded *to);

/* 1 if the coding of values with this word gives elements codes (shared
 * values). */
int ctt_coding_shares(const char *values);

/* The word of row i of a table (0: positions, 1: values, 2: bytes), NULL after
 * the last: for tests. */
const char *ctt_coding_word(int table, int i);

#endif
