/* SPDX-License-Identifier: Apache-2.0
 * ridge.c: a linear classifier by least squares with a penalty. */
#include "libtrain/recognise/ridge.h"
#include "base/ctt.h"
#include "base/limits.h"

#include <math.h>
#include <string.h>

enum { PROBES = 512 };    /* examples that are left out, one at a time */

/* The penalties, per example, of inputs of variance 1; every second one if no
 * groups are given. */
static const double penalties[] = { 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 0.3, 1, 3, 10,
                                    30, 100 };

/* Factors of answers before a softmax. */
static const double factors[] = { 1, 2, 4, 8, 16 };
enum { FACTORS = CTT_LEN(factors) };

/* Of examples that are left out: their squared errors, how many are right, and
 * their log loss with each factor. */
struct left_out { double error, right, loss[FACTORS]; };

/* A fit: n examples z[n][d] of mean 0 and variance 1, their products g[d][d]
 * and those with the targets b[d][k]; of a penalty the factor l[d][d] of g, and
 * w[d][k].  Part i of the examples, member[start[i]] .. member[start[i + 1] -
 * 1], is left out together; out[parts], most: examples of the largest. */
struct fit {
    const int *label;
    int        n, d, k, parts, most;
    double    *z, *g, *b, *l, *w, penalty;
    int       *member, *start;
    struct left_out *out;
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

/* l * l' = g + penalty * I (Cholesky), of d rows; l may be g. */
static void factor(double *g, int d, double penalty, double *l)
{
    for (int a = 0; a < d; a++)
        for (int c = 0; c <= a; c++) {
            double *x = row(l, a, d), *y = row(l, c, d);
            double sum = row(g, a, d)[c] + (a == c ? penalty : 0);

            for (int j = 0; j < c; j++)
                sum -= x[j] * y[j];
            x[c] = a == c ? sqrt(sum) : sum / y[c];
        }
}

/* w[d][k] = (l * l')^-1 * w */
static void solve(double *l, int d, int k, double *w)
{
    for (int a = 0; a < d; a++)
        for (int c = 0; c < k; c++) {
            for (int j = 0; j < a; j++)
                row(w, a, k)[c] -= row(l, a, d)[j] * row(w, j, k)[c];
            row(w, a, k)[c] /= row(l, a, d)[a];
        }
    for (int a = d - 1; a >= 0; a--)
        for (int c = 0; c < k; c++) {
            for (int j = a + 1; j < d; j++)
                row(w, a, k)[c] -= row(l, j, d)[a] * row(w, j, k)[c];
            row(w, a, k)[c] /= row(l, a, d)[a];
        }
}

static void fit_all(struct fit *f, double penalty)
{
    f->penalty = penalty;
    factor(f->g, f->d, penalty, f->l);
    memcpy(f->w, f->b, (size_t)f->d * (size_t)f->k * sizeof(*f->w));
    solve(f->l, f->d, f->k, f->w);
}

/* ---- examples that are left out ---- */

/* Memory of a thread, r rows and a few: t[r][d], a[r][r], e[r + 2][k].  Of a
 * part of s examples, r at most, whose errors follow from those of the whole
 * fit by s equations; of a larger one, where r is d, for a fit of its own. */
struct room { double *t, *a, *e; };

/* Row i of e: the error of the whole fit.  t: l^-1 z. */
static void fit_row(const struct fit *f, int example, double *t, double *e)
{
    const double *z = row(f->z, example, f->d);

    for (int a = 0; a < f->d; a++) {
        t[a] = z[a];
        for (int j = 0; j < a; j++)
            t[a] -= row(f->l, a, f->d)[j] * t[j];
        t[a] /= row(f->l, a, f->d)[a];
    }
    for (int c = 0; c < f->k; c++) {
        e[c] = target(f, example, c);
        for (int a = 0; a < f->d; a++)
            e[c] -= z[a] * row(f->w, a, f->k)[c];
    }
}

/* a = 1 - the part of the hat matrix; it is positive definite. */
static void fill_rest(const struct fit *f, struct room *m, int s)
{
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++) {
            double own = 1.0 / f->n;

            for (int a = 0; a < f->d; a++)
                own += row(m->t, i, f->d)[a] * row(m->t, j, f->d)[a];
            row(m->a, i, s)[j] = (i == j) - own;
        }
}

/* e = a^-1 e by elimination. */
static void solve_rest(const struct fit *f, struct room *m, int s)
{
    for (int i = 0; i < s; i++)
        for (int j = i + 1; j < s; j++) {
            double by = row(m->a, j, s)[i] / row(m->a, i, s)[i];

            for (int c = i; c < s; c++)
                row(m->a, j, s)[c] -= by * row(m->a, i, s)[c];
            for (int c = 0; c < f->k; c++)
                row(m->e, j, f->k)[c] -= by * row(m->e, i, f->k)[c];
        }
    for (int i = s - 1; i >= 0; i--)
        for (int c = 0; c < f->k; c++) {
            double *e = row(m->e, i, f->k);

            for (int j = i + 1; j < s; j++)
                e[c] -= row(m->a, i, s)[j] * row(m->e, j, f->k)[c];
            e[c] /= row(m->a, i, s)[i];
        }
}

/* Counts an example by its errors e, which become answers. */
static void count_answer(const struct fit *f, int label, double *e,
                         struct left_out *out)
{
    int best = 0;

    for (int c = 0; c < f->k; c++) {
        out->error += e[c] * e[c];
        e[c] = (label == c) - e[c];
        best = e[c] > e[best] ? c : best;
    }
    out->right += best == label;
    for (int x = 0; x < FACTORS; x++) {
        double sum = 0;

        for (int c = 0; c < f->k; c++)
            sum += exp(factors[x] * (e[c] - e[best]));
        out->loss[x] += log(sum) - factors[x] * (e[label] - e[best]);
    }
}

/* Subtracts `by` examples z with targets t from the equations in a and e. */
static void take_away(const struct fit *f, const double *z, const double *t,
                      double by, struct room *m)
{
    for (int a = 0; a < f->d; a++) {
        double *g = row(m->a, a, f->d), *b = row(m->e, a, f->k);

        for (int c = 0; c <= a; c++)
            g[c] -= by * z[a] * z[c];
        for (int c = 0; c < f->k; c++)
            b[c] -= by * z[a] * t[c];
    }
}

/* The fit to all but s examples: its weights are rows of e, and the next row
 * the mean of the targets; t: the mean of the inputs. */
static void fit_others(const struct fit *f, const int *member, int s,
                       struct room *m)
{
    double *mean = m->t, *share = row(m->e, f->d, f->k), *t = share + f->k;
    size_t d = (size_t)f->d, k = (size_t)f->k;

    memcpy(m->a, f->g, d * d * sizeof(*m->a));
    memcpy(m->e, f->b, d * k * sizeof(*m->e));
    memset(mean, 0, d * sizeof(*mean));
    memset(share, 0, k * sizeof(*share));
    for (int j = 0; j < s; j++) {
        const double *z = row(f->z, member[j], f->d);

        for (int a = 0; a < f->d; a++)    /* all inputs have the sum 0 */
            mean[a] -= z[a] / (f->n - s);
        for (int c = 0; c < f->k; c++) {
            t[c] = target(f, member[j], c);
            share[c] -= t[c] / (f->n - s);
        }
        take_away(f, z, t, 1, m);
    }
    take_away(f, mean, share, f->n - s, m);
    factor(m->a, f->d, f->penalty, m->a);
    solve(m->a, f->d, f->k, m->e);
}

/* The errors of fit_others() on an example, in the last row of e. */
static double *other_errors(const struct fit *f, int example, struct room *m)
{
    const double *z = row(f->z, example, f->d), *share = row(m->e, f->d, f->k);
    double *e = row(m->e, f->d + 1, f->k);

    for (int c = 0; c < f->k; c++) {
        e[c] = target(f, example, c) - share[c];
        for (int a = 0; a < f->d; a++)
            e[c] -= (z[a] - m->t[a]) * row(m->e, a, f->k)[c];
    }
    return e;
}

/* The errors of the fit without s examples on them, as rows of e. */
static void fit_rest(const struct fit *f, const int *member, int s,
                     struct room *m)
{
    for (int j = 0; j < s; j++)
        fit_row(f, member[j], row(m->t, j, f->d), row(m->e, j, f->k));
    fill_rest(f, m, s);
    solve_rest(f, m, s);
}

/* The fit without part i, on its examples. */
static void leave_out(const struct fit *f, int i, struct room *m)
{
    const int *member = f->member + f->start[i];
    int s = f->start[i + 1] - f->start[i], large = s > f->d;

    if (large)
        fit_others(f, member, s, m);
    else
        fit_rest(f, member, s, m);
    f->out[i] = (struct left_out){ 0 };
    for (int j = 0; j < s; j++)
        count_answer(f, f->label[member[j]], large
                     ? other_errors(f, member[j], m) : row(m->e, j, f->k),
                     &f->out[i]);
}

static int open_room(const struct fit *f, struct room *m)
{
    size_t r = (size_t)(f->most < f->d ? f->most : f->d);
    size_t d = (size_t)f->d, k = (size_t)f->k;

    m->t = ctt_calloc(r * (d + r + k) + 2 * k, sizeof(*m->t));
    m->a = m->t ? m->t + r * d : NULL;
    m->e = m->t ? m->a + r * r : NULL;
    return m->t != NULL;
}

/* Leaves out all parts; CTT_ENOMEM, CTT_ESTOP. */
static int score(struct fit *f, struct left_out *sum)
{
    int failed = 0, stopped = 0;

    #pragma omp parallel reduction(|:failed, stopped)
    {
        struct room m = { NULL, NULL, NULL };
        int there = open_room(f, &m);

        failed |= !there;
        #pragma omp for schedule(dynamic)
        for (int i = 0; i < f->parts; i++) {
            stopped |= ctt_stopped();
            if (there && !stopped)
                leave_out(f, i, &m);
        }
        ctt_free(m.t);
    }
    *sum = (struct left_out){ 0 };
    if (stopped)
        return ctt_error(CTT_ESTOP, "stopped while fitting");
    for (int i = 0; i < f->parts && !failed; i++) {
        sum->error += f->out[i].error;
        sum->right += f->out[i].right;
        for (int x = 0; x < FACTORS; x++)
            sum->loss[x] += f->out[i].loss[x];
    }
    return failed ? CTT_ENOMEM : 0;
}

/* Without groups, PROBES examples, each by itself. */
static void probe_each(struct fit *f)
{
    f->parts = f->n < PROBES ? f->n : PROBES;
    f->most = 1;
    for (int i = 0; i < f->parts; i++) {
        f->member[i] = (int)((int64_t)i * f->n / f->parts);
        f->start[i] = i;
    }
    f->start[f->parts] = f->parts;
}

/* Sorts the examples by their groups. */
static void part_by_group(struct fit *f, const int *group)
{
    int n = 0;

    f->parts = f->most = 0;
    for (int i = 0; i < f->n; i++) {
        int first = 1;

        for (int j = 0; j < i && first; j++)
            first = group[j] != group[i];
        if (!first)
            continue;
        f->start[f->parts] = n;
        for (int j = i; j < f->n; j++)
            if (group[j] == group[i])
                f->member[n++] = j;
        f->most = n - f->start[f->parts] > f->most
                  ? n - f->start[f->parts] : f->most;
        f->start[++f->parts] = n;
    }
}

static int open_left_out(struct fit *f, const int *group)
{
    size_t n = (size_t)f->n + 1;

    f->member = ctt_calloc(2 * n, sizeof(*f->member));
    f->out = ctt_calloc(n, sizeof(*f->out));
    if (!f->member || !f->out)
        return CTT_ENOMEM;
    f->start = f->member + n;
    if (group)
        part_by_group(f, group);
    if (!group || f->parts < 2)
        probe_each(f);
    return 0;
}

/* ---- the fit ---- */

/* Keeps a fit that is better than the one before. */
static void take_fit(const struct fit *f, double penalty,
                     const struct left_out *sum, struct ctt_ridge *r)
{
    int best = 0, n = f->start[f->parts];

    for (int x = 1; x < FACTORS; x++)
        best = sum->loss[x] < sum->loss[best] ? x : best;
    r->penalty = penalty;
    r->error = sum->error / n;
    r->right = sum->right / n;
    r->factor = (float)factors[best];
    for (int j = 0; j < f->d * f->k; j++)
        r->w[j] = (float)f->w[j];
}

static int choose(struct fit *f, int step, struct ctt_ridge *r)
{
    struct left_out sum;
    int rc = 0;

    r->error = INFINITY;
    for (size_t p = 0; p < CTT_LEN(penalties); p += (size_t)step) {
        fit_all(f, penalties[p] * f->n);
        CTT_TRY(score(f, &sum));
        if (sum.error / f->start[f->parts] < r->error)
            take_fit(f, penalties[p], &sum, r);
    }
    CTT_CHECK(isfinite(r->error), CTT_ENAN, "no fit has finite errors: inputs "
              "are not finite, or too large");
out:
    return rc;
}

static int fit(const float *x, const int *group, struct fit *f,
               struct ctt_ridge *r)
{
    size_t d = (size_t)f->d, k = (size_t)f->k;
    double *room = ctt_calloc((size_t)f->n * d + 2 * d * d + 2 * d * k,
                              sizeof(*room));
    int rc = room ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(open_left_out(f, group));
    f->z = room;
    f->g = f->z + (size_t)f->n * d;
    f->l = f->g + d * d;
    f->b = f->l + d * d;
    f->w = f->b + d * k;
    take_examples(r, x, f);
    multiply(f);
    CTT_TRY(choose(f, group ? 1 : 2, r));
out:
    ctt_free(room);
    ctt_free(f->member);
    ctt_free(f->out);
    return rc;
}

int ctt_ridge_fit(const float *x, const int *label, const int *group, int n,
                  int inputs, int classes, struct ctt_ridge *r)
{
    struct fit f = { .label = label, .n = n, .d = inputs, .k = classes };
    size_t d = (size_t)inputs, k = (size_t)classes;
    int rc;

    *r = (struct ctt_ridge){ .inputs = inputs, .classes = classes,
                             .factor = 1 };
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
    CTT_TRY(fit(x, group, &f, r));
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
