/* SPDX-License-Identifier: Apache-2.0
 * pool.c: the largest or the mean value under a window.  Padding is ignored:
 * the mean is over the values inside the image. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* The input pixels under the window of one output pixel: at[i][0] up to but
 * without at[i][1], on each axis. */
struct box { int64_t n, at[3][2]; };

static struct box window_box(const struct ctt_call *c, int64_t r)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    const int *k = c->node->attr.pool.kernel, *s = c->node->attr.pool.stride;
    const int *pad = c->node->attr.pool.pad;
    const int64_t size[3] = { x->d, x->h, x->w };
    const int64_t o[3] = { r / (y->h * y->w) % y->d, r / y->w % y->h,
                           r % y->w };
    struct box b = { r / (y->d * y->h * y->w), { { 0 } } };

    for (int i = 0; i < 3; i++) {
        int64_t from = o[i] * s[i] - pad[i], to = from + k[i];
        b.at[i][0] = from < 0 ? 0 : from;
        b.at[i][1] = to > size[i] ? size[i] : to;
    }
    return b;
}

#define EACH_ROW(b, x, row)                                                 \
    for (int64_t d_ = (b).at[0][0]; d_ < (b).at[0][1]; d_++)                \
        for (int64_t h_ = (b).at[1][0]; h_ < (b).at[1][1]; h_++)            \
            for (int64_t w_ = (b).at[2][0], row = (((b).n * (x)->d + d_) *  \
                     (x)->h + h_) * (x)->w + w_; w_ < (b).at[2][1];         \
                 w_++, row++)

static float share(const struct box *b)
{
    int64_t n = 1;

    for (int i = 0; i < 3; i++)
        n *= b->at[i][1] - b->at[i][0];
    return 1 / (float)n;
}

static void max_fwd(const struct ctt_call *c, int64_t r)
{
    struct box b = window_box(c, r);
    float *y = ctt_row(&c->out, r);
    int64_t n = c->out.c;

    for (int64_t j = 0; j < n; j++)
        y[j] = -INFINITY;
    EACH_ROW(b, &c->in[0], q) {
        const float *x = ctt_row(&c->in[0], q);
        SIMD for (int64_t j = 0; j < n; j++)
            y[j] = y[j] > x[j] ? y[j] : x[j];
    }
}

/* The largest byte stands for the largest value. */
static void max_bytes(const struct ctt_call *c, int64_t r)
{
    const struct ctt_tensor *in = &c->in[0];
    struct box b = window_box(c, r);
    uint8_t *y = (uint8_t *)c->out.data + r * c->out.ld;
    int64_t n = c->out.c;

    memset(y, 0, (size_t)n);
    EACH_ROW(b, in, q) {
        const uint8_t *x = (const uint8_t *)in->data + q * in->ld;
        SIMD for (int64_t j = 0; j < n; j++)
            y[j] = y[j] > x[j] ? y[j] : x[j];
    }
}

static void avg_fwd(const struct ctt_call *c, int64_t r)
{
    struct box b = window_box(c, r);
    float *y = ctt_row(&c->out, r), part = share(&b);
    int64_t n = c->out.c;

    memset(y, 0, (size_t)n * sizeof(float));
    EACH_ROW(b, &c->in[0], q)
        ctt_put(y, ctt_row(&c->in[0], q), n, 1);
    SIMD for (int64_t j = 0; j < n; j++)
        y[j] *= part;
}

/* The first value equal to the maximum gets the gradient, which is then removed
 * from left, so that no other value gets it too. */
static void max_bwd(const struct ctt_call *c, int64_t r, float *left)
{
    struct box b = window_box(c, r);
    const float *y = ctt_row(&c->out, r);
    int64_t n = c->out.c;

    memcpy(left, ctt_row(&c->dout, r), (size_t)n * sizeof(float));
    EACH_ROW(b, &c->in[0], q) {
        const float *x = ctt_row(&c->in[0], q);
        float *dx = ctt_row(&c->din[0], q);
        SIMD for (int64_t j = 0; j < n; j++) {
            float hit = x[j] == y[j] ? left[j] : 0;
            dx[j] += hit;
            left[j] -= hit;
        }
    }
}

static void avg_bwd(const struct ctt_call *c, int64_t r, float *dy)
{
    struct box b = window_box(c, r);
    const float *from = ctt_row(&c->dout, r);
    float part = share(&b);
    int64_t n = c->out.c;

    SIMD for (int64_t j = 0; j < n; j++)
        dy[j] = from[j] * part;
    EACH_ROW(b, &c->in[0], q)
        ctt_put(ctt_row(&c->din[0], q), dy, n, 1);
}

static const struct {
    void (*fwd)(const struct ctt_call *c, int64_t r);
    void (*bwd)(const struct ctt_call *c, int64_t r, float *tmp);
} pools[] = {
    [CTT_POOL_MAX] = { max_fwd, max_bwd },
    [CTT_POOL_AVG] = { avg_fwd, avg_bwd },
};

static double pool_work(const struct ctt_call *c)
{
    const int *k = c->node->attr.pool.kernel;

    return (double)ctt_volume(&c->out) * k[0] * k[1] * k[2];
}

static void pool_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    void (*fwd)(const struct ctt_call *, int64_t) =
        ctt_is_bytes(&c->out) ? max_bytes : pools[c->node->attr.pool.kind].fwd;

    for (int64_t r = from; r < to; r++)
        fwd(c, r);
}

int K(pool_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, pool_work(c), ctt_rows(&c->out), pool_rows, c);
    return 0;
}

/* Windows overlap, so threads share the images, not the windows. */
int K(pool_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t images = c->out.n, each = ctt_rows(&c->out) / images;
    int64_t rows = ctt_rows(&c->in[0]) / images, n = c->out.c;
    int64_t wide = ctt_align(n, 16);
    int kind = c->node->attr.pool.kind;
    float *tmp;

    if (!c->din[0].data)
        return 0;
    tmp = ctt_dev_scratch(d, (size_t)(images * wide) * sizeof(float));
    if (!tmp)
        return CTT_ENOMEM;
    PARALLEL(d, pool_work(c))
    for (int64_t i = 0; i < images; i++) {
        for (int64_t r = i * rows; r < (i + 1) * rows && !(c->add & 1); r++)
            memset(ctt_row(&c->din[0], r), 0, (size_t)n * sizeof(float));
        for (int64_t r = i * each; r < (i + 1) * each; r++)
            pools[kind].bwd(c, r, tmp + i * wide);
    }
    return 0;
}
