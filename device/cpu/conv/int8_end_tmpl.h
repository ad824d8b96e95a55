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

/* What is the same for all sums of a call. */
struct ending {
    const float *factor, *bias, *plus;    /* bias, plus: or NULL */
    char        *y;
    int64_t      ldplus, ldy;
    int          act, bytes, zero;
    float        inv;
};

static struct ending ending_of(const struct ctt_int8_job *j)
{
    const struct ctt_call *c = j->c;
    int plus = c->node->plus && c->in[1].data, bytes = ctt_is_bytes(&c->out);

    return (struct ending){
        j->factor, j->bias, plus ? c->in[1].data : NULL, c->out.data,
        plus ? c->in[1].ld : 0, c->out.ld, c->act, bytes,
        bytes ? c->out.zero : 0, bytes ? 1 / c->out.scale : 0
    };
}

/* ctt_quant() of net/byte.h; bigger() and smaller() choose as it does. */
INLINE void put_bytes(struct ending e, uint8_t *p, fvec v, int64_t n)
{
    float zero = (float)e.zero;

    v = bigger(v * e.inv, (fvec){ 0 } - zero);
    v = smaller(v, (fvec){ 0 } + (255.0f - zero));
    v = (v + 12582912.0f) - 12582912.0f;
    put_low(p, __builtin_convertvector(v, ivec) + e.zero, n);
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
INLINE void put_sums(struct ending e, int64_t row, int64_t from, int64_t at,
                     int64_t n, ivec sum)
{
    fvec v = __builtin_convertvector(sum, fvec) * load(e.factor + at);

    if (e.bias)
        v += load(e.bias + at);
    if (e.plus)
        v += load_few(e.plus + row * e.ldplus + from, n);
    if (e.act == CTT_ACT_RELU + 1) {
        v = (fvec)((ivec)v & ~(ivec)(v < 0));
    } else if (e.act) {
        fvec few = v;
        act_few(e.act, &few);
        v = few;
    }
    if (e.bytes)
        put_bytes(e, (uint8_t *)e.y + row * e.ldy + from, v, n);
    else
        put_floats((float *)e.y + row * e.ldy + from, v, n);
}
