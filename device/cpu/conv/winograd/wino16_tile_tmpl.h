/* SPDX-License-Identifier: Apache-2.0
 * wino16_tile_tmpl.h: the transforms of tiles of whole numbers into the
 * transform domain and back. */

enum { SIDE = CTT_WINO16_MOST_SIDE };

/* A tile's first result in image n. */
struct place { int64_t n, i0, j0; };

static struct place place_of_tile(const struct ctt_wino16_plan *p, int64_t tile)
{
    int m = p->side - 2;

    return (struct place){ tile / (p->th * p->tw), tile / p->tw % p->th * m,
                           tile % p->tw * m };
}

/* ---- forth ---- */

/* B^T of the points 0, 1, -1, 2, -2, infinity. */
INLINE void in6(shorts d[SIDE])
{
    shorts a = d[4] - 4 * d[2], b = d[3] - 4 * d[1];
    shorts c = d[4] - d[2], e = 2 * (d[3] - d[1]);

    d[0] = 4 * (d[0] - d[2]) + c;
    d[5] = d[5] - d[3] - 2 * e;
    d[1] = a + b;
    d[2] = a - b;
    d[3] = c + e;
    d[4] = c - e;
}

/* B^T of the points 0, 1, -1, 2, infinity. */
INLINE void in5(shorts d[SIDE])
{
    shorts a = d[3] - d[1], b = d[3] - d[2], c = d[1] - d[2];

    d[0] = 2 * (d[0] - d[2]) + a;
    d[4] = d[4] - d[2] - 2 * a;
    d[1] = b - 2 * d[1];
    d[2] = b + 2 * c;
    d[3] = a;
}

INLINE void in(int side, shorts d[SIDE])
{
    if (side == 6)
        in6(d);
    else
        in5(d);
}

/* v[freq] = the transform of SHORTS channels from `at` on; px: the tile's
 * pixels.  Between the two directions the rows are stored in memory: there are
 * not enough registers, and the loops stay short. */
INLINE void scatter_tile(int side, const uint8_t *const *px, int64_t at,
                         shorts zero, int16_t *v, int64_t step)
{
    shorts d[SIDE][SIDE], col[SIDE];

    LOOP for (int i = 0; i < side; i++) {
        UNROLL for (int j = 0; j < side; j++)
            d[i][j] = load_bytes(px[i * side + j] + at) - zero;
        in(side, d[i]);
    }
    LOOP for (int j = 0; j < side; j++) {
        UNROLL for (int i = 0; i < side; i++)
            col[i] = d[i][j];
        in(side, col);
        UNROLL for (int i = 0; i < side; i++)
            store_shorts(v + (i * side + j) * step, col[i]);
    }
}

/* Addresses of a tile's pixels; job->blank outside the image. */
static void find_pixels(const struct ctt_wino16_job *job, struct place at,
                        int side, const uint8_t **px)
{
    const struct ctt_wino16_shape *s = job->s;
    int64_t i0 = at.i0 - s->pad_h, j0 = at.j0 - s->pad_w;

    for (int i = 0; i < side; i++) {
        int inside = i0 + i >= 0 && i0 + i < s->h;
        const uint8_t *row = job->x + ((at.n * s->h + (inside ? i0 + i : 0)) *
                                       s->w) * job->ldx;
        for (int j = 0; j < side; j++)
            px[i * side + j] = inside && j0 + j >= 0 && j0 + j < s->w ?
                row + (j0 + j) * job->ldx : job->blank;
    }
}

/* Transforms the tiles from `first` on to v[freq][tile][channel]. */
static void scatter(const struct ctt_wino16_job *job,
                    const struct ctt_wino16_plan *p, int64_t first,
                    int64_t tiles, int16_t *v)
{
    shorts zero = (shorts){ 0 } + (int16_t)job->zero;
    const uint8_t *px[SIDE * SIDE];

    for (int64_t t = 0; t < tiles; t++, v += p->cp) {
        find_pixels(job, place_of_tile(p, first + t), p->side, px);
        if (p->side == 6)
            for (int64_t c = 0; c < p->cp; c += SHORTS)
                scatter_tile(6, px, c, zero, v + c, p->vstep);
        else
            for (int64_t c = 0; c < p->cp; c += SHORTS)
                scatter_tile(5, px, c, zero, v + c, p->vstep);
    }
}

/* ---- back ---- */

/* Inverse transform of 4 results: 24, 12, 6 and 6 times the results (of 3
 * results: 6 times each), so 3 times a power of two. */
INLINE void out6(vec m[SIDE])
{
    vec s = m[1] + m[2], d = m[1] - m[2];
    vec s2 = m[3] + m[4], d2 = m[3] - m[4];

    m[0] = m[0] - 4 * s + s2;
    m[1] = d2 - 2 * d;
    m[2] = s2 - s;
    m[3] = 2 * d2 - d + m[5];
}

INLINE void out5(vec m[SIDE])
{
    vec s = m[1] + m[2], d = m[1] - m[2];

    m[0] = m[0] + d + m[3];
    m[1] = s + 2 * m[3];
    m[2] = d + 4 * m[3] + m[4];
}

INLINE void out(int side, vec m[SIDE])
{
    if (side == 6)
        out6(m);
    else
        out5(m);
}

/* Exponent of the power of two in result i. */
INLINE int power(int side, int i)
{
    return side == 5 || i > 1 ? 1 : 3 - i;
}

/* Result i, j of a tile from its multiple `times`. */
INLINE ivec divided(vec times, int side, int i, int j)
{
    return (ivec)(times * INVERSE) >> (power(side, i) + power(side, j));
}

#include "device/cpu/conv/int8/int8_plus_tmpl.h"

/* Epilogue of a register of channels, from .. from + n - 1, as
 * ctt_int8_epilogue.  Activations other than relu, and relu6 of bytes, are left
 * to K(int8_epilogue).
 * bias: -0 without a bias, which changes no sum. */
enum ending { FLOATS, QUANTISED, OTHER };

struct finish {
    const struct ctt_int8_epilogue *end;
    enum ending  how;
    int          cuts;              /* relu is a separate operation */
    struct plus  plus;
    char        *out;
    int64_t      ldout;             /* in bytes */
    int64_t      from, n;
    fvec         factor, bias, inv;
    struct limits limits;
};

static struct finish finish_of(const struct ctt_int8_epilogue *end,
                               int64_t from, int64_t n)
{
    const struct ctt_call *c = end->c;
    const struct ctt_tensor *y = &c->out;
    const float *bias = c->w[1].t.data;
    int bytes = ctt_is_bytes(y), six = bytes && c->act == CTT_ACT_RELU6 + 1;
    int relu = six || c->act == CTT_ACT_RELU + 1;
    int64_t size = bytes ? 1 : (int64_t)sizeof(float);
    struct finish f = { .end = end, .how = bytes ? QUANTISED : FLOATS,
                        .cuts = relu, .plus = plus_of(c), .ldout = y->ld * size,
                        .from = from, .n = n < LANES ? n : LANES };

    f.out = (char *)y->data + from * size;
    if (c->act && !relu)
        f.how = OTHER;
    f.factor = load_few(end->factor + from, f.n);
    f.bias = bias ? load_few(bias + from, f.n) : -(fvec){ 0 };
    if (bytes) {
        f.inv = (fvec){ 0 } + 1 / y->scale;
        f.limits.low = (fvec){ 0 } - (float)y->zero;
        f.limits.high = (fvec){ 0 } + (255.0f - (float)y->zero);
        if (six)
            f.limits.high = lanes_min(f.limits.high, f.inv * 6);
        f.limits.zero = y->zero;
        f.cuts = relu && y->zero > 0;    /* else saturation does relu */
    }
    return f;
}

INLINE fvec scaled(const struct finish *f, ivec sum)
{
    return __builtin_convertvector(sum, fvec) * f->factor + f->bias;
}

/* Stores a register of results of row `row`. n: f->n, as a constant if
 * possible; plus, to: row `row` of the plus input and of the result. */
INLINE void finish(enum ending how, int64_t n, const struct finish *f,
                   const char *plus, char *to, int64_t row, ivec sum)
{
    fvec y = scaled(f, sum);

    if (how == OTHER) {
        int32_t s[LANES];
        memcpy(s, &sum, sizeof(s));
        K(int8_epilogue)(f->end, row, f->from, n, s);
        return;
    }
    if (plus)
        y = y + load_plus(&f->plus, plus, 0, n);
    if (f->cuts)
        y = lanes_max((fvec){ 0 }, y);
    if (how == QUANTISED)
        store_some_bytes(to, y * f->inv, &f->limits, n);
    else
        store_floats(to, y, n);
}

/* Writes a register of channels of a tile; m: its sums, mstep from one
 * frequency to the next. *from is copied, so that the compiler knows that
 * stores do not change it. */
INLINE void gather_tile(enum ending how, int64_t n, int side,
                        const uint32_t *m, const struct ctt_wino16_plan *p,
                        struct place at, const struct finish *from)
{
    struct finish f = *from;
    int tile = side - 2;
    int rows = p->oh - at.i0 < tile ? (int)(p->oh - at.i0) : tile;
    int cols = p->ow - at.j0 < tile ? (int)(p->ow - at.j0) : tile;
    int64_t ow = p->ow, row = (at.n * p->oh + at.i0) * ow + at.j0;
    int64_t mstep = p->mstep, down = ow * f.ldout, also = ow * f.plus.ld;
    const char *plus = plus_at(&f.plus, row, f.from);
    char *to = f.out + row * f.ldout;
    vec t[SIDE][SIDE], col[SIDE];

    LOOP for (int i = 0; i < side; i++, m += side * mstep) {
        UNROLL for (int j = 0; j < side; j++)
            t[i][j] = load(m + j * mstep);
        out(side, t[i]);
    }
    LOOP for (int j = 0; j < cols; j++, row++, to += f.ldout) {
        UNROLL for (int i = 0; i < side; i++)
            col[i] = t[i][j];
        out(side, col);
        UNROLL for (int i = 0; i < tile; i++)
            if (i < rows)
                finish(how, n, &f, plus ? plus + i * also : NULL, to + i * down,
                       row + i * ow, divided(col[i], side, i, j));
        plus = plus ? plus + f.plus.ld : NULL;
    }
}

/* Writes a complete tile as bytes of a full register, without f->cuts; plus =
 * 1: adds bytes.  Unrolled: nearly all is in registers, shifts are constants,
 * and a column of bytes is packed at once. */
INLINE void gather_whole(int plus, int side, const uint32_t *m,
                         const struct ctt_wino16_plan *p, struct place at,
                         const struct finish *from)
{
    struct finish f = *from;
    int tile = side - 2;
    int64_t row = (at.n * p->oh + at.i0) * p->ow + at.j0;
    int64_t mstep = p->mstep, down = p->ow * f.ldout, also = p->ow * f.plus.ld;
    const char *more = plus_at(&f.plus, row, f.from);
    char *to = f.out + row * f.ldout;
    vec t[SIDE][SIDE], col[SIDE];
    fvec y[SIDE];

    UNROLL for (int i = 0; i < side; i++) {
        UNROLL for (int j = 0; j < side; j++)
            t[i][j] = load(m + (i * side + j) * mstep);
        out(side, t[i]);
    }
    UNROLL for (int j = 0; j < tile; j++, to += f.ldout) {
        UNROLL for (int i = 0; i < side; i++)
            col[i] = t[i][j];
        out(side, col);
        UNROLL for (int i = 0; i < tile; i++) {
            y[i] = scaled(&f, divided(col[i], side, i, j));
            if (plus)
                y[i] += plus_bytes(&f.plus, more + i * also + j * f.plus.ld,
                                   LANES);
            y[i] *= f.inv;
        }
        store_pixels(tile, to, down, y, &f.limits);
    }
}

/* A function for each ending, for full registers and for less, and side. */
#define GATHER(name, how, n, side)                                        \
static void name(const uint32_t *m, const struct ctt_wino16_plan *p,      \
                 struct place at, const struct finish *f)                 \
{                                                                         \
    gather_tile(how, n, side, m, p, at, f);                               \
}
GATHER(floats5, FLOATS, LANES, 5)
GATHER(floats6, FLOATS, LANES, 6)
GATHER(bytes5, QUANTISED, LANES, 5)
GATHER(bytes6, QUANTISED, LANES, 6)
GATHER(few_floats5, FLOATS, f->n, 5)
GATHER(few_floats6, FLOATS, f->n, 6)
GATHER(few_bytes5, QUANTISED, f->n, 5)
GATHER(few_bytes6, QUANTISED, f->n, 6)
GATHER(other5, OTHER, f->n, 5)
GATHER(other6, OTHER, f->n, 6)

#define GATHER_WHOLE(name, plus, side)                                    \
static void name(const uint32_t *m, const struct ctt_wino16_plan *p,      \
                 struct place at, const struct finish *f)                 \
{                                                                         \
    gather_whole(plus, side, m, p, at, f);                                \
}
GATHER_WHOLE(whole5, 0, 5)
GATHER_WHOLE(whole6, 0, 6)
GATHER_WHOLE(whole_plus5, 1, 5)
GATHER_WHOLE(whole_plus6, 1, 6)

typedef void gather_fn(const uint32_t *, const struct ctt_wino16_plan *,
                       struct place, const struct finish *);

/* By ending, side and whether the register is full. */
static gather_fn *const gathers[][2][2] = {
    [FLOATS] = { { few_floats5, floats5 }, { few_floats6, floats6 } },
    [QUANTISED] = { { few_bytes5, bytes5 }, { few_bytes6, bytes6 } },
    [OTHER] = { { other5, other5 }, { other6, other6 } },
};

/* By side and whether there is a plus input. */
static gather_fn *const wholes[2][2] = {
    { whole5, whole_plus5 }, { whole6, whole_plus6 }
};

/* fn[1]: function for complete tiles, fn[0]: for the others. */
static void choose_gather(const struct finish *f, int side, gather_fn *fn[2])
{
    int plus = f->plus.x != NULL;

    fn[0] = fn[1] = gathers[f->how][side - 5][f->n == LANES];
    if (f->how == QUANTISED && f->n == LANES && !f->cuts &&
        (!plus || f->plus.scale > 0))
        fn[1] = wholes[side - 5][plus];
}

static int tile_is_whole(const struct ctt_wino16_plan *p, struct place at)
{
    int tile = p->side - 2;

    return at.i0 + tile <= p->oh && at.j0 + tile <= p->ow;
}

/* Prefetches, to be written, the pixels of a tile in panel f->from. */
static void fetch_results(const struct finish *f,
                          const struct ctt_wino16_plan *p, struct place at)
{
    int tile = p->side - 2;
    const char *to = f->out + ((at.n * p->oh + at.i0) * p->ow + at.j0) *
                     f->ldout;

    for (int i = 0; i < tile; i++, to += p->ow * f->ldout)
        for (int j = 0; j < tile; j++)
            __builtin_prefetch(to + j * f->ldout, 1);
}

/* Writes panel k of the tiles from `first` on; m is [freq][tile][width]. */
static void gather_panel(const struct ctt_wino16_job *job,
                         const struct ctt_wino16_plan *p, int64_t first,
                         int64_t tiles, int64_t k, const uint32_t *m,
                         int64_t width)
{
    int64_t from = k * PANEL, rest = job->s->k - from;
    struct finish f[2] = { finish_of(job->end, from, rest) };
    gather_fn *fn[2][2];
    int count = 1;

    choose_gather(&f[0], p->side, fn[0]);
    if (rest > LANES) {
        f[1] = finish_of(job->end, from + LANES, rest - LANES);
        choose_gather(&f[1], p->side, fn[1]);
        count = 2;
    }
    for (int64_t t = 0; t < tiles; t++) {
        struct place at = place_of_tile(p, first + t);
        int whole = tile_is_whole(p, at);

        fetch_results(&f[0], p, place_of_tile(p, first + t + 1));
        for (int c = 0; c < count; c++)
            fn[c][whole](m + t * width + c * LANES, p, at, &f[c]);
    }
}
