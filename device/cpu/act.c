/* SPDX-License-Identifier: Apache-2.0
 * act.c: activations, and dropout, which is one with a random slope. */
#include "device/cpu/cpu.h"

#define ROWS(E, word, of, more, ...)                                      \
    static void word##_row(const float *x, float *y, int64_t n,           \
                           float slope)                                   \
    {                                                                     \
        (void)slope;                                                      \
        SIMD for (int64_t j = 0; j < n; j++)                              \
            y[j] = ctt_##word(x[j] CTT_ACT_##more(slope));                \
    }                                                                     \
    static void word##_back(const float *v, const float *dy, float *dx,   \
                            int64_t n, float slope, int add)              \
    {                                                                     \
        (void)slope;                                                      \
        if (!add) {         /* dx may be uninitialised (NaN) */           \
            SIMD for (int64_t j = 0; j < n; j++)                          \
                dx[j] = ctt_##word##_bwd(v[j], dy[j] CTT_ACT_##more(slope)); \
            return;                                                       \
        }                                                                 \
        SIMD for (int64_t j = 0; j < n; j++)                              \
            dx[j] += ctt_##word##_bwd(v[j], dy[j] CTT_ACT_##more(slope)); \
    }
CTT_ACTS(ROWS)
#undef ROWS

/* back: v: the result or the input, by ctt_act_reads_input(). */
static const struct {
    void (*row)(const float *x, float *y, int64_t n, float slope);
    void (*back)(const float *v, const float *dy, float *dx, int64_t n,
                 float slope, int add);
} acts[] = {
#define ROWS(E, word, ...) { word##_row, word##_back },
    CTT_ACTS(ROWS)
#undef ROWS
};

void K(act_row)(int act, float *y, int64_t n)
{
    if (act)
        acts[act - 1].row(y, y, n, 0);
}

static void act_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    struct ctt_span s = ctt_span(&c->out, &c->in[0], &c->in[0]);
    int kind = c->node->attr.act.kind;

    for (int64_t r = from; r < to; r++)
        acts[kind].row(ctt_at(s, &c->in[0], r), ctt_at(s, &c->out, r),
                       ctt_len(s, r), c->node->attr.act.slope);
}

int K(act_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_span s = ctt_span(&c->out, &c->in[0], &c->in[0]);

    ctt_dev_rows(d, 2 * (double)s.total, s.rows, act_rows, c);
    return 0;
}

int K(act_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int kind = c->node->attr.act.kind;
    const struct ctt_tensor *v = ctt_act_reads_input(kind) ? &c->in[0]
                                                           : &c->out;
    struct ctt_span s = ctt_span(v, &c->dout, &c->din[0]);

    if (!c->din[0].data)
        return 0;
    PARALLEL(d, s.total)
    for (int64_t r = 0; r < s.rows; r++)
        acts[kind].back(ctt_at(s, v, r), ctt_at(s, &c->dout, r),
                        ctt_at(s, &c->din[0], r), ctt_len(s, r),
                        c->node->attr.act.slope, c->add & 1);
    return 0;
}

/* y (+)= x times the mask, which is made again from the key each time. */
static void mask_row(const struct ctt_call *c, uint64_t at, const float *x,
                     float *y, int64_t n, int add)
{
    float rate = c->node->attr.dropout.rate, keep = 1 / (1 - rate);
    float v[CTT_PIECE];

    if (!c->train || rate == 0) {
        if (x != y)
            ctt_put(y, x, n, add);
        return;
    }
    for (int64_t j = 0; j < n; j += CTT_PIECE) {
        int64_t len = ctt_piece(n, j);
        SIMD for (int64_t i = 0; i < len; i++)
            v[i] = x[j + i] * ctt_drop(c->key, at + (uint64_t)(j + i), rate,
                                       keep);
        ctt_put(y + j, v, len, add);
    }
}

struct dropping {
    const struct ctt_call   *c;
    const struct ctt_tensor *x, *y;
    int                      add;
};

static void drop_rows(const void *arg, int64_t from, int64_t to)
{
    const struct dropping *p = arg;
    struct ctt_span s = ctt_span(p->y, p->x, p->x);

    for (int64_t r = from; r < to; r++)
        mask_row(p->c, (uint64_t)(r * s.cols), ctt_at(s, p->x, r),
                 ctt_at(s, p->y, r), ctt_len(s, r), p->add);
}

static int apply_dropout(struct ctt_dev *d, const struct ctt_call *c,
                         const struct ctt_tensor *x, const struct ctt_tensor *y,
                         int add)
{
    struct ctt_span s = ctt_span(y, x, x);

    ctt_dev_rows(d, (double)((c->train ? 8 : 1) * s.total), s.rows, drop_rows,
                 &(struct dropping){ c, x, y, add });
    return 0;
}

int K(dropout_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return apply_dropout(d, c, &c->in[0], &c->out, 0);
}

int K(dropout_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return c->din[0].data ? apply_dropout(d, c, &c->dout, &c->din[0],
                                          c->add & 1) : 0;
}
