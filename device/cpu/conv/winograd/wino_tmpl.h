/* SPDX-License-Identifier: Apache-2.0
 * wino_tmpl.h: the Winograd kernels for one instruction set; the including
 * file sets LANES (floats in a register), ROWS (tiles a micro-kernel takes:
 * ROWS x 2 sums and 3 more fit into the registers), and defines vec, half (of
 * half as many floats) and mask, load_some, store_some (n < LANES floats),
 * low, high and join_halves (of halves), store_far (past the caches), wait_far,
 * load_halves (two floats, repeated), add_pairs. */
#include "device/cpu/conv/winograd/wino_vec_tmpl.h"
#include "device/cpu/conv/winograd/wino_tile_tmpl.h"
#include "device/cpu/conv/winograd/wino_cell_tmpl.h"
#include "device/cpu/conv/winograd/wino_gemm_tmpl.h"
#include "device/cpu/conv/winograd/wino_window_tmpl.h"

/* m[freq][tile][width] = v times the weights of a panel. */
static void multiply_panel(const struct ctt_wino_shape *shape,
                           const struct ctt_wino_plan *p, int64_t tiles,
                           const float *v, const float *u, float *m,
                           int64_t width)
{
    int64_t vstep = ctt_wino_step(p->block * p->cp);
    int64_t mstep = ctt_wino_step(p->block * width);
    int64_t slab = ctt_wino_slab(shape, LANES, width);
    product_fn *const *product = products[width / HALF];

    for (int f = 0; f < p->freqs; f++)
        for (int64_t t = 0, r; t < tiles; t += r) {
            r = even_rows(tiles - t);
            product[r](v + f * vstep + t * p->cp, p->cp, u + f * slab, p->c,
                       m + f * mstep + t * width, 0,
                       u + f * slab + p->c * width, width);
        }
}

/* Products of some channels, n, from c on.  The windows that are transformed
 * next begin at `next`. */
static void multiply_some(const struct ctt_wino_plan *p, int64_t c, int64_t n,
                          const float *v, const float *u, float *m,
                          const float *next, int64_t taps)
{
    int64_t vstep = ctt_wino_step(p->block * p->cp), r;
    int64_t mstep = ctt_wino_step(p->block * PANEL);
    int64_t ustep = ctt_wino_step(n * PANEL);
    int64_t calls = p->freqs * ((p->tiles + ROWS - 1) / ROWS);
    int64_t each = (taps * PANEL + calls - 1) / calls;

    for (int f = 0; f < p->freqs; f++)
        for (int64_t t = 0; t < p->tiles; t += r, next += n * each) {
            r = even_rows(p->tiles - t);
            products[4][r](v + f * vstep + t * p->cp + c, p->cp,
                           u + f * ustep, n, m + f * mstep + t * PANEL,
                           c > 0, next, each);
        }
}

/* The same of two registers whose windows win[channel][register][tap][lane] are
 * transformed into u, some channels at a time. */
static void transform_panel(const struct ctt_wino_shape *s,
                            const struct ctt_wino_plan *p, const float *v,
                            const float *win, float *m, float *u)
{
    int64_t taps = s->r * s->r, n;

    for (int64_t c = 0; c < p->c; c += n) {
        n = p->c - c < CTT_WINO_CHUNK ? p->c - c : CTT_WINO_CHUNK;
        for (int64_t i = 0; i < 2 * n; i++, win += taps * LANES)
            windows_to_freq(p->side, win, u + i * LANES,
                            ctt_wino_step(n * PANEL));
        multiply_some(p, c, n, v, u, m, win, taps);
    }
}

/* Finds tiles t and t + 1 of the block that begins with `first`; returns 0
 * without a second one. */
static int two_places(const struct ctt_wino_plan *p, int64_t first,
                      int64_t tiles, int64_t t, int64_t up, int64_t left,
                      struct place at[2])
{
    int two = t + 1 < tiles;

    at[0] = place_of_tile(first + t, p->th, p->tw, p->tile, up, left);
    at[1] = place_of_tile(first + t + two, p->th, p->tw, p->tile, up, left);
    return two;
}

/* Transforms tiles from .. to - 1 of the block that begins with `first`; from:
 * even. */
static void scatter(const struct ctt_wino_job *j,
                    const struct ctt_wino_plan *p, int64_t first,
                    int64_t from, int64_t to, float *v)
{
    const struct ctt_wino_shape *s = j->s;
    scatter_fn *fn = scatter_of(p->side);
    int64_t step = ctt_wino_step(p->block * p->cp);
    struct place at[2];

    for (int64_t t = from; t < to; t += 2) {
        int two = two_places(p, first, to, t, s->pad_h, s->pad_w, at);
        struct view x = { j->x[0], j->ldx[0], s->h, s->w };
        fn(&x, s->c, at, two, v + t * p->cp, p->cp, step);
        if (s->c2) {
            x.x = j->x[1];
            x.ld = j->ldx[1];
            fn(&x, s->c2, at, two, v + t * p->cp + s->c, p->cp, step);
        }
    }
}

/* Writes the results of panel k of tiles t and t + 1. */
static void gather_panel(const struct ctt_wino_job *j,
                         const struct ctt_wino_plan *p,
                         const struct place at[2], int two, int64_t k,
                         const float *m, int64_t width)
{
    const struct ctt_wino_shape *s = j->s;
    int64_t step = ctt_wino_step(p->block * width), c = k * PANEL;

    for (int64_t i = 0; i < width && c + i < s->k; i += LANES) {
        int64_t n = s->k - c - i;
        if (n <= HALF) {
            pair_of(p->side)(m + i, width, step, at, two, p, c + i, n, j);
            break;
        }
        for (int t = 0; t <= two; t++)
            gather_of(p->side)(m + t * width + i, step, at[t], p, c + i, n, j);
    }
}

static void conv_item(const struct ctt_wino_job *j, int item, int groups,
                     int64_t block, float *scratch)
{
    const struct ctt_wino_shape *s = j->s;
    struct ctt_wino_plan p = ctt_wino_plan(s, LANES, block);
    int64_t first = item / groups * block;
    int64_t tiles = p.tiles - first < block ? p.tiles - first : block;
    int g = item % groups, from = (int)(p.panels * g / groups);
    int to = (int)(p.panels * (g + 1) / groups);
    float *v = scratch, *m = v + p.freqs * ctt_wino_step(block * p.cp);
    struct place at[2];

    scatter(j, &p, first, 0, tiles, v);
    for (int k = from; k < to; k++) {
        int64_t width = ctt_wino_width(s, LANES, k);
        if (s->windows)
            transform_panel(s, &p, v, j->u + k * s->r * s->r * p.c * PANEL, m,
                            m + p.freqs * ctt_wino_step(block * PANEL));
        else
            multiply_panel(s, &p, tiles, v, j->u + k * p.freqs * p.c * PANEL,
                           m, width);
        for (int64_t t = 0; t < tiles; t += 2) {
            int two = two_places(&p, first, tiles, t, 0, 0, at);
            const float *mt = m + t * width;
            if (!s->hidden)
                gather_panel(j, &p, at, two, k, mt, width);
            for (int i = 0; i <= two && s->hidden; i++)
                cell_tile(mt + i * width, ctt_wino_step(block * width), at[i],
                          &p, k * HALF, s->hidden - k * HALF, j);
        }
    }
    if (j->far)
        wait_far();
}

/* m[freq][tile][width] = the transforms of panel k of the gradient. */
static void spread_panel(const struct ctt_wino_back *b,
                         const struct ctt_wino_plan *p, int64_t first,
                         int64_t tiles, int64_t k, float *m, int64_t width)
{
    const struct ctt_wino_shape *s = b->s;
    int64_t rest = s->k - k * PANEL, c = rest < PANEL ? rest : PANEL;
    struct view y = { b->dy + k * PANEL, b->lddy, p->oh, p->ow };
    scatter_fn *fn = s->r == 3 ? spread6 : spread8;
    struct place at[2];

    for (int64_t t = 0; t < tiles; t += 2) {
        int two = two_places(p, first, tiles, t, 0, 0, at);
        fn(&y, c, at, two, m + t * width, width,
           ctt_wino_step(p->block * width));
    }
}

/* du[freq][channel][width] += the products of a block's tiles. */
static void panel_sums(const struct ctt_wino_plan *p, int64_t tiles,
                       const float *v, const float *m, float *du,
                       int64_t width)
{
    int64_t vstep = ctt_wino_step(p->block * p->cp);
    int64_t mstep = ctt_wino_step(p->block * width);

    for (int f = 0; f < p->freqs; f++)
        for (int64_t c = 0, r; c < p->c; c += r) {
            r = even_rows(p->c - c);
            outers[width / HALF][r](v + f * vstep + c, p->cp, m + f * mstep,
                                    width, tiles, du + (f * p->c + c) * width,
                                    width);
        }
}

static void grad_item(const struct ctt_wino_back *b, int64_t from, int64_t to,
                      int64_t first, int64_t last, float *du, float *scratch)
{
    const struct ctt_wino_shape *s = b->s;
    struct ctt_wino_plan p = ctt_wino_plan(s, LANES, b->block);
    struct ctt_wino_job job = { .s = s, .x = { b->x }, .ldx = { b->ldx } };
    float *v = scratch, *m = v + p.freqs * ctt_wino_step(b->block * p.cp);
    int64_t panel = p.freqs * p.c * PANEL, n;

    for (int64_t k = first; k < last; k++)
        memset(du + (k - first) * panel, 0, (size_t)(
            p.freqs * p.c * ctt_wino_width(s, LANES, k)) * sizeof(*du));
    for (int64_t at = from; at < to; at += n) {
        n = to - at < b->block ? to - at : b->block;
        scatter(&job, &p, at, 0, n, v);
        for (int64_t k = first; k < last; k++) {
            int64_t width = ctt_wino_width(s, LANES, k);

            spread_panel(b, &p, at, n, k, m, width);
            panel_sums(&p, n, v, m, du + (k - first) * panel, width);
        }
    }
}
