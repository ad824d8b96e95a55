/* SPDX-License-Identifier: Apache-2.0
 * bf16_epilogue_tmpl.h: epilogue of a register of sums of a bf16 conv. */

/* Rounded to the nearest; subnormal numbers become 0, as in a product. */
INLINE __m256i short_of(__m512 v)
{
    return (__m256i)_mm512_cvtneps_pbh(v);
}

/* Arguments of the epilogue, the same for all sums of a call. */
struct ending {
    const float *bias, *plus;    /* or NULL */
    char        *y;
    int64_t      ldplus, ldy;
    int          act, half;
};

static struct ending ending_of(const struct ctt_int8_job *j)
{
    const struct ctt_call *c = j->c;
    int plus = c->node->plus && c->in[1].data;

    return (struct ending){
        j->bias, plus ? c->in[1].data : NULL, c->out.data,
        plus ? c->in[1].ld : 0, c->out.ld, c->act, c->out.dtype == CTT_BF16
    };
}

static __attribute__((noinline)) void act_on(int act, float *y)
{
    K(act_row)(act, y, LANES);
}

INLINE fvec act_of(int act, fvec v)
{
    float few[LANES];

    if (act == CTT_ACT_RELU + 1)
        return (fvec)((ivec)v & ~(ivec)(v < 0));
    if (!act)
        return v;
    _mm512_storeu_ps(few, (__m512)v);
    act_on(act, few);
    return (fvec)_mm512_loadu_ps(few);
}

/* Writes the first n lanes.  Callers pass n == LANES as a constant if possible:
 * masked stores are slow. */
INLINE void put(struct ending e, char *y, fvec v, int64_t n)
{
    __mmask16 few = (__mmask16)((1u << n) - 1);

    if (e.half && n == LANES)
        _mm256_storeu_si256((__m256i *)(void *)y, short_of((__m512)v));
    else if (e.half)
        _mm256_mask_storeu_epi16(y, few, short_of((__m512)v));
    else if (n == LANES)
        _mm512_storeu_ps(y, (__m512)v);
    else
        _mm512_mask_storeu_ps(y, few, (__m512)v);
}

/* Writes a register of channels, from channel `from` on, of `rows` rows of the
 * result; their sums are `stride` registers apart. at: index of the channels'
 * bias. */
INLINE void put_rows(struct ending e, int64_t row, int64_t rows, int64_t from,
                     int64_t at, int64_t n, const ivec *sum, int stride)
{
    int64_t size = e.half ? sizeof(elem) : sizeof(float);
    const float *plus = e.plus ? e.plus + row * e.ldplus + from : NULL;
    __mmask16 few = (__mmask16)((1u << n) - 1);
    char *y = e.y + (row * e.ldy + from) * size;

    for (int64_t i = 0; i < rows; i++, y += e.ldy * size) {
        fvec v = (fvec)sum[i * stride];
        if (e.bias)
            v += (fvec)_mm512_loadu_ps(e.bias + at);
        if (e.plus)
            v += (fvec)_mm512_maskz_loadu_ps(few, plus + i * e.ldplus);
        put(e, y, act_of(e.act, v), n);
    }
}

/* Writes the sums of a tile: R registers of each row, `channels` of whose lanes
 * are channels. */
INLINE void put_tile(int R, const struct ending *e, int64_t row, int64_t rows,
                     int64_t from, int64_t at, int64_t channels,
                     const ivec *sum)
{
    for (int r = 0; r < R; r++, from += LANES, at += LANES) {
        if (channels >= (r + 1) * LANES)
            put_rows(*e, row, rows, from, at, LANES, sum + r, R);
        else
            put_rows(*e, row, rows, from, at, channels - r * LANES, sum + r,
                     R);
    }
}
