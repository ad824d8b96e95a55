/* SPDX-License-Identifier: Apache-2.0
 * int8_tmpl.h: the kernels of convs of quantised values.  A tile is PIXELS rows
 * of the result by a block of two registers of channels: the sums stay in
 * registers.  The file that includes it has defined elem, wvec (a register of
 * weights), UNIT (bytes of a lane's weights), and
 *     get(w)               the weights of a register
 *     values(x, r)         the unit at x, for the channels of register r
 *     apart(j)             elements from a unit of a run to the next
 *     dot(sum, v, w)       sum + the products of these
 *     lay()                of struct ctt_int8_isa
 * and included int8_end_tmpl.h. */
#include "device/cpu/conv/int8_pixel_tmpl.h"

enum { PIXELS = 6, REGS = 2, BLOCK = REGS * LANES };

/* A tile: its first row of the result; its block, the block's first channel,
 * and how many the group has from there on; where its windows begin. */
struct tile {
    int64_t       row, block, from, left;
    const elem   *x[PIXELS];
    struct ending end;
};

/* P and R, pixels and registers, are constants.  One index counts for all
 * pixels. */
INLINE void add_run(int P, int R, const struct ctt_int8_job *j,
                    const elem *const *x, int64_t at, const int8_t *w,
                    ivec sum[PIXELS][REGS])
{
    int64_t far = apart(j), end = at + j->steps * far;

    for (; at != end; at += far, w += BLOCK * UNIT) {
        wvec b[REGS];
        UNROLL for (int r = 0; r < R; r++)
            b[r] = get(w + r * LANES * UNIT);
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                sum[p][r] = dot(sum[p][r], values(x[p] + at, r), b[r]);
    }
}

INLINE void run_tile(int P, int R, const struct ctt_int8_job *j,
                     const struct tile *t)
{
    const int *k = j->c->node->attr.conv.kernel;
    int64_t each = j->steps * BLOCK * UNIT;
    const int8_t *w = j->w + t->block * k[0] * k[1] * each;
    ivec sum[PIXELS][REGS], done[PIXELS * REGS];

    UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int r = 0; r < R; r++)
            memcpy(&sum[p][r], j->start + t->block * BLOCK + r * LANES,
                   sizeof(ivec));
    for (int64_t d = 0; d < k[0]; d++)
        for (int64_t h = 0; h < k[1]; h++, w += each)
            add_run(P, R, j, t->x,
                    (d * j->size[1] + h) * j->size[2] * j->pixel, w, sum);
    UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int r = 0; r < R; r++)
            done[p * R + r] = sum[p][r];
    put_tile(&t->end, t->row, P, t->from, t->block * BLOCK, t->left, done, R);
}

#define TILE(P, R)                                                      \
    static void tile_##P##_##R(const struct ctt_int8_job *j,            \
                               const struct tile *t)                    \
    {                                                                   \
        run_tile(P, R, j, t);                                           \
    }
#define TILES(X) X(1, 1) X(1, 2) X(2, 1) X(2, 2) X(3, 1) X(3, 2) X(4, 1) \
                 X(4, 2) X(5, 1) X(5, 2) X(6, 1) X(6, 2)
TILES(TILE)

static void (*const tiles[PIXELS + 1][REGS + 1])(const struct ctt_int8_job *,
                                                 const struct tile *) = {
#define ROW(P, R) [P][R] = tile_##P##_##R,
    TILES(ROW)
#undef ROW
};

/* The blocks of a tile of n rows, of one group.  (A copy of the tile would be
 * read while it is written, which is slow.) */
static inline void run_blocks(const struct ctt_int8_job *j, struct tile *t,
                              int64_t n)
{
    int64_t block = t->block, from = t->from, left = t->left;

    for (int64_t b = 0; b < j->together; b++) {
        tiles[n][t->left > LANES ? 2 : 1](j, t);
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

static void task(const struct ctt_int8_job *j, int64_t at)
{
    int64_t many = j->groups * j->blocks / j->together, row = at / many;
    int64_t block = at % many * j->together, left;
    int64_t group = block / j->blocks, in = block % j->blocks * BLOCK;
    struct tile t = { .row = j->first_row + row * j->chunk, .block = block,
                      .from = group * j->outs + in, .left = j->outs - in,
                      .end = ending_of(j) };
    const elem *x = (const elem *)j->x + group * j->plane;
    struct pixel p = pixel_at(j, x, row * j->chunk);

    left = j->rows - row * j->chunk;
    left = left < j->chunk ? left : j->chunk;
    while (left > 0) {
        int64_t n = left < PIXELS ? left : PIXELS;
        for (int64_t i = 0; i < n; i++, step_on(j, x, &p))
            t.x[i] = p.x;
        run_blocks(j, &t, n);
        t.row += n;
        left -= n;
    }
}
