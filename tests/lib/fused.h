/* SPDX-License-Identifier: Apache-2.0
 * fused.h: calls of a conv of gates with the conv that is added to its result
 * and the LSTM that reads it, for the tests of their kernels. */
#ifndef CTT_TESTS_FUSED_H
#define CTT_TESTS_FUSED_H

#include "device/device.h"

/* a is the conv's input, b the pair's; the attributes of both convs. */
struct ctt_fused_case {
    const char *a, *b, *conv, *pair;
    int64_t     hidden;
};

/* A call and its memory; the conv is node 3 of the graph, its pair node 2. */
struct ctt_fused {
    struct ctt_graph *g;
    struct ctt_call   call;
    void             *cache[2], *block[16];
    int               blocks;
};

/* Fused nodes; KEEP: gates are stored; VIEW: values are views of wider rows.
 * Without a pair the conv adds to its result. */
enum {
    CTT_FUSED_PAIR = 1, CTT_FUSED_LSTM = 2, CTT_FUSED_KEEP = 4,
    CTT_FUSED_VIEW = 8
};
void ctt_fused_open(struct ctt_fused *r, const struct ctt_fused_case *a, int n,
                    int flags);
void ctt_fused_close(struct ctt_fused *r, struct ctt_dev *d);

/* 1 if they agree up to a fraction of the largest value; the gaps between the
 * pixels of a view are compared too. */
int  ctt_fused_agree(const struct ctt_tensor *a, const struct ctt_tensor *b,
                     double tol);

#endif
