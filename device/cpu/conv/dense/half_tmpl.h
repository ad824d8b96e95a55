/* SPDX-License-Identifier: Apache-2.0
 * half_tmpl.h: layout of values and epilogue of convs that multiply 16 bits.
 * The file that includes it has defined HALF, the type of the numbers;
 * short_of(), which rounds 16 floats to it; and ivec, LANES sums in floats. */

/* Lanes of a part of a register of sums, and its parts. */
enum { PART = 16, PARTS_EACH = LANES / PART };
typedef int32_t ipart __attribute__((vector_size(PART * 4)));
typedef float fpart __attribute__((vector_size(PART * 4)));

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
        plus ? c->in[1].ld : 0, c->out.ld, c->act, c->out.dtype == HALF
    };
}

static __attribute__((noinline)) void act_on(int act, float *y)
{
    K(act_row)(act, y, PART);
}

INLINE fpart act_of(int act, fpart v)
{
    float few[PART];

    if (act == CTT_ACT_RELU + 1)
        return (fpart)((ipart)v & ~(ipart)(v < 0));
    if (!act)
        return v;
    _mm512_storeu_ps(few, (__m512)v);
    act_on(act, few);
    return (fpart)_mm512_loadu_ps(few);
}

/* Writes the first n lanes.  Callers pass n == PART as a constant if possible:
 * masked stores are slow. */
INLINE void put_part(struct ending e, char *y, fpart v, int64_t n)
{
    __mmask16 few = (__mmask16)((1u << n) - 1);

    if (e.half && n == PART)
        _mm256_storeu_si256((__m256i *)(void *)y, short_of((__m512)v));
    else if (e.half)
        _mm256_mask_storeu_epi16(y, few, short_of((__m512)v));
    else if (n == PART)
        _mm512_storeu_ps(y, (__m512)v);
    else
        _mm512_mask_storeu_ps(y, few, (__m512)v);
}

/* Writes a part of a register of channels, from channel `from` on, of `rows`
 * rows of the result; their sums are `stride` parts apart.  at: index of the
 * channels' bias. */
INLINE void put_rows(struct ending e, int64_t row, int64_t rows, int64_t from,
                     int64_t at, int64_t n, const __m512 *sum, int stride)
{
    int64_t size = e.half ? sizeof(elem) : sizeof(float);
    const float *plus = e.plus ? e.plus + row * e.ldplus + from : NULL;
    __mmask16 few = (__mmask16)((1u << n) - 1);
    char *y = e.y + (row * e.ldy + from) * size;

    for (int64_t i = 0; i < rows; i++, y += e.ldy * size) {
        fpart v = (fpart)sum[i * stride];
        if (e.bias)
            v += (fpart)_mm512_loadu_ps(e.bias + at);
        if (e.plus)
            v += (fpart)_mm512_maskz_loadu_ps(few, plus + i * e.ldplus);
        put_part(e, y, act_of(e.act, v), n);
    }
}

/* Writes the sums of a tile: R registers of each row, `channels` of whose lanes
 * are channels. */
INLINE void put_tile(int R, const struct ending *e, int64_t row, int64_t rows,
                     int64_t from, int64_t at, int64_t channels,
                     const ivec *sums)
{
    const __m512 *sum = (const __m512 *)(const void *)sums;
    int all = R * PARTS_EACH;

    for (int r = 0; r < all && channels > 0; r++, channels -= PART) {
        if (channels >= PART)
            put_rows(*e, row, rows, from, at, PART, sum + r, all);
        else
            put_rows(*e, row, rows, from, at, channels, sum + r, all);
        from += PART;
        at += PART;
    }
}

/* ---- values laid out ---- */

static elem nothing(const struct ctt_int8_job *j)
{
    (void)j;
    return 0;
}

static void lay_floats(const float *x, elem *to, int64_t n)
{
    __mmask16 rest = (__mmask16)((1u << n % PART) - 1);
    int64_t i = 0;

    for (; i + PART <= n; i += PART)
        _mm256_storeu_si256((__m256i *)(void *)(to + i),
                            short_of(_mm512_loadu_ps(x + i)));
    if (rest)
        _mm256_mask_storeu_epi16(to + i, rest, short_of(
            _mm512_maskz_loadu_ps(rest, x + i)));
}

/* Lays out n values of row `row`, from channel `channel` on. */
static void lay_some(const struct ctt_int8_job *j, int64_t row,
                     int64_t channel, elem *to, int64_t n)
{
    const struct ctt_tensor *x = &j->c->in[0];
    int64_t at = row * x->ld + channel;

    if (x->dtype == HALF)
        memcpy(to, (const elem *)x->data + at, (size_t)n * sizeof(*to));
    else
        lay_floats((const float *)x->data + at, to, n);
}

#define LAYS_HALF
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"
