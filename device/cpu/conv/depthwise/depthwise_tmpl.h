/* SPDX-License-Identifier: Apache-2.0
 * depthwise_tmpl.h: the kernels of depthwise.h for an instruction set.  The
 * file that includes it has defined LANES, REGS, fvec,
 *     mac_lanes(s, a, b)    s + a * b, rounded once
 *     at_most(most, v), at_least(least, v)    v if that is a NaN
 *     some_lanes(p, n), put_some_lanes(p, v, n)    of the first n lanes */

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

typedef float fvec_at __attribute__((vector_size(LANES * 4), aligned(4),
                                     may_alias));

enum { PIXELS = 8 };    /* most pixels of a tile */

/* All lanes.  To subtract 0 changes no float, so gcc leaves it out; to add it
 * would change -0. */
INLINE fvec spread(float v)
{
    return v - (fvec){ 0 };
}

INLINE fvec lanes_at(const float *p)
{
    return *(const fvec_at *)p;
}

INLINE fvec lanes_or_some(const float *p, int64_t n)
{
    return n >= LANES ? lanes_at(p) : some_lanes(p, n);
}

INLINE void put_lanes(float *p, fvec v, int64_t n)
{
    if (n >= LANES)
        *(fvec_at *)p = v;
    else
        put_some_lanes(p, v, n);
}

/* Bounds in registers. */
struct bounds { fvec least, most; };

INLINE struct bounds bounds_of(const struct ctt_dw_ending *e)
{
    return (struct bounds){ spread(e->least), spread(e->most) };
}

/* A NaN stays. */
INLINE fvec bounded(struct bounds b, fvec v)
{
    return at_most(b.most, at_least(b.least, v));
}

/* ---- 1x1 convs ---- */

/* Part of the sums of up to PIXELS pixels of a block.  bias: NULL: the result
 * holds sums. */
struct tile {
    const float *x, *w, *bias;
    int64_t      ld, few, channels;
    float       *y[PIXELS];
    const struct ctt_dw_ending *end;
};

INLINE void run_sum_tile(int P, int R, const struct tile *t)
{
    const float *w = t->w, *x[PIXELS];
    struct bounds end = bounds_of(t->end);
    fvec sum[PIXELS][REGS];

    UNROLL for (int p = 0; p < P; p++)
        x[p] = t->x + p * t->ld;
    if (t->bias)
        UNROLL for (int r = 0; r < R; r++)
            UNROLL for (int p = 0; p < P; p++)
                sum[p][r] = lanes_at(t->bias + r * LANES);
    else
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                sum[p][r] = lanes_or_some(t->y[p] + r * LANES, r < R - 1 ?
                                LANES : t->channels - r * LANES);
    for (int64_t i = 0; i < t->few; i++, w += R * LANES) {
        fvec b[REGS];
        UNROLL for (int r = 0; r < R; r++)
            b[r] = lanes_at(w + r * LANES);
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                sum[p][r] = mac_lanes(sum[p][r], spread(x[p][i]), b[r]);
    }
    if (t->channels == R * LANES)
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                put_lanes(t->y[p] + r * LANES, bounded(end, sum[p][r]), LANES);
    else
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                put_lanes(t->y[p] + r * LANES, bounded(end, sum[p][r]),
                          r < R - 1 ? LANES : t->channels - r * LANES);
}

#define TILE(P, R)                                                        \
    static void tile_##P##_##R(const struct tile *t)                      \
    {                                                                     \
        run_sum_tile(P, R, t);                                            \
    }
#define NAME(P, R) tile_##P##_##R,
#define SIX(X, R) X(1, R) X(2, R) X(3, R) X(4, R) X(5, R) X(6, R)
#define EIGHT(X, R) SIX(X, R) X(7, R) X(8, R)
#if REGS == 4
#define EACH_REGS(LESS, MORE) MORE(1) MORE(2) MORE(3) LESS(4)
#else
#define EACH_REGS(LESS, MORE) MORE(1) LESS(2)
#endif
#define LESS_TILES(R) SIX(TILE, R)
#define MORE_TILES(R) EIGHT(TILE, R)
EACH_REGS(LESS_TILES, MORE_TILES)
#define LESS_ROW(R) { NULL, SIX(NAME, R) },
#define MORE_ROW(R) { NULL, EIGHT(NAME, R) },
static void (*const sum_tiles[REGS + 1][PIXELS + 1])(const struct tile *) = {
    { NULL }, EACH_REGS(LESS_ROW, MORE_ROW)
};

static void sum_pixels(const struct ctt_dw_sum *s, int64_t block,
                       const float *x, int64_t ld, int64_t n, int64_t from,
                       int64_t few, struct ctt_dw_place to)
{
    static const struct ctt_dw_ending none = { -INFINITY, INFINITY, 0 };
    int64_t first = block * s->regs * LANES, left = s->outs - first, at = 0;
    int64_t regs = (left + LANES - 1) / LANES;
    int64_t most = (regs < s->regs ? regs : s->regs) == REGS ? 6 : PIXELS;
    struct tile t = { .x = x, .ld = ld, .few = few,
                      .bias = from == 0 ? s->bias + first : NULL };

    regs = regs < s->regs ? regs : s->regs;
    t.channels = left < regs * LANES ? left : regs * LANES;
    t.w = s->w + first * s->ins + from * regs * LANES;
    t.end = from + few == s->ins ? &s->end : &none;
    for (int64_t m; n > 0; n -= m, t.x += m * ld) {
        int64_t parts = (n + most - 1) / most;
        m = (n + parts - 1) / parts;    /* as even as possible */
        for (int64_t i = 0; i < m; i++, to.y += to.ld) {
            t.y[i] = to.y;
            if (++at == to.line)
                at = 0, to.y += to.gap;
        }
        sum_tiles[regs][m](&t);
    }
}

/* ---- depthwise convs ---- */

/* P results of register r from result `at` on.  All but l, r and at are
 * constants, if possible. */
INLINE void filter_results(int P, int64_t high, int64_t wide, int64_t stride,
                           const struct ctt_dw_line *l, int64_t r, int64_t at)
{
    const float *w = l->w + r * LANES;
    float *y = l->y + at * l->ld + r * LANES;
    struct bounds end = bounds_of(&l->end);
    fvec sum[PIXELS];

    UNROLL for (int p = 0; p < P; p++)
        sum[p] = lanes_at(l->bias + r * LANES);
    _Pragma("GCC unroll 7")
    for (int64_t h = 0; h < high; h++) {
        const float *x = l->row[h] + at * stride * l->pixel + r * LANES;
        _Pragma("GCC unroll 7")
        for (int64_t i = 0; i < wide; i++, w += l->tap) {
            const float *v = x + i * l->pixel;
            fvec b = lanes_at(w);
            UNROLL for (int p = 0; p < P; p++)
                sum[p] = mac_lanes(sum[p], lanes_at(v + p * stride * l->pixel),
                                   b);
        }
    }
    UNROLL for (int p = 0; p < P; p++, y += l->ld)
        put_lanes(y, bounded(end, sum[p]), l->channels - r * LANES);
}

/* Where the last results are fewer, some are computed again. */
INLINE void filter_any_line(int64_t high, int64_t wide, int64_t stride,
                            const struct ctt_dw_line *l)
{
    enum { MORE = 7, SOME = 4 };

    for (int64_t r = 0; r * LANES < l->channels; r++) {
        int64_t n = l->n, at = 0;
        for (; n >= MORE && at < n; at += MORE)
            filter_results(MORE, high, wide, stride, l, r,
                           at < n - MORE ? at : n - MORE);
        for (; n >= SOME && at < n; at += SOME)
            filter_results(SOME, high, wide, stride, l, r,
                           at < n - SOME ? at : n - SOME);
        for (; at < n; at++)
            filter_results(1, high, wide, stride, l, r, at);
    }
}

#define LINE(K, S)                                                        \
    static __attribute__((noinline))                                      \
    void line_##K##_##S(const struct ctt_dw_line *l)                      \
    {                                                                     \
        filter_any_line(K, K, S, l);                                      \
    }
LINE(3, 1) LINE(3, 2) LINE(5, 1) LINE(5, 2) LINE(7, 1) LINE(7, 2)

static void filter_line(const struct ctt_dw_line *l)
{
    int64_t k = l->kernel[0], s = l->stride;

    if (k != l->kernel[1] || (k != 3 && k != 5 && k != 7) || s > 2)
        filter_any_line(k, l->kernel[1], s, l);
    else if (k == 3)
        (s == 1 ? line_3_1 : line_3_2)(l);
    else if (k == 5)
        (s == 1 ? line_5_1 : line_5_2)(l);
    else
        (s == 1 ? line_7_1 : line_7_2)(l);
}
