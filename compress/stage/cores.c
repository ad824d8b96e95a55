/* SPDX-License-Identifier: Apache-2.0
 * cores.c: the cores of a chain in doubles: successive truncated SVDs of a
 * matrix (Oseledets 2011), and norms that are balanced. */
#include "compress/stage/cores.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Singular values below this share of the first are rounding errors of zero. */
static const double least_share = 1e-6;

static void free_cores(struct ctt_cores *t)
{
    for (int k = 0; k < CTT_MAX_CORES; k++) {
        ctt_free(t->core[k]);
        ctt_free(t->sigma[k]);
        t->core[k] = t->sigma[k] = NULL;
    }
}

int64_t ctt_chain_taps(const struct ctt_chain *c)
{
    return (int64_t)c->dim[1] * c->dim[2] * c->dim[3];
}

int64_t ctt_chain_size(const struct ctt_chain *c)
{
    return ctt_chain_taps(c) * c->dim[0] * c->dim[4];
}

void ctt_cores_load(const struct ctt_chain *c, const float *w, double *a)
{
    int64_t in = c->dim[0], out = c->dim[4], taps = ctt_chain_taps(c);

    for (int64_t o = 0; o < out; o++)
        for (int64_t p = 0; p < taps; p++)
            for (int64_t i = 0; i < in; i++)
                a[(i * taps + p) * out + o] = w[(o * taps + p) * in + i];
}

/* Number of k singular values to keep if the squares of the others may sum to
 * lost2. */
static int choose_rank(const double *s, int k, const struct ctt_tt *o,
                       double lost2)
{
    double tail = 0;
    int r = k;

    while (r > 1 && s[r - 1] <= least_share * s[0])
        r--;
    while (r > 1 && (tail += s[r - 1] * s[r - 1]) <= lost2)
        r--;
    return o->rank && r > o->rank ? o->rank : r;
}

/* Cuts t->a, an m x n matrix: its first r left vectors are core k, the rest is
 * the new t->a. */
static int cut_core(struct ctt_cores *t, int k, int m, int n,
                    const struct ctt_tt *o, double lost2, int *rank)
{
    int all = m < n ? m : n, r, rc = 0;

    CTT_TRY(ctt_svd(m, n, t->a, t->u, t->s, t->vt));
    r = choose_rank(t->s, all, o, lost2);
    r = t->most[k + 1] && r > t->most[k + 1] ? t->most[k + 1] : r;
    for (int i = r; i < all; i++)
        t->lost2 += t->s[i] * t->s[i];
    t->core[k] = ctt_calloc((size_t)m * (size_t)r, sizeof(double));
    t->sigma[k] = ctt_calloc((size_t)r, sizeof(double));
    CTT_TRY(t->core[k] && t->sigma[k] ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < r; j++)
            t->core[k][(int64_t)i * r + j] = t->u[(int64_t)i * all + j];
    for (int i = 0; i < r; i++) {
        t->sigma[k][i] = t->s[i];
        for (int j = 0; j < n; j++)
            t->a[(int64_t)i * n + j] = t->s[i] * t->vt[(int64_t)i * n + j];
    }
    *rank = r;
out:
    return rc;
}

int64_t ctt_chain_modes(const struct ctt_chain *c, int k)
{
    int64_t size = 1;

    for (int m = c->first[k]; m < c->first[k + 1]; m++)
        size *= c->dim[m];
    return size;
}

/* The cores of t->a.  The allowed error is divided evenly among the cuts: their
 * squared errors add up, since the errors of different cuts are orthogonal. */
int ctt_cores_cut(struct ctt_chain *c, const struct ctt_tt *o,
                  struct ctt_cores *t)
{
    int64_t rest = ctt_chain_size(c), last;
    double lost2;
    int rc = 0;

    free_cores(t);
    t->norm2 = t->lost2 = 0;
    for (int64_t i = 0; i < rest; i++)
        t->norm2 += t->a[i] * t->a[i];
    lost2 = (double)o->tol * o->tol * t->norm2 / (c->cores - 1);
    for (int k = 0; k < c->cores - 1; k++) {
        int64_t size = ctt_chain_modes(c, k);

        rest /= size;
        CTT_TRY(cut_core(t, k, (int)(c->rank[k] * size), (int)rest, o, lost2,
                         &c->rank[k + 1]));
    }
    last = c->rank[c->cores - 1] * ctt_chain_modes(c, c->cores - 1);
    t->core[c->cores - 1] = ctt_calloc((size_t)last, sizeof(double));
    CTT_TRY(t->core[c->cores - 1] ? 0 : CTT_ENOMEM);
    memcpy(t->core[c->cores - 1], t->a, (size_t)last * sizeof(double));
    c->error = t->norm2 > 0 ? sqrt(t->lost2 / t->norm2) : 0;
out:
    return rc;
}

/* All cores except the last are orthogonal.  Each singular value is split
 * evenly between both sides of its cut, then all cores are scaled to the same
 * norm, since training preserves the differences of squared norms (Du and
 * others 2018).
 */
void ctt_cores_balance(const struct ctt_chain *c, struct ctt_cores *t)
{
    double norm[CTT_MAX_CORES], mean = 0;
    int64_t count[CTT_MAX_CORES];

    for (int k = 0; k < c->cores; k++) {
        int64_t size = ctt_chain_modes(c, k), r = c->rank[k + 1];

        norm[k] = 0;
        count[k] = c->rank[k] * size * r;
        for (int64_t i = 0; i < count[k]; i++) {
            double *x = &t->core[k][i];
            double before = k > 0 ? t->sigma[k - 1][i / (size * r)] : 1;
            double after = k < c->cores - 1 ? t->sigma[k][i % r] : 1;
            *x *= sqrt((after > 0 ? after : 1) / (before > 0 ? before : 1));
            norm[k] += *x * *x;
        }
        if (norm[k] == 0)
            return;
        norm[k] = sqrt(norm[k]);
        mean += log(norm[k]) / c->cores;
    }
    for (int k = 0; k < c->cores; k++)
        for (int64_t i = 0; i < count[k]; i++)
            t->core[k][i] *= exp(mean) / norm[k];
}

int ctt_cores_open(const struct ctt_chain *c, const char *name,
                   struct ctt_cores *t)
{
    size_t all = 1;
    int rc = 0;

    for (int m = 0; m < CTT_MODES; m++)
        all *= (size_t)c->dim[m];
    CTT_CHECK(all <= INT_MAX, CTT_EUNSUP, "%s: too large for singular values",
              name);
    t->a = ctt_calloc(all, sizeof(double));
    t->u = ctt_calloc(all, sizeof(double));
    t->vt = ctt_calloc(all, sizeof(double));
    t->s = ctt_calloc((size_t)sqrt((double)all) + 1, sizeof(double));
    CTT_TRY(t->a && t->u && t->vt && t->s ? 0 : CTT_ENOMEM);
out:
    return rc;
}

void ctt_cores_close(struct ctt_cores *t)
{
    free_cores(t);
    ctt_free(t->a);
    ctt_free(t->u);
    ctt_free(t->s);
    ctt_free(t->vt);
}
