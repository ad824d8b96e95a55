/* SPDX-License-Identifier: Apache-2.0
 * upsample.c: each pixel repeated as a block (nearest neighbour). */
#include "device/cpu/cpu.h"

/* Line i of the result, a row of pixels, repeats pixels of one line of the
 * input. */
static void repeat_line(const struct ctt_call *c, int64_t i)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    const int *by = c->node->attr.upsample.by;
    int64_t from = (i / y->h / by[0] * x->h + i % y->h / by[1]) * x->w;

    for (int64_t w = 0, r = i * y->w; w < x->w; w++)
        for (int k = 0; k < by[2]; k++)
            memcpy(ctt_row(y, r++), ctt_row(x, from + w),
                   (size_t)y->c * sizeof(float));
}

static void repeat_lines(const void *arg, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        repeat_line(arg, i);
}

int K(upsample_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, (double)ctt_volume(&c->out) / 2,
                 c->out.n * c->out.d * c->out.h, repeat_lines, c);
    return 0;
}

/* The gradient of pixel w of line i of the input: the sum over its block. */
static void sum_block(const struct ctt_call *c, int64_t i, int64_t w)
{
    const struct ctt_tensor *dx = &c->din[0], *dy = &c->dout;
    const int *by = c->node->attr.upsample.by;
    int64_t first = (i / dx->h * by[0] * dy->h + i % dx->h * by[1]) * dy->w +
                    w * by[2];
    float *to = ctt_row(dx, i * dx->w + w);
    int add = (int)(c->add & 1);

    for (int64_t a = 0; a < by[0]; a++)
        for (int64_t b = 0; b < by[1]; b++)
            for (int64_t k = 0; k < by[2]; k++, add = 1)
                ctt_put(to, ctt_row(dy, first + (a * dy->h + b) * dy->w + k),
                        dx->c, add);
}

int K(upsample_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    const struct ctt_tensor *dx = &c->din[0];
    int64_t lines = dx->n * dx->d * dx->h;

    if (!dx->data)
        return 0;
    PARALLEL(d, ctt_volume(&c->dout) / 2)
    for (int64_t i = 0; i < lines; i++)
        for (int64_t w = 0; w < dx->w; w++)
            sum_block(c, i, w);
    return 0;
}
