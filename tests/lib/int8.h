/* SPDX-License-Identifier: Apache-2.0
 * int8.h: calls of convs of quantised values, for the tests of their
 * kernels. */
#ifndef CTT_TESTS_INT8_H
#define CTT_TESTS_INT8_H

#include "device/device.h"

/* The line of the conv y, which reads q and may add a value; the input's size;
 * its zero.  The last row has no conv. */
/* samples: 0: 2. */
struct ctt_int8_shape { const char *in, *conv; int zero, samples; };
extern const struct ctt_int8_shape ctt_int8_shapes[];

/* The steps of the values, of the plus input, and of results that are bytes;
 * zeros. */
#define CTT_INT8_STEP 0.037f
#define CTT_INT8_PLUS_STEP 0.013f
#define CTT_INT8_OUT_STEP 0.11f
enum { CTT_INT8_OUT_ZERO = 90, CTT_INT8_PLUS_ZERO = 77 };

/* A call of the conv, its values as floats and as bytes.  Rows are longer than
 * their channels. */
struct ctt_int8_try {
    struct ctt_graph *g;
    struct ctt_call   call;
    float            *x, *w, *b, *plus, *y;
    uint8_t          *bytes, *plus_bytes;
    void             *cache;
};

/* act: ctt_act_kind + 1, or 0; bytes: 1: of the input, 2: of the result, 4: of
 * the plus input. */
void ctt_int8_open(struct ctt_int8_try *j, const struct ctt_int8_shape *s,
                   int plus, int act, int bytes, uint64_t seed);

/* Bytes of variation k (0 to 7) of shape i, for input, result and, every other
 * time, the plus input, which odd k have. */
int  ctt_int8_bytes(size_t i, int k);
void ctt_int8_close(struct ctt_int8_try *j, struct ctt_dev *d);

/* 1 if b has the results of a, whose results are floats; as bytes: rounded. */
int  ctt_int8_same(const struct ctt_int8_try *a, const struct ctt_int8_try *b);

#endif
