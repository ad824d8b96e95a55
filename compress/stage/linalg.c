/* SPDX-License-Identifier: Apache-2.0
 * linalg.c: singular values, eigenvalues and linear equations by LAPACK, which
 * no other file includes. */
#include "compress/compress.h"

#include <lapacke.h>

#include <limits.h>
#include <math.h>

/* LAPACK is column-major: it reads a as its transpose v diag(s) u', so swapping
 * u and v replaces a copy. */
int ctt_svd(int m, int n, double *a, double *u, double *s, double *vt)
{
    int k = m < n ? m : n, rc = 0, info;
    double best = 0, *work = NULL;
    int *iwork = NULL;

    CTT_CHECK(m > 0 && n > 0, CTT_EINVAL, "no singular values of %d x %d", m,
              n);
    for (int64_t i = 0; i < (int64_t)m * n; i++)
        CTT_CHECK(isfinite(a[i]), CTT_ENAN,
                  "no singular values: a number is not finite");
    iwork = ctt_calloc(8 * (size_t)k, sizeof(*iwork));
    CTT_TRY(iwork ? 0 : CTT_ENOMEM);
    info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', n, m, a, n, s, vt, n, u,
                               k, &best, -1, iwork);
    CTT_CHECK(info == 0 && best < INT_MAX, CTT_EUNSUP,
              "no singular values of %d x %d: too large", m, n);
    work = ctt_calloc((size_t)best, sizeof(*work));
    CTT_TRY(work ? 0 : CTT_ENOMEM);
    info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', n, m, a, n, s, vt, n, u,
                               k, work, (int)best, iwork);
    CTT_CHECK(info == 0, CTT_EUNSUP,
              "the singular values of %d x %d did not converge", m, n);
out:
    ctt_free(work);
    ctt_free(iwork);
    return rc;
}

/* Column-major: eigenvectors, its columns, are our rows. */
int ctt_eigen(int n, double *a, double *s)
{
    double best = 0, *work = NULL;
    int ibest = 0, *iwork = NULL, info, rc = 0;

    CTT_CHECK(n > 0, CTT_EINVAL, "no eigenvalues of %d x %d", n, n);
    for (int64_t i = 0; i < (int64_t)n * n; i++)
        CTT_CHECK(isfinite(a[i]), CTT_ENAN,
                  "no eigenvalues: a number is not finite");
    info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, a, n, s, &best,
                               -1, &ibest, -1);
    CTT_CHECK(info == 0 && best < INT_MAX, CTT_EUNSUP,
              "no eigenvalues of %d x %d: too large", n, n);
    work = ctt_calloc((size_t)best, sizeof(*work));
    iwork = ctt_calloc((size_t)ibest, sizeof(*iwork));
    CTT_TRY(work && iwork ? 0 : CTT_ENOMEM);
    info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, a, n, s, work,
                               (int)best, iwork, ibest);
    CTT_CHECK(info == 0, CTT_EUNSUP,
              "the eigenvalues of %d x %d did not converge", n, n);
out:
    ctt_free(work);
    ctt_free(iwork);
    return rc;
}

int ctt_solve(int n, int columns, double *a, double *b)
{
    int info, rc = 0;

    CTT_CHECK(n > 0 && columns > 0, CTT_EINVAL, "no equations");
    /* Column-major: the lower triangle of our rows is the upper one. */
    info = LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'U', n, columns, a, n, b, n);
    CTT_CHECK(info == 0, CTT_EUNSUP, "equations of %d numbers have no single "
              "solution", n);
out:
    return rc;
}

/* Column-major: x is the transpose of our rows, and the upper triangle is our
 * lower one. */
int ctt_add_squares(int d, int rows, const double *x, double *packed)
{
    int info = LAPACKE_dsfrk_work(LAPACK_COL_MAJOR, 'N', 'U', 'N', d, rows, 1,
                                  x, d, 1, packed);

    return info == 0 ? 0 : ctt_error(CTT_EUNSUP, "no second moments of %d "
                                     "numbers", d);
}

int ctt_unpack(int d, const double *packed, double *a)
{
    int info = LAPACKE_dtfttr_work(LAPACK_COL_MAJOR, 'N', 'U', d, packed, a,
                                   d);

    return info == 0 ? 0 : ctt_error(CTT_EUNSUP, "no second moments of %d "
                                     "numbers", d);
}
