/* SPDX-License-Identifier: Apache-2.0
 * chain_fit.c: the cores of a chain that answer most like the weight on inputs
 * with given moments. */
#include "compress/stage/cores.h"
#include "compress/stage/als.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 30 };

/* No limit but t->most. */
static const struct ctt_tt exact = { 0 };

/* Ridge of the regression, as a share of the mean variance of an input:
 * directions that clips hardly excite stay as in the weight. */
static const double ridge = 1e-4;

/* The number of input i, in the order of the modes (channels first), among
 * those of a place. */
static int64_t input_at(const struct ctt_chain *c, int64_t i)
{
    int64_t taps = ctt_chain_taps(c);

    return i % taps * c->dim[0] + i / taps;
}

/* The covariance of the inputs.  Returns the ridge on its diagonal. */
static double load_inputs(const struct ctt_chain *c,
                          const struct ctt_moments *x, double *s)
{
    int64_t n = ctt_chain_taps(c) * c->dim[0];
    double mean = 0;

    for (int64_t i = 0; i < n; i++)
        mean += x->cov[i * x->d + i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            s[i * n + k] = x->cov[input_at(c, i) * x->d + input_at(c, k)] +
                           (i == k) * ridge * mean;
    return ridge * mean;
}

/* w becomes the linear regression of the answers on the inputs: it gets the
 * solution d of s d = the covariance that w leaves unexplained. */
static int regress(const struct ctt_chain *c, const struct ctt_moments *x,
                   const double *s, double added, double *w)
{
    int64_t n = ctt_chain_taps(c) * c->dim[0], out = c->dim[4];
    double *left = ctt_calloc((size_t)(n * n), sizeof(*left));
    double *sw = ctt_calloc((size_t)(n * out), sizeof(*sw));
    double *d = ctt_calloc((size_t)(n * out), sizeof(*d));
    int rc = 0;

    CTT_TRY(left && sw && d ? 0 : CTT_ENOMEM);
    memcpy(left, s, (size_t)(n * n) * sizeof(*s));
    ctt_times(n, n, out, s, w, sw);
    for (int64_t i = 0; i < n; i++)
        for (int64_t o = 0; o < out; o++)
            d[o * n + i] = x->cov[input_at(c, i) * x->d + n + o] -
                           sw[i * out + o] + added * w[i * out + o];
    if (added > 0)
        CTT_TRY(ctt_solve((int)n, (int)out, left, d));
    for (int64_t i = 0; i < n; i++)
        for (int64_t o = 0; o < out; o++)
            w[i * out + o] += d[o * n + i];
out:
    ctt_free(left);
    ctt_free(sw);
    ctt_free(d);
    return rc;
}

static struct ctt_als fit_of(const struct ctt_chain *c,
                             const struct ctt_cores *t, const double *w,
                             const double *s)
{
    struct ctt_als f = { .s = s, .w = w, .in = ctt_chain_taps(c) * c->dim[0],
                         .out = c->dim[4], .cores = c->cores };

    for (int k = 0; k < c->cores; k++) {
        f.size[k] = ctt_chain_modes(c, k);
        f.rank[k] = c->rank[k];
        f.core[k] = t->core[k];
    }
    f.size[c->cores - 1] /= c->dim[4];
    return f;
}

/* t->a = w v v', with v the first eigenvectors of w' s w: the nearest to w in
 * its answers that the last cut allows. */
static int project(const struct ctt_chain *c, const double *w, const double *s,
                   struct ctt_cores *t)
{
    int64_t out = c->dim[4], in = ctt_chain_taps(c) * c->dim[0];
    int64_t r = c->rank[c->cores - 1];
    double *v = ctt_calloc((size_t)(out * out), sizeof(*v));
    double *sw = ctt_calloc((size_t)(in * out), sizeof(*sw));
    double *p = ctt_calloc((size_t)(out * out), sizeof(*p));
    double *e = ctt_calloc((size_t)out, sizeof(*e));
    int rc = 0;

    CTT_TRY(v && sw && p && e ? 0 : CTT_ENOMEM);
    ctt_times(in, in, out, s, w, sw);
    for (int64_t i = 0; i < in; i++)
        ctt_times(out, 1, out, w + i * out, sw + i * out, v);
    CTT_TRY(ctt_eigen((int)out, v, e));
    for (int64_t k = out - r; k < out; k++)
        ctt_times(out, 1, out, v + k * out, v + k * out, p);
    memset(t->a, 0, (size_t)(in * out) * sizeof(*t->a));
    ctt_times(in, out, out, w, p, t->a);
out:
    ctt_free(v);
    ctt_free(sw);
    ctt_free(p);
    ctt_free(e);
    return rc;
}

/* The bias keeps the mean of the answers: minus the mean of v, the product of
 * the cores, plus that of w or of the given answers. */
static int fit_bias(struct ctt_chain *c, const struct ctt_fit_to *to,
                    const double *w, const double *v)
{
    int64_t out = c->dim[4], n = ctt_chain_taps(c) * c->dim[0];
    const struct ctt_moments *x = to->inputs;

    c->bias = ctt_calloc((size_t)out, sizeof(*c->bias));
    if (!c->bias)
        return CTT_ENOMEM;
    for (int64_t o = 0; o < out; o++) {
        double sum = (to->bias ? to->bias[o] : 0) +
                     (x->d > n ? x->sum[n + o] : 0);

        for (int64_t i = 0; i < n; i++)
            sum += ((x->d > n ? 0 : w[i * out + o]) - v[i * out + o]) *
                   x->sum[input_at(c, i)];
        c->bias[o] = (float)sum;
    }
    return 0;
}

/* The error of the cores. */
static int error_of(const struct ctt_chain *c, const struct ctt_cores *t,
                    const double *w, const double *s, double *lost)
{
    struct ctt_als f = fit_of(c, t, w, s);
    int rc = ctt_als(&f, 0);

    *lost = f.lost;
    return rc;
}

/* The better of the cores of w and those of its projection. */
static int start_cores(struct ctt_chain *c, const double *w, const double *s,
                       struct ctt_cores *t)
{
    double lost, other;
    int rc = 0;

    if (c->first[c->cores - 1] != CTT_MODES - 1)
        goto out;
    CTT_TRY(error_of(c, t, w, s, &lost));
    CTT_TRY(project(c, w, s, t));
    CTT_TRY(ctt_cores_cut(c, &exact, t));
    CTT_TRY(error_of(c, t, w, s, &other));
    if (other <= lost)
        goto out;
    memcpy(t->a, w, (size_t)ctt_chain_size(c) * sizeof(*w));
    CTT_TRY(ctt_cores_cut(c, &exact, t));
out:
    return rc;
}

/* Variance of the answers, of which the weight w explains `explained`: all of
 * it if no answers were measured. */
static double answers_variance(const struct ctt_chain *c,
                               const struct ctt_moments *x, double explained)
{
    int64_t n = ctt_chain_taps(c) * c->dim[0];
    double sum = 0;

    for (int64_t i = n; i < x->d; i++)
        sum += x->cov[i * x->d + i];
    return sum > explained ? sum : explained;
}

/* Fits the cores and makes them orthogonal again; v: their product. */
static int fit_cores(struct ctt_chain *c, const struct ctt_moments *x,
                     const double *w, const double *s, struct ctt_cores *t,
                     double *v)
{
    struct ctt_als f;
    double all;
    int rc;

    memcpy(t->most, c->rank, sizeof(t->most));
    memcpy(t->a, w, (size_t)ctt_chain_size(c) * sizeof(*w));
    CTT_TRY(ctt_cores_cut(c, &exact, t));
    CTT_TRY(start_cores(c, w, s, t));
    f = fit_of(c, t, w, s);
    CTT_TRY(ctt_als(&f, SWEEPS));
    CTT_TRY(ctt_als_whole(&f, v));
    memcpy(t->a, v, (size_t)ctt_chain_size(c) * sizeof(*v));
    CTT_TRY(ctt_cores_cut(c, &exact, t));
    c->fitted = 1;
    all = answers_variance(c, x, f.all);
    c->error = all > 0 ? sqrt((all - f.all + f.lost) / all) : 0;
out:
    return rc;
}

int ctt_cores_fit(struct ctt_chain *c, const struct ctt_fit_to *to,
                  const float *weight, struct ctt_cores *t)
{
    int64_t in = ctt_chain_taps(c) * c->dim[0], size = ctt_chain_size(c);
    double *w = ctt_calloc((size_t)size, sizeof(*w));
    double *s = ctt_calloc((size_t)(in * in), sizeof(*s));
    double *v = ctt_calloc((size_t)size, sizeof(*v));
    double added;
    int rc = 0;

    CTT_TRY(w && s && v ? 0 : CTT_ENOMEM);
    ctt_cores_load(c, weight, w);
    added = load_inputs(c, to->inputs, s);
    if (to->inputs->d > in)
        CTT_TRY(regress(c, to->inputs, s, added, w));
    CTT_TRY(fit_cores(c, to->inputs, w, s, t, v));
    CTT_TRY(fit_bias(c, to, w, v));
out:
    ctt_free(w);
    ctt_free(s);
    ctt_free(v);
    return rc;
}

