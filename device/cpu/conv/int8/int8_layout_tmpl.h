/* SPDX-License-Identifier: Apache-2.0
 * int8_layout_tmpl.h: quantised values laid out with their padding, as elements
 * of the type elem: whole numbers, or bytes, which stand for them, less LESS;
 * or values that are floats, if FLOATS is defined. */

#ifndef LESS
#define LESS 0
#endif

#if defined(FLOATS)
static elem nothing(const struct ctt_int8_job *j)
{
    (void)j;
    return 0;
}

static void lay_some(const struct ctt_int8_job *j, int64_t row,
                     int64_t channel, elem *to, int64_t n)
{
    memcpy(to, ctt_row(&j->c->in[0], row) + channel, (size_t)n * sizeof(*to));
}
#elif !defined(LAYS_HALF)    /* half_tmpl.h has its own */
/* Element of the value 0. */
static elem nothing(const struct ctt_int8_job *j)
{
    return (elem)(sizeof(elem) == 1 ? j->c->in[0].zero - LESS : 0);
}

static void lay_floats(const struct ctt_tensor *x, elem add, const float *from,
                       elem *to, int64_t n)
{
    float inv = 1 / x->scale, zero = (float)x->zero;

    SIMD for (int64_t i = 0; i < n; i++)
        to[i] = (elem)((int32_t)ctt_quant(from[i], inv, zero) + add);
}

/* Lays out n values of row `row`, from channel `channel` on. */
static void lay_some(const struct ctt_int8_job *j, int64_t row,
                     int64_t channel, elem *to, int64_t n)
{
    const struct ctt_tensor *x = &j->c->in[0];
    int64_t at = row * x->ld + channel;
    const uint8_t *b = (const uint8_t *)x->data + at;
    elem zero = (elem)(x->zero - nothing(j));

    if (!ctt_is_bytes(x)) {
        lay_floats(x, nothing(j), (const float *)x->data + at, to, n);
        return;
    }
    if (sizeof(elem) == 1 && zero == 0) {
        memcpy(to, b, (size_t)n);
        return;
    }
    SIMD for (int64_t i = 0; i < n; i++)
        to[i] = (elem)(b[i] - zero);
}
#endif

/* A line of the values: row of its first pixel in in[0]; counts of left
 * padding, pixels and right padding. */
struct line { int64_t row, left, n, right; };

static inline struct line line_bounds(const struct ctt_int8_job *j,
                                      int64_t line)
{
    const int *pad = j->c->node->attr.conv.pad;
    int64_t wide = j->size[2], left = pad[2] < wide ? pad[2] : wide;
    int64_t n = wide - left < j->in[2] ? wide - left : j->in[2];
    int64_t h = line % j->size[1] + j->top - pad[1];
    int64_t d = line / j->size[1] % j->size[0] - pad[0];
    int64_t sample = j->first + line / j->size[1] / j->size[0];
    int64_t row = ((sample * j->in[0] + d) * j->in[1] + h) * j->in[2];

    if (d < 0 || h < 0 || d >= j->in[0] || h >= j->in[1])
        left = wide, n = 0;
    return (struct line){ row, left, n, wide - left - n };
}
