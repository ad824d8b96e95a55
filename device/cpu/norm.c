/* SPDX-License-Identifier: Apache-2.0
 * norm.c: batch and layer normalisation (Ioffe and Szegedy 2015; Ba and others
 * 2016): y = gamma (x - mean) / sqrt(var + eps) + beta.  Variances,
 * running ones included, are sums divided by the count.  Processes that share
 * the statistics of a batch norm (ctt_dev_join_norms) tell each other theirs,
 * and in the backward pass also their sums. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* Sums of x - shift and of its square over all rows.  The first row is the
 * shift, which avoids cancellation in the variance.  sum: 2 n numbers. */
static void moments(struct ctt_dev *d, const struct ctt_tensor *x, float *part,
                    float *sum)
{
    int64_t n = x->c, rows = ctt_rows(x);
    const float *shift = ctt_row(x, 0);

    memset(part, 0, (size_t)(CTT_CHUNKS * 2 * n) * sizeof(float));
    PARALLEL(d, 2 * rows * n)
    for (int k = 0; k < CTT_CHUNKS; k++) {
        float *a = part + k * 2 * n, *b = a + n;
        for (int64_t r = ctt_chunk(rows, k); r < ctt_chunk(rows, k + 1); r++) {
            const float *p = ctt_row(x, r);
            SIMD for (int64_t j = 0; j < n; j++) {
                float v = p[j] - shift[j];
                a[j] += v;
                b[j] += v * v;
            }
        }
    }
    memset(sum, 0, (size_t)(2 * n) * sizeof(float));
    ctt_join(part, 2 * n, 2 * n, sum);
}

/* Numbers that a process tells, and room for those of all; 0: it is alone. */
static int64_t told_by_one(int64_t n)
{
    return 2 * n + 1;
}

static int64_t room_to_tell(const struct ctt_dev *d, const struct ctt_call *c)
{
    int parts = ctt_dev_norms(d);

    return c->train && parts > 1
           ? ctt_align((parts + 1) * told_by_one(c->out.c), 8) : 0;
}

/* told: of this process the count, means and variances.  Merges those of all in
 * their order (Chan and others 1979). */
static int merge_stats(struct ctt_dev *d, double *told, int64_t n, double *rows,
                       float *mean, float *var)
{
    int64_t each = told_by_one(n);
    const double *all = told + each;
    int rc;

    CTT_TRY(ctt_dev_norms_tell(d, told, each, told + each));
    for (int64_t j = 0; j < n; j++) {
        double count = all[0], m = all[1 + j], v = all[1 + n + j];

        for (int k = 1; k < ctt_dev_norms(d); k++) {
            const double *o = all + k * each;
            double share = o[0] / (count + o[0]), off = o[1 + j] - m;

            v += share * (o[1 + n + j] - v) + off * off * share * (1 - share);
            m += off * share;
            count += o[0];
        }
        mean[j] = (float)m;
        var[j] = (float)v;
        *rows = count;
    }
out:
    return rc;
}

/* Mean and variance of this call, and their number of rows; with `told` of the
 * calls of all processes. */
static int call_stats(struct ctt_dev *d, const struct ctt_call *c, double *told,
                      float *part, double *rows, float *mean, float *var)
{
    const struct ctt_tensor *x = &c->in[0];
    int64_t n = x->c;

    *rows = (double)ctt_rows(x);
    moments(d, x, part, mean);    /* var follows mean */
    for (int64_t j = 0; j < n; j++) {
        double m = (double)mean[j] / *rows;
        double v = (double)var[j] / *rows - m * m;

        m += (double)ctt_row(x, 0)[j];
        v = v < 0 ? 0 : v;
        mean[j] = (float)m;
        var[j] = (float)v;
        if (told) {
            told[1 + j] = m;
            told[1 + n + j] = v;
        }
    }
    if (!told)
        return 0;
    told[0] = *rows;
    return merge_stats(d, told, n, rows, mean, var);
}

/* Statistics of the normalisation: mean[n], and inv[n], one over the standard
 * deviation; of this call in training, else the running ones.  learn: updates
 * the running ones.  told: room_to_tell() numbers; NULL: there are none. */
static int batch_stats(struct ctt_dev *d, const struct ctt_call *c, int learn,
                       double *told, float *part, double *rows, float *mean,
                       float *inv)
{
    float *run_mean = c->w[2].t.data, *run_var = c->w[3].t.data;
    float eps = c->node->attr.norm.eps, a = c->node->attr.norm.momentum;
    int64_t n = c->in[0].c;
    int rc = 0;

    if (c->train)
        CTT_TRY(call_stats(d, c, told, part, rows, mean, inv));
    for (int64_t j = 0; j < n && c->train && learn; j++) {
        run_mean[j] = ctt_running(run_mean[j], mean[j], a);
        run_var[j] = ctt_running(run_var[j], inv[j], a);
    }
    for (int64_t j = 0; j < n; j++) {
        if (!c->train) {
            mean[j] = run_mean[j];
            inv[j] = run_var[j];
        }
        inv[j] = 1 / sqrtf(inv[j] + eps);
    }
out:
    return rc;
}

/* y = scale x + offset, with a scale and an offset per channel. */
struct scaling { const struct ctt_call *c; const float *scale; };

static void scale_rows(const void *arg, int64_t from, int64_t to)
{
    const struct scaling *s = arg;
    int64_t n = s->c->out.c;
    const float *scale = s->scale, *offset = scale + n;

    for (int64_t r = from; r < to; r++) {
        const float *x = ctt_row(&s->c->in[0], r);
        float *y = ctt_row(&s->c->out, r);
        SIMD for (int64_t j = 0; j < n; j++)
            y[j] = x[j] * scale[j] + offset[j];
        K(act_row)(s->c->act, y, n);
    }
}

static int batch_fwd(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t n = c->out.c, rows = ctt_rows(&c->out);
    const float *gamma = c->w[0].t.data, *beta = c->w[1].t.data;
    int64_t room = room_to_tell(d, c);
    double *told = ctt_dev_scratch(d, (size_t)room * sizeof(double) +
                                      (size_t)((2 * CTT_CHUNKS + 2) * n) *
                                      sizeof(float)), count;
    float *part, *mean, *inv;
    int rc = told ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    part = (float *)(told + room);
    mean = part + 2 * CTT_CHUNKS * n;
    inv = mean + n;
    CTT_TRY(batch_stats(d, c, 1, room ? told : NULL, part, &count, mean, inv));
    for (int64_t j = 0; j < n; j++) {
        part[j] = gamma[j] * inv[j];
        part[n + j] = beta[j] - mean[j] * part[j];
    }
    ctt_dev_rows(d, (double)(rows * n), rows, scale_rows,
                 &(struct scaling){ c, part });
out:
    return rc;
}

/* part (2 n numbers per chunk): sums of dy and of dy times the normalised x.
 * Row r is normalised with mean[r * step] and inv[r * step]; step 0: with one
 * number per channel. */
static void sums(struct ctt_dev *d, const struct ctt_call *c,
                 const float *mean, const float *inv, int step, float *part)
{
    int64_t n = c->out.c, rows = ctt_rows(&c->out);

    memset(part, 0, (size_t)(CTT_CHUNKS * 2 * n) * sizeof(float));
    PARALLEL(d, 2 * rows * n)
    for (int k = 0; k < CTT_CHUNKS; k++) {
        float *a = part + k * 2 * n, *b = a + n;
        for (int64_t r = ctt_chunk(rows, k); r < ctt_chunk(rows, k + 1); r++) {
            const float *x = ctt_row(&c->in[0], r);
            const float *dy = ctt_row(&c->dout, r);
            if (step) {
                float m = mean[r], s = inv[r];
                SIMD for (int64_t j = 0; j < n; j++) {
                    a[j] += dy[j];
                    b[j] += dy[j] * ((x[j] - m) * s);
                }
                continue;
            }
            SIMD for (int64_t j = 0; j < n; j++) {
                a[j] += dy[j];
                b[j] += dy[j] * ((x[j] - mean[j]) * inv[j]);
            }
        }
    }
}

/* dx = gamma inv (dy - mean dy - xhat mean(dy xhat)), the two means only if
 * the statistics are those of x; computed as dx = p dy + q x + o. */
static void batch_din(struct ctt_dev *d, const struct ctt_call *c,
                      const float *p, const float *q, const float *o)
{
    int64_t n = c->out.c, rows = ctt_rows(&c->out);

    PARALLEL(d, rows * n)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = ctt_row(&c->in[0], r), *dy = ctt_row(&c->dout, r);
        float *dx = ctt_row(&c->din[0], r), v[CTT_PIECE];
        for (int64_t at = 0; at < n; at += CTT_PIECE) {
            int64_t len = ctt_piece(n, at);
            SIMD for (int64_t j = 0; j < len; j++)
                v[j] = p[at + j] * dy[at + j] + q[at + j] * x[at + j] +
                       o[at + j];
            ctt_put(dx + at, v, len, c->add & 1);
        }
    }
}

/* all[n]: the sums of all processes, or with told NULL of this one. */
static int total_sums(struct ctt_dev *d, double *told, const float *sum,
                      int64_t n, float *all)
{
    int rc = 0;

    for (int64_t j = 0; j < n; j++) {
        all[j] = sum[j];
        if (told)
            told[j] = (double)sum[j];
    }
    if (!told)
        goto out;
    CTT_TRY(ctt_dev_norms_tell(d, told, n, told + n));
    for (int64_t j = 0; j < n; j++) {
        double total = 0;

        for (int k = 1; k <= ctt_dev_norms(d); k++)
            total += told[k * n + j];
        all[j] = (float)total;
    }
out:
    return rc;
}

/* Adds the sums of this process to the gradients of gamma and beta: those of
 * all are added up elsewhere. */
static void batch_dw(const struct ctt_call *c, const float *sum)
{
    int64_t n = c->out.c;

    for (int64_t j = 0; j < n && c->dw[0].data; j++)
        ((float *)c->dw[0].data)[j] += sum[n + j];
    for (int64_t j = 0; j < n && c->dw[1].data; j++)
        ((float *)c->dw[1].data)[j] += sum[j];
}

static int batch_bwd(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t n = c->out.c, room = room_to_tell(d, c);
    const float *gamma = c->w[0].t.data;
    double *told = ctt_dev_scratch(d, (size_t)room * sizeof(double) +
                                      (size_t)((2 * CTT_CHUNKS + 9) * n) *
                                      sizeof(float)), count = 1;
    float *part, *mean, *inv, *sum, *all, *p, *q, *o, rows;
    int rc = told ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    part = (float *)(told + room);
    mean = part + 2 * CTT_CHUNKS * n;
    inv = mean + n;
    sum = inv + n;
    all = sum + 2 * n;
    p = all + 2 * n;
    q = p + n;
    o = q + n;
    told = room ? told : NULL;
    CTT_TRY(batch_stats(d, c, 0, told, part, &count, mean, inv));
    memset(sum, 0, (size_t)(2 * n) * sizeof(float));
    if (c->train || c->dw[0].data || c->dw[1].data) {
        sums(d, c, mean, inv, 0, part);
        ctt_join(part, 2 * n, 2 * n, sum);
    }
    CTT_TRY(total_sums(d, told, sum, 2 * n, all));
    rows = (float)count;
    for (int64_t j = 0; j < n; j++) {
        p[j] = gamma[j] * inv[j];
        q[j] = c->train ? -p[j] * inv[j] * all[n + j] / rows : 0;
        o[j] = -q[j] * mean[j] - (c->train ? p[j] * all[j] / rows : 0);
    }
    if (c->din[0].data)
        batch_din(d, c, p, q, o);
    batch_dw(c, sum);
out:
    return rc;
}

static void row_stats(const float *x, int64_t n, float eps, float *mean,
                      float *inv)
{
    float a = 0, b = 0;

    CTT_PRAGMA(omp simd reduction(+ : a, b))
    for (int64_t j = 0; j < n; j++) {
        float v = x[j] - x[0];
        a += v;
        b += v * v;
    }
    a /= (float)n;
    b = b / (float)n - a * a;
    *mean = a + x[0];
    *inv = 1 / sqrtf((b < 0 ? 0 : b) + eps);
}

static void layer_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    int64_t n = c->out.c;
    const float *gamma = c->w[0].t.data, *beta = c->w[1].t.data;
    float eps = c->node->attr.norm.eps;

    for (int64_t r = from; r < to; r++) {
        const float *x = ctt_row(&c->in[0], r);
        float *y = ctt_row(&c->out, r), mean, inv;
        row_stats(x, n, eps, &mean, &inv);
        SIMD for (int64_t j = 0; j < n; j++)
            y[j] = (x[j] - mean) * inv * gamma[j] + beta[j];
        K(act_row)(c->act, y, n);
    }
}

static int layer_fwd(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, 3 * (double)ctt_volume(&c->out), ctt_rows(&c->out),
                 layer_rows, c);
    return 0;
}

static void layer_row(const struct ctt_call *c, int64_t r, float mean,
                      float inv)
{
    const float *x = ctt_row(&c->in[0], r), *dy = ctt_row(&c->dout, r);
    const float *gamma = c->w[0].t.data;
    float *dx = ctt_row(&c->din[0], r), a = 0, b = 0, v[CTT_PIECE];
    int64_t n = c->out.c;

    CTT_PRAGMA(omp simd reduction(+ : a, b))
    for (int64_t j = 0; j < n; j++) {
        a += gamma[j] * dy[j];
        b += gamma[j] * dy[j] * ((x[j] - mean) * inv);
    }
    a /= (float)n;
    b /= (float)n;
    for (int64_t at = 0; at < n; at += CTT_PIECE) {
        int64_t len = ctt_piece(n, at);
        SIMD for (int64_t j = 0; j < len; j++)
            v[j] = inv * (gamma[at + j] * dy[at + j] - a -
                          (x[at + j] - mean) * inv * b);
        ctt_put(dx + at, v, len, c->add & 1);
    }
}

static int layer_bwd(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t n = c->out.c, rows = ctt_rows(&c->out);
    float eps = c->node->attr.norm.eps;
    float *part = ctt_dev_scratch(d, (size_t)(2 * CTT_CHUNKS * n + 2 * rows) *
                                     sizeof(float));
    float *mean, *inv;

    if (!part)
        return CTT_ENOMEM;
    mean = part + 2 * CTT_CHUNKS * n;
    inv = mean + rows;
    PARALLEL(d, 4 * rows * n)
    for (int64_t r = 0; r < rows; r++) {
        row_stats(ctt_row(&c->in[0], r), n, eps, &mean[r], &inv[r]);
        if (c->din[0].data)
            layer_row(c, r, mean[r], inv[r]);
    }
    if (!c->dw[0].data && !c->dw[1].data)
        return 0;
    sums(d, c, mean, inv, 1, part);
    if (c->dw[0].data)
        ctt_join(part + n, 2 * n, n, c->dw[0].data);
    if (c->dw[1].data)
        ctt_join(part, 2 * n, n, c->dw[1].data);
    return 0;
}

static ctt_kernel *const norms[][CTT_PASSES] = {
    [CTT_NORM_BATCH] = { batch_fwd, batch_bwd },
    [CTT_NORM_LAYER] = { layer_fwd, layer_bwd },
};

int K(norm_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return norms[c->node->attr.norm.kind][CTT_FWD](d, c);
}

int K(norm_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return norms[c->node->attr.norm.kind][CTT_BWD](d, c);
}

int K(bias_bwd)(struct ctt_dev *d, const struct ctt_tensor *dy, float *db)
{
    int64_t n = dy->c, rows = ctt_rows(dy);
    float *part = ctt_dev_scratch(d, (size_t)(CTT_CHUNKS * n) * sizeof(float));

    if (!part)
        return CTT_ENOMEM;
    memset(part, 0, (size_t)(CTT_CHUNKS * n) * sizeof(float));
    PARALLEL(d, rows * n)
    for (int k = 0; k < CTT_CHUNKS; k++)
        for (int64_t r = ctt_chunk(rows, k); r < ctt_chunk(rows, k + 1); r++)
            ctt_put(part + k * n, ctt_row(dy, r), n, 1);
    ctt_join(part, n, n, db);
    return 0;
}
