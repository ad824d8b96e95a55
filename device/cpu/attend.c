/* SPDX-License-Identifier: Apache-2.0
 * attend.c: each pixel's mean of all vectors of another value, weighted by the
 * softmax of its products with them, which no memory holds as a whole (after
 * Dao and others 2022).  CTT_PIECE vectors of one side are a tile, transposed,
 * so that a register holds one number of SPAN vectors; of the other side
 * TOGETHER rows at a time are read as they are. */
#include "device/cpu/cpu.h"

#include <math.h>

enum { SPAN = 16, TOGETHER = 8 };

/* c: channels of a vector; rows: vectors of the first input in a sample, as
 * `tiles` tiles; pixels: rows of the second input in a sample, with a vector in
 * each of `groups` groups, as `blocks` tiles a group.  room: `size` floats for
 * each tile.  stat: three numbers of each row of the first input: the largest
 * product, one over the sum, dy y. */
struct attention {
    const struct ctt_call *call;
    int64_t c, rows, tiles, pixels, groups, blocks, size;
    float  *room, *stat;
};

/* A tile: vectors `at` to at + n - 1 of a sample, of a group. */
struct tile { int64_t sample, at, n, group; float *room; };

/* Rows that are read; if they are fewer than TOGETHER, the last one again. */
struct vectors { const float *row[TOGETHER]; int n; };

typedef float lanes[CTT_PIECE];

static int attention_open(struct ctt_dev *d, const struct ctt_call *c, int back,
                          struct attention *a)
{
    int64_t n = c->out.n, most;

    *a = (struct attention){ .call = c, .c = c->out.c,
                             .rows = ctt_rows(&c->out) / n,
                             .pixels = ctt_rows(&c->in[1]) / n,
                             .groups = c->in[1].c / c->out.c };
    a->tiles = (a->rows + CTT_PIECE - 1) / CTT_PIECE;
    a->blocks = (a->pixels + CTT_PIECE - 1) / CTT_PIECE;
    a->size = (2 + back) * a->c * CTT_PIECE;
    most = !back || a->tiles > a->groups * a->blocks ? a->tiles
                                                     : a->groups * a->blocks;
    a->room = ctt_dev_scratch(d, (size_t)(n * most * a->size +
                                          back * n * 3 * a->rows) *
                                     sizeof(float));
    if (!a->room)
        return ctt_error(CTT_ENOMEM, "%s: no memory for the memories",
                         c->node->name);
    a->stat = a->room + n * most * a->size;
    return 0;
}

/* Tile i of the first input, or of the second one. */
static struct tile tile_of(const struct attention *a, int64_t i, int second)
{
    int64_t all = second ? a->groups * a->blocks : a->tiles;
    int64_t each = second ? a->blocks : a->tiles, at = i % each * CTT_PIECE;

    return (struct tile){ i / all, at,
                          ctt_piece(second ? a->pixels : a->rows, at),
                          i % all / each, a->room + i * a->size };
}

/* 0: the third input says that the vectors of a group do not count. */
static int group_counts(const struct attention *a, int64_t sample, int64_t g)
{
    return a->call->node->nin < 3 || ctt_row(&a->call->in[2], sample)[g] != 0;
}

/* Tensor x has the shape of the first input, or of the second one. */
static float *tile_row(const struct attention *a, const struct tile *t,
                       const struct ctt_tensor *x, int second)
{
    return ctt_row(x, t->sample * (second ? a->pixels : a->rows) + t->at) +
           t->group * a->c;
}

/* Number i of vector j of a tile. */
static int64_t tile_at(int64_t c, int64_t i, int64_t j)
{
    return (j / SPAN * c + i) * SPAN + j % SPAN;
}

/* n rows become a tile, with 0 beside them. */
static void transpose(const float *x, int64_t ld, int64_t n, int64_t c,
                      float *to)
{
    memset(to, 0, (size_t)(c * CTT_PIECE) * sizeof(*to));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < c; i++)
            to[tile_at(c, i, j)] = x[j * ld + i];
}

/* y (+)= the transpose of a tile, each vector times its number of `by`. */
static void transpose_back(const float *t, const float *by, int64_t n,
                           int64_t c, float *y, int64_t ld, int add)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < c; i++) {
            float v = t[tile_at(c, i, j)] * by[j];
            y[j * ld + i] = add ? y[j * ld + i] + v : v;
        }
}

static struct vectors vectors_at(const float *x, int64_t ld, int64_t left)
{
    struct vectors l = { .n = left < TOGETHER ? (int)left : TOGETHER };

    for (int k = 0; k < TOGETHER; k++)
        l.row[k] = x + (k < l.n ? k : l.n - 1) * ld;
    return l;
}

/* Vectors of a group of the second input, from pixel p on. */
static struct vectors vectors_of(const struct attention *a, int64_t sample,
                                 int64_t g, int64_t p)
{
    const struct ctt_tensor *x = &a->call->in[1];

    return vectors_at(ctt_row(x, sample * a->pixels + p) + g * a->c, x->ld,
                      a->pixels - p);
}

/* s[k][j]: the product of row k with vector j of a tile. */
static void multiply_tile(const float *t, int64_t c, const struct vectors *l,
                          lanes s[TOGETHER])
{
    for (int at = 0; at < CTT_PIECE; at += SPAN) {
        float sum[TOGETHER][SPAN];
        for (int k = 0; k < TOGETHER; k++)
            SIMD for (int j = 0; j < SPAN; j++)
                sum[k][j] = l->row[k][0] * t[at * c + j];
        for (int64_t i = 1; i < c; i++) {
            const float *x = t + at * c + i * SPAN;
            _Pragma("GCC unroll 8")
            for (int k = 0; k < TOGETHER; k++) {
                float v = l->row[k][i];
                SIMD for (int j = 0; j < SPAN; j++)
                    sum[k][j] += v * x[j];
            }
        }
        for (int k = 0; k < TOGETHER; k++)
            SIMD for (int j = 0; j < SPAN; j++)
                s[k][at + j] = sum[k][j];
    }
}

/* t = t by + the sum of the rows, row k times s[k][j] for vector j. */
static void add_to_tile(float *t, int64_t c, const struct vectors *l,
                        const lanes s[TOGETHER], const float *by)
{
    for (int at = 0; at < CTT_PIECE; at += SPAN)
        for (int64_t i = 0; i < c; i++) {
            float *x = t + at * c + i * SPAN, sum[SPAN];
            SIMD for (int j = 0; j < SPAN; j++)
                sum[j] = x[j] * by[at + j];
            _Pragma("GCC unroll 8")
            for (int k = 0; k < TOGETHER; k++) {
                float v = l->row[k][i];
                SIMD for (int j = 0; j < SPAN; j++)
                    sum[j] += v * s[k][at + j];
            }
            memcpy(x, sum, sizeof(sum));
        }
}

static void clear_rest(const struct vectors *l, lanes s[TOGETHER])
{
    if (l->n < TOGETHER)
        memset(s + l->n, 0, (size_t)(TOGETHER - l->n) * sizeof(*s));
}

/* s = exp(s - top), where top is the largest so far; factor: what was summed
 * before must be multiplied by it. */
static void tile_softmax(const struct vectors *l, lanes s[TOGETHER], lanes top,
                         lanes sum, lanes factor)
{
    SIMD for (int j = 0; j < CTT_PIECE; j++) {
        float most = top[j];
        for (int k = 0; k < TOGETHER; k++)
            most = s[k][j] > most ? s[k][j] : most;
        factor[j] = ctt_exp(top[j] - most);
        top[j] = most;
    }
    for (int k = 0; k < l->n; k++)
        SIMD for (int j = 0; j < CTT_PIECE; j++)
            s[k][j] = ctt_exp(s[k][j] - top[j]);
    clear_rest(l, s);
    SIMD for (int j = 0; j < CTT_PIECE; j++) {
        float part = 0;
        for (int k = 0; k < TOGETHER; k++)
            part += s[k][j];
        sum[j] = sum[j] * factor[j] + part;
    }
}

/* A tile of the first input, q, and all vectors that count: y, or NULL, is the
 * result before the division by the sum. */
static void attend_tile(const struct attention *a, const struct tile *t,
                        const float *q, float *y, lanes top, lanes inv)
{
    lanes s[TOGETHER], sum = { 0 }, factor;

    for (int j = 0; j < CTT_PIECE; j++)
        top[j] = -INFINITY;
    for (int64_t g = 0; g < a->groups; g++)
        for (int64_t p = 0; p < a->pixels && group_counts(a, t->sample, g);
             p += TOGETHER) {
            struct vectors l = vectors_of(a, t->sample, g, p);
            multiply_tile(q, a->c, &l, s);
            tile_softmax(&l, s, top, sum, factor);
            if (y)
                add_to_tile(y, a->c, &l, s, factor);
        }
    for (int j = 0; j < CTT_PIECE; j++)
        inv[j] = sum[j] > 0 ? 1 / sum[j] : 0;
}

static double attention_work(const struct attention *a)
{
    return (double)(a->call->out.n * a->rows) *
           (double)(a->groups * a->pixels) * (double)a->c;
}

int K(attend_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct attention a;
    int rc = 0;

    CTT_TRY(attention_open(d, c, 0, &a));
    PARALLEL(d, 2 * attention_work(&a))
    for (int64_t i = 0; i < c->out.n * a.tiles; i++) {
        struct tile t = tile_of(&a, i, 0);
        float *y = t.room + a.c * CTT_PIECE;
        lanes top, inv;
        transpose(tile_row(&a, &t, &c->in[0], 0), c->in[0].ld, t.n, a.c,
                  t.room);
        memset(y, 0, (size_t)(a.c * CTT_PIECE) * sizeof(*y));
        attend_tile(&a, &t, t.room, y, top, inv);
        transpose_back(y, inv, t.n, a.c, tile_row(&a, &t, &c->out, 0),
                       c->out.ld, 0);
    }
out:
    return rc;
}

static void one_each(lanes x)
{
    for (int j = 0; j < CTT_PIECE; j++)
        x[j] = 1;
}

/* The statistics of a tile of the first input, q. */
static void tile_stats(const struct attention *a, const struct tile *t,
                       const float *q, lanes stat[3])
{
    const struct ctt_call *c = a->call;
    const float *y = tile_row(a, t, &c->out, 0);
    const float *dy = tile_row(a, t, &c->dout, 0);
    float *to = a->stat + 3 * (t->sample * a->rows + t->at);

    attend_tile(a, t, q, NULL, stat[0], stat[1]);
    memset(stat[2], 0, sizeof(stat[2]));
    for (int64_t j = 0; j < t->n; j++) {
        for (int64_t i = 0; i < a->c; i++)
            stat[2][j] += y[j * c->out.ld + i] * dy[j * c->dout.ld + i];
        for (int k = 0; k < 3; k++)
            to[3 * j + k] = stat[k][j];
    }
}

/* w: the weight of row k for vector j of a tile of the first input; ds: the
 * gradient of their product, first that of the weight. */
static void tile_back(const struct vectors *l, const lanes stat[3],
                      lanes w[TOGETHER], lanes ds[TOGETHER])
{
    for (int k = 0; k < l->n; k++)
        SIMD for (int j = 0; j < CTT_PIECE; j++) {
            w[k][j] = ctt_exp(w[k][j] - stat[0][j]) * stat[1][j];
            ds[k][j] = w[k][j] * (ds[k][j] - stat[2][j]);
        }
    clear_rest(l, w);
    clear_rest(l, ds);
}

/* The statistics of tile i, and the gradient of its vectors. */
static void attend_tile_back(const struct attention *a, int64_t i)
{
    const struct ctt_call *c = a->call;
    const struct ctt_tensor *dx = &c->din[0];
    struct tile t = tile_of(a, i, 0);
    float *q = t.room, *dy = q + a->c * CTT_PIECE, *dq = dy + a->c * CTT_PIECE;
    lanes stat[3], w[TOGETHER], ds[TOGETHER], ones;

    one_each(ones);
    transpose(tile_row(a, &t, &c->in[0], 0), c->in[0].ld, t.n, a->c, q);
    transpose(tile_row(a, &t, &c->dout, 0), c->dout.ld, t.n, a->c, dy);
    memset(dq, 0, (size_t)(a->c * CTT_PIECE) * sizeof(*dq));
    tile_stats(a, &t, q, stat);
    if (!dx->data)
        return;
    for (int64_t g = 0; g < a->groups; g++)
        for (int64_t p = 0; p < a->pixels && group_counts(a, t.sample, g);
             p += TOGETHER) {
            struct vectors l = vectors_of(a, t.sample, g, p);
            multiply_tile(q, a->c, &l, w);
            multiply_tile(dy, a->c, &l, ds);
            tile_back(&l, (const lanes *)stat, w, ds);
            add_to_tile(dq, a->c, &l, (const lanes *)ds, ones);
        }
    transpose_back(dq, ones, t.n, a->c, tile_row(a, &t, dx, 0), dx->ld,
                   c->add & 1);
}

/* As tile_back() for rows of the first input, whose statistics are `stat`, and
 * a tile of the second one. */
static void block_back(const struct vectors *l, const float *stat,
                       lanes w[TOGETHER], lanes ds[TOGETHER])
{
    for (int k = 0; k < l->n; k++) {
        const float *of = stat + 3 * k;
        SIMD for (int j = 0; j < CTT_PIECE; j++) {
            w[k][j] = ctt_exp(w[k][j] - of[0]) * of[1];
            ds[k][j] = w[k][j] * (ds[k][j] - of[2]);
        }
    }
    clear_rest(l, w);
    clear_rest(l, ds);
}

/* The gradient of tile i of the second input. */
static void attend_block_back(const struct attention *a, int64_t i)
{
    const struct ctt_call *c = a->call;
    const struct ctt_tensor *x = &c->in[0], *y = &c->dout, *to = &c->din[1];
    struct tile t = tile_of(a, i, 1);
    float *k = t.room, *dk = k + a->c * CTT_PIECE;
    lanes w[TOGETHER], ds[TOGETHER], ones;

    one_each(ones);
    transpose(tile_row(a, &t, &c->in[1], 1), c->in[1].ld, t.n, a->c, k);
    memset(dk, 0, (size_t)(a->c * CTT_PIECE) * sizeof(*dk));
    for (int64_t r = 0; r < a->rows && group_counts(a, t.sample, t.group);
         r += TOGETHER) {
        int64_t row = t.sample * a->rows + r;
        struct vectors q = vectors_at(ctt_row(x, row), x->ld, a->rows - r);
        struct vectors dy = vectors_at(ctt_row(y, row), y->ld, a->rows - r);
        multiply_tile(k, a->c, &q, w);
        multiply_tile(k, a->c, &dy, ds);
        block_back(&q, a->stat + 3 * row, w, ds);
        add_to_tile(dk, a->c, &q, (const lanes *)ds, ones);
        add_to_tile(dk, a->c, &dy, (const lanes *)w, ones);
    }
    transpose_back(dk, ones, t.n, a->c, tile_row(a, &t, to, 1), to->ld,
                   c->add >> 1 & 1);
}

int K(attend_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct attention a;
    int64_t all;
    int rc = 0;

    CTT_TRY(attention_open(d, c, 1, &a));
    PARALLEL(d, 4 * attention_work(&a))
    for (int64_t i = 0; i < c->out.n * a.tiles; i++)
        attend_tile_back(&a, i);
    all = c->din[1].data ? c->out.n * a.groups * a.blocks : 0;
    PARALLEL(d, 4 * attention_work(&a))
    for (int64_t i = 0; i < all; i++)
        attend_block_back(&a, i);
    if (c->din[2].data && !(c->add >> 2 & 1))    /* it only selects */
        for (int64_t i = 0; i < c->din[2].n; i++)
            memset(ctt_row(&c->din[2], i), 0,
                   (size_t)c->din[2].c * sizeof(float));
out:
    return rc;
}
