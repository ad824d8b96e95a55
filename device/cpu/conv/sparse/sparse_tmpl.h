/* SPDX-License-Identifier: Apache-2.0
 * sparse_tmpl.h: the kernels of sparse convs.  A tile is up to 12 registers of
 * neighbouring results of one output channel, whose sums stay in registers
 * while its list is read.  The sums of LANES channels are then transposed, for
 * the epilogue of dense convs.  The file that includes it has defined elem and
 * UNIT (elements of a unit), and
 *     dot(sum, x, w)       sum + the products of registers of units
 * and perhaps SHIFTS, for AVX-512, and included int8_epilogue_tmpl.h and
 * int8_layout_tmpl.h. */
#include "device/cpu/conv/sparse/sparse_layout_tmpl.h"

enum { REGS_MOST = CTT_SPARSE_REGS };

/* ---- sums ---- */

INLINE ivec join(ivec a, ivec b)
{
#ifdef FLOATS
    return (ivec)((fvec)a + (fvec)b);
#else
    return a + b;
#endif
}

/* Multiplies a list of units.  T: registers of pixels; S: partial sums of each,
 * so that additions overlap; constants. */
INLINE void walk(int T, int S, const int32_t *x,
                 const struct ctt_sparse_unit *u, int64_t n, ivec *to)
{
    ivec sum[REGS_MOST];

    UNROLL for (int i = 0; i < S * T; i++)
        sum[i] = (ivec){ 0 };
    for (; n >= S; n -= S, u += S)
        UNROLL for (int s = 0; s < S; s++) {
            const int32_t *at = x + u[s].at;
            ivec w = (ivec){ 0 } + u[s].w;
            UNROLL for (int t = 0; t < T; t++)
                sum[s * T + t] = dot(sum[s * T + t],
                    *(const ivec_at *)(at + t * LANES), w);
        }
    for (; S > 1 && n > 0; n--, u++) {
        ivec w = (ivec){ 0 } + u->w;
        UNROLL for (int t = 0; t < T; t++)
            sum[t] = dot(sum[t], *(const ivec_at *)(x + u->at + t * LANES),
                         w);
    }
    UNROLL for (int t = 0; t < T; t++) {
        UNROLL for (int s = 1; s < S; s++)
            sum[t] = join(sum[t], sum[s * T + t]);
        to[t] = sum[t];
    }
}

#define WALK(T, S)                                                          \
    static void walk_##T(const int32_t *x, const struct ctt_sparse_unit *u, \
                         int64_t n, ivec *to)                               \
    {                                                                       \
        walk(T, S, x, u, n, to);                                            \
    }
WALK(1, 6) WALK(2, 4) WALK(3, 4) WALK(4, 3) WALK(5, 2) WALK(6, 2) WALK(7, 1)
WALK(8, 1) WALK(9, 1) WALK(10, 1) WALK(11, 1) WALK(12, 1)

/* By registers. */
static void (*const walks[REGS_MOST + 1])(const int32_t *,
                                          const struct ctt_sparse_unit *,
                                          int64_t, ivec *) = {
    NULL, walk_1, walk_2, walk_3, walk_4, walk_5, walk_6, walk_7, walk_8,
    walk_9, walk_10, walk_11, walk_12
};

#ifdef SHIFTS
#include "device/cpu/conv/sparse/sparse_shift_tmpl.h"
#else
struct edges { int none; };
#define find_edges(j, first, regs, e) ((void)(e))
#endif

/* Sums of channel o of a tile of `regs` registers, from register `first` on. */
INLINE void sums_of(const struct ctt_sparse_job *j, int64_t first,
                    int64_t regs, int64_t o, const struct edges *e, ivec *to)
{
    const int32_t *x = (const int32_t *)j->j.x + first * LANES;

#ifdef SHIFTS
    if (j->s.columns > 1) {
        shifts[regs](j, x, o, e, to);
        return;
    }
#else
    (void)e;
#endif
    walks[regs](x, j->w.unit + j->w.first[o],
                j->w.first[o + 1] - j->w.first[o], to);
}

/* ---- results ---- */

static int is_row(const struct ctt_sparse_job *j, const struct spot *p)
{
    return p->w < j->j.out[2] && p->h < j->j.out[1] && p->d < j->j.out[0];
}

/* Row of the result at a position, or -1; *n: positions from there on, at most
 * the requested ones, that have contiguous rows, or no row. */
static int64_t row_at(const struct ctt_sparse_job *j, const struct spot *p,
                      int64_t *n)
{
    int there = is_row(j, p);
    int64_t left = (there ? j->j.out[2] : j->s.pitch[2]) - p->w;

    *n = left < *n ? left : *n;
    return there ? j->j.first_row + ((p->sample * j->j.out[0] + p->d) *
                   j->j.out[1] + p->h) * j->j.out[2] + p->w : -1;
}

static __attribute__((noinline))
void put_run(const struct ending *e, int64_t row, int64_t rows, int64_t from,
             int64_t channels, const ivec *sum)
{
    put_tile(1, e, row, rows, from, from, channels, sum);
}

#ifndef ENDS    /* instead of sparse_bytes_tmpl.h */
struct ends { int none; };
#define has_ends(e) 0
#define ends_of(e, k, from, sum, apart, to) ((void)(to))
#define put_ends(e, row, n, from, channels, all, i) ((void)(all))
#endif

/* Writes the results among LANES positions, from `sum` or from `bytes`: one of
 * the two is NULL. */
static void put_places(const struct ctt_sparse_job *j, const struct ending *e,
                       struct spot *p, int64_t places, int64_t from,
                       const ivec *sum, const struct ends *bytes)
{
    for (int64_t i = 0, n, row; i < places; i += n, advance(j, p, n)) {
        n = places - i;
        row = row_at(j, p, &n);
        if (row >= 0 && bytes)
            put_ends(e, row, n, from, j->j.c->out.c - from, bytes, i);
        else if (row >= 0)
            put_run(e, row, n, from, j->j.c->out.c - from, sum + i);
    }
}

/* Writes a block of results; sum: `regs` registers of each of LANES
 * channels. */
static void put_block(const struct ctt_sparse_job *j, int64_t at,
                      int64_t regs, int64_t from, const ivec *sum)
{
    struct ending e = ending_of(&j->j);
    struct spot p = spot_at(j, at);
    ivec start = *(const ivec_at *)(j->w.start + from), v[LANES];

    for (int64_t t = 0; t < regs; t++, at += LANES) {
        int64_t places = j->span - at < LANES ? j->span - at : LANES;
        struct ends bytes;
        if (has_ends(&e)) {
            ends_of(&e, &j->w, from, sum + t, regs, &bytes);
            put_places(j, &e, &p, places, from, NULL, &bytes);
            continue;
        }
        UNROLL for (int i = 0; i < LANES; i++)
            v[i] = sum[i * regs + t];
        turn(v);
        UNROLL for (int i = 0; i < LANES; i++)
            v[i] += start;
        put_places(j, &e, &p, places, from, v, NULL);
    }
}

static void task(const struct ctt_sparse_job *j, int64_t at)
{
    int64_t from = at % j->blocks * LANES, first = at / j->blocks * j->regs;
    int64_t regs = (j->span + LANES - 1) / LANES - first;
    int64_t many = j->j.c->out.c - from;
    ivec sum[LANES * REGS_MOST];
    struct edges edges;

    regs = regs < j->regs ? regs : j->regs;
    many = many < LANES ? many : LANES;
    find_edges(j, first, regs, &edges);
    for (int64_t o = 0; o < many; o++)
        sums_of(j, first, regs, from + o, &edges, sum + o * regs);
    memset(sum + many * regs, 0, (size_t)((LANES - many) * regs) *
                                 sizeof(*sum));
    put_block(j, first * LANES, regs, from, sum);
}
