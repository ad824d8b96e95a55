/* SPDX-License-Identifier: Apache-2.0
 * pool.c: the largest or the mean value under a window.  Padding is ignored:
 * the mean is over the values inside the image. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* Output pixel o of image n, and the input pixels under its window: at[i][0] up
 * to but without at[i][1], on each axis. */
struct box { int64_t n, o[3], at[3][2]; };

static void set_side(const struct ctt_call *c, struct box *b, int i)
{
    const struct ctt_tensor *x = &c->in[0];
    const int64_t size[3] = { x->d, x->h, x->w };
    int64_t from = b->o[i] * c->node->attr.pool.stride[i] -
                   c->node->attr.pool.pad[i];
    int64_t to = from + c->node->attr.pool.kernel[i];

    b->at[i][0] = from < 0 ? 0 : from;
    b->at[i][1] = to > size[i] ? size[i] : to;
}

static struct box box_of(const struct ctt_call *c, int64_t r)
{
    const struct ctt_tensor *y = &c->out;
    struct box b = { r / (y->d * y->h * y->w),
                     { r / (y->h * y->w) % y->d, r / y->w % y->h, r % y->w } };

    for (int i = 0; i < 3; i++)
        set_side(c, &b, i);
    return b;
}

/* The next output pixel: a division for each would take longer than the largest
 * of its bytes. */
static void next_box(const struct ctt_call *c, struct box *b)
{
    const struct ctt_tensor *y = &c->out;
    const int64_t size[3] = { y->d, y->h, y->w };

    for (int i = 2; i >= 0; i--) {
        int over = ++b->o[i] == size[i];

        if (over)
            b->o[i] = 0;
        set_side(c, b, i);
        if (!over)
            return;
    }
    b->n++;
}

#define EACH_ROW(b, x, row)                                                 \
    for (int64_t d_ = (b).at[0][0]; d_ < (b).at[0][1]; d_++)                \
        for (int64_t h_ = (b).at[1][0]; h_ < (b).at[1][1]; h_++)            \
            for (int64_t w_ = (b).at[2][0], row = (((b).n * (x)->d + d_) *  \
                     (x)->h + h_) * (x)->w + w_; w_ < (b).at[2][1];         \
                 w_++, row++)

static float mean_share(const struct box *b)
{
    int64_t n = 1;

    for (int i = 0; i < 3; i++)
        n *= b->at[i][1] - b->at[i][0];
    return 1 / (float)n;
}

static void max_fwd(const struct ctt_call *c, const struct box *b, int64_t r)
{
    float *y = ctt_row(&c->out, r);
    int64_t n = c->out.c;

    for (int64_t j = 0; j < n; j++)
        y[j] = -INFINITY;
    EACH_ROW(*b, &c->in[0], q) {
        const float *x = ctt_row(&c->in[0], q);
        SIMD for (int64_t j = 0; j < n; j++)
            y[j] = y[j] > x[j] ? y[j] : x[j];
    }
}

/* Largest bytes of a window, n per pixel; callers pass n as a constant if
 * possible, so that they stay in a register. */
static inline __attribute__((always_inline))
void max_piece(const struct ctt_tensor *in, const struct box *b, int64_t from,
               int64_t n, uint8_t *y)
{
    uint8_t most[CTT_PIECE] = { 0 };

    EACH_ROW(*b, in, q) {
        const uint8_t *x = (const uint8_t *)in->data + q * in->ld + from;
        SIMD for (int64_t j = 0; j < n; j++)
            most[j] = most[j] > x[j] ? most[j] : x[j];
    }
    memcpy(y, most, (size_t)n);
}

/* Max pool of bytes: the largest byte is the largest value. */
static void max_bytes(const struct ctt_call *c, const struct box *b, int64_t r)
{
    uint8_t *y = (uint8_t *)c->out.data + r * c->out.ld;
    int64_t n = c->out.c, j = 0;

    for (; j + CTT_PIECE <= n; j += CTT_PIECE)
        max_piece(&c->in[0], b, j, CTT_PIECE, y + j);
    for (; j + 16 <= n; j += 16)
        max_piece(&c->in[0], b, j, 16, y + j);
    for (; j + 4 <= n; j += 4)
        max_piece(&c->in[0], b, j, 4, y + j);
    if (j < n)
        max_piece(&c->in[0], b, j, n - j, y + j);
}

static void avg_fwd(const struct ctt_call *c, const struct box *b, int64_t r)
{
    float *y = ctt_row(&c->out, r), part = mean_share(b);
    int64_t n = c->out.c;

    memset(y, 0, (size_t)n * sizeof(float));
    EACH_ROW(*b, &c->in[0], q)
        ctt_put(y, ctt_row(&c->in[0], q), n, 1);
    SIMD for (int64_t j = 0; j < n; j++)
        y[j] *= part;
}

/* The first value equal to the maximum gets the gradient, which is then removed
 * from `left`, so that no other value gets it. */
static void max_bwd(const struct ctt_call *c, const struct box *b, int64_t r,
                    float *left)
{
    const float *y = ctt_row(&c->out, r);
    int64_t n = c->out.c;

    memcpy(left, ctt_row(&c->dout, r), (size_t)n * sizeof(float));
    EACH_ROW(*b, &c->in[0], q) {
        const float *x = ctt_row(&c->in[0], q);
        float *dx = ctt_row(&c->din[0], q);
        SIMD for (int64_t j = 0; j < n; j++) {
            float hit = x[j] == y[j] ? left[j] : 0;
            dx[j] += hit;
            left[j] -= hit;
        }
    }
}

static void avg_bwd(const struct ctt_call *c, const struct box *b, int64_t r,
                    float *dy)
{
    const float *from = ctt_row(&c->dout, r);
    float part = mean_share(b);
    int64_t n = c->out.c;

    SIMD for (int64_t j = 0; j < n; j++)
        dy[j] = from[j] * part;
    EACH_ROW(*b, &c->in[0], q)
        ctt_put(ctt_row(&c->din[0], q), dy, n, 1);
}

static const struct {
    void (*fwd)(const struct ctt_call *c, const struct box *b, int64_t r);
    void (*bwd)(const struct ctt_call *c, const struct box *b, int64_t r,
                float *tmp);
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
    void (*fwd)(const struct ctt_call *, const struct box *, int64_t) =
        ctt_is_bytes(&c->out) ? max_bytes : pools[c->node->attr.pool.kind].fwd;
    struct box b = box_of(c, from);

    for (int64_t r = from; r < to; r++, next_box(c, &b))
        fwd(c, &b, r);
}

int K(pool_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, pool_work(c), ctt_rows(&c->out), pool_rows, c);
    return 0;
}

/* Windows overlap, so threads divide the images, not the windows. */
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
        struct box b = box_of(c, i * each);

        for (int64_t r = i * rows; r < (i + 1) * rows && !(c->add & 1); r++)
            memset(ctt_row(&c->din[0], r), 0, (size_t)n * sizeof(float));
        for (int64_t r = i * each; r < (i + 1) * each; r++, next_box(c, &b))
            pools[kind].bwd(c, &b, r, tmp + i * wide);
    }
    return 0;
}
