/* SPDX-License-Identifier: Apache-2.0
 * int8_sums.c: convs of quantised values by direct sums of whole numbers, in
 * plain C: the reference. */
#include "device/cpu/conv/int8/int8.h"

#include <omp.h>

struct whole {
    const struct ctt_call *c;
    int64_t                ins, outs, taps;    /* ins, outs: of a group */
    const int16_t         *x;       /* [row][channel] */
    const int8_t          *q;       /* [out channel][tap][ins] */
    struct ctt_int8_epilogue end;
};

/* Converts values to integers. */
static void to_whole(struct ctt_dev *d, const struct ctt_tensor *x, int16_t *y)
{
    float inv = 1 / x->scale, zero = (float)x->zero;
    int64_t rows = ctt_rows(x);

    PARALLEL(d, ctt_volume(x))
    for (int64_t r = 0; r < rows; r++) {
        const uint8_t *b = (const uint8_t *)x->data + r * x->ld;
        const float *f = (const float *)x->data + r * x->ld;
        int16_t *to = y + r * x->c;

        for (int64_t j = 0; j < x->c; j++)
            to[j] = x->dtype == CTT_U8 ? (int16_t)(b[j] - x->zero)
                                       : (int16_t)ctt_quant(f[j], inv, zero);
    }
}

/* Input row of tap t of output row r, or -1 in the padding. */
static int64_t tap_row(const struct ctt_call *c, int64_t r, int64_t t)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    const int64_t in[3] = { x->d, x->h, x->w }, out[3] = { y->d, y->h, y->w };
    const int *kernel = c->node->attr.conv.kernel;
    int64_t row = 0, by = 1;

    for (int k = 2; k >= 0; k--) {
        int64_t at = r % out[k] * c->node->attr.conv.stride[k] -
                     c->node->attr.conv.pad[k] +
                     t % kernel[k] * c->node->attr.conv.dilation[k];

        if (at < 0 || at >= in[k])
            return -1;
        row += at * by;
        by *= in[k];
        r /= out[k];
        t /= kernel[k];
    }
    return r * by + row;
}

static int32_t dot_channels(const int16_t *x, const int8_t *q, int64_t n)
{
    int32_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * q[i];
    return sum;
}

/* Computes the sums of a group's channels at output row r. */
static void group_sums(const struct whole *l, int64_t r, int64_t group,
                       int32_t *sum)
{
    int64_t from = group * l->outs;

    memset(sum, 0, (size_t)l->outs * sizeof(*sum));
    for (int64_t t = 0; t < l->taps; t++) {
        int64_t row = tap_row(l->c, r, t);

        for (int64_t o = 0; row >= 0 && o < l->outs; o++)
            sum[o] += dot_channels(l->x + row * l->c->in[0].c + group * l->ins,
                                   l->q + ((from + o) * l->taps + t) * l->ins,
                                   l->ins);
    }
}

static void out_row(const struct whole *l, int64_t r, int32_t *sum)
{
    for (int64_t g = 0; g < l->c->out.c / l->outs; g++) {
        group_sums(l, r, g, sum);
        K(int8_epilogue)(&l->end, r, g * l->outs, l->outs, sum);
    }
}

/* Scratch memory of a call. */
struct rooms {
    int16_t *whole;
    int32_t *sum;      /* `outs` sums of each thread */
    float   *step, *w;
    int8_t  *q;
};

/* Floats of a weight: in place, or decoded into `room`. */
static const float *decoded_weights(const struct ctt_weight *w, float *room)
{
    if (ctt_weight_is_floats(w))
        return w->t.data;
    for (int64_t i = 0; i < ctt_volume(&w->t); i++)
        room[i] = ctt_weight_value(w, i);
    return room;
}

static int make_rooms(struct ctt_dev *d, const struct ctt_call *c, int64_t sums,
                      struct rooms *r)
{
    const struct ctt_tensor *w = &c->w[0].t;
    int64_t n = ctt_volume(w), coded = ctt_weight_is_floats(&c->w[0]) ? 0 : n;
    int64_t values = ctt_align(2 * ctt_volume(&c->in[0]), 64);
    int64_t floats = ctt_align(sums, 16) + ctt_align(w->n, 16) +
                     ctt_align(coded, 16);
    char *room = ctt_dev_scratch(d, (size_t)(values + 4 * floats + n));

    if (!room)
        return ctt_error(CTT_ENOMEM, "%s: no memory for whole numbers",
                         c->node->name);
    r->whole = (int16_t *)(void *)room;
    r->sum = (int32_t *)(void *)(room + values);
    r->step = (float *)(void *)(r->sum + ctt_align(sums, 16));
    r->w = r->step + ctt_align(w->n, 16);
    r->q = (int8_t *)(r->w + ctt_align(coded, 16));
    return 0;
}

int K(int8_sums)(struct ctt_dev *d, const struct ctt_call *c)
{
    const struct ctt_tensor *w = &c->w[0].t;
    int64_t taps = w->d * w->h * w->w, rows = ctt_rows(&c->out);
    int64_t outs = w->n / ctt_call_groups(c);
    struct rooms r;
    struct whole l;
    int rc = 0;

    CTT_TRY(make_rooms(d, c, ctt_dev_threads(d) * outs, &r));
    ctt_quant_weights(decoded_weights(&c->w[0], r.w), w->n, taps * w->c, r.q,
                      r.step);
    for (int64_t o = 0; o < w->n; o++)
        r.step[o] *= c->in[0].scale;
    to_whole(d, &c->in[0], r.whole);
    l = (struct whole){ c, w->c, outs, taps, r.whole, r.q, { c, r.step } };
    PARALLEL(d, (double)rows * (double)ctt_volume(w))
    for (int64_t i = 0; i < rows; i++)
        out_row(&l, i, r.sum + omp_get_thread_num() * outs);
out:
    return rc;
}
