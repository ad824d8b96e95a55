/* SPDX-License-Identifier: Apache-2.0
 * rows.c: row operations shared by several kernels. */
#include "device/cpu/cpu.h"

struct copying {
    struct ctt_span s;
    const struct ctt_tensor *x, *y;
    int add;
};

static void copy_rows(const void *arg, int64_t from, int64_t to)
{
    struct copying c = *(const struct copying *)arg;

    for (int64_t r = from; r < to; r++)
        if (c.s.cols == CTT_NARROW)
            ctt_put(ctt_at(c.s, c.y, r), ctt_at(c.s, c.x, r), CTT_NARROW,
                    c.add);
        else
            ctt_put(ctt_at(c.s, c.y, r), ctt_at(c.s, c.x, r),
                    ctt_len(c.s, r), c.add);
}

void K(copy)(struct ctt_dev *d, const struct ctt_tensor *x,
             const struct ctt_tensor *y, int add)
{
    struct copying c = { ctt_span(y, x, x), x, y, add };

    ctt_dev_rows(d, (double)c.s.total, c.s.rows, copy_rows, &c);
}

struct finishing {
    struct ctt_span s;
    const struct ctt_tensor *y;
    const float *bias;
    int act;
};

static void finish_rows(const void *arg, int64_t from, int64_t to)
{
    const struct finishing *f = arg;

    for (int64_t r = from; r < to; r++) {
        float *p = ctt_at(f->s, f->y, r);
        int64_t n = ctt_len(f->s, r);

        if (f->bias)
            ctt_put(p, f->bias, n, 1);
        K(act_row)(f->act, p, n);
    }
}

void K(finish)(struct ctt_dev *d, const struct ctt_tensor *y,
               const float *bias, int act)
{
    struct finishing f = { ctt_span(y, y, y), y, bias, act };

    if (bias)    /* a bias needs whole rows, not pieces of memory */
        f.s = (struct ctt_span){ ctt_rows(y), y->c, f.s.total, 0 };
    ctt_dev_rows(d, (double)((1 + (act != 0)) * f.s.total), f.s.rows,
                 finish_rows, &f);
}

const struct ctt_row_ops K(row_ops) = { K(copy), K(finish) };
