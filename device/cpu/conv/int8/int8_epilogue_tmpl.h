/* SPDX-License-Identifier: Apache-2.0
 * int8_epilogue_tmpl.h: epilogue of a register of sums: the operations of
 * int8_epilogue.c, in their order.  The file that includes it has defined ivec
 * and fvec, LANES numbers each, REGS, the most registers of a tile's row,
 *     lanes_max(a, b), lanes_min    b if one is a NaN
 *     put_low(p, v, zero, n)        v + zero as bytes, saturated: n channels
 * or LOWS_AT_ONCE and
 *     put_lows(R, p, v, zero, n)    of R registers, n channels or fewer
 * and perhaps WHOLE(v), LOAD_FEW(p, n) and STORE_FEW(p, v, n) of fewer lanes
 * than all, and FLOATS if the sums are floats. */

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#ifndef LOWS_AT_ONCE
INLINE void put_lows(int R, uint8_t *p, const ivec *v, int zero, int64_t n)
{
    for (int r = 0; r < R; r++, n -= LANES)
        put_low(p + r * LANES, v[r], zero, n < LANES ? n : LANES);
}
#endif

/* Nearest integers to a register's floats, half to even; a NaN and a number
 * below -256 give an integer below -255. */
#ifndef WHOLE
#define WHOLE(v) __builtin_convertvector(                                  \
    (lanes_max(v, (fvec){ 0 } - 256.0f) + 12582912.0f) - 12582912.0f, ivec)
#endif

#ifdef FLOATS
#define SUMS(v) ((fvec)(v))
#else
#define SUMS(v) __builtin_convertvector(v, fvec)
#endif

/* Unaligned registers in memory: memcpy() would copy some through the stack. */
typedef float fvec_at __attribute__((vector_size(LANES * 4), aligned(4),
                                     may_alias));

INLINE fvec load(const float *p)
{
    return *(const fvec_at *)p;
}

INLINE void store(float *p, fvec v)
{
    *(fvec_at *)p = v;
}

/* Loads the first n lanes; callers pass n == LANES as a constant if
 * possible. */
INLINE fvec load_few(const float *p, int64_t n)
{
    if (n == LANES)
        return load(p);
#ifdef LOAD_FEW
    return LOAD_FEW(p, n);
#else
    float few[LANES] = { 0 };

    for (int64_t i = 0; i < n && i < LANES; i++)
        few[i] = p[i];
    return load(few);
#endif
}

INLINE void store_few(float *p, fvec v, int64_t n)
{
    if (n == LANES) {
        store(p, v);
        return;
    }
#ifdef STORE_FEW
    STORE_FEW(p, v, n);
#else
    float few[LANES];

    store(few, v);
    for (int64_t i = 0; i < n && i < LANES; i++)
        p[i] = few[i];
#endif
}

#include "device/cpu/conv/int8/int8_plus_tmpl.h"

/* Arguments of the epilogue, the same for all sums of a call. */
struct ending {
    const float *factor, *bias;           /* bias: or NULL */
    struct plus  plus;
    char        *y;
    int64_t      ldy;
    int          act, bytes, zero, relu;
    float        inv, most;
    int          quick;                   /* see put_quick() */
};

/* Upper bound of a result in quantisation steps: a byte's, or relu6's 6
 * (clamping after scaling equals scaling after clamping).  For floats: 6, or no
 * bound. */
static float most_of(const struct ctt_call *c, float inv)
{
    float most = 255.0f - (float)c->out.zero;

    if (!ctt_is_bytes(&c->out))
        return c->act == CTT_ACT_RELU6 + 1 ? 6 : INFINITY;
    return c->act == CTT_ACT_RELU6 + 1 && 6 * inv < most ? 6 * inv : most;
}

static struct ending ending_of(const struct ctt_int8_job *j)
{
    const struct ctt_call *c = j->c;
    int bytes = ctt_is_bytes(&c->out);
    float inv = bytes ? 1 / c->out.scale : 0;
    int relu = c->act == CTT_ACT_RELU + 1 || c->act == CTT_ACT_RELU6 + 1;

    return (struct ending){
        j->factor, j->bias, plus_of(c), j->to ? j->to : c->out.data,
        c->out.ld, c->act, bytes,
        bytes ? c->out.zero : 0, relu, inv, most_of(c, inv),
        relu || !c->act
    };
}

/* Relu; a NaN stays. */
INLINE fvec relu_of(fvec v)
{
    return (fvec)((ivec)v & ~(ivec)(v < 0));
}

/* Relu (relu6 by e.most) and ctt_quant() of base/byte.h, without the lower
 * bound, which put_lows() applies by saturation.  A NaN gives the lower
 * bound. */
INLINE ivec to_whole(struct ending e, fvec v)
{
    v = v * e.inv;
    if (e.relu && e.zero)
        v = relu_of(v);
    v = lanes_min((fvec){ 0 } + e.most, v);
    return WHOLE(v);
}

/* Applies an activation to registers of numbers. */
static __attribute__((noinline)) void act_on(int act, float *y, int64_t regs)
{
    K(act_row)(act, y, regs * LANES);
}

/* The number of a sum, before the activation, of n <= LANES channels. */
INLINE fvec number_of(struct ending e, fvec factor, fvec bias, ivec sum,
                      const char *plus, int64_t n)
{
    fvec v = SUMS(sum) * factor;

    if (e.bias)
        v += bias;
    if (plus)
        v += load_plus(&e.plus, plus, 0, n);
    return v;
}

/* Writes n <= LANES numbers as the result at y. */
INLINE void put_number(struct ending e, fvec v, char *y, int64_t n)
{
    if (e.bytes) {
        ivec w = to_whole(e, v);
        put_lows(1, (uint8_t *)y, &w, e.zero, n);
        return;
    }
    if (e.relu)
        v = lanes_min((fvec){ 0 } + e.most, relu_of(v));
    store_few((float *)y, v, n);
}

/* Writes a register of channels, from channel `from` on, of `rows` rows of the
 * result; their sums are `stride` registers apart. at: index of the channels'
 * factors and bias.  Another activation than relu is applied to many rows at
 * once. */
enum { ACTED = 12 };

INLINE void put_rows(struct ending e, int64_t row, int64_t rows, int64_t from,
                     int64_t at, int64_t n, const ivec *sum, int stride)
{
    fvec factor = load(e.factor + at), bias = { 0 }, v;
    const char *plus = plus_at(&e.plus, row, from);
    int64_t size = e.bytes ? 1 : sizeof(float);
    char *y = e.y + (row * e.ldy + from) * size;
    float acted[ACTED][LANES];
    int acts = e.act && !e.relu;

    if (e.bias)
        bias = load(e.bias + at);
    for (int64_t i = 0, k = 0; i < rows; i++) {
        v = number_of(e, factor, bias, sum[i * stride], plus, n);
        plus = plus ? plus + e.plus.ld : NULL;
        if (!acts) {
            put_number(e, v, y, n);
            y += e.ldy * size;
            continue;
        }
        store(acted[k++], v);
        if (k < ACTED && i + 1 < rows)
            continue;
        act_on(e.act, acted[0], k);
        for (int64_t j = 0; j < k; j++, y += e.ldy * size)
            put_number(e, load(acted[j]), y, n);
        k = 0;
    }
}

/* Writes R registers of a row as bytes or floats; the last one perhaps in
 * part. */
INLINE void put_row(int R, int bytes, struct ending e, const fvec *f, char *y,
                    int64_t channels)
{
    ivec v[REGS];

    UNROLL for (int r = 0; r < R; r++) {
        fvec one = f[r];
        if (bytes) {
            v[r] = to_whole(e, one);
            continue;
        }
        if (e.relu)
            one = lanes_min((fvec){ 0 } + e.most, relu_of(one));
        store_few((float *)(void *)y + r * LANES, one,
                  r < R - 1 ? LANES : channels - r * LANES);
    }
    if (bytes)
        put_lows(R, (uint8_t *)y, v, e.zero, channels);
}

/* Writes the sums of a tile with relu, relu6 or no activation: R registers of
 * each row.  R, bytes: constants. */
INLINE void put_quick(int R, int bytes, const struct ending *of, int64_t row,
                      int64_t rows, int64_t from, int64_t at,
                      int64_t channels, const ivec *sum)
{
    struct ending e = *of;
    const char *plus = plus_at(&e.plus, row, from);
    int64_t size = bytes ? 1 : sizeof(float);
    char *y = e.y + (row * e.ldy + from) * size;
    fvec factor[REGS], bias[REGS];

    UNROLL for (int r = 0; r < R; r++) {
        factor[r] = load(e.factor + at + r * LANES);
        bias[r] = e.bias ? load(e.bias + at + r * LANES) : -(fvec){ 0 };
    }
    for (int64_t i = 0; i < rows; i++, sum += R, y += e.ldy * size) {
        fvec f[REGS];
        UNROLL for (int r = 0; r < R; r++) {
            f[r] = SUMS(sum[r]) * factor[r] + bias[r];
            if (plus)
                f[r] += load_plus(&e.plus, plus, r, r < R - 1 ? LANES :
                                  channels - r * LANES);
        }
        put_row(R, bytes, e, f, y, channels);
        plus = plus ? plus + e.plus.ld : NULL;
    }
}

/* Writes the sums of a tile with any activation and type. */
static void put_any(const struct ending *e, int64_t row, int64_t rows,
                    int64_t from, int64_t at, int64_t channels,
                    const ivec *sum, int regs)
{
    for (int r = 0; r < regs; r++, from += LANES, at += LANES) {
        if (channels >= (r + 1) * LANES)
            put_rows(*e, row, rows, from, at, LANES, sum + r, regs);
        else
            put_rows(*e, row, rows, from, at, channels - r * LANES, sum + r,
                     regs);
    }
}

/* Writes the sums of a tile: R registers (a constant) of each row, `channels`
 * channels, the last register perhaps in part. */
INLINE void put_tile(int R, const struct ending *e, int64_t row, int64_t rows,
                     int64_t from, int64_t at, int64_t channels,
                     const ivec *sum)
{
    int full = channels >= R * LANES;
    int quick = e->quick && channels > (R - 1) * LANES;    /* else registers
                                                              are unused */

    if (quick && e->bytes && full)
        put_quick(R, 1, e, row, rows, from, at, R * LANES, sum);
    else if (quick && e->bytes)
        put_quick(R, 1, e, row, rows, from, at, channels, sum);
    else if (quick && full)
        put_quick(R, 0, e, row, rows, from, at, R * LANES, sum);
    else if (quick)
        put_quick(R, 0, e, row, rows, from, at, channels, sum);
    else
        put_any(e, row, rows, from, at, channels, sum, R);
}

#ifdef WIDEN_BYTES
#define AT_ONCE (5 * REGS)    /* registers of a tile that is written so */
#ifdef FLOATS
enum { SIMPLE = 0 };
#else
enum { SIMPLE = 1 };          /* the result is bytes */
#endif

/* 1 if the result of R registers of sums has the usual type and epilogue: full
 * registers, bias, another input of that type or none; the lower bound of bytes
 * is that of the activation. */
INLINE int is_simple(int R, const struct ending *e, int64_t channels)
{
    return e->quick && e->bytes == SIMPLE && e->bias &&
           channels >= R * LANES && !(SIMPLE && e->relu && e->zero) &&
           (!e->plus.x || (e->plus.scale > 0) == SIMPLE);
}

INLINE fvec plus_simple(const struct plus *p, const char *at, int r)
{
    return SIMPLE ? plus_bytes(p, at + r * LANES, LANES)
                  : load((const float *)(const void *)at + r * LANES);
}
#endif
