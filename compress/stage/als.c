/* SPDX-License-Identifier: Apache-2.0
 * als.c: fits the cores of a train to what a weight answers on given inputs, by
 * alternating least squares. */
#include "compress/stage/als.h"
#include "compress/compress.h"

#include <math.h>
#include <string.h>

/* Numbers of a core that are solved for together. */
enum { TOGETHER = 2048 };

/* Regularisation of a core towards its present value, as a share of the mean
 * diagonal element of its equations: so they have a solution where no input
 * reaches. */
static const double ridge = 1e-9;

/* Relative gain of a sweep below which no other follows. */
static const double least_gain = 1e-4;

/* Core k while the others are fixed.  With all cores before it applied, its
 * inputs are (rank, size, after): `rows` = rank * size times `after`, the sizes
 * of later cores. */
struct place {
    int64_t rows, cols, after;
    double *right;    /* (cols, after, out): the later cores; NULL: none */
    double *own;      /* s below; NULL: that of the given moments */
    const double *s;  /* (rows after)^2: moments of its inputs */
    double *t;        /* (rows after, out): s times the weight */
};

struct state {
    struct ctt_als *f;
    struct place at[CTT_MAX_CORES];
    double *q;        /* (after, after, cols, cols): right times right */
    double *z;        /* (rows after, cols after) */
    double *slope;    /* rows * cols: minus half the error's gradient */
    double *before;   /* the core before it is changed */
    double *n, *d;    /* equations and solution */
};

/* ---- products of row-major matrices ---- */

static void axpy(int64_t n, double a, const double *restrict x,
                 double *restrict y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

void ctt_times(int64_t m, int64_t l, int64_t n, const double *a,
                  const double *b, double *c)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < l; j++)
            if (a[i * l + j] != 0)
                axpy(n, a[i * l + j], b + j * n, c + i * n);
}

static double dot_doubles(int64_t n, const double *x, const double *y)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void zero(double *x, int64_t n)
{
    memset(x, 0, (size_t)n * sizeof(*x));
}

/* ---- memory ---- */

static void close_state(struct state *a)
{
    for (int k = 0; k < a->f->cores; k++) {
        ctt_free(a->at[k].right);
        ctt_free(a->at[k].own);
        ctt_free(a->at[k].t);
    }
    ctt_free(a->q);
    ctt_free(a->z);
    ctt_free(a->slope);
    ctt_free(a->before);
    ctt_free(a->n);
    ctt_free(a->d);
}

static double *room(int64_t n)
{
    return ctt_calloc((size_t)n, sizeof(double));
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Columns of a core that are solved for together. */
static int64_t columns(const struct place *p)
{
    int64_t n = larger(TOGETHER / p->rows, 1);

    return n < p->cols ? n : p->cols;
}

static int open_place(struct state *a, int k, int64_t after)
{
    const struct ctt_als *f = a->f;
    struct place *p = &a->at[k];
    int last = k == f->cores - 1, rc = 0;
    int64_t in;

    p->rows = f->rank[k] * f->size[k];
    p->cols = last ? f->out : f->rank[k + 1];
    p->after = after;
    in = p->rows * after;
    p->t = room(in * f->out);
    CTT_TRY(p->t ? 0 : CTT_ENOMEM);
    if (k > 0) {
        p->s = p->own = room(in * in);
        CTT_TRY(p->own ? 0 : CTT_ENOMEM);
    }
    if (!last) {
        p->right = room(p->cols * after * f->out);
        CTT_TRY(p->right ? 0 : CTT_ENOMEM);
    }
out:
    return rc;
}

static int open_state(struct state *a)
{
    int64_t after = 1, q = 1, z = 1, g = 1, n = 1;
    const struct ctt_als *f = a->f;
    int rc = 0;

    for (int k = f->cores - 1; k >= 0; k--) {
        const struct place *p = &a->at[k];
        int last = k == f->cores - 1;
        int64_t count;

        CTT_TRY(open_place(a, k, after));
        count = last ? 1 : columns(p);
        q = last ? q : larger(q, p->cols * p->cols * after * after);
        z = last ? z : larger(z, p->rows * after * p->cols * after);
        g = larger(g, p->rows * p->cols);
        n = larger(n, p->rows * p->rows * count * count);
        after *= f->size[k];
    }
    a->at[0].s = f->s;
    a->q = room(q);
    a->z = room(larger(z, q));
    a->slope = room(g);
    a->before = room(g);
    a->n = room(n);
    a->d = room(g);
    CTT_TRY(a->q && a->z && a->slope && a->before && a->n && a->d ? 0
            : CTT_ENOMEM);
out:
    return rc;
}

/* ---- the other cores ---- */

/* right of all places, from the cores behind them. */
static void set_rights(struct state *a)
{
    const struct ctt_als *f = a->f;

    for (int k = f->cores - 2; k >= 0; k--) {
        const struct place *p = &a->at[k], *r = &a->at[k + 1];
        int64_t n = p->cols * p->after * f->out;

        zero(p->right, n);
        if (r->right)
            ctt_times(r->rows, r->cols, r->after * f->out, f->core[k + 1],
                  r->right, p->right);
        else
            memcpy(p->right, f->core[k + 1], (size_t)n * sizeof(double));
    }
}

/* y (cols after, n) = g' x of (rows after, n). */
static void absorb(const struct place *p, const double *g, int64_t n,
                   const double *x, double *y)
{
    zero(y, p->cols * p->after * n);
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t b = 0; b < p->cols; b++)
            axpy(p->after * n, g[i * p->cols + b], x + i * p->after * n,
                 y + b * p->after * n);
}

/* s and t of place k + 1, after core k has changed.  half: room. */
static void pass_on(struct state *a, int k)
{
    const struct place *p = &a->at[k];
    struct place *to = &a->at[k + 1];
    int64_t in = p->rows * p->after, next = p->cols * p->after;
    const double *g = a->f->core[k];
    double *half = a->z;    /* (cols after, rows after) */

    absorb(p, g, a->f->out, p->t, to->t);
    absorb(p, g, in, p->s, half);
    for (int64_t i = 0; i < next; i++)
        absorb(p, g, 1, half + i * in, to->own + i * next);
}

/* ---- one core ---- */

/* q[a][a'][b][b'] = sum over outputs of right[b][a] right[b'][a']. */
static void set_q(struct state *a, const struct place *p)
{
    int64_t m = p->after, c = p->cols, out = a->f->out;

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t b = 0; b < c; b++)
                for (int64_t d = 0; d < c; d++)
                    a->q[((i * m + j) * c + b) * c + d] =
                        dot_doubles(out, p->right + (b * m + i) * out,
                                    p->right + (d * m + j) * out);
}

/* slope = right . t - (equations) g of a core that is not the last.  Returns
 * the error. */
static double slope(struct state *a, const struct place *p, const double *g)
{
    int64_t m = p->after, c = p->cols, in = p->rows * m, out = a->f->out;
    double lost = a->f->all;

    /* z[(x', a')][(a, b)] = sum over b' of g[x'][b'] q[a'][a][b'][b] */
    zero(a->z, in * m * c);
    for (int64_t x = 0; x < p->rows; x++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++)
                ctt_times(1, c, c, g + x * c, a->q + (i * m + j) * c * c,
                      a->z + ((x * m + i) * m + j) * c);
    for (int64_t x = 0; x < p->rows; x++) {
        double *to = a->slope + x * c;

        for (int64_t b = 0; b < c; b++) {
            to[b] = dot_doubles(m * out, p->right + b * m * out,
                                p->t + x * m * out);
            lost -= g[x * c + b] * to[b];
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t y = 0; y < in; y++)
                axpy(c, -p->s[(x * m + i) * in + y],
                     a->z + (y * m + i) * c, to);
        lost -= dot_doubles(c, g + x * c, to);
    }
    return lost;
}

/* slope() of the last core. */
static double last_slope(struct state *a, const struct place *p,
                         const double *g)
{
    int64_t n = p->rows * p->cols;
    double lost = a->f->all - dot_doubles(n, g, p->t);

    for (int64_t x = 0; x < p->rows; x++)
        for (int64_t b = 0; b < p->cols; b++)
            a->slope[x * p->cols + b] = p->t[x * p->cols + b];
    for (int64_t x = 0; x < p->rows; x++)
        for (int64_t y = 0; y < p->rows; y++)
            axpy(p->cols, -p->s[x * p->rows + y], g + y * p->cols,
                 a->slope + x * p->cols);
    return lost - dot_doubles(n, g, a->slope);
}

/* Equations for `count` columns from column b on: the lower triangle. */
static void set_equations(struct state *a, const struct place *p, int64_t b,
                          int64_t count)
{
    int64_t m = p->after, c = p->cols, in = p->rows * m, n = p->rows * count;

    zero(a->n, n * n);
    for (int64_t x = 0; x < p->rows; x++)
        for (int64_t y = 0; y <= x; y++)
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < m; j++) {
                    double s = p->s[(x * m + i) * in + y * m + j];

                    for (int64_t k = 0; s != 0 && k < count; k++)
                        axpy(count, s, a->q + ((i * m + j) * c + b + k) * c + b,
                             a->n + (x * count + k) * n + y * count);
                }
}

/* Solves a->n d = a->d for `columns` columns.  Returns 0 on failure. */
static int solve(struct state *a, int64_t n, int64_t columns)
{
    double mean = 0;

    for (int64_t i = 0; i < n; i++)
        mean += a->n[i * n + i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        a->n[i * n + i] += ridge * mean;
    return mean > 0 && ctt_solve((int)n, (int)columns, a->n, a->d) >= 0;
}

static void solve_core(struct state *a, const struct place *p, double *g)
{
    int64_t step = columns(p), c = p->cols;

    for (int64_t b = 0; b < c; b += step) {
        int64_t count = c - b < step ? c - b : step;

        if (b > 0)
            slope(a, p, g);
        set_equations(a, p, b, count);
        for (int64_t x = 0; x < p->rows; x++)
            memcpy(a->d + x * count, a->slope + x * c + b,
                   (size_t)count * sizeof(double));
        if (!solve(a, p->rows * count, 1))
            continue;
        for (int64_t x = 0; x < p->rows; x++)
            axpy(count, 1, a->d + x * count, g + x * c + b);
    }
}

/* Each column of the last core by itself, all with the same equations. */
static void change_last(struct state *a, const struct place *p, double *g)
{
    int64_t n = p->rows, c = p->cols;

    memcpy(a->n, p->s, (size_t)(n * n) * sizeof(double));
    for (int64_t x = 0; x < n; x++)
        for (int64_t b = 0; b < c; b++)
            a->d[b * n + x] = a->slope[x * c + b];
    if (!solve(a, n, c))
        return;
    for (int64_t x = 0; x < n; x++)
        for (int64_t b = 0; b < c; b++)
            g[x * c + b] += a->d[b * n + x];
}

/* A solution whose error rounding has raised is not used. */
static double update(struct state *a, int k)
{
    const struct place *p = &a->at[k];
    size_t size = (size_t)(p->rows * p->cols) * sizeof(double);
    double *g = a->f->core[k], was, is;

    memcpy(a->before, g, size);
    if (p->right) {
        set_q(a, p);
        was = slope(a, p, g);
        solve_core(a, p, g);
        is = slope(a, p, g);
    } else {
        was = last_slope(a, p, g);
        change_last(a, p, g);
        is = last_slope(a, p, g);
    }
    if (is <= was)
        return is;
    memcpy(g, a->before, size);
    return was;
}

/* ---- the fit ---- */

/* Energies with the present cores. */
static void measure_energies(struct state *a)
{
    struct ctt_als *f = a->f;
    int64_t in = f->in, out = f->out;

    ctt_times(in, in, out, f->s, f->w, a->at[0].t);
    f->all = dot_doubles(in * out, f->w, a->at[0].t);
    set_rights(a);
    if (a->at[0].right) {
        set_q(a, &a->at[0]);
        f->lost = slope(a, &a->at[0], f->core[0]);
    } else {
        f->lost = last_slope(a, &a->at[0], f->core[0]);
    }
}

int ctt_als(struct ctt_als *f, int most)
{
    struct state a = { .f = f };
    double before = INFINITY;
    int rc = 0;

    CTT_TRY(open_state(&a));
    measure_energies(&a);
    for (f->sweeps = 0; f->sweeps < most && f->lost > 0 &&
         before - f->lost > least_gain * f->lost; f->sweeps++) {
        before = f->lost;
        for (int k = 0; k < f->cores; k++) {
            f->lost = update(&a, k);
            if (k < f->cores - 1)
                pass_on(&a, k);
        }
        set_rights(&a);
    }
    f->lost = f->lost > 0 ? f->lost : 0;
out:
    close_state(&a);
    return rc;
}

int ctt_als_whole(const struct ctt_als *f, double *v)
{
    int64_t rows = 1, size = f->in * f->out;
    double *a = room(size), *b = room(size);
    int rc = 0;

    CTT_TRY(a && b ? 0 : CTT_ENOMEM);
    a[0] = 1;
    for (int k = 0; k < f->cores; k++) {
        int last = k == f->cores - 1;
        int64_t right = last ? f->out : f->rank[k + 1];
        double *swap = a;

        zero(b, rows * f->size[k] * right);
        ctt_times(rows, f->rank[k], f->size[k] * right, a, f->core[k], b);
        rows *= f->size[k];
        a = b;
        b = swap;
    }
    memcpy(v, a, (size_t)size * sizeof(double));
out:
    ctt_free(a);
    ctt_free(b);
    return rc;
}
