/* SPDX-License-Identifier: Apache-2.0
 * wino16.c: Winograd convolution of quantised values: the choice of tiles,
 * packed weights, blocks, threads. */
#include "device/cpu/conv/winograd/wino16.h"
#include "device/cpu/conv/winograd/wino16_plan.h"
#include "base/avx2.h"

const struct ctt_wino16_isa *ctt_wino16_best(void)
{
    static const struct ctt_wino16_isa *const all[] = {
        &ctt_wino16_vnni, &ctt_wino16_avx512, &ctt_wino16_avx2,
        &ctt_wino16_neon
    };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->supported())
            return all[i];
    return NULL;
}

/* Products per pair of channels. */
static int64_t products(int m, int64_t oh, int64_t ow)
{
    return ((oh + m - 1) / m) * ((ow + m - 1) / m) * (m + 2) * (m + 2);
}

int ctt_wino16_tile(int64_t oh, int64_t ow)
{
    return products(3, oh, ow) < products(4, oh, ow) ? 3 : 4;
}

/* Values, padding included, are in -zero .. 255 - zero.  The largest result
 * has, for each weight, the end of that range with the weight's sign. */
int ctt_wino16_exact(int tile, const int8_t *q, int64_t channels, int64_t each,
                     int zero)
{
    int64_t limit = (int64_t)1 << (tile == 4 ? 25 : 29);

    for (int64_t o = 0; o < channels; o++, q += each) {
        int32_t sum = 0, size = 0;
        int64_t plus, minus;

#pragma omp simd reduction(+ : sum, size)
        for (int64_t i = 0; i < each; i++) {
            sum += q[i];
            size += q[i] < 0 ? -q[i] : q[i];
        }
        plus = (size + sum) / 2;
        minus = size - plus;
        if (plus * (255 - zero) + minus * zero >= limit ||
            plus * zero + minus * (255 - zero) >= limit)
            return 0;
    }
    return 1;
}

/* ---- weights ---- */

/* Powers of the points, with the factors that the inverse transforms of
 * wino16_tile_tmpl.h would otherwise need. */
static const int8_t powers[2][CTT_WINO16_MOST_SIDE][3] = {
    { { 3, 0, 0 }, { -3, -3, -3 }, { 1, -1, 1 }, { 1, 2, 4 }, { 0, 0, 6 } },
    { { 6, 0, 0 }, { 1, 1, 1 }, { 1, -1, 1 }, { 1, 2, 4 }, { 1, -2, 4 },
      { 0, 0, 6 } },
};

enum { MOST_LANES = 16, COLUMNS = 4 * MOST_LANES };

/* Weights of a pair of channels and a panel: [tap][column][channel of the
 * pair]. */
struct windows {
    int16_t tap[3][3][COLUMNS], half[CTT_WINO16_MOST_SIDE][3][COLUMNS];
};

int64_t ctt_wino16_packed(const struct ctt_wino16_isa *i,
                          const struct ctt_wino16_shape *s)
{
    struct ctt_wino16_plan p = ctt_wino16_plan(s, i->lanes, 0);

    return p.freqs * p.pairs * 2 * p.kp;
}

/* The window of a pair of channels, from column l on. */
static void read_window(const struct ctt_wino16_shape *s, const int8_t *q,
                        int64_t pair, int64_t k, int64_t l,
                        struct windows *win)
{
    int64_t two = k < s->k && 2 * pair + 1 < s->c, one = k < s->k;

    q += k * 9 * s->c + 2 * pair;
    for (int t = 0; t < 9; t++) {
        int16_t *to = win->tap[t / 3][t % 3] + l;
        to[0] = one ? q[t * s->c] : 0;
        to[1] = two ? q[t * s->c + 1] : 0;
    }
}

static void read_windows(const struct ctt_wino16_shape *s, const int8_t *q,
                         int64_t pair, int64_t from, int64_t width,
                         struct windows *win)
{
    for (int64_t l = 0; l < width; l++)
        read_window(s, q, pair, from + l, 2 * l, win);
}

#define INLINE static inline __attribute__((always_inline))

INLINE void combine(const int8_t by[3], const int16_t *a, const int16_t *b,
                    const int16_t *c, int64_t n, int16_t *y)
{
    SIMD for (int64_t l = 0; l < n; l++)
        y[l] = (int16_t)(by[0] * a[l] + by[1] * b[l] + by[2] * c[l]);
}

/* Transforms windows to u[freq], `slab` numbers apart. */
INLINE void transform_all(int tile, struct windows *win, int64_t n,
                          int64_t slab, int16_t *u)
{
    int side = tile + 2;
    const int8_t (*g)[3] = powers[tile - 3];

    for (int i = 0; i < side; i++)
        for (int j = 0; j < 3; j++)
            combine(g[i], win->tap[0][j], win->tap[1][j], win->tap[2][j], n,
                    win->half[i][j]);
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            combine(g[j], win->half[i][0], win->half[i][1], win->half[i][2], n,
                    u + (i * side + j) * slab);
}

CTT_ALSO_AVX2(void, transform, transform_all,
              (int tile, struct windows *win, int64_t n, int64_t slab,
               int16_t *u), (tile, win, n, slab, u))

/* u is [panel][freq][pair][column][of the pair]. */
void ctt_wino16_pack(const struct ctt_wino16_isa *i,
                     const struct ctt_wino16_shape *s, const int8_t *q,
                     int threads, int16_t *u)
{
    struct ctt_wino16_plan p = ctt_wino16_plan(s, i->lanes, 0);
    int64_t panel = 2 * i->lanes;

#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
    for (int64_t k = 0; k < p.panels; k++)
        for (int64_t c = 0; c < p.pairs; c++) {
            int64_t width = ctt_wino16_width(s, i->lanes, k);
            struct windows win;

            read_windows(s, q, c, k * panel, width, &win);
            transform(s->tile, &win, 2 * width, p.pairs * 2 * width,
                      u + k * p.freqs * p.pairs * 2 * panel + c * 2 * width);
        }
}

/* ---- blocks ---- */

/* Blocks should stay in half a megabyte of cache and give threads equal
 * shares. */
enum { BYTES = 256 << 10, LEAST = 24, MOST = 120 };

static int64_t tiles_per_block(const struct ctt_wino16_isa *i,
                               const struct ctt_wino16_shape *s, int threads)
{
    struct ctt_wino16_plan p = ctt_wino16_plan(s, i->lanes, 0);
    int64_t wide = p.kp < 2 * i->lanes ? p.kp : 2 * i->lanes, blocks;
    int64_t most = BYTES / (p.freqs * (p.cp * 2 + wide * 4));

    most = most < LEAST ? LEAST : most > MOST ? MOST : most;
    blocks = (p.tiles + most - 1) / most;
    if (p.tiles >= 4 * threads)
        blocks = ctt_align(blocks, threads);
    return (p.tiles + blocks - 1) / blocks;
}

int64_t ctt_wino16_scratch(const struct ctt_wino16_isa *i,
                           const struct ctt_wino16_shape *s, int threads)
{
    struct ctt_wino16_plan p =
        ctt_wino16_plan(s, i->lanes, tiles_per_block(i, s, threads));

    return ctt_wino16_room(&p) * threads;
}

struct items {
    const struct ctt_wino16_isa *isa;
    const struct ctt_wino16_job *j;
    int                          groups;
    int64_t                      block, room;
    char                        *scratch;
};

static void run_item(void *arg, int64_t item, int who)
{
    const struct items *i = arg;

    i->isa->conv(i->j, (int)item, i->groups, i->block,
                 i->scratch + who * i->room);
}

void ctt_wino16_conv(const struct ctt_wino16_isa *i,
                     const struct ctt_wino16_job *j, int threads,
                     void *scratch)
{
    int64_t block = tiles_per_block(i, j->s, threads);
    struct ctt_wino16_plan p = ctt_wino16_plan(j->s, i->lanes, block);
    int64_t blocks = (p.tiles + block - 1) / block;
    int groups = blocks >= threads ? 1 : (int)(threads / blocks);

    groups = groups > p.panels ? (int)p.panels : groups;
    ctt_dev_tasks(j->dev, threads, blocks * groups, run_item,
                  &(struct items){ i, j, groups, block, ctt_wino16_room(&p),
                                   scratch });
}
