/* SPDX-License-Identifier: Apache-2.0
 * int8_end_tmpl.h: what becomes of a register of sums: the operations of
 * int8_end.c, in their order.  The file that includes it has defined ivec and
 * fvec, LANES numbers each, and how to load, store and round them. */

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

INLINE fvec load(const float *p)
{
    fvec v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* The first n lanes; the others are 0. */
static inline fvec load_few(const float *p, int64_t n)
{
    fvec v = { 0 };

    if (n == LANES)
        return load(p);
    memcpy(&v, p, (size_t)n * sizeof(*p));
    return v;
}

INLINE void put_floats(float *p, fvec v, int64_t n)
{
    if (n == LANES)
        memcpy(p, &v, sizeof(v));
    else
        memcpy(p, &v, (size_t)n * sizeof(*p));
}

/* ctt_quant() of net/byte.h; bigger() and smaller() choose as it does. */
INLINE void put_bytes(const struct ctt_tensor *out, uint8_t *p, fvec v,
                      int64_t n)
{
    float zero = (float)out->zero;

    v = bigger(v * (1 / out->scale), (fvec){ 0 } - zero);
    v = smaller(v, (fvec){ 0 } + (255.0f - zero));
    v = (v + 12582912.0f) - 12582912.0f;
    put_low(p, __builtin_convertvector(v, ivec) + out->zero, n);
}

static void act_few(int act, fvec *v)
{
    float y[LANES];

    memcpy(y, v, sizeof(y));
    K(act_row)(act, y, LANES);
    memcpy(v, y, sizeof(y));
}

/* n sums of row `row` of the result, from channel `from` on; at: where factors
 * and bias of that channel are. */
INLINE void put_sums(const struct ctt_int8_job *j, int64_t row, int64_t from,
                     int64_t at, int64_t n, ivec sum)
{
    const struct ctt_call *c = j->c;
    fvec v = __builtin_convertvector(sum, fvec) * load(j->factor + at);

    if (j->bias)
        v += load(j->bias + at);
    if (c->node->plus && c->in[1].data)
        v += load_few(ctt_row(&c->in[1], row) + from, n);
    if (c->act == CTT_ACT_RELU + 1)
        v = (fvec)((ivec)v & ~(ivec)(v < 0));
    else if (c->act)
        act_few(c->act, &v);
    if (ctt_is_bytes(&c->out))
        put_bytes(&c->out, (uint8_t *)c->out.data + row * c->out.ld + from, v,
                  n);
    else
        put_floats(ctt_row(&c->out, row) + from, v, n);
}
