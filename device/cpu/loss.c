/* SPDX-License-Identifier: Apache-2.0
 * loss.c: cross entropy with a class, with distributions or of each class by
 * itself, squared error with and without the absolute error, one number a
 * row. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* Class and weight of a target row; returns 0 if the class does not exist.  A
 * row of weight 0 counts nothing, whatever its class. */
static int target(const float *t, int64_t classes, float *weight,
                  int64_t *label)
{
    *weight = t[1];
    *label = 0;
    if (t[1] == 0)
        return 1;
    if (!(t[0] >= 0 && t[0] < (float)classes))
        return 0;
    *label = (int64_t)t[0];
    return 1;
}

static float largest_logit(const float *z, int64_t n)
{
    float top = z[0];

    for (int64_t j = 1; j < n; j++)
        top = z[j] > top || z[j] != z[j] ? z[j] : top;
    return top;
}

/* The sum of exp(z - top).  Of many numbers SUMS sums are made side by side,
 * whatever the instruction set, so it gives the same bits on all. */
static float sum_exp(const float *z, int64_t n, float top)
{
    enum { SUMS = 16 };
    float part[SUMS] = { 0 }, sum = 0;
    int64_t j = 0;

    for (; j + SUMS <= n; j += SUMS)
        SIMD for (int k = 0; k < SUMS; k++)
            part[k] += ctt_exp(z[j + k] - top);
    for (int k = 0; k < SUMS; k++)
        sum += part[k];
    for (; j < n; j++)
        sum += ctt_exp(z[j] - top);
    return sum;
}

/* -sum q log softmax(z), where q is 1 - smooth at the label plus smooth / n
 * everywhere: log sum exp z - (1 - smooth) z[label] - smooth * mean z. */
static float xent(const float *z, int64_t n, int64_t label, float smooth)
{
    float top = largest_logit(z, n), sum = sum_exp(z, n, top), all = 0;

    for (int64_t j = 0; smooth > 0 && j < n; j++)
        all += z[j] - top;
    return logf(sum) - (1 - smooth) * (z[label] - top) -
           smooth * all / (float)n;
}

static void xent_back(const float *z, int64_t n, int64_t label, float smooth,
                      float scale, float *dz, int add)
{
    float top = largest_logit(z, n), sum = sum_exp(z, n, top);
    float rest = smooth / (float)n, was = add ? dz[label] : 0;

    SIMD for (int64_t j = 0; j < n; j++) {
        float g = scale * (ctt_exp(z[j] - top) / sum - rest);
        dz[j] = add ? dz[j] + g : g;
    }
    dz[label] = was + scale * (ctt_exp(z[label] - top) / sum -
                               (rest + (1 - smooth)));
}

static void xent_row(const struct ctt_call *c, int64_t r, int back)
{
    const float *z = ctt_row(&c->in[0], r), *t = ctt_row(&c->in[1], r);
    float smooth = c->node->attr.loss.smooth, weight;
    int64_t n = c->in[0].c, label;
    int add = c->add & 1;

    target(t, n, &weight, &label);
    if (!back)
        *ctt_row(&c->out, r) = weight == 0 ? 0
                             : weight * xent(z, n, label, smooth);
    else if (weight != 0)
        xent_back(z, n, label, smooth, weight * *ctt_row(&c->dout, r),
                  ctt_row(&c->din[0], r), add);
    else if (!add)
        memset(ctt_row(&c->din[0], r), 0, (size_t)n * sizeof(float));
}

static int xent_rows(struct ctt_dev *d, const struct ctt_call *c, int back)
{
    int64_t rows = ctt_rows(&c->in[0]), n = c->in[0].c, label;
    float weight;
    int rc = 0;

    for (int64_t r = 0; r < rows; r++) {
        const float *t = ctt_row(&c->in[1], r);
        CTT_CHECK(target(t, n, &weight, &label), CTT_EINVAL,
                  "%s: row %lld: no class %g among %lld", c->node->name,
                  (long long)r, (double)t[0], (long long)n);
    }
    PARALLEL(d, 8 * rows * n)
    for (int64_t r = 0; r < rows; r++)
        xent_row(c, r, back);
out:
    return rc;
}

/* -t^2 sum q log softmax(z / t) of the numbers q, which add up to a weight; of
 * weight 0 they count nothing, whatever z is. */
static float soft(const float *z, const float *q, int64_t n, float t)
{
    float top = largest_logit(z, n), sum = 0, part = 0, weight = 0;

    for (int64_t j = 0; j < n; j++) {
        sum += ctt_exp((z[j] - top) / t);
        part += q[j] * (z[j] - top);
        weight += q[j];
    }
    return weight == 0 ? 0 : t * t * weight * logf(sum) - t * part;
}

static void soft_back(const float *z, const float *q, int64_t n, float t,
                      float scale, float *dz, int add)
{
    float top = largest_logit(z, n), sum = 0, weight = 0;

    for (int64_t j = 0; j < n; j++) {
        sum += ctt_exp((z[j] - top) / t);
        weight += q[j];
    }
    for (int64_t j = 0; j < n; j++) {
        float p = weight == 0 ? 0 : weight * (ctt_exp((z[j] - top) / t) / sum);
        float g = scale * t * (p - q[j]);
        dz[j] = add ? dz[j] + g : g;
    }
}

/* Loss of target rows with two parts: labels, and a teacher's answers. */
static int soft_rows(struct ctt_dev *d, const struct ctt_call *c, int back)
{
    int64_t rows = ctt_rows(&c->in[0]), n = c->in[0].c;
    float t = c->node->attr.loss.temperature;

    (void)d;
    for (int64_t r = 0; r < rows; r++) {
        const float *z = ctt_row(&c->in[0], r), *q = ctt_row(&c->in[1], r);
        if (!back) {
            *ctt_row(&c->out, r) = soft(z, q, n, 1) + soft(z, q + n, n, t);
            continue;
        }
        float scale = *ctt_row(&c->dout, r), *dz = ctt_row(&c->din[0], r);
        soft_back(z, q, n, 1, scale, dz, c->add & 1);
        soft_back(z, q + n, n, t, scale, dz, 1);
    }
    return 0;
}

/* Loss of target rows with four parts: weights of the classes that are there
 * and of those that are not, by labels, and by a teacher's answers. */
static int binary_rows(struct ctt_dev *d, const struct ctt_call *c, int back)
{
    int64_t rows = ctt_rows(&c->in[0]), n = c->in[0].c;
    float t = c->node->attr.loss.temperature;

    (void)d;
    for (int64_t r = 0; r < rows; r++) {
        const float *z = ctt_row(&c->in[0], r), *a = ctt_row(&c->in[1], r);
        const float *b = a + n, *p = b + n, *q = p + n;
        float sum = 0;
        if (back) {
            float scale = *ctt_row(&c->dout, r), *dz = ctt_row(&c->din[0], r);
            SIMD for (int64_t j = 0; j < n; j++)
                dz[j] = scale * (ctt_binary_bwd(z[j], a[j], b[j]) +
                                 t * ctt_binary_bwd(z[j] / t, p[j], q[j])) +
                        (c->add & 1 ? dz[j] : 0);
            continue;
        }
        for (int64_t j = 0; j < n; j++)
            sum += ctt_binary(z[j], a[j], b[j]) +
                   t * t * ctt_binary(z[j] / t, p[j], q[j]);
        *ctt_row(&c->out, r) = sum;
    }
    return 0;
}

/* The mean of f over a row's differences; bwd is f's slope. */
#define MEAN_ROWS(name, f, bwd)                                           \
static int name(struct ctt_dev *d, const struct ctt_call *c, int back)    \
{                                                                         \
    int64_t rows = ctt_rows(&c->in[0]), n = c->in[0].c;                   \
                                                                          \
    (void)d;                                                              \
    for (int64_t r = 0; r < rows; r++) {                                  \
        const float *z = ctt_row(&c->in[0], r);                           \
        const float *t = ctt_row(&c->in[1], r);                           \
        float sum = 0;                                                    \
        if (back) {                                                       \
            float *dz = ctt_row(&c->din[0], r);                           \
            float scale = *ctt_row(&c->dout, r) / (float)n;               \
            SIMD for (int64_t j = 0; j < n; j++)                          \
                dz[j] = scale * bwd(z[j] - t[j]) +                        \
                        (c->add & 1 ? dz[j] : 0);                         \
            continue;                                                     \
        }                                                                 \
        for (int64_t j = 0; j < n; j++)                                   \
            sum += f(z[j] - t[j]);                                        \
        *ctt_row(&c->out, r) = sum / (float)n;                            \
    }                                                                     \
    return 0;                                                             \
}
MEAN_ROWS(mse_rows, ctt_square, ctt_square_bwd)
MEAN_ROWS(l1l2_rows, ctt_l1l2, ctt_l1l2_bwd)    /* Su et al. 2020 */

static int (*const losses[])(struct ctt_dev *d, const struct ctt_call *c,
                             int back) = {
    [CTT_LOSS_XENT] = xent_rows, [CTT_LOSS_MSE] = mse_rows,
    [CTT_LOSS_L1L2] = l1l2_rows, [CTT_LOSS_SOFT] = soft_rows,
    [CTT_LOSS_BINARY] = binary_rows,
};

int K(loss_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return losses[c->node->attr.loss.kind](d, c, 0);
}

int K(loss_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return c->din[0].data ? losses[c->node->attr.loss.kind](d, c, 1) : 0;
}
