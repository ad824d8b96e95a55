/* SPDX-License-Identifier: Apache-2.0
 * quant.c: values rounded to whole numbers of a step, as floats or bytes. */
#include "device/cpu/cpu.h"

/* Constants of a quant node for the formulas of byte.h. */
struct step { float inv, zero, scale; };

static struct step quant_step(const struct ctt_call *c)
{
    float scale = c->node->attr.quant.scale;

    return (struct step){ 1 / scale, (float)c->node->attr.quant.zero, scale };
}

static void to_floats(struct step s, const float *x, float *y, int64_t n)
{
    SIMD for (int64_t j = 0; j < n; j++)
        y[j] = ctt_quant(x[j], s.inv, s.zero) * s.scale;
}

static void bytes_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    struct ctt_span s = ctt_span(y, x, x);

    for (int64_t r = from; r < to; r++)
        K(cast).to_bytes(ctt_at(s, x, r), y->scale, y->zero,
                         (uint8_t *)y->data +
                         r * (s.dense ? s.cols : y->ld), ctt_len(s, r));
}

static void floats_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    struct ctt_span s = ctt_span(&c->out, &c->in[0], &c->in[0]);
    struct step step = quant_step(c);

    for (int64_t r = from; r < to; r++)
        to_floats(step, ctt_at(s, &c->in[0], r), ctt_at(s, &c->out, r),
                  ctt_len(s, r));
}

int K(quant_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_span s = ctt_span(&c->out, &c->in[0], &c->in[0]);

    ctt_dev_rows(d, 2 * (double)s.total, s.rows,
                 ctt_is_bytes(&c->out) ? bytes_rows : floats_rows, c);
    return 0;
}

static void pass_back(struct step s, const float *x, const float *dy,
                      float *dx, int64_t n, int add)
{
    float v[CTT_PIECE];

    for (int64_t j = 0; j < n; j += CTT_PIECE) {
        int64_t len = ctt_piece(n, j);
        SIMD for (int64_t i = 0; i < len; i++)
            v[i] = ctt_quant_bwd(x[j + i], s.inv, s.zero, dy[j + i]);
        ctt_put(dx + j, v, len, add);
    }
}

int K(quant_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_span s = ctt_span(&c->dout, &c->in[0], &c->din[0]);
    struct step step = quant_step(c);

    if (!c->din[0].data)
        return 0;
    PARALLEL(d, 2 * s.total)
    for (int64_t r = 0; r < s.rows; r++)
        pass_back(step, ctt_at(s, &c->in[0], r), ctt_at(s, &c->dout, r),
                  ctt_at(s, &c->din[0], r), ctt_len(s, r), c->add & 1);
    return 0;
}
