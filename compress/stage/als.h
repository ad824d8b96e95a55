/* SPDX-License-Identifier: Apache-2.0
 * als.h: the cores of a train that answer most like a weight on inputs. */
#ifndef CTT_ALS_H
#define CTT_ALS_H

#include "compress/report.h"

/* c (m x n) += a (m x l) b (l x n), row-major. */
void ctt_times(int64_t m, int64_t l, int64_t n, const double *a,
               const double *b, double *c);

/* A weight w of `in` rows and `out` columns, and a train of cores for it: core
 * k is a row-major array (rank[k], size[k], rank[k + 1]), the last one
 * (rank, size, out).  rank[0] is 1, and the product of all size[] is `in`, with
 * those of the first core outermost. */
struct ctt_als {
    const double *s;       /* in x in: second moments of the inputs x */
    const double *w;
    int64_t       in, out;
    int           cores;
    int64_t       size[CTT_MAX_CORES], rank[CTT_MAX_CORES + 1];
    double       *core[CTT_MAX_CORES];
    double        all;     /* out: the energy of the answers, E |w' x|^2 */
    double        lost;    /* out: that of the error */
    int           sweeps;  /* out */
};

/* Changes the cores until E |w' x - v' x|^2, with v their product, hardly falls
 * any more, or after `most` sweeps (0: only `all` and `lost` are set):
 * alternating least squares, a core after the other with the rest fixed (Holtz,
 * Rohwedder and Schneider 2012); of a core too large for one solution, some
 * columns after the others.  The error never rises.  CTT_EUNSUP if LAPACK
 * fails. */
int ctt_als(struct ctt_als *f, int most);

/* v as in ctt_als(), in x out. */
int ctt_als_whole(const struct ctt_als *f, double *v);

#endif
