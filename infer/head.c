/* SPDX-License-Identifier: Apache-2.0
 * head.c: fits the confidence head of early decisions by Newton's method.  The
 * Hessian is that of the common terms, bordered by a diagonal of the classes,
 * so a step takes time linear in the classes. */
#include "infer/head.h"

#include <math.h>
#include <string.h>

enum { COMMON = CTT_HEAD_TERMS + 1, STEPS = 50, HALVES = 12 };

struct fit {
    const struct ctt_head_row *row;
    int64_t rows;
    int     classes;
    double  mean[CTT_HEAD_TERMS], deviation[CTT_HEAD_TERMS];
    double  w[COMMON], *bias;        /* of the terms and the constant; of
                                        classes */
    double  dw[COMMON], *dbias;      /* Newton's step */
    double  gradient[COMMON], *slope;
    double  hessian[COMMON][COMMON], *diagonal, (*border)[COMMON];
};

/* Standardised terms (mean 0, deviation 1), then the constant 1. */
static void terms(const struct fit *f, const struct ctt_head_row *r,
                  double x[COMMON])
{
    ctt_head_terms(r->check, r->p, x);
    for (int i = 0; i < CTT_HEAD_TERMS; i++)
        x[i] = (x[i] - f->mean[i]) / f->deviation[i];
    x[CTT_HEAD_TERMS] = 1;
}

static void standardise(struct fit *f)
{
    double sum[CTT_HEAD_TERMS] = { 0 }, square[CTT_HEAD_TERMS] = { 0 };
    double x[CTT_HEAD_TERMS], n = (double)f->rows;

    for (int64_t r = 0; r < f->rows; r++) {
        ctt_head_terms(f->row[r].check, f->row[r].p, x);
        for (int i = 0; i < CTT_HEAD_TERMS; i++) {
            sum[i] += x[i];
            square[i] += x[i] * x[i];
        }
    }
    for (int i = 0; i < CTT_HEAD_TERMS; i++) {
        double variance;

        f->mean[i] = sum[i] / n;
        variance = square[i] / n - f->mean[i] * f->mean[i];
        f->deviation[i] = variance > 1e-12 ? sqrt(variance) : 1;
    }
}

static double logit(const struct fit *f, const double x[COMMON], int answer)
{
    double z = f->bias[answer];

    for (int i = 0; i < COMMON; i++)
        z += f->w[i] * x[i];
    return z;
}

/* log(1 + exp(z)) without overflow. */
static double softplus(double z)
{
    return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

static double fit_loss(const struct fit *f)
{
    double x[COMMON], sum = 0;

    for (int64_t r = 0; r < f->rows; r++) {
        double z;

        terms(f, &f->row[r], x);
        z = logit(f, x, f->row[r].answer);
        sum += softplus(f->row[r].may ? -z : z);
    }
    for (int i = 0; i < COMMON; i++)
        sum += f->w[i] * f->w[i] / 2;
    for (int i = 0; i < f->classes; i++)
        sum += f->bias[i] * f->bias[i] / 2;
    return sum;
}

static void add_derivatives(struct fit *f, const struct ctt_head_row *r)
{
    double x[COMMON], p, error, curve;

    terms(f, r, x);
    p = 1 / (1 + exp(-logit(f, x, r->answer)));
    error = p - r->may;
    curve = p * (1 - p);
    f->slope[r->answer] += error;
    f->diagonal[r->answer] += curve;
    for (int i = 0; i < COMMON; i++) {
        f->gradient[i] += error * x[i];
        f->border[r->answer][i] += curve * x[i];
        for (int k = 0; k < COMMON; k++)
            f->hessian[i][k] += curve * x[i] * x[k];
    }
}

static void derive(struct fit *f)
{
    size_t n = (size_t)f->classes;

    memset(f->hessian, 0, sizeof(f->hessian));
    memset(f->border, 0, n * sizeof(*f->border));
    for (int i = 0; i < COMMON; i++) {
        f->gradient[i] = f->w[i];
        f->hessian[i][i] = 1;
    }
    for (int i = 0; i < f->classes; i++) {
        f->slope[i] = f->bias[i];
        f->diagonal[i] = 1;
    }
    for (int64_t r = 0; r < f->rows; r++)
        add_derivatives(f, &f->row[r]);
}

/* Solves a x = b for a positive definite matrix by elimination; x is b. */
static void solve(double a[COMMON][COMMON], double b[COMMON])
{
    for (int i = 0; i < COMMON; i++)
        for (int r = i + 1; r < COMMON; r++) {
            double m = a[r][i] / a[i][i];

            for (int k = i; k < COMMON; k++)
                a[r][k] -= m * a[i][k];
            b[r] -= m * b[i];
        }
    for (int i = COMMON - 1; i >= 0; i--) {
        for (int k = i + 1; k < COMMON; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
}

/* The biases are eliminated first (Schur's complement). */
static void newton(struct fit *f)
{
    double a[COMMON][COMMON];

    memcpy(a, f->hessian, sizeof(a));
    memcpy(f->dw, f->gradient, sizeof(f->dw));
    for (int c = 0; c < f->classes; c++)
        for (int i = 0; i < COMMON; i++) {
            double m = f->border[c][i] / f->diagonal[c];

            f->dw[i] -= m * f->slope[c];
            for (int k = 0; k < COMMON; k++)
                a[i][k] -= m * f->border[c][k];
        }
    solve(a, f->dw);
    for (int c = 0; c < f->classes; c++) {
        f->dbias[c] = f->slope[c];
        for (int i = 0; i < COMMON; i++)
            f->dbias[c] -= f->border[c][i] * f->dw[i];
        f->dbias[c] /= f->diagonal[c];
    }
}

static void move_by(struct fit *f, double by)
{
    for (int i = 0; i < COMMON; i++)
        f->w[i] -= by * f->dw[i];
    for (int c = 0; c < f->classes; c++)
        f->bias[c] -= by * f->dbias[c];
}

/* Newton's method with step halving; the loss is convex, so it has one
 * minimum. */
static void minimise(struct fit *f)
{
    double before = fit_loss(f), now;

    for (int i = 0; i < STEPS; i++) {
        double by = 1;

        derive(f);
        newton(f);
        move_by(f, by);
        for (int k = 0; (now = fit_loss(f)) > before && k < HALVES; k++) {
            by /= 2;
            move_by(f, -by);
        }
        if (before - now <= 1e-10 * before)
            break;
        before = now;
    }
}

/* Converts weights to unscaled terms. */
static void unscale(const struct fit *f, struct ctt_head *out)
{
    double one = f->w[CTT_HEAD_TERMS];

    *out = (struct ctt_head){ .classes = f->classes };
    for (int i = 0; i < CTT_HEAD_TERMS; i++) {
        double w = f->w[i] / f->deviation[i];

        out->weight[i] = (float)w;
        one -= w * f->mean[i];
    }
    for (int c = 0; c < f->classes; c++)
        out->bias[c] = (float)(f->bias[c] + one);
}

int ctt_head_fit(const struct ctt_head_row *row, int64_t rows, int classes,
                 struct ctt_head *out)
{
    size_t n = (size_t)classes;
    struct fit f = { .row = row, .rows = rows, .classes = classes };
    int rc = 0;

    CTT_CHECK(classes > 0 && classes <= CTT_HEAD_CLASSES && rows > 0,
              CTT_EINVAL, "a confidence head of %d classes from %lld answers: "
              "1 to %d", classes, (long long)rows, CTT_HEAD_CLASSES);
    f.bias = ctt_calloc(n, sizeof(double));
    f.dbias = ctt_calloc(n, sizeof(double));
    f.slope = ctt_calloc(n, sizeof(double));
    f.diagonal = ctt_calloc(n, sizeof(double));
    f.border = ctt_calloc(n, sizeof(*f.border));
    CTT_TRY(f.bias && f.dbias && f.slope && f.diagonal && f.border
            ? 0 : CTT_ENOMEM);
    standardise(&f);
    minimise(&f);
    unscale(&f, out);
out:
    ctt_free(f.bias);
    ctt_free(f.dbias);
    ctt_free(f.slope);
    ctt_free(f.diagonal);
    ctt_free(f.border);
    return rc;
}
