/* SPDX-License-Identifier: Apache-2.0
 * svd.h: the choice of ranks for all weights of a model together. */
#ifndef CTT_SVD_H
#define CTT_SVD_H

#include "compress/compress.h"

struct ctt_svd_layer {
    const double *energy;         /* descending: what each rank adds */
    double        all;            /* their sum */
    int           most;           /* the highest rank that saves anything; 0:
                                     none does */
    int64_t       whole, unit;    /* multiplications of the weight as it is, and
                                     per rank */
    int           rank;           /* out; 0: the weight stays whole */
};

/* Lowers ranks from whole weights on, the one with the least loss of log
 * energy per multiplication saved first, until at most `share` of `all`
 * multiplications of the model are left, then raises some if there is room:
 * greedily, the product of the kept shares of energy is large (Zhang and
 * others 2015).  CTT_EINVAL if that cannot be reached. */
int ctt_svd_ranks(struct ctt_svd_layer *l, int layers, int64_t all,
                  double share);

#endif
