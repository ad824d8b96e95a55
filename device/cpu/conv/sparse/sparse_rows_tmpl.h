/* SPDX-License-Identifier: Apache-2.0
 * sparse_rows_tmpl.h: the kernels of sparse convs of floats by rows of weights.
 * A tile is up to 12 registers of sums: pixels of the result by the output
 * channels of a row, which stay in registers while the block's list is read:
 * each row of weights times one value of each pixel.  The file that includes it
 * has defined elem, LANES, REGS (registers of a row) and
 *     broadcast(p)         a register of the float at p
 *     dot(sum, x, w)       sum + the products of registers
 * and included int8_epilogue_tmpl.h and int8_line_tmpl.h. */
#include "device/cpu/conv/int8/int8_pixel_tmpl.h"

enum { PIXELS = 12 / REGS };

/* Multiplies a list of rows.  P: pixels, a constant; x: addresses of their
 * windows. */
INLINE void walk(int P, const struct ctt_sparse_row *w,
                 const struct ctt_sparse_row *end, const elem *const *x,
                 ivec *to)
{
    ivec sum[PIXELS * REGS];

    UNROLL for (int i = 0; i < P * REGS; i++)
        sum[i] = (ivec){ 0 };
    for (; w != end; w++) {
        int64_t at = w->at;
        fvec b[REGS];
        UNROLL for (int r = 0; r < REGS; r++)
            b[r] = load(w->w + r * LANES);
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < REGS; r++)
                sum[p * REGS + r] = dot(sum[p * REGS + r], broadcast(x[p] + at),
                                        b[r]);
    }
    UNROLL for (int i = 0; i < P * REGS; i++)
        to[i] = sum[i];
}

#define WALK(P)                                                            \
    static void walk_##P(const struct ctt_sparse_row *w,                   \
                         const struct ctt_sparse_row *end,                 \
                         const elem *const *x, ivec *to)                   \
    {                                                                      \
        walk(P, w, end, x, to);                                            \
    }
#define NAME(P) walk_##P,
#define FEW(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if REGS == 1
#define EACH(X) FEW(X) X(7) X(8) X(9) X(10) X(11) X(12)
#else
#define EACH FEW
#endif
EACH(WALK)

/* By pixels. */
static void (*const walks[PIXELS + 1])(const struct ctt_sparse_row *,
                                       const struct ctt_sparse_row *,
                                       const elem *const *, ivec *) = {
    NULL, EACH(NAME)
};

static __attribute__((noinline))
void put_tile_rows(const struct ending *e, int64_t row, int64_t rows,
                   int64_t from, int64_t channels, const ivec *sum)
{
    put_tile(REGS, e, row, rows, from, from, channels, sum);
}

/* Computes a block of channels of a chunk, in tiles as even as possible. */
static void row_task(const struct ctt_int8_job *j, int64_t at, int who)
{
    int64_t chunk = j->by_blocks ? at % j->chunks : at / j->blocks;
    int64_t block = j->by_blocks ? at / j->chunks : at % j->blocks;
    int64_t from = block * CTT_SPARSE_ROW, first = chunk * j->chunk;
    int64_t left = j->rows - first, row = j->first_row + first;
    const struct ctt_sparse_row *w = (const void *)j->w;
    struct pixel p = pixel_at(j, j->x, first);
    struct ending e = ending_of(j);

    (void)who;
    left = left < j->chunk ? left : j->chunk;
    while (left > 0) {
        int64_t parts = (left + PIXELS - 1) / PIXELS;
        int64_t n = (left + parts - 1) / parts;
        const elem *x[PIXELS];
        ivec sum[PIXELS * REGS];
        for (int64_t i = 0; i < n; i++, step_on(j, j->x, &p))
            x[i] = p.x;
        walks[n](w + j->lists[block], w + j->lists[block + 1], x, sum);
        put_tile_rows(&e, row, n, from, j->outs - from, sum);
        row += n;
        left -= n;
    }
}
