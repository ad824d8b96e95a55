/* SPDX-License-Identifier: Apache-2.0
 * direct_dw.c: the gradient of convolution weights by direct sums: threads
 * share the weights, and each weight sums over all pixels in their order. */
#include "device/cpu/conv/direct.h"

#include <string.h>

enum { OUTS = 8 };    /* output channels summed side by side */

typedef float wvec __attribute__((vector_size(CTT_VEC * 4)));

/* n pixels of dy and x, dy_step and x_step floats apart. */
struct stretch { const float *dy, *x; int64_t n, dy_step, x_step; };

static inline void outer(struct stretch s, wvec sum[OUTS])
{
    wvec a[OUTS];

    memcpy(a, sum, sizeof(a));
    for (int64_t r = 0; r < s.n; r++, s.dy += s.dy_step, s.x += s.x_step) {
        wvec x;
        memcpy(&x, s.x, sizeof(x));
        CTT_PRAGMA(GCC unroll 8)
        for (int b = 0; b < OUTS; b++)
            a[b] += s.dy[b] * x;
    }
    memcpy(sum, a, sizeof(a));
}

/* Outer product at the edge of a block: fewer than OUTS outputs or CTT_VEC
 * inputs. */
static void outer_edge(struct stretch s, int64_t outs, int64_t ins,
                       float sum[OUTS][CTT_VEC])
{
    for (int64_t r = 0; r < s.n; r++, s.dy += s.dy_step, s.x += s.x_step)
        for (int64_t b = 0; b < outs; b++)
            SIMD for (int64_t i = 0; i < ins; i++)
                sum[b][i] += s.dy[b] * s.x[i];
}

struct dw {
    const struct ctt_node *n;
    struct ctt_tensor      dy, x;
    int                    up;
    int64_t                taps, in, out;    /* channels of a group */
    int64_t                outs, ins;        /* counts of blocks in a group */
    float                 *dw;
};

/* Place of tap t from the beginning of the axis, for position 0. */
static int64_t offset(const struct ctt_node *n, int axis, int64_t t)
{
    return t * n->attr.conv.dilation[axis] - n->attr.conv.pad[axis];
}

/* Range of positions of the small tensor whose tap t is inside the large
 * one. */
static void tap_range(const struct dw *v, int axis, int64_t t, int64_t small,
                      int64_t large, int64_t *from, int64_t *to)
{
    int64_t s = v->n->attr.conv.stride[axis];
    int64_t off = offset(v->n, axis, t);

    *from = off < 0 ? (-off + s - 1) / s : 0;
    *to = large - off <= 0 ? 0 : (large - off + s - 1) / s;
    *to = *to < small ? *to : small;
}

/* A block of weights of a group: OUTS outputs from o on, CTT_VEC inputs from i
 * on. */
struct block { int64_t group, tap, o, i; };

/* Adds to a block's sums line r of the small tensor times line q of the large
 * one. */
static void line_sum(const struct dw *v, int64_t r, int64_t q, int64_t tw,
                     struct block b, float sum[OUTS][CTT_VEC])
{
    const struct ctt_tensor *small = v->up ? &v->x : &v->dy;
    const struct ctt_tensor *large = v->up ? &v->dy : &v->x;
    int64_t s = v->n->attr.conv.stride[2], off = offset(v->n, 2, tw);
    int64_t from, to, outs = v->out - b.o, ins = v->in - b.i;
    struct stretch at;

    tap_range(v, 2, tw, small->w, large->w, &from, &to);
    r = r * small->w + from;
    q = q * large->w + from * s + off;
    at.n = to - from;
    if (at.n <= 0)
        return;
    at.dy = ctt_row(&v->dy, v->up ? q : r) + b.group * v->out + b.o;
    at.x = ctt_row(&v->x, v->up ? r : q) + b.group * v->in + b.i;
    at.dy_step = v->dy.ld * (v->up ? s : 1);
    at.x_step = v->x.ld * (v->up ? 1 : s);
    if (outs >= OUTS && ins >= CTT_VEC)
        outer(at, (wvec *)sum);
    else
        outer_edge(at, outs < OUTS ? outs : OUTS,
                   ins < CTT_VEC ? ins : CTT_VEC, sum);
}

static void add_block(const struct dw *v, struct block b,
                      float sum[OUTS][CTT_VEC])
{
    int64_t ins = v->in - b.i < CTT_VEC ? v->in - b.i : CTT_VEC;
    int64_t outs = v->out - b.o < OUTS ? v->out - b.o : OUTS;
    int64_t row = b.group * v->out + b.o;

    for (int64_t k = 0; k < outs; k++)
        ctt_put(v->dw + ((row + k) * v->taps + b.tap) * v->in + b.i, sum[k],
                ins, 1);
}

static void block_sum(const struct dw *v, int64_t job)
{
    const struct ctt_tensor *small = v->up ? &v->x : &v->dy;
    const struct ctt_tensor *large = v->up ? &v->dy : &v->x;
    const int *k = v->n->attr.conv.kernel, *s = v->n->attr.conv.stride;
    int64_t row = job / v->ins / v->taps, from[2], to[2];
    struct block b = { row / v->outs, job / v->ins % v->taps,
                       row % v->outs * OUTS, job % v->ins * CTT_VEC };
    int64_t td = b.tap / k[2] / k[1], th = b.tap / k[2] % k[1];
    wvec sum[OUTS];    /* for its alignment */

    memset(sum, 0, sizeof(sum));
    tap_range(v, 0, td, small->d, large->d, &from[0], &to[0]);
    tap_range(v, 1, th, small->h, large->h, &from[1], &to[1]);
    for (int64_t n = 0; n < small->n; n++)
        for (int64_t d = from[0]; d < to[0]; d++)
            for (int64_t h = from[1]; h < to[1]; h++)
                line_sum(v, (n * small->d + d) * small->h + h,
                         (n * large->d + d * s[0] + offset(v->n, 0, td)) *
                         large->h + h * s[1] + offset(v->n, 1, th),
                         b.tap % k[2], b,
                         (float(*)[CTT_VEC])sum);
    add_block(v, b, (float(*)[CTT_VEC])sum);
}

int K(direct_dw)(struct ctt_dev *d, const struct ctt_call *c, int up)
{
    const int *k = c->node->attr.conv.kernel;
    int64_t groups = ctt_call_groups(c), jobs;
    struct dw v = { .n = c->node, .dy = c->dout, .x = c->in[0], .up = up,
                    .taps = (int64_t)k[0] * k[1] * k[2],
                    .in = c->in[0].c / groups, .out = c->dout.c / groups,
                    .dw = c->dw[0].data };

    v.outs = (v.out + OUTS - 1) / OUTS;
    v.ins = (v.in + CTT_VEC - 1) / CTT_VEC;
    jobs = groups * v.taps * v.outs * v.ins;
    PARALLEL(d, (double)ctt_volume(up ? &v.x : &v.dy) * (double)v.taps *
             (double)(up ? v.outs : v.ins))
    for (int64_t job = 0; job < jobs; job++)
        block_sum(&v, job);
    return 0;
}
