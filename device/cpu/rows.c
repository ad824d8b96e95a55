/* SPDX-License-Identifier: Apache-2.0
 * rows.c: what several kernels do with the rows of a tensor. */
#include "device/cpu/cpu.h"

void K(copy)(struct ctt_dev *d, const struct ctt_tensor *x,
             const struct ctt_tensor *y, int add)
{
    struct ctt_span s = ctt_span(y, x, x);

    PARALLEL(d, s.total)
    for (int64_t r = 0; r < s.rows; r++)
        if (s.cols == CTT_NARROW)
            ctt_put(ctt_at(s, y, r), ctt_at(s, x, r), CTT_NARROW, add);
        else
            ctt_put(ctt_at(s, y, r), ctt_at(s, x, r), ctt_len(s, r), add);
}

void K(finish)(struct ctt_dev *d, const struct ctt_tensor *y,
               const float *bias, int act)
{
    struct ctt_span s = ctt_span(y, y, y);

    if (bias)    /* a piece of memory must be a row */
        s = (struct ctt_span){ ctt_rows(y), y->c, s.total, 0 };
    PARALLEL(d, (1 + (act != 0)) * s.total)
    for (int64_t r = 0; r < s.rows; r++) {
        float *p = ctt_at(s, y, r);
        int64_t n = ctt_len(s, r);

        if (bias)
            ctt_put(p, bias, n, 1);
        K(act_row)(act, p, n);
    }
}

const struct ctt_row_ops K(row_ops) = { K(copy), K(finish) };
