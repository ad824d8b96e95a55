/* SPDX-License-Identifier: Apache-2.0
 * ridge.c: a linear classifier by least squares with a penalty. */
#include "libtrain/recognise/ridge.h"
#include "base/ctt.h"

#include <math.h>
#include <string.h>

enum { PROBES = 512 };    /* examples that are left out, one at a time */

/* The penalties, per example, of inputs of variance 1. */
static const double penalties[] = { 1e-3, 1e-2, 1e-1, 1, 10, 100 };

/* A fit: n examples z[n][d] of mean 0 and variance 1, their products g[d][d]
 * and those with the targets b[d][k]; of a penalty the factor l[d][d] of g, and
 * w[d][k]; error[PROBES]. */
struct fit {
    const int *label;
    int        n, d, k;
    double    *z, *g, *b, *l, *w, *error;
    const float *share;
};

/* ---- examples ---- */

static void take_shares(const int *label, int n, struct ctt_ridge *r)
{
    for (int i = 0; i < n; i++)
        r->bias[label[i]] += 1.0f / (float)n;
}

/* An input that hardly varies is of no use. */
static void scale_inputs(const float *x, int n, struct ctt_ridge *r)
{
    int d = r->inputs;

    for (int j = 0; j < d; j++) {
        double sum = 0, squares = 0, mean, variance;

        for (int i = 0; i < n; i++)
            sum += x[(size_t)i * (size_t)d + (size_t)j];
        mean = sum / n;
        for (int i = 0; i < n; i++) {
            double e = x[(size_t)i * (size_t)d + (size_t)j] - mean;

            squares += e * e;
        }
        variance = squares / n;
        r->mean[j] = (float)mean;
        r->scale[j] = variance > 1e-10 ? (float)(1 / sqrt(variance)) : 0;
    }
}

static double *row(double *a, int i, int width)
{
    return a + (size_t)i * (size_t)width;
}

static void take_examples(const struct ctt_ridge *r, const float *x,
                          struct fit *f)
{
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < f->d; j++) {
            size_t at = (size_t)i * (size_t)f->d + (size_t)j;

            f->z[at] = ((double)x[at] - r->mean[j]) * r->scale[j];
        }
}

static double target(const struct fit *f, int i, int class)
{
    return (f->label[i] == class) - (double)f->share[class];
}

/* Each thread has rows of its own, so the sums do not depend on threads. */
static void multiply(struct fit *f)
{
    #pragma omp parallel for schedule(dynamic, 8)
    for (int a = 0; a < f->d; a++)
        for (int i = 0; i < f->n; i++) {
            const double *z = row(f->z, i, f->d);
            double *g = row(f->g, a, f->d), *b = row(f->b, a, f->k);

            for (int c = 0; c <= a; c++)
                g[c] += z[a] * z[c];
            for (int c = 0; c < f->k; c++)
                b[c] += z[a] * target(f, i, c);
        }
}

/* ---- one penalty ---- */

/* l * l' = g + penalty * I (Cholesky). */
static void factor(struct fit *f, double penalty)
{
    for (int a = 0; a < f->d; a++)
        for (int c = 0; c <= a; c++) {
            double *x = row(f->l, a, f->d), *y = row(f->l, c, f->d);
            double sum = row(f->g, a, f->d)[c] + (a == c ? penalty : 0);

            for (int j = 0; j < c; j++)
                sum -= x[j] * y[j];
            x[c] = a == c ? sqrt(sum) : sum / y[c];
        }
}

/* w = (l * l')^-1 * b */
static void solve(struct fit *f)
{
    memcpy(f->w, f->b, (size_t)f->d * (size_t)f->k * sizeof(*f->w));
    for (int a = 0; a < f->d; a++)
        for (int c = 0; c < f->k; c++) {
            for (int j = 0; j < a; j++)
                row(f->w, a, f->k)[c] -= row(f->l, a, f->d)[j] *
                                         row(f->w, j, f->k)[c];
            row(f->w, a, f->k)[c] /= row(f->l, a, f->d)[a];
        }
    for (int a = f->d - 1; a >= 0; a--)
        for (int c = 0; c < f->k; c++) {
            for (int j = a + 1; j < f->d; j++)
                row(f->w, a, f->k)[c] -= row(f->l, j, f->d)[a] *
                                         row(f->w, j, f->k)[c];
            row(f->w, a, f->k)[c] /= row(f->l, a, f->d)[a];
        }
}

/* The squared error on example i of a fit without it; t: room for d. */
static double left_out(const struct fit *f, int i, double *t)
{
    const double *z = row(f->z, i, f->d);
    double own = 1.0 / f->n, sum = 0;

    for (int a = 0; a < f->d; a++) {
        t[a] = z[a];
        for (int j = 0; j < a; j++)
            t[a] -= row(f->l, a, f->d)[j] * t[j];
        t[a] /= row(f->l, a, f->d)[a];
        own += t[a] * t[a];
    }
    for (int c = 0; c < f->k; c++) {
        double e = target(f, i, c);

        for (int a = 0; a < f->d; a++)
            e -= z[a] * row(f->w, a, f->k)[c];
        sum += e * e;
    }
    return sum / ((1 - own) * (1 - own));
}

/* The error of examples that are left out; CTT_ENOMEM. */
static int score(struct fit *f, double *out)
{
    int n = f->n < PROBES ? f->n : PROBES, failed = 0;

    #pragma omp parallel reduction(|:failed)
    {
        double *t = ctt_calloc((size_t)f->d + 1, sizeof(*t));

        failed |= !t;
        #pragma omp for schedule(dynamic, 8)
        for (int i = 0; i < n; i++)
            f->error[i] = t ? left_out(f, (int)((int64_t)i * f->n / n), t) : 0;
        ctt_free(t);
    }
    *out = 0;
    for (int i = 0; i < n; i++)
        *out += f->error[i];
    return failed ? CTT_ENOMEM : 0;
}

/* ---- the fit ---- */

static int choose(struct fit *f, struct ctt_ridge *r)
{
    double least = INFINITY, error;
    int rc = 0;

    for (size_t p = 0; p < CTT_LEN(penalties); p++) {
        factor(f, penalties[p] * f->n);
        solve(f);
        CTT_TRY(score(f, &error));
        if (!(error < least))
            continue;
        least = error;
        r->penalty = penalties[p];
        for (int j = 0; j < f->d * f->k; j++)
            r->w[j] = (float)f->w[j];
    }
out:
    return rc;
}

static int fit(const float *x, struct fit *f, struct ctt_ridge *r)
{
    size_t d = (size_t)f->d, k = (size_t)f->k;
    double *room = ctt_calloc((size_t)f->n * d + 2 * d * d + 2 * d * k + PROBES,
                              sizeof(*room));
    int rc = room ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->z = room;
    f->g = f->z + (size_t)f->n * d;
    f->l = f->g + d * d;
    f->b = f->l + d * d;
    f->w = f->b + d * k;
    f->error = f->w + d * k;
    take_examples(r, x, f);
    multiply(f);
    CTT_TRY(choose(f, r));
out:
    ctt_free(room);
    return rc;
}

int ctt_ridge_fit(const float *x, const int *label, int n, int inputs,
                  int classes, struct ctt_ridge *r)
{
    struct fit f = { .label = label, .n = n, .d = inputs, .k = classes };
    size_t d = (size_t)inputs, k = (size_t)classes;
    int rc;

    *r = (struct ctt_ridge){ .inputs = inputs, .classes = classes };
    r->mean = ctt_calloc(2 * d + d * k + k, sizeof(*r->mean));
    CTT_TRY(r->mean ? 0 : CTT_ENOMEM);
    r->scale = r->mean + d;
    r->w = r->scale + d;
    r->bias = r->w + d * k;
    take_shares(label, n, r);
    f.share = r->bias;
    if (inputs == 0)
        goto out;
    scale_inputs(x, n, r);
    CTT_TRY(fit(x, &f, r));
out:
    return rc;
}

void ctt_ridge_answer(const struct ctt_ridge *r, const float *x,
                      float *logits)
{
    memcpy(logits, r->bias, (size_t)r->classes * sizeof(*logits));
    for (int j = 0; j < r->inputs; j++) {
        const float *w = r->w + (size_t)j * (size_t)r->classes;
        float z = (x[j] - r->mean[j]) * r->scale[j];

        for (int c = 0; c < r->classes; c++)
            logits[c] += z * w[c];
    }
}

void ctt_ridge_free(struct ctt_ridge *r)
{
    ctt_free(r->mean);
    *r = (struct ctt_ridge){ 0 };
}
