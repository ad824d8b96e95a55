/* SPDX-License-Identifier: Apache-2.0
 * move.c: ops that only move, add or multiply values. */
#include "device/cpu/cpu.h"

#include <string.h>

/* y (+)= x, n channels from channel yc of y and xc of x. */
struct cols {
    const struct ctt_tensor *y;
    int64_t                  yc;
    const struct ctt_tensor *x;
    int64_t                  xc, n;
    int                      add;
};

static void cols_rows(const void *arg, int64_t from, int64_t to)
{
    const struct cols *c = arg;

    for (int64_t r = from; r < to; r++)
        ctt_put(ctt_row(c->y, r) + c->yc, ctt_row(c->x, r) + c->xc, c->n,
                c->add);
}

static void copy_cols(struct ctt_dev *d, struct cols c)
{
    int64_t rows = ctt_rows(c.y);

    ctt_dev_rows(d, (double)(rows * c.n), rows, cols_rows, &c);
}

/* One row of a sum of n channels. */
static inline __attribute__((always_inline)) void
sum_row(const struct ctt_call *c, struct ctt_span s, int64_t r, int64_t n)
{
    const float *a = ctt_at(s, &c->in[0], r), *bias = c->w[0].t.data;
    float *y = ctt_at(s, &c->out, r);
    float sign = c->node->attr.add.minus ? -1 : 1;

    if (c->node->nin == 1 && a != y)
        ctt_put(y, a, n, 0);
    for (int k = 1; k < c->node->nin; k++, a = y) {
        const float *b = ctt_at(s, &c->in[k], r);
        SIMD for (int64_t j = 0; j < n; j++)
            y[j] = a[j] + sign * b[j];
    }
    if (bias)
        ctt_put(y, bias, n, 1);
    K(act_row)(c->act, y, n);
}

struct adding { const struct ctt_call *c; struct ctt_span s; };

static void sum_rows(const void *arg, int64_t from, int64_t to)
{
    struct adding a = *(const struct adding *)arg;

    for (int64_t r = from; r < to; r++)
        if (a.s.cols == CTT_NARROW)    /* a constant width has shorter code */
            sum_row(a.c, a.s, r, CTT_NARROW);
        else
            sum_row(a.c, a.s, r, ctt_len(a.s, r));
}

int K(add_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_span s = ctt_span(&c->out, &c->in[0], &c->in[0]);
    int views = c->w[0].t.data != NULL;

    for (int k = 1; k < c->node->nin; k++)
        views |= c->in[k].ld != c->in[k].c;
    if (views)
        s = (struct ctt_span){ ctt_rows(&c->out), c->out.c, s.total, 0 };
    ctt_dev_rows(d, (double)(c->node->nin * s.total), s.rows, sum_rows,
                 &(struct adding){ c, s });
    return 0;
}

/* y (+)= -x of the same shape. */
static void negate(struct ctt_dev *d, const struct ctt_tensor *x,
                   const struct ctt_tensor *y, int add)
{
    struct ctt_span s = ctt_span(y, x, x);

    PARALLEL(d, s.total)
    for (int64_t r = 0; r < s.rows; r++) {
        float *py = ctt_at(s, y, r);
        const float *px = ctt_at(s, x, r);
        int64_t n = ctt_len(s, r);
        if (!add)
            memset(py, 0, (size_t)n * sizeof(float));
        SIMD for (int64_t j = 0; j < n; j++)
            py[j] -= px[j];
    }
}

int K(add_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int rc = 0;

    for (int k = 0; k < c->node->nin; k++)
        if (c->din[k].data)
            (k > 0 && c->node->attr.add.minus ? negate : K(copy))
                (d, &c->dout, &c->din[k], c->add >> k & 1);
    if (c->dw[0].data)
        CTT_TRY(K(bias_bwd)(d, &c->dout, c->dw[0].data));
out:
    return rc;
}

/* Pixels of the result for which one of input k counts; 1: it has its shape.
 */
static int64_t pixels_of(const struct ctt_call *c, int k)
{
    return ctt_rows(&c->out) / ctt_rows(&c->in[k]);
}

static int is_spread(const struct ctt_call *c)
{
    return pixels_of(c, 0) * pixels_of(c, 1) > 1;
}

static struct ctt_span mul_span(const struct ctt_call *c)
{
    struct ctt_span s = ctt_span(&c->out, &c->in[0], &c->in[1]);

    if (is_spread(c))
        s = (struct ctt_span){ ctt_rows(&c->out), c->out.c, s.total, 0 };
    return s;
}

static void mul_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    struct ctt_span s = mul_span(c);
    int64_t each[2] = { pixels_of(c, 0), pixels_of(c, 1) };

    for (int64_t r = from; r < to; r++) {
        const float *a = ctt_at(s, &c->in[0], r / each[0]);
        const float *b = ctt_at(s, &c->in[1], r / each[1]);
        float *y = ctt_at(s, &c->out, r);
        int64_t n = ctt_len(s, r);
        SIMD for (int64_t j = 0; j < n; j++)
            y[j] = a[j] * b[j];
    }
}

int K(mul_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_span s = mul_span(c);

    ctt_dev_rows(d, (double)s.total, s.rows, mul_rows, c);
    return 0;
}

/* din[k] (+)= dout times the other input. */
static void mul_back(struct ctt_dev *d, const struct ctt_call *c, int k)
{
    struct ctt_span s = ctt_span(&c->din[k], &c->dout, &c->in[1 - k]);
    int64_t each = pixels_of(c, 1 - k);

    if (each > 1)
        s = (struct ctt_span){ ctt_rows(&c->dout), c->dout.c, s.total, 0 };
    PARALLEL(d, s.total)
    for (int64_t r = 0; r < s.rows; r++) {
        const float *dy = ctt_at(s, &c->dout, r);
        const float *b = ctt_at(s, &c->in[1 - k], r / each);
        float *dx = ctt_at(s, &c->din[k], r), v[CTT_PIECE];
        int64_t n = ctt_len(s, r);
        for (int64_t j = 0; j < n; j += CTT_PIECE) {
            int64_t len = ctt_piece(n, j);
            SIMD for (int64_t i = 0; i < len; i++)
                v[i] = dy[j + i] * b[j + i];
            ctt_put(dx + j, v, len, c->add >> k & 1);
        }
    }
}

/* din[k] (+)= the sum over the pixels of dout times the other input. */
static void mul_back_sum(struct ctt_dev *d, const struct ctt_call *c, int k)
{
    int64_t each = pixels_of(c, k), n = c->out.c;

    PARALLEL(d, ctt_volume(&c->out))
    for (int64_t i = 0; i < c->out.n; i++)
        for (int64_t j = 0; j < n; j += CTT_PIECE) {
            float sum[CTT_PIECE] = { 0 };
            int64_t len = ctt_piece(n, j);
            for (int64_t r = i * each; r < (i + 1) * each; r++) {
                const float *dy = ctt_row(&c->dout, r) + j;
                const float *b = ctt_row(&c->in[1 - k], r) + j;
                SIMD for (int64_t l = 0; l < len; l++)
                    sum[l] += dy[l] * b[l];
            }
            ctt_put(ctt_row(&c->din[k], i) + j, sum, len, c->add >> k & 1);
        }
}

int K(mul_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    for (int k = 0; k < 2; k++)
        if (c->din[k].data)
            (pixels_of(c, k) > 1 ? mul_back_sum : mul_back)(d, c, k);
    return 0;
}

int K(concat_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t at = 0;

    for (int k = 0; k < c->node->nin; at += c->in[k++].c)
        copy_cols(d, (struct cols){ &c->out, at, &c->in[k], 0, c->in[k].c, 0 });
    return 0;
}

int K(concat_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t at = 0;

    for (int k = 0; k < c->node->nin; at += c->in[k++].c)
        if (c->din[k].data)
            copy_cols(d, (struct cols){ &c->din[k], 0, &c->dout, at,
                                        c->in[k].c, c->add >> k & 1 });
    return 0;
}

/* Rows of one sample at the step of slot j of ask a; NULL: no such step. */
static float *window_step(const struct ctt_call *c, const struct ctt_tensor *t,
                          int64_t a, int64_t j)
{
    int64_t area = t->h * t->w;
    int64_t at = ctt_window_at(&c->node->attr.window, &c->place, j,
                               c->ask[a].step);

    if (at == CTT_WINDOW_NONE)
        return NULL;
    return (float *)t->data + at * c->stride +
           c->ask[a].sample * area * t->ld;
}

static void window_images(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    int64_t area = c->out.h * c->out.w, n = c->out.c, depth = c->out.d;
    int64_t once = c->in[0].ld == n && c->out.ld == n ? area : 1;
    size_t bytes = (size_t)(once * n) * sizeof(float);

    for (int64_t k = from; k < to; k++) {
        const float *x = window_step(c, &c->in[0], k / depth, k % depth);
        for (int64_t r = 0; r < area; r += once) {
            float *y = ctt_row(&c->out, k * area + r);
            if (x)
                memcpy(y, x + r * c->in[0].ld, bytes);
            else
                memset(y, 0, bytes);
        }
    }
}

int K(window_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, (double)ctt_volume(&c->out), c->out.n * c->out.d,
                 window_images, c);
    return 0;
}

/* Several asks may show one step, so threads divide the pixels, not the
 * asks. */
int K(window_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t area = c->out.h * c->out.w, n = c->out.c, depth = c->out.d;

    if (!c->din[0].data)
        return 0;
    PARALLEL(d, ctt_volume(&c->out))
    for (int64_t r = 0; r < area; r++)
        for (int64_t k = 0; k < c->out.n * depth; k++) {
            float *dx = window_step(c, &c->din[0], k / depth, k % depth);
            const float *dy = ctt_row(&c->dout, k * area + r);
            if (!dx)
                continue;
            dx += r * c->din[0].ld;
            ctt_put(dx, dy, n, 1);
        }
    return 0;
}
