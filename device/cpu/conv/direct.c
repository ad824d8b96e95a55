/* SPDX-License-Identifier: Apache-2.0
 * direct.c: convolution by direct sums, 1-D to 3-D, in both directions, by one
 * loop: each output pixel is the sum over the taps of a row of the source
 * times a matrix of weights.  The order of the sum depends on nothing but the
 * pixel's place in its image, so that one image alone gives the same bits as
 * in a batch. */
#include "device/cpu/conv/direct.h"

#include <string.h>

enum { PIXELS = 8 };    /* summed side by side, each weight read once */

typedef float vec __attribute__((vector_size(CTT_VEC * 4)));

struct loop {
    const struct ctt_direct *v;
    struct ctt_tensor        y, x;
    int64_t                  ins, outs;       /* channels of a group */
    int64_t                  taps, blocks;    /* blocks of outputs, by group */
    int64_t                  step, strips;    /* of pixels in a line */
    float                   *w;       /* [block][tap][ins][CTT_VEC] */
    const float             *zero;    /* a row in the padding */
};

/* 1 for a pointwise conv, whose pixels are treated as one long line. */
static int single(const struct ctt_direct *v)
{
    for (int i = 0; i < 3; i++)
        if (v->kernel[i] != 1 || v->stride[i] != 1 || v->pad[i])
            return 0;
    return 1;
}

static void as_line(struct ctt_tensor *t)
{
    t->w = ctt_rows(t);
    t->n = t->d = t->h = 1;
}

/* Index of the first weight in packed row k; *outs: output channels of that
 * row. */
static int64_t packed_from(const struct loop *l, int64_t k, int64_t *outs)
{
    const struct ctt_direct *v = l->v;
    int64_t i = k % l->ins, t = k / l->ins % l->taps;
    int64_t block = k / l->ins / l->taps, o = block % l->blocks * CTT_VEC;
    int64_t group = block / l->blocks;

    *outs = l->outs - o;
    return group * (l->ins * l->taps * l->outs) + i * v->step_x +
           t * v->step_tap + o * v->step_y;
}

static void pack_rows(const void *arg, int64_t first, int64_t last)
{
    const struct loop *l = arg;
    const struct ctt_direct *v = l->v;
    float *w = l->w;

    for (int64_t k = first; k < last; k++) {
        int64_t n, at = packed_from(l, k, &n);
        const float *from = (const float *)v->w->t.data + at;
        for (int64_t j = 0; j < CTT_VEC; j++)
            w[k * CTT_VEC + j] = j < n ? from[j * v->step_y] : 0;
    }
}

/* Packs weights that are not floats (decoded row by row). */
static void pack_form(const void *arg, int64_t first, int64_t last)
{
    const struct loop *l = arg;
    const struct ctt_direct *v = l->v;
    float *w = l->w;

    for (int64_t k = first; k < last; k++) {
        int64_t n, at = packed_from(l, k, &n);
        for (int64_t j = 0; j < CTT_VEC; j++)
            w[k * CTT_VEC + j] =
                j < n ? ctt_weight_value(v->w, at + j * v->step_y) : 0;
    }
}

/* sum[b] += x[b] times the n x CTT_VEC matrix w. */
static inline void mac(const float *const x[PIXELS], const float *w, int64_t n,
                       vec sum[PIXELS])
{
    vec s[PIXELS];

    CTT_PRAGMA(GCC unroll 8)
    for (int b = 0; b < PIXELS; b++)
        s[b] = sum[b];
    for (int64_t i = 0; i < n; i++) {
        vec m = *(const vec *)(w + i * CTT_VEC);
        CTT_PRAGMA(GCC unroll 8)
        for (int b = 0; b < PIXELS; b++)
            s[b] += x[b][i] * m;
    }
    CTT_PRAGMA(GCC unroll 8)
    for (int b = 0; b < PIXELS; b++)
        sum[b] = s[b];
}

/* Position in the source read by tap t of output position o, or -1. */
static inline int64_t source_place(const struct ctt_direct *v, int axis,
                                   int64_t o, int64_t t, int64_t size)
{
    int64_t at = t * v->dilation[axis];
    int64_t q = v->up ? o + v->pad[axis] - at
                      : o * v->stride[axis] - v->pad[axis] + at;

    if (v->up && q >= 0)
        q = q % v->stride[axis] ? -1 : q / v->stride[axis];
    return q < size ? q : -1;
}

/* Adds the taps of one line of the kernel, for the pixels from o on and the
 * input channels from `first` on. */
static void line_taps(const struct loop *l, int64_t line, int64_t o,
                      int64_t first, const float *w, vec sum[PIXELS])
{
    const float *x[PIXELS];
    int64_t n = l->ins;

    for (int64_t t = 0; t < l->v->kernel[2]; t++, w += n * CTT_VEC) {
        int any = 0;
        for (int b = 0; b < PIXELS; b++) {
            int64_t q = source_place(l->v, 2, o + b * l->step, t, l->x.w);
            x[b] = q < 0 ? l->zero
                         : ctt_row(&l->x, line * l->x.w + q) + first;
            any |= q >= 0;
        }
        if (any)
            mac(x, w, n, sum);
    }
}

/* Applies bias, plus input and activation to sums and stores n channels of a
 * pixel, from channel `from` on. */
static void store_sums(const struct loop *l, int64_t line, int64_t o,
                       int64_t from, int64_t n, vec sum[PIXELS])
{
    const struct ctt_direct *v = l->v;

    for (int b = 0; b < PIXELS && o + b * l->step < l->y.w; b++) {
        int64_t r = line * l->y.w + o + b * l->step;
        float *y = ctt_row(&l->y, r) + from, *s = (float *)&sum[b];
        for (int64_t j = 0; j < n && v->bias; j++)
            s[j] += v->bias[from + j];
        if (v->plus)
            ctt_put(s, ctt_row(v->plus, r) + from, n, 1);
        K(act_row)(v->act, s, n);
        ctt_put(y, s, n, v->add);
    }
}

/* Computes a block of output channels of one group for a strip of PIXELS
 * pixels. */
static void strip(const struct loop *l, int64_t job)
{
    const struct ctt_direct *v = l->v;
    int64_t lines = l->y.n * l->y.d * l->y.h, s = job % l->strips;
    int64_t line = job / l->strips % lines, block = job / l->strips / lines;
    int64_t group = block / l->blocks, out = block % l->blocks * CTT_VEC;
    int64_t left = l->outs - out, o = s / l->step * PIXELS * l->step +
                                      s % l->step;
    int64_t oh = line % l->y.h, od = line / l->y.h % l->y.d;
    const int *k = v->kernel;
    vec sum[PIXELS];

    memset(sum, 0, sizeof(sum));
    for (int64_t t = 0; t < (int64_t)k[0] * k[1]; t++) {
        int64_t id = source_place(v, 0, od, t / k[1], l->x.d);
        int64_t ih = source_place(v, 1, oh, t % k[1], l->x.h);
        int64_t n = line / (l->y.h * l->y.d);
        if (id >= 0 && ih >= 0)
            line_taps(l, (n * l->x.d + id) * l->x.h + ih, o, group * l->ins,
                      l->w + (block * l->taps + t * k[2]) * l->ins * CTT_VEC,
                      sum);
    }
    store_sums(l, line, o, group * l->outs + out, left < CTT_VEC ? left :
               CTT_VEC, sum);
}

static void strips(const void *arg, int64_t from, int64_t to)
{
    for (int64_t job = from; job < to; job++)
        strip(arg, job);
}

int K(direct)(struct ctt_dev *d, const struct ctt_direct *v)
{
    struct loop l = { v, *v->y, *v->x, 0 };
    int64_t jobs, size;
    float *w;

    l.taps = (int64_t)v->kernel[0] * v->kernel[1] * v->kernel[2];
    l.ins = l.x.c / v->groups;
    l.outs = l.y.c / v->groups;
    l.blocks = (l.outs + CTT_VEC - 1) / CTT_VEC;
    if (single(v)) {
        as_line(&l.y);
        as_line(&l.x);
    }
    l.step = v->up ? v->stride[2] : 1;
    l.strips = l.step * ((l.y.w + PIXELS * l.step - 1) / (PIXELS * l.step));
    size = v->groups * l.blocks * l.taps * l.ins * CTT_VEC;
    w = ctt_dev_scratch(d, (size_t)(size + l.ins) * sizeof(float));
    if (!w)
        return CTT_ENOMEM;
    memset(w + size, 0, (size_t)l.ins * sizeof(float));
    l.w = w;
    l.zero = w + size;
    ctt_dev_rows(d, (double)size, size / CTT_VEC,
                 ctt_weight_is_floats(v->w) ? pack_rows : pack_form, &l);
    jobs = l.strips * l.y.n * l.y.d * l.y.h * v->groups * l.blocks;
    ctt_dev_rows(d, (double)jobs * (double)(l.taps * l.ins), jobs, strips, &l);
    return 0;
}
