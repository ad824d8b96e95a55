/* SPDX-License-Identifier: Apache-2.0
 * sparse_provider.c: the provider "sparse": convs whose weights are mostly
 * zeros, and when that is faster than the rows below. */
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/sparse/sparse.h"
#include "device/cpu/conv/winograd/wino.h"
#include "device/cpu/conv/winograd/wino16_plan.h"
#include "net/winograd.h"

#include <math.h>

/* The content of a call's cache.  Lists hold for a stamp, sizes, and a step and
 * a zero of the values, and so does what was decided; stamp, counted, packed,
 * decided, both: 0: nothing yet.  few: there are so few zeros that there are no
 * lists.  by_rows: lists are, or will be, those of rows; rows_win: a conv by
 * itself is faster by rows; both: the stamp for which it was decided together
 * with its pair and lstm.  A cache holds two: that of the conv, and that of its
 * pair, whose `decided` and `wins` are about both with their lstm. */
struct kept {
    struct ctt_sparse_weights w;
    struct ctt_sparse_shape   s;
    uint64_t                  stamp, counted, packed, decided, both;
    int64_t                   units, rows;
    int                       few, zero, by_rows, rows_win, wins, high, wide;
    float                     scale;
};
enum { CONV, PAIR, BOTH };

/* ---- the choice ---- */

static int takes_type(const struct ctt_call *c, const struct ctt_tensor *t)
{
    return t->dtype == CTT_F32 || (ctt_call_is_int8(c) && ctt_is_bytes(t));
}

static int takes(const struct ctt_call *c)
{
    int plus = c->node->plus && c->in[1].data;

    return c->node->op == CTT_OP_CONV && ctt_call_groups(c) == 1 &&
           takes_type(c, &c->in[0]) && takes_type(c, &c->out) &&
           (!plus || takes_type(c, &c->in[1])) &&
           ctt_weight_is_floats(&c->w[0]);
}

/* Fewer zeros than this share of the weights never pay; if all are 0, it is a
 * text without weights (convtt-info --plan). */
static int has_few(const struct ctt_tensor *w)
{
    const float *x = w->data;
    int64_t n = ctt_volume(w), zeros = 0;

    SIMD for (int64_t i = 0; i < n; i++)
        zeros += x[i] == 0;
    return zeros < n / 2 || zeros == n;
}

/* Lists hold offsets of 32 bits. */
static int is_too_large(const struct ctt_call *c)
{
    struct ctt_sparse_shape s = ctt_sparse_plan(ctt_sparse_best(c), c);

    for (int i = 0; i < 3; i++)
        s.groups *= s.phases[i];
    return s.plane > INT32_MAX / s.groups;
}

static int has_zeros(struct kept *k, const struct ctt_call *c)
{
    if (k->stamp != c->stamp) {
        k->few = has_few(&c->w[0].t) || is_too_large(c);
        k->stamp = c->stamp;
    }
    return !k->few;
}

static int is_alone(const struct ctt_call *c)
{
    return !c->pair.node && !c->lstm.node;
}

/* Weights of a training change in each call. */
static int can(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct ctt_call pair = ctt_call_pair(c);
    struct kept *k;

    if (q->part != CTT_CONV_OUT || c->train || !c->stamp || !takes(c) ||
        !ctt_sparse_best(c))
        return 0;
    if (!is_alone(c) && !ctt_sparse_has_cell(c))
        return 0;
    if (pair.node && (!takes(&pair) ||
                      ctt_call_is_int8(&pair) != (c->in[0].scale > 0)))
        return 0;
    k = ctt_conv_own(q, BOTH * sizeof(*k));
    if (!k)
        return CTT_ENOMEM;
    return has_zeros(k, c) && (!pair.node || has_zeros(k + PAIR, &pair));
}

/* 1 if it is faster, the same for every number of threads: compares products
 * of registers, of which dense convs reach about the processor's rate.  One of
 * units takes as long as two of them (its values are read for it alone, and not
 * from a multiple of 64 bytes on), or one and a half with lists by columns; a
 * channel of a tile as many as WALK, to end a register of sums as many as
 * END_SUMS.  To lay out a register of places takes, for each lane, FIND to find
 * its pixels, and TURN to transpose those of as many groups as it has lanes.
 * Of dense convs Winograd takes 5/4 of its products, because of the transforms;
 * of whole numbers, which it multiplies in pairs, 4/3.  (Drawn from
 * bench/bench_sparse.c, on AVX-512; doc/bench/sparse.md says how often it was
 * right.) */
enum { WALK = 8, END_SUMS = 12, FIND = 5, TURN = 7 };

static double lay_of(const struct ctt_sparse_isa *isa, const struct kept *k)
{
    const int64_t *phases = k->s.phases;
    int64_t places = phases[0] * phases[1] * phases[2] * k->s.plane;
    int64_t turns = (k->s.groups + isa->lanes - 1) / isa->lanes;

    return (double)(places * (FIND + TURN * turns));
}

/* Registers of a channel, of all samples. */
static double places_of(const struct ctt_sparse_isa *isa, const struct kept *k,
                        const struct ctt_call *c)
{
    return (double)c->in[0].n / (double)k->s.samples *
           (double)((k->s.span + isa->lanes - 1) / isa->lanes);
}

/* The sums of all channels, of which so many registers a place are ended. */
static double sums_of(const struct ctt_sparse_isa *isa, const struct kept *k,
                      const struct ctt_call *c, int64_t ends)
{
    double parts = (double)c->in[0].n / (double)k->s.samples;
    int64_t regs = (k->s.span + isa->lanes - 1) / isa->lanes;
    int64_t tiles = (regs + CTT_SPARSE_REGS - 1) / CTT_SPARSE_REGS;
    int64_t walks = WALK * tiles * c->out.c;

    return parts * ((k->s.columns > 1 ? 1.5 : 2) * (double)(k->units * regs) +
                    (double)(regs * ends * END_SUMS + walks) +
                    lay_of(isa, k));
}

static double units_of(const struct ctt_sparse_isa *isa, const struct kept *k,
                       const struct ctt_call *c)
{
    return sums_of(isa, k, c, ctt_align(c->out.c, isa->lanes));
}

/* n of a side in tiles. */
static double tiles_of(const struct ctt_tensor *y, int64_t tile)
{
    return (double)(y->n * y->d * ((y->h + tile - 1) / tile) *
                    ((y->w + tile - 1) / tile));
}

static double dense_of(const struct ctt_sparse_isa *isa,
                       const struct ctt_call *c)
{
    const struct ctt_tensor *y = &c->out, *w = &c->w[0].t;
    double blocks = (double)((y->c + isa->lanes - 1) / isa->lanes);
    double taps = (double)(w->d * w->h * w->w), ins = (double)w->c;
    double units = (double)((w->c + isa->unit - 1) / isa->unit), wino;
    double direct = (double)ctt_rows(y) * taps * units * blocks;
    int tile = isa->is_int8 ? ctt_wino16_tile(y->h, y->w) : 4;
    int side = tile + (int)w->h - 1;

    if (ctt_winograd_refuses(c->node) ||
        (isa->is_int8 && (w->h != 3 || w->c > CTT_WINO16_CHANNELS)))
        return direct;
    wino = tiles_of(y, tile) * side * side * blocks *
           (isa->is_int8 ? ins / 2 * 4 / 3 : ins * 5 / 4);
    return wino < direct ? wino : direct;
}

/* By rows, which take 25/24 of their products: a pixel and register of results
 * takes as long as END of them, a register of values to lay out as LAY. */
enum { END = 8, LAY = 7 };

static double rows_of(const struct ctt_int8_isa *isa, const struct kept *k,
                      const struct ctt_call *c)
{
    int64_t blocks = (c->out.c + isa->block - 1) / isa->block;
    double each = 25. / 24 * (double)k->rows + (double)(END * blocks);

    return (double)(ctt_rows(&c->out) * isa->block / isa->lanes) * each +
           (double)(LAY * ctt_volume(&c->in[0]) / isa->lanes);
}

/* ---- lists ---- */

/* The same sizes, of another number of samples. */
static int is_moved(const struct kept *k, const struct ctt_sparse_shape *s,
                    const struct ctt_tensor *y)
{
    return memcmp(k->s.pitch, s->pitch, sizeof(s->pitch)) == 0 &&
           memcmp(k->s.phases, s->phases, sizeof(s->phases)) == 0 &&
           k->s.groups == s->groups && k->s.columns == s->columns &&
           k->high == y->h && k->wide == y->w;
}

/* Forgets what does not hold for this call. */
static void check(struct kept *k, const struct ctt_sparse_isa *isa,
                  const struct ctt_call *c)
{
    struct ctt_sparse_shape s = ctt_sparse_plan(isa, c);

    if (k->scale != c->in[0].scale || k->zero != c->in[0].zero ||
        !is_moved(k, &s, &c->out))
        k->packed = k->counted = k->decided = k->both = 0;
    if (k->packed && !k->by_rows && k->s.plane != s.plane)
        ctt_sparse_move(&k->w, k->units, k->s.plane, s.plane);
    if (k->s.samples != s.samples)
        k->decided = k->both = 0;
    k->s = s;
    k->high = c->out.h;
    k->wide = c->out.w;
    k->scale = c->in[0].scale;
    k->zero = c->in[0].zero;
}

static void drop_lists(struct kept *k)
{
    ctt_free(k->w.room);
    memset(&k->w, 0, sizeof(k->w));
    k->packed = 0;
}

static int get_lists(struct ctt_dev *d, const struct ctt_call *c,
                     struct kept *k, int by_rows)
{
    int rc = 0;

    if (k->packed && k->by_rows != by_rows)
        drop_lists(k);
    k->by_rows = by_rows;
    if (k->packed == c->stamp)
        return 0;
    k->packed = 0;
    if (by_rows)
        CTT_TRY(ctt_sparse_rows_pack(ctt_sparse_rows_best(c), c, &k->w));
    else
        CTT_TRY(ctt_sparse_pack(ctt_sparse_best(c), d, c, &k->s, &k->w));
    k->packed = c->stamp;
out:
    return rc;
}

/* Counts units and rows; for whole numbers they are the lengths of the lists.
 * */
static int count(struct ctt_dev *d, const struct ctt_call *c, struct kept *k)
{
    int rc = 0;

    if (k->counted == c->stamp)
        return 0;
    CTT_TRY(get_lists(d, c, k, 0));
    k->units = k->w.units;
    k->rows = ctt_sparse_rows_count(c);
    k->counted = c->stamp;
out:
    return rc;
}

/* The time of the faster kernel, by units or by rows, to compare it with that
 * of a dense conv. */
static double least_of(const struct ctt_call *c, const struct kept *k,
                       int *by_rows)
{
    const struct ctt_int8_isa *rows = ctt_sparse_rows_best(c);
    double units = units_of(ctt_sparse_best(c), k, c);
    double by = rows ? rows_of(rows, k, c) : units;

    *by_rows = by < units;
    return *by_rows ? by : units;
}

static int decide(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call;
    const struct ctt_sparse_isa *isa = ctt_sparse_best(c);
    int rc = 0;

    check(k, isa, c);
    if (k->decided == c->stamp)
        return 0;
    CTT_TRY(count(q->dev, c, k));
    k->wins = least_of(c, k, &k->rows_win) < dense_of(isa, c);
    k->decided = c->stamp;
    if (!k->wins || k->by_rows != k->rows_win)
        drop_lists(k);
out:
    return rc;
}

/* ---- with an lstm ---- */

/* With an lstm a register of sums takes GATE to become floats and be added;
 * three registers of states a cell are turned.  Cells take CELL, also of places
 * that are no results.  (Drawn from bench/run_sparse.sh's models and a ConvLSTM
 * 64->256 at 32x32, on AVX-512.) */
enum { GATE = 6, CELL = 140 };

/* Of a call without its pair, its share of the time with its lstm, and the
 * least time without. */
static double with_lstm(const struct kept *k, const struct ctt_call *c,
                        double *without)
{
    const struct ctt_sparse_isa *isa = ctt_sparse_best(c);
    double dense = dense_of(isa, c);
    int by_rows;

    *without += fmin(least_of(c, k, &by_rows), dense);
    return sums_of(isa, k, c, 3 * ctt_align(c->lstm.h.c, isa->lanes)) +
           GATE * places_of(isa, k, c) * (double)c->out.c;
}

/* Decides if the conv with its pair and lstm is faster than each by itself, and
 * than Winograd, which fuses them too. */
static int decide_cell(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call, pair = ctt_call_pair(c);
    const struct ctt_sparse_isa *isa = ctt_sparse_best(c);
    double ours = 0, apart = 0;
    int rc = 0, both = pair.node != NULL;

    check(k, isa, c);
    if (both)
        check(k + PAIR, isa, &pair);
    if (k->both == c->stamp && k[PAIR].decided == c->stamp)
        return 0;
    CTT_TRY(count(q->dev, c, k));
    ours = with_lstm(k, c, &apart);
    if (both) {
        CTT_TRY(count(q->dev, &pair, k + PAIR));
        ours += with_lstm(k + PAIR, &pair, &apart);
    }
    ours += CELL * places_of(isa, k, c) * (double)c->lstm.h.c;
    apart += CELL * (double)ctt_volume(&c->lstm.h) / isa->lanes;
    k[PAIR].wins = ours < apart &&
                   (!both || ctt_sparse_same(&k->s, &k[PAIR].s));
    k[PAIR].decided = k->both = c->stamp;
    if (!k[PAIR].wins)
        drop_lists(k + PAIR);
out:
    return rc;
}

static int run_cell(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call, pair = ctt_call_pair(c);
    const struct ctt_sparse_isa *isa = ctt_sparse_best(c);
    const struct ctt_sparse_shape *const s[] = { &k->s, &k[PAIR].s };
    const struct ctt_sparse_weights *const w[] = { &k->w, &k[PAIR].w };
    int rc;

    CTT_TRY(decide_cell(q, k));
    CTT_TRY(get_lists(q->dev, c, k, 0));
    if (pair.node)
        CTT_TRY(get_lists(q->dev, &pair, k + PAIR, 0));
    q->code = isa->name;
    CTT_TRY(ctt_sparse_cell_run(isa, q->dev, c, s, w));
out:
    return rc;
}

/* ---- the provider ---- */

static int pays(struct ctt_conv_ask *q)
{
    struct kept *k = *q->own, *of = is_alone(q->call) ? k : k + PAIR;
    int rc = of == k ? decide(q, k) : decide_cell(q, k);

    if (rc < 0)
        return rc;
    q->why = of->wins ? "most weights are zeros"
                      : "too few zeros to be faster than a dense convolution";
    return of->wins;
}

/* By --tune it may run without having been asked whether it pays. */
static int run(struct ctt_conv_ask *q)
{
    const struct ctt_sparse_isa *isa = ctt_sparse_best(q->call);
    const struct ctt_int8_isa *rows = ctt_sparse_rows_best(q->call);
    struct kept *k = *q->own;
    int rc;

    if (!is_alone(q->call))
        return run_cell(q, k);
    CTT_TRY(decide(q, k));
    CTT_TRY(get_lists(q->dev, q->call, k, k->rows_win));
    q->code = k->by_rows ? rows->name : isa->name;
    rc = k->by_rows ? ctt_sparse_rows_run(rows, q->dev, q->call, &k->w)
                    : ctt_sparse_run(isa, q->dev, q->call, &k->s, &k->w);
out:
    return rc;
}

static void forget(void *own)
{
    struct kept *k = own;

    ctt_free(k[CONV].w.room);
    ctt_free(k[PAIR].w.room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_sparse = {
    .name = "sparse", .along = 1, .apart = CTT_APART_ALONG | CTT_APART_CHAIN,
    .int8 = 1, .any_threads = 1, .can = can, .pays = pays, .run = run,
    .forget = forget,
};
