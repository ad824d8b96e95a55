/* SPDX-License-Identifier: Apache-2.0
 * attend.c: each pixel's mean of all vectors of another value, weighted by the
 * softmax of its products with them.  The vectors are computed with in blocks
 * of CTT_PIECE, whose weights no memory holds (after Dao and others 2022). */
#include "device/cpu/cpu.h"

#include <math.h>

/* One sample.  c: channels of a vector; vectors: `groups` per pixel of the
 * second input, in each group `blocks` blocks; kt: the blocks, c rows of
 * CTT_PIECE numbers; dkt: their gradient; stat: per pixel of the first input
 * the largest product, one over the sum, and dy y. */
struct attention {
    const struct ctt_call *call;
    int64_t sample, rows, pixels, c, groups, blocks;
    float  *kt, *dkt, *stat;
};

/* back: with dkt and stat. */
static int attention_open(struct ctt_dev *d, const struct ctt_call *c, int back,
                          struct attention *a)
{
    int64_t size;

    *a = (struct attention){ .call = c, .rows = ctt_rows(&c->out) / c->out.n,
                             .pixels = ctt_rows(&c->in[1]) / c->in[1].n,
                             .c = c->out.c, .groups = c->in[1].c / c->out.c };
    a->blocks = (a->pixels + CTT_PIECE - 1) / CTT_PIECE;
    size = a->groups * a->blocks * a->c * CTT_PIECE;
    a->kt = ctt_dev_scratch(d, (size_t)(size + back * (size + 3 * a->rows)) *
                               sizeof(float));
    if (!a->kt)
        return ctt_error(CTT_ENOMEM, "%s: no memory for the memories",
                         c->node->name);
    a->dkt = back ? a->kt + size : NULL;
    a->stat = back ? a->dkt + size : NULL;
    return 0;
}

static int64_t vectors_len(const struct attention *a, int64_t b)
{
    return ctt_piece(a->pixels, b % a->blocks * CTT_PIECE);
}

/* Vector j of block b of a tensor with the shape of the second input. */
static float *vectors_row(const struct attention *a, const struct ctt_tensor *t,
                        int64_t b, int64_t j)
{
    return ctt_row(t, a->sample * a->pixels + b % a->blocks * CTT_PIECE + j) +
           b / a->blocks * a->c;
}

/* 0: the third input says that the vectors of block b do not count. */
static int vectors_counts(const struct attention *a, int64_t b)
{
    const struct ctt_tensor *m = &a->call->in[2];

    return a->call->node->nin < 3 ||
           ctt_row(m, a->sample)[b / a->blocks] != 0;
}

static void transpose_blocks(struct ctt_dev *d, const struct attention *a)
{
    int64_t all = a->groups * a->blocks;

    PARALLEL(d, all * a->c * CTT_PIECE)
    for (int64_t b = 0; b < all; b++) {
        float *t = a->kt + b * a->c * CTT_PIECE;
        memset(t, 0, (size_t)(a->c * CTT_PIECE) * sizeof(float));
        for (int64_t j = 0; j < vectors_len(a, b); j++) {
            const float *k = vectors_row(a, &a->call->in[1], b, j);
            for (int64_t i = 0; i < a->c; i++)
                t[i * CTT_PIECE + j] = k[i];
        }
    }
}

/* s: the products of a vector with those of a block. */
static void vectors_products(const float *q, const float *t, int64_t c,
                           float s[CTT_PIECE])
{
    memset(s, 0, CTT_PIECE * sizeof(*s));
    for (int64_t i = 0; i < c; i++) {
        float v = q[i];
        SIMD for (int j = 0; j < CTT_PIECE; j++)
            s[j] += v * t[i * CTT_PIECE + j];
    }
}

/* y += the vectors of block b, each times its number of w. */
static void add_vectors(const struct attention *a, int64_t b, const float *w,
                      float *y)
{
    int64_t len = vectors_len(a, b);

    for (int64_t at = 0; at < a->c; at += CTT_PIECE) {
        int64_t n = ctt_piece(a->c, at);
        float sum[CTT_PIECE] = { 0 };
        for (int64_t j = 0; j < len; j++) {
            const float *k = vectors_row(a, &a->call->in[1], b, j) + at;
            float v = w[j];
            SIMD for (int64_t i = 0; i < n; i++)
                sum[i] += v * k[i];
        }
        ctt_put(y + at, sum, n, 1);
    }
}

static void scale_vector(float *y, int64_t n, float by)
{
    SIMD for (int64_t i = 0; i < n; i++)
        y[i] *= by;
}

/* Numbers of a block and the largest one so far: *most and *sum become those
 * with the block's, s exp(s - *most); the result is the factor by which what
 * was summed before must be multiplied. */
static float vectors_softmax(float s[CTT_PIECE], int64_t len, float *most,
                           float *sum)
{
    float top = *most, part = 0, factor;

    for (int64_t j = 0; j < len; j++)
        top = s[j] > top ? s[j] : top;
    factor = *most == -INFINITY ? 0 : ctt_exp(*most - top);
    SIMD for (int j = 0; j < CTT_PIECE; j++)
        s[j] = ctt_exp(s[j] - top);
    for (int64_t j = 0; j < len; j++)
        part += s[j];
    *sum = *sum * factor + part;
    *most = top;
    return factor;
}

/* Row r of the sample; y: its result, or NULL: only the two statistics. */
static void attend_row(const struct attention *a, int64_t r, float *y,
                       float *most, float *inv)
{
    const float *q = ctt_row(&a->call->in[0], a->sample * a->rows + r);
    float s[CTT_PIECE], sum = 0;

    *most = -INFINITY;
    if (y)
        memset(y, 0, (size_t)a->c * sizeof(*y));
    for (int64_t b = 0; b < a->groups * a->blocks; b++) {
        float factor;
        if (!vectors_counts(a, b))
            continue;
        vectors_products(q, a->kt + b * a->c * CTT_PIECE, a->c, s);
        factor = vectors_softmax(s, vectors_len(a, b), most, &sum);
        if (y && factor != 1)
            scale_vector(y, a->c, factor);
        if (y)
            add_vectors(a, b, s, y);
    }
    *inv = sum > 0 ? 1 / sum : 0;
    if (y)
        scale_vector(y, a->c, *inv);
}

static double attention_work(const struct attention *a)
{
    return (double)a->rows * (double)(a->groups * a->blocks * CTT_PIECE) *
           (double)a->c;
}

int K(attend_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct attention a;
    int rc = 0;

    CTT_TRY(attention_open(d, c, 0, &a));
    for (; a.sample < c->out.n; a.sample++) {
        transpose_blocks(d, &a);
        PARALLEL(d, 2 * attention_work(&a))
        for (int64_t r = 0; r < a.rows; r++) {
            float most, inv;
            attend_row(&a, r, ctt_row(&c->out, a.sample * a.rows + r), &most,
                       &inv);
        }
    }
out:
    return rc;
}

/* w: the weights of a block for row r; ds: the gradient of its products. */
static void vectors_back(const struct attention *a, int64_t r, int64_t b,
                       float w[CTT_PIECE], float ds[CTT_PIECE])
{
    int64_t row = a->sample * a->rows + r;
    const float *t = a->kt + b * a->c * CTT_PIECE, *stat = a->stat + 3 * r;

    vectors_products(ctt_row(&a->call->in[0], row), t, a->c, w);
    vectors_products(ctt_row(&a->call->dout, row), t, a->c, ds);
    SIMD for (int j = 0; j < CTT_PIECE; j++) {
        w[j] = ctt_exp(w[j] - stat[0]) * stat[1];
        ds[j] = w[j] * (ds[j] - stat[2]);
    }
}

/* The gradient of row r of the first input. */
static void attend_row_back(const struct attention *a, int64_t r)
{
    const struct ctt_tensor *t = &a->call->din[0];
    float *dx = ctt_row(t, a->sample * a->rows + r);
    float w[CTT_PIECE], ds[CTT_PIECE];

    if (!(a->call->add & 1))
        memset(dx, 0, (size_t)a->c * sizeof(*dx));
    for (int64_t b = 0; b < a->groups * a->blocks; b++)
        if (vectors_counts(a, b)) {
            vectors_back(a, r, b, w, ds);
            add_vectors(a, b, ds, dx);
        }
}

/* The gradient of the vectors of block b. */
static void attend_block_back(const struct attention *a, int64_t b)
{
    float *t = a->dkt + b * a->c * CTT_PIECE, w[CTT_PIECE], ds[CTT_PIECE];
    float v[CTT_PIECE];

    memset(t, 0, (size_t)(a->c * CTT_PIECE) * sizeof(*t));
    for (int64_t r = 0; r < a->rows && vectors_counts(a, b); r++) {
        int64_t row = a->sample * a->rows + r;
        const float *q = ctt_row(&a->call->in[0], row);
        const float *dy = ctt_row(&a->call->dout, row);
        vectors_back(a, r, b, w, ds);
        for (int64_t i = 0; i < a->c; i++) {
            float *to = t + i * CTT_PIECE, x = q[i], g = dy[i];
            SIMD for (int j = 0; j < CTT_PIECE; j++)
                to[j] += w[j] * g + ds[j] * x;
        }
    }
    for (int64_t j = 0; j < vectors_len(a, b); j++)
        for (int64_t at = 0; at < a->c; at += CTT_PIECE) {
            int64_t n = ctt_piece(a->c, at);
            for (int64_t i = 0; i < n; i++)
                v[i] = t[(at + i) * CTT_PIECE + j];
            ctt_put(vectors_row(a, &a->call->din[1], b, j) + at, v, n,
                    a->call->add >> 1 & 1);
        }
}

static void attend_stats(struct ctt_dev *d, const struct attention *a)
{
    PARALLEL(d, attention_work(a))
    for (int64_t r = 0; r < a->rows; r++) {
        int64_t row = a->sample * a->rows + r;
        const float *y = ctt_row(&a->call->out, row);
        const float *dy = ctt_row(&a->call->dout, row);
        float *stat = a->stat + 3 * r;
        attend_row(a, r, NULL, &stat[0], &stat[1]);
        stat[2] = 0;
        for (int64_t i = 0; i < a->c; i++)
            stat[2] += y[i] * dy[i];
    }
}

int K(attend_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct attention a;
    int rc = 0;

    CTT_TRY(attention_open(d, c, 1, &a));
    for (; a.sample < c->out.n; a.sample++) {
        transpose_blocks(d, &a);
        attend_stats(d, &a);
        PARALLEL(d, c->din[0].data ? 3 * attention_work(&a) : 0)
        for (int64_t r = 0; r < (c->din[0].data ? a.rows : 0); r++)
            attend_row_back(&a, r);
        PARALLEL(d, c->din[1].data ? 4 * attention_work(&a) : 0)
        for (int64_t b = 0; b < (c->din[1].data ? a.groups * a.blocks : 0); b++)
            attend_block_back(&a, b);
    }
    if (c->din[2].data && !(c->add >> 2 & 1))    /* it only selects */
        for (int64_t i = 0; i < c->din[2].n; i++)
            memset(ctt_row(&c->din[2], i), 0,
                   (size_t)c->din[2].c * sizeof(float));
out:
    return rc;
}
