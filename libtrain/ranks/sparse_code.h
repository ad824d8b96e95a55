/* SPDX-License-Identifier: Apache-2.0
 * sparse_code.h: an array whose numbers are 0 or a sign times value times a
 * power of two, as bits: of each number that is not 0 the gap since the one
 * before, in a Golomb code of a power of two (Rice and Plaunt 1971; of
 * gradients: Sattler and others 2019), its power in unary, and its sign. */
#ifndef CTT_SPARSE_CODE_H
#define CTT_SPARSE_CODE_H

#include "base/ctt.h"

enum { CTT_SPARSE_CODE_MOST = 15 };    /* powers from 0 */

struct ctt_sparse_code {
    float   value;
    int32_t low;         /* bits of a gap that are written as they are */
    int64_t count;       /* numbers that are not 0 */
    int64_t bytes;       /* of code */
};

/* Maximum of bytes of the code of `count` numbers among n. */
int64_t ctt_sparse_code_room(int64_t n, int64_t count);

/* at: rising positions below n of `count` numbers of from[n], of magnitude
 * `least`, above 0, or more.  Each is written as its sign and the number of
 * halvings until it is below 2 * least, at most CTT_SPARSE_CODE_MOST.  code:
 * room for ctt_sparse_code_room() bytes.  Fills all of t but value. */
void ctt_sparse_code_encode(const int32_t *at, int64_t count, int64_t n,
                            const float *from, float least, uint8_t *code,
                            struct ctt_sparse_code *t);

/* Adds scale * number to to[n].  CTT_EFORMAT: the code does not have t->count
 * numbers below position n in t->bytes; to[] may have some of them then. */
int ctt_sparse_code_add(const struct ctt_sparse_code *t, const uint8_t *code,
                        int64_t n, float scale, float *to);

#endif
