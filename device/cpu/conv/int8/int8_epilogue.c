/* SPDX-License-Identifier: Apache-2.0
 * int8_epilogue.c: epilogue of a conv of quantised values: from integer sums to
 * results. */
#include "device/cpu/conv/int8/int8.h"

static void add_plus(const struct ctt_tensor *plus, int64_t row, int64_t from,
                     int64_t n, float *y)
{
    float x[CTT_PIECE];

    if (!ctt_is_bytes(plus)) {
        ctt_put(y, ctt_row(plus, row) + from, n, 1);
        return;
    }
    K(cast).from_bytes((const uint8_t *)plus->data + row * plus->ld + from,
                       plus->scale, plus->zero, x, n);
    ctt_put(y, x, n, 1);
}

/* Computes a piece of a row's channels, from channel j on. */
static void end_piece(const struct ctt_int8_epilogue *e, int64_t row,
                      int64_t from, int64_t n, const int32_t *sum)
{
    const struct ctt_call *c = e->c;
    const struct ctt_tensor *out = &c->out;
    const float *bias = c->w[1].t.data;
    float y[CTT_PIECE];

    SIMD for (int64_t j = 0; j < n; j++)
        y[j] = (float)sum[j] * e->factor[from + j];
    if (bias)
        ctt_put(y, bias + from, n, 1);
    if (c->node->plus && c->in[1].data)
        add_plus(&c->in[1], row, from, n, y);
    K(act_row)(c->act, y, n);
    if (ctt_is_bytes(out))
        K(cast).to_bytes(y, out->scale, out->zero,
                         (uint8_t *)out->data + row * out->ld + from, n);
    else
        ctt_put(ctt_row(out, row) + from, y, n, 0);
}

void K(int8_epilogue)(const struct ctt_int8_epilogue *e, int64_t row,
                      int64_t from, int64_t n, const int32_t *sum)
{
    for (int64_t j = 0; j < n; j += CTT_PIECE)
        end_piece(e, row, from + j, ctt_piece(n, j), sum + j);
}
