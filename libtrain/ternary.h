/* SPDX-License-Identifier: Apache-2.0
 * ternary.h: an array whose numbers are -value, 0 or value, as bits: of each
 * number that is not 0 the gap since the one before, in a Golomb code of a
 * power of two (Rice and Plaunt 1971; of gradients: Sattler and others 2019),
 * and its sign. */
#ifndef CTT_TERNARY_H
#define CTT_TERNARY_H

#include "net/ctt.h"

struct ctt_ternary {
    float   value;
    int32_t low;         /* bits of a gap that are written as they are */
    int64_t count;       /* numbers that are not 0 */
    int64_t bytes;       /* of code */
};

/* The largest number of bytes that the code of `count` numbers among n has. */
int64_t ctt_ternary_room(int64_t n, int64_t count);

/* at: rising positions below n of `count` numbers, of which those below 0 in
 * from[n] have the sign -.  code: as many bytes as ctt_ternary_room() says.
 * Fills all of t but value. */
void ctt_ternary_encode(const int32_t *at, int64_t count, int64_t n,
                        const float *from, uint8_t *code,
                        struct ctt_ternary *t);

/* Adds scale * number to to[n].  CTT_EFORMAT: the code does not have t->count
 * numbers below position n in t->bytes; to[] may have some of them then. */
int  ctt_ternary_add(const struct ctt_ternary *t, const uint8_t *code,
                     int64_t n, float scale, float *to);

#endif
