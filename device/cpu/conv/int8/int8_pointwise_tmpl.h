/* SPDX-License-Identifier: Apache-2.0
 * int8_pointwise_tmpl.h: 1x1 convs of quantised values of few channels: so few
 * pixels at a time that sums become bytes while they are in registers.  To
 * store and read them takes as long as the products of 32 channels.  After
 * int8_tmpl.h. */

enum { FEW = 4 };    /* pixels: with the weights and scales they fill all
                        registers */

/* Computes n pixels from x on, a multiple of P, to bytes at y, BLOCK apart: R
 * registers of channels from `at` on, of which at most `left` exist.  P and R
 * are constants. */
INLINE void run_few(int P, int R, const struct ctt_int8_job *j,
                    const struct ending *of, const elem *x, int64_t at,
                    int64_t left, int64_t n, uint8_t *y)
{
    struct ending e = *of;
    fvec factor[REGS], bias[REGS];
    ivec start[REGS];

    UNROLL for (int r = 0; r < R; r++) {
        factor[r] = load(e.factor + at + r * LANES);
        bias[r] = e.bias ? load(e.bias + at + r * LANES) : -(fvec){ 0 };
        memcpy(&start[r], j->start + at + r * LANES, sizeof(ivec));
    }
    for (; n > 0; n -= P, x += P * j->pixel) {
        const int8_t *w = j->w + at * j->steps * UNIT;
        ivec sum[FEW][REGS];

        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                sum[p][r] = start[r];
        for (int64_t s = 0; s < j->steps; s++, w += R * LANES * UNIT) {
            wvec b[REGS];
            UNROLL for (int r = 0; r < R; r++)
                b[r] = load_weights(w + r * LANES * UNIT);
            UNROLL for (int p = 0; p < P; p++)
                UNROLL for (int r = 0; r < R; r++)
                    sum[p][r] = dot(sum[p][r], load_values(x + p * j->pixel +
                                                           s * UNIT, r), b[r]);
        }
        UNROLL for (int p = 0; p < P; p++, y += BLOCK) {
            fvec f[REGS];
            UNROLL for (int r = 0; r < R; r++)
                f[r] = SUMS(sum[p][r]) * factor[r] + bias[r];
            put_row(R, 1, e, f, (char *)y, left);
        }
    }
}

typedef void few_fn(const struct ctt_int8_job *, const struct ending *,
                    const elem *x, int64_t at, int64_t left, int64_t n,
                    uint8_t *y);

#define FEW_OF(P, R)                                                      \
static void few_##P##_##R(const struct ctt_int8_job *j,                   \
                          const struct ending *e, const elem *x,          \
                          int64_t at, int64_t left, int64_t n, uint8_t *y) \
{                                                                         \
    run_few(P, R, j, e, x, at, left, n, y);                               \
}
FEW_OF(1, 1) FEW_OF(1, 2) FEW_OF(1, 3) FEW_OF(1, 4)
FEW_OF(4, 1) FEW_OF(4, 2) FEW_OF(4, 3) FEW_OF(4, 4)

/* By registers: one pixel at a time, or FEW. */
static few_fn *const fews[REGS + 1][2] = {
    { NULL }, { few_1_1, few_4_1 }, { few_1_2, few_4_2 },
    { few_1_3, few_4_3 }, { few_1_4, few_4_4 }
};

/* Computes the pixels by tiles, for activations that put_quick() lacks. */
static void tiles_of(const struct ctt_int8_job *j, struct tile *t,
                     const elem *x, int64_t regs, int64_t n)
{
    for (int64_t k; n > 0; n -= k, t->row += k) {
        k = n < PIXELS ? n : PIXELS;
        for (int64_t i = 0; i < k; i++, x += j->pixel)
            t->x[i] = x;
        tiles[regs][k](j, t);
    }
}

/* pixels() of struct ctt_int8_isa. */
static void pixels(const struct ctt_int8_job *j, int64_t block, int64_t row,
                   int64_t n, uint8_t *y)
{
    struct tile t = { .block = block, .left = j->outs - block * BLOCK,
                      .planes = { 0, 1 }, .lines = { 0, 1 },
                      .end = ending_of(j) };
    const elem *x = (const elem *)j->x + row * j->pixel;
    int64_t regs = (t.left + LANES - 1) / LANES, most = n / FEW * FEW;

    regs = regs < REGS ? regs : REGS;
    if (!t.end.quick) {
        t.end.y = (char *)y;
        t.end.ldy = BLOCK;
        tiles_of(j, &t, x, regs, n);
        return;
    }
    fews[regs][1](j, &t.end, x, block * BLOCK, t.left, most, y);
    fews[regs][0](j, &t.end, x + most * j->pixel, block * BLOCK, t.left,
                  n - most, y + most * BLOCK);
}
