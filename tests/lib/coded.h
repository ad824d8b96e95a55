/* SPDX-License-Identifier: Apache-2.0
 * coded.h: weights to encode, for the tests of codings. */
#ifndef CTT_CODED_H
#define CTT_CODED_H

#include "net/code/code.h"

/* Patterns of kept numbers. */
enum pattern { ALL, NONE, FIRST, LAST, ODD, SOME, CLUMPS, BLOCKS, PATTERNS };

/* Kinds of numbers, by the codings that can store them. */
enum numbers { ANY, HALVES, BYTES, SHARED, SHARED_HALVES, NUMBERS };

struct coded {
    enum numbers numbers;
    float   *w, *back;
    uint8_t *keep, *keep_back, *share, *share_back;
    int64_t  n, kept;
};

/* n numbers of that kind, or any; coded_free() frees them. */
void coded_of(enum numbers numbers, struct coded *s, int64_t n,
              enum pattern pattern);
void coded_make(struct coded *s, int64_t n, enum pattern pattern);
void coded_free(struct coded *s);

/* As a weight of one channel. */
struct ctt_weight coded_weight_of(const float *w, const uint8_t *keep,
                                  int64_t n);
struct ctt_weight coded_weight(const struct coded *s);

/* Decodes to the members whose names end in back; whether these are the
 * others. */
int coded_decode(struct coded *s, const struct ctt_coding *how,
                 const uint8_t *p, int64_t size);
int coded_same(const struct coded *s);

#endif
