/* SPDX-License-Identifier: Apache-2.0
 * int8_tmpl.h: the kernels of convs of quantised values.  A tile is PIXELS rows
 * of the result by a block of REGS registers of channels, 2 or 4, or what is
 * left of them: the sums stay in registers.  The file that includes it has
 * defined elem, wvec (a register of weights), UNIT (bytes of a lane's weights),
 * and
 *     load_weights(w)      the weights of a register
 *     load_values(x, r)    the unit at x, for the channels of register r
 *     unit_stride(j)       elements from a unit of a run to the next
 *                          (these two: int8_unit_tmpl.h)
 *     dot(sum, v, w)       sum + the products of these
 *     lay_line()           of struct ctt_int8_isa
 * and included int8_epilogue_tmpl.h.  PARTS: a register of sums, svec, has
 * several for each channel, which start with 0 and which
 *     total(s)             adds up to a register of LANES sums. */
#include "device/cpu/conv/int8/int8_pixel_tmpl.h"

#if REGS == 4
#define WIDE 12    /* rows of a tile of one or two registers */
#else
#define WIDE 6
#endif
#ifndef PARTS
#define PARTS 1
typedef ivec svec;
#define total(s) (s)
#endif
enum { PIXELS = 6, BLOCK = REGS * LANES };

/* Planes or rows of a window that are multiplied: low .. high - 1. */
struct cut { int64_t low, high; };

/* A tile: its first row of the result; its block, the block's first channel and
 * the group's channels from there on; what of the window is multiplied;
 * addresses of its windows. */
struct tile {
    int64_t       row, block, from, left;
    struct cut    planes, lines;
    const elem   *x[WIDE];
    struct ending end;
};

/* Functions for the sums of a tile.  They are not inlined into each kind of
 * tile, which would be slower. */
#define PUT(R)                                                             \
static __attribute__((noinline))                                           \
void put_##R(const struct ending *e, int64_t row, int64_t rows,            \
             int64_t from, int64_t at, int64_t channels, const ivec *sum)  \
{                                                                          \
    put_tile(R, e, row, rows, from, at, channels, sum);                    \
}
#if REGS == 4
PUT(1) PUT(2) PUT(3) PUT(4)
static void (*const puts_of[])(const struct ending *, int64_t, int64_t,
                               int64_t, int64_t, int64_t, const ivec *) = {
    NULL, put_1, put_2, put_3, put_4
};
#else
PUT(1) PUT(2)
static void (*const puts_of[])(const struct ending *, int64_t, int64_t,
                               int64_t, int64_t, int64_t, const ivec *) = {
    NULL, put_1, put_2
};
#endif

#ifndef ADDS_RUNS    /* fp16_avx512.c has its own */
/* P and R, pixels and registers, are constants.  One index counts for all
 * pixels. */
INLINE void add_run(int P, int R, const struct ctt_int8_job *j,
                    const elem *const *x, int64_t at, const int8_t *w,
                    svec sum[WIDE][REGS])
{
    int64_t far = unit_stride(j), end = at + j->steps * far;

    for (; at != end; at += far, w += R * LANES * UNIT) {
        wvec b[REGS];
        UNROLL for (int r = 0; r < R; r++)
            b[r] = load_weights(w + r * LANES * UNIT);
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                sum[p][r] = dot(sum[p][r], load_values(x[p] + at, r), b[r]);
    }
}
#endif

#ifdef AT_ONCE
/* Writes a tile as put_quick() does.  PLUS: a constant. */
INLINE void put_rows_simple(int P, int R, int PLUS, const struct ending *of,
                            int64_t row, int64_t from, int64_t at,
                            svec sum[WIDE][REGS])
{
    struct ending e = *of;
    const char *plus = plus_at(&e.plus, row, from);
    int64_t size = SIMPLE ? 1 : sizeof(float);
    char *y = e.y + (row * e.ldy + from) * size;

    if (SIMPLE)
        e.relu = 0;    /* saturation does it */
    UNROLL for (int p = 0; p < P; p++, y += e.ldy * size) {
        fvec f[REGS];
        UNROLL for (int r = 0; r < R; r++) {
            f[r] = SUMS(total(sum[p][r])) * load(e.factor + at + r * LANES) +
                   load(e.bias + at + r * LANES);
            if (PLUS)
                f[r] += plus_simple(&e.plus, plus, r);
        }
        put_row(R, SIMPLE, e, f, y, R * LANES);
        if (PLUS)
            plus += e.plus.ld;
    }
}

INLINE void put_simple(int P, int R, const struct ending *e, int64_t row,
                       int64_t from, int64_t at, svec sum[WIDE][REGS])
{
    if (e->plus.x)
        put_rows_simple(P, R, 1, e, row, from, at, sum);
    else
        put_rows_simple(P, R, 0, e, row, from, at, sum);
}
#endif

/* Writes the sums of a tile: those of large tiles, of which a large conv has
 * most, from their registers. */
INLINE void end_tile(int P, int R, const struct tile *t, svec sum[WIDE][REGS])
{
    int64_t at = t->block * BLOCK;
    ivec done[PIXELS * REGS];

#ifdef AT_ONCE
    if (P * R >= AT_ONCE && is_simple(R, &t->end, t->left)) {
        put_simple(P, R, &t->end, t->row, t->from, at, sum);
        return;
    }
#endif
    UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int r = 0; r < R; r++)
            done[p * R + r] = total(sum[p][r]);
    puts_of[R](&t->end, t->row, P, t->from, at, t->left, done);
}

INLINE void run_tile(int P, int R, const struct ctt_int8_job *j,
                     const struct tile *t)
{
    const int *k = j->c->node->attr.conv.kernel;
    int64_t runs = k[0] * k[1], each = j->steps * UNIT;
    const int8_t *w = j->w + t->block * runs * each * BLOCK;
    svec sum[WIDE][REGS];

    UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int r = 0; r < R; r++)
            if (PARTS > 1)
                sum[p][r] = (svec){ 0 };
            else
                memcpy(&sum[p][r], j->start + t->block * BLOCK + r * LANES,
                       sizeof(ivec));
    for (int64_t d = t->planes.low; d < t->planes.high; d++)
        for (int64_t h = t->lines.low; h < t->lines.high; h++)
            add_run(P, R, j, t->x,
                    (d * j->size[1] + h) * j->size[2] * j->pixel,
                    w + (d * k[1] + h) * each * R * LANES, sum);
    end_tile(P, R, t, sum);
}

#define TILE(P, R)                                                      \
    static void tile_##P##_##R(const struct ctt_int8_job *j,            \
                               const struct tile *t)                    \
    {                                                                   \
        run_tile(P, R, j, t);                                           \
    }
#define NAME(P, R) tile_##P##_##R,
#define EACH(X, R) X(1, R) X(2, R) X(3, R) X(4, R) X(5, R) X(6, R)
#if REGS == 4
#define MORE(X, R) EACH(X, R) X(7, R) X(8, R) X(9, R) X(10, R) X(11, R) \
                   X(12, R)
#define EACH_REGS(WIDER, FULL) WIDER(1) WIDER(2) FULL(3) FULL(4)
#else
#define MORE EACH
#define EACH_REGS(WIDER, FULL) FULL(1) FULL(2)
#endif
#define WIDE_TILES(R) MORE(TILE, R)
#define FULL_TILES(R) EACH(TILE, R)
EACH_REGS(WIDE_TILES, FULL_TILES)

/* Table by registers and rows. */
#define WIDE_ROW(R) { NULL, MORE(NAME, R) },
#define FULL_ROW(R) { NULL, EACH(NAME, R) },
static void (*const tiles[REGS + 1][WIDE + 1])(const struct ctt_int8_job *,
                                               const struct tile *) = {
    { NULL }, EACH_REGS(WIDE_ROW, FULL_ROW)
};

/* Computes the blocks of a tile of n rows, of one group.  The tile is passed by
 * pointer, as a copy would cause store-forwarding stalls. */
static inline void run_blocks(const struct ctt_int8_job *j, struct tile *t,
                              int64_t n)
{
    int64_t block = t->block, from = t->from, left = t->left;

    for (int64_t b = 0; b < j->together; b++) {
        int64_t regs = (t->left + LANES - 1) / LANES;
        tiles[regs < REGS ? regs : REGS][n](j, t);
        t->block++;
        t->from += BLOCK;
        t->left -= BLOCK;
        for (int64_t i = 0; i < n; i++)
            t->x[i] += j->apart;
    }
    t->block = block;
    t->from = from;
    t->left = left;
}

/* The part of a window along axis i, `at` pixels from the image's start, that
 * lies inside the image. */
static inline struct cut inside(const struct ctt_int8_job *j, int i, int64_t at)
{
    int64_t before = j->c->node->attr.conv.pad[i] - at;
    int64_t end = before + j->in[i], k = j->c->node->attr.conv.kernel[i];

    return (struct cut){ before > 0 ? before : 0, end < k ? end : k };
}

/* 1 if tiles end with a row of the image, so that rows of the window that lie
 * in the padding, of zeros, are left out: these have to be a tenth. */
static int skips_lines(const struct ctt_int8_job *j)
{
    const int *k = j->c->node->attr.conv.kernel;
    const int *stride = j->c->node->attr.conv.stride;
    int64_t skipped = 0, high = j->c->out.h;

    if (nothing(j) != 0 || k[1] == 1 || high > 4 * k[1])
        return 0;
    for (int64_t h = 0; h < high; h++) {
        struct cut c = inside(j, 1, h * stride[1]);
        skipped += k[1] - (c.high - c.low);
    }
    return 10 * skipped >= high * k[1];
}

/* Sets the multiplied part of the window for pixels of planes p->d to `last`,
 * and of one row if `line`. */
static inline void set_cuts(const struct ctt_int8_job *j, const struct pixel *p,
                            int64_t last, int line, struct tile *t)
{
    const int *k = j->c->node->attr.conv.kernel;
    const int *stride = j->c->node->attr.conv.stride;

    t->planes = (struct cut){ 0, k[0] };
    t->lines = (struct cut){ 0, k[1] };
    if (nothing(j) != 0)
        return;
    if (k[0] > 1 && p->d == last)
        t->planes = inside(j, 0, (j->first_plane + p->d) * stride[0]);
    if (line)
        t->lines = inside(j, 1, p->h * stride[1] + j->top);
}

static void task(const struct ctt_int8_job *j, int64_t at, int who)
{
    int64_t many = j->groups * j->blocks / j->together, left;
    int64_t row = j->by_blocks ? at % j->chunks : at / many;
    int64_t block = (j->by_blocks ? at / j->chunks : at % many) * j->together;
    int64_t group = block / j->blocks, in = block % j->blocks * BLOCK;
    struct tile t = { .row = j->first_row + row * j->chunk, .block = block,
                      .from = group * j->outs + in, .left = j->outs - in,
                      .end = ending_of(j) };
    const elem *x = (const elem *)j->x + group * j->plane;
    struct pixel p = pixel_at(j, x, row * j->chunk);
    int64_t most = j->outs > 2 * LANES ? PIXELS : WIDE;
    int line = skips_lines(j);

    (void)who;
    t.end.y += t.row / j->out[2] * j->gap * j->c->out.ld *
               (int64_t)ctt_dtype_size(j->c->out.dtype);
    left = j->rows - row * j->chunk;
    left = left < j->chunk ? left : j->chunk;
    while (left > 0) {
        int64_t end = (line || j->gap) && j->out[2] - p.w < left
                          ? j->out[2] - p.w : left;
        int64_t parts = (end + most - 1) / most;
        int64_t n = (end + parts - 1) / parts;    /* as even as possible */
        int64_t last = p.d;
        struct pixel start = p;
        for (int64_t i = 0; i < n; i++, step_on(j, x, &p)) {
            t.x[i] = p.x;
            last = p.d == start.d ? last : -1;
        }
        set_cuts(j, &start, last, line, &t);
        run_blocks(j, &t, n);
        if (p.w == 0)
            t.end.y += j->gap * j->c->out.ld *
                       (int64_t)ctt_dtype_size(j->c->out.dtype);
        t.row += n;
        left -= n;
    }
}
