/* SPDX-License-Identifier: Apache-2.0
 * svd_follow.c: an SVD on responses of a weight whose inputs already come from
 * replaced weights. */
#include "compress/stage/als.h"
#include "compress/stage/responses.h"
#include "compress/stage/svd.h"

#include <string.h>

/* Ridge of the regression, as a share of the mean variance: directions that
 * clips hardly excite stay as they are. */
static const double ridge = 1e-4;

static double *square(int d)
{
    return ctt_calloc((size_t)d * (size_t)d, sizeof(double));
}

/* The d x d block at row i, column k of a covariance of 2 d numbers. */
static void block(const struct ctt_moments *p, int i, int k, double *to)
{
    size_t d = (size_t)p->d / 2;

    for (size_t r = 0; r < d; r++)
        memcpy(to + r * d, p->cov + (r + (size_t)i * d) * 2 * d +
               (size_t)k * d, d * sizeof(*to));
}

/* map = 1 + (c - a) / a, with a the covariance of the answers now and c that of
 * those in the original with them: the linear regression of the latter on
 * the former. */
static int regress(const struct ctt_moments *p, double *a, double *map)
{
    int d = p->d / 2, rc = 0;
    double *left = square(d), mean = 0;

    CTT_TRY(left ? 0 : CTT_ENOMEM);
    block(p, 1, 0, map);
    for (int i = 0; i < d * d; i++)
        map[i] -= a[i];
    memcpy(left, a, (size_t)d * (size_t)d * sizeof(*left));
    for (int i = 0; i < d; i++)
        mean += a[i * d + i] / d;
    for (int i = 0; i < d; i++)
        left[i * d + i] += ridge * mean;
    /* Rows of the solution are those of (c - a) / a, as a is symmetric. */
    if (mean > 0)
        CTT_TRY(ctt_solve(d, d, left, map));
    for (int i = 0; i < d; i++)
        map[i * d + i] += 1;
out:
    ctt_free(left);
    return rc;
}

/* cov = map a map', the covariance of the predictions. */
static int predicted(int d, const double *map, const double *a, double *cov)
{
    double *half = square(d);

    if (!half)
        return CTT_ENOMEM;
    ctt_times(d, d, d, map, a, half);
    for (int i = 0; i < d; i++)
        for (int k = 0; k < d; k++)
            for (int j = 0; j < d; j++)
                cov[i * d + k] += half[i * d + j] * map[k * d + j];
    ctt_free(half);
    return 0;
}

/* s->w = map w, s->was = map * mean of the answers now. */
static int apply_map(const struct ctt_moments *p, const float *w,
                     const double *map, struct ctt_spectrum *s)
{
    size_t d = (size_t)s->d, taps = (size_t)s->taps;

    s->w = ctt_calloc(d * taps, sizeof(*s->w));
    s->was = ctt_calloc(d, sizeof(*s->was));
    if (!s->w || !s->was)
        return CTT_ENOMEM;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < d; k++) {
            double f = map[i * d + k];

            s->was[i] += f * p->sum[k];
            for (size_t t = 0; t < taps; t++)
                s->w[i * taps + t] += f * w[k * taps + t];
        }
    memcpy(s->mean, p->sum + d, d * sizeof(*s->mean));
    s->all = 0;
    for (size_t i = d; i < 2 * d; i++)
        s->all += p->cov[i * 2 * d + i];
    return 0;
}

int ctt_svd_follow(const struct ctt_model *m, struct ctt_chain *const *chain,
                   int clips, const struct ctt_recipe_calls *calls,
                   struct ctt_spectrum *s)
{
    double *a = square(s->d), *map = square(s->d), *cov = square(s->d);
    struct ctt_moments p = { .d = 0 };
    struct ctt_model *part = NULL;
    int rc = 0;

    CTT_TRY(a && map && cov ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_chain_replace(m, chain, &part));
    CTT_TRY(ctt_two_responses(m, part, s->node, 0, calls, clips, &p));
    block(&p, 0, 0, a);
    CTT_TRY(regress(&p, a, map));
    CTT_TRY(predicted(s->d, map, a, cov));
    CTT_TRY(ctt_spectrum_of(s, cov));
    CTT_TRY(apply_map(&p, m->w + m->g->node[s->node].at[0], map, s));
out:
    ctt_model_free(&part);
    ctt_moments_free(&p);
    ctt_free(a);
    ctt_free(map);
    ctt_free(cov);
    return rc;
}
