/* SPDX-License-Identifier: Apache-2.0
 * svd.h: the energy that ranks of a weight keep, and the choice of ranks for
 * all weights of a model together. */
#ifndef CTT_SVD_H
#define CTT_SVD_H

#include "compress/stage/chain.h"

/* A weight is a matrix w of d rows, one per output channel, and `taps` columns.
 * The first r columns of u span the results with rank r, and u' w is its first
 * core. */
struct ctt_spectrum {
    int     node, d, taps;
    int     n;         /* columns of u */
    double *u;         /* d x n, orthonormal columns */
    double *energy;    /* n values, descending: of each column */
    double *mean;      /* d, of w x on clips; NULL: not measured */
    double  all;       /* the sum of the energies */
    int     rank;
    /* With other inputs x' than those of the original: the weight that
     * answers x' most like w x, d x taps, and its mean; NULL: w. */
    double *w, *was;
};

/* Sets n, u and energy to the eigenvectors and eigenvalues of cov (d x d),
 * which is overwritten. */
int ctt_spectrum_of(struct ctt_spectrum *s, double *cov);

/* ---- svd_follow.c ---- */

/* Measures s again, of a weight of m, with the inputs that it has once the
 * nodes i before it with chain[i] not NULL are replaced: of all maps of that
 * rank of its answers to these, the one with the least squared difference from
 * its answers in m (the asymmetric case of Zhang and others 2015). */
int ctt_svd_follow(const struct ctt_model *m, struct ctt_chain *const *chain,
                   int clips, const struct ctt_recipe_calls *calls,
                   struct ctt_spectrum *s);

/* ---- svd_ranks.c ---- */

struct ctt_svd_layer {
    const double *energy;         /* descending: added by each rank */
    double        all;            /* their sum */
    int           most;           /* the highest rank that saves anything; 0:
                                     none does */
    int64_t       whole, unit;    /* multiplications of the weight as it is, and
                                     per rank */
    int           rank;           /* out; 0: the weight stays whole */
    int           first;          /* out: the first rank below whole */
};

/* Lowers ranks from whole weights on, the one with the least loss of log
 * energy per multiplication saved first, until at most `share` of `all`
 * multiplications of the model are left, then raises some if there is room:
 * greedily, the product of the kept shares of energy is large (Zhang and
 * others 2015).  Returns how many are left: more than that if the lowest ranks
 * leave more. */
int64_t ctt_svd_ranks(struct ctt_svd_layer *l, int layers, int64_t all,
                      double share);

#endif
