/* SPDX-License-Identifier: Apache-2.0
 * sparse_provider.c: the provider "sparse": convs whose weights are mostly
 * zeros, and when that is faster than the rows below. */
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/sparse/sparse.h"
#include "device/cpu/conv/winograd/wino.h"
#include "device/cpu/conv/winograd/wino16_plan.h"
#include "net/winograd.h"

#include <math.h>

/* A call's cache.  Lists and decisions are valid for a stamp, sizes, and scale
 * and zero of the values; stamp, counted, packed, decided, both: 0: not yet.
 * few: too few zeros for lists. by_rows: lists are by rows; rows_win: a conv by
 * itself is faster by rows; both: stamp of the decision together with its pair
 * and lstm.  A cache holds two: one of the conv, and one of its pair, whose
 * `decided` and `wins` concern both with their lstm. */
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

static int is_eligible(const struct ctt_call *c)
{
    int plus = c->node->plus && c->in[1].data;

    return c->node->op == CTT_OP_CONV && ctt_call_groups(c) == 1 &&
           !ctt_is_dilated(c->node) &&
           takes_type(c, &c->in[0]) && takes_type(c, &c->out) &&
           (!plus || takes_type(c, &c->in[1])) &&
           ctt_weight_is_floats(&c->w[0]);
}

/* 1 if the share of zeros is too small to be faster; or if all weights are 0,
 * as in a text without weights (convtt-info --plan). */
static int has_few(const struct ctt_tensor *w)
{
    enum { SOME = 1 << 14 };
    const float *x = w->data;
    int64_t n = ctt_volume(w), zeros = 0, end;

    for (int64_t at = 0; at < n && at - zeros <= n - n / 2; at = end) {
        end = at + SOME < n ? at + SOME : n;
        SIMD for (int64_t i = at; i < end; i++)
            zeros += x[i] == 0;
    }
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
        if (ctt_call_lacks(c))
            return CTT_CONV_LACKS;
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
static int sparse_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct ctt_call pair = ctt_call_pair(c);
    struct kept *k;
    int rc;

    if (q->part != CTT_CONV_OUT || c->train || !c->stamp || !is_eligible(c) ||
        !ctt_sparse_best(c))
        return 0;
    if (!is_alone(c) && !ctt_sparse_has_cell(c))
        return 0;
    if (pair.node && (!is_eligible(&pair) ||
                      ctt_call_is_int8(&pair) != (c->in[0].scale > 0)))
        return 0;
    k = ctt_conv_own(q, BOTH * sizeof(*k));
    if (!k)
        return CTT_ENOMEM;
    rc = has_zeros(k, c);
    return rc == 1 && pair.node ? has_zeros(k + PAIR, &pair) : rc;
}

/* Cost model, the same for every number of threads.  Unit of cost: a product of
 * registers of a dense conv, which reaches about the processor's rate.  A
 * product of units costs 2 (its values are read for it alone, and unaligned),
 * or 1.5 with lists by columns; with planes of taps 1, and EACH for a unit and
 * tile; a channel of a tile costs WALK, the epilogue of a register of sums
 * END_SUMS.  The layout of a register of positions costs, for each lane, FIND
 * for its pixels and TURN for the transposition of as many groups as lanes, or
 * of half as many for two registers.  Winograd costs 5/4 of its products
 * because of the transforms; integer Winograd, which multiplies pairs, 4/3.
 * (Fitted to bench/bench_sparse.c on AVX-512; doc/benchmarks.md has its
 * accuracy.) */
enum { WALK = 8, END_SUMS = 12, FIND = 5, TURN = 7 };
static const double EACH = 0.75;

static double lay_of(const struct ctt_sparse_isa *isa, const struct kept *k)
{
    const int64_t *phases = k->s.phases;
    int64_t places = phases[0] * phases[1] * phases[2] * k->s.plane;
    int64_t turns = (k->s.groups + isa->lanes - 1) / isa->lanes;
    int two = isa->columns && k->s.groups <= isa->lanes / 2;

    return (double)places * (FIND + (two ? TURN / 2. : TURN * (double)turns));
}

/* Registers of a channel, of all samples. */
static double places_of(const struct ctt_sparse_isa *isa, const struct kept *k,
                        const struct ctt_call *c)
{
    return (double)c->in[0].n / (double)k->s.samples *
           (double)((k->s.span + isa->lanes - 1) / isa->lanes);
}

/* Cost of the sums of all channels; `ended`: registers with an epilogue per
 * position. */
static double sums_of(const struct ctt_sparse_isa *isa, const struct kept *k,
                      const struct ctt_call *c, int64_t ends)
{
    double parts = (double)c->in[0].n / (double)k->s.samples;
    int64_t regs = (k->s.span + isa->lanes - 1) / isa->lanes;
    int64_t tiles = (regs + CTT_SPARSE_REGS - 1) / CTT_SPARSE_REGS;
    int64_t walks = WALK * tiles * c->out.c;
    double each = k->s.by_taps ? (double)regs + EACH * (double)tiles :
                  (double)regs * (k->s.columns > 1 ? 1.5 : 2);

    return parts * (each * (double)k->units +
                    (double)(regs * ends * END_SUMS + walks) +
                    lay_of(isa, k));
}

static double units_of(const struct ctt_sparse_isa *isa, const struct kept *k,
                       const struct ctt_call *c)
{
    return sums_of(isa, k, c, ctt_align(c->out.c, isa->lanes));
}

/* Count of tiles along an axis. */
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

/* Costs of lists of rows: a product costs 25/24; a pixel and register of
 * results END; the layout of a register of values LAY. */
enum { END = 8, LAY = 7 };

static double rows_cost(const struct ctt_int8_isa *isa, const struct kept *k,
                        const struct ctt_call *c)
{
    int64_t blocks = (c->out.c + isa->block - 1) / isa->block;
    double each = 25. / 24 * (double)k->rows + (double)(END * blocks);

    return (double)(ctt_rows(&c->out) * isa->block / isa->lanes) * each +
           (double)(LAY * ctt_volume(&c->in[0]) / isa->lanes);
}

/* ---- lists ---- */

/* 1 if the layout differs in the number of samples only. */
static int is_moved(const struct kept *k, const struct ctt_sparse_shape *s,
                    const struct ctt_tensor *y)
{
    return memcmp(k->s.pitch, s->pitch, sizeof(s->pitch)) == 0 &&
           memcmp(k->s.phases, s->phases, sizeof(s->phases)) == 0 &&
           k->s.groups == s->groups && k->s.columns == s->columns &&
           k->s.by_taps == s->by_taps && k->high == y->h && k->wide == y->w;
}

/* Drops lists and decisions that are not valid for this call. */
static void drop_stale(struct kept *k, const struct ctt_sparse_isa *isa,
                       const struct ctt_call *c)
{
    struct ctt_sparse_shape s = ctt_sparse_plan(isa, c);

    if (k->scale != c->in[0].scale || k->zero != c->in[0].zero ||
        !is_moved(k, &s, &c->out))
        k->packed = k->counted = k->decided = k->both = 0;
    if (k->packed && !k->by_rows && k->s.plane != s.plane)
        ctt_sparse_rebase(&k->w, k->units, k->s.plane, s.plane);
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
    CTT_TRY(ctt_call_lacks(c));
    if (by_rows)
        CTT_TRY(ctt_sparse_rows_pack(ctt_sparse_rows_best(c), c, &k->w));
    else
        CTT_TRY(ctt_sparse_pack(ctt_sparse_best(c), d, c, &k->s, &k->w));
    k->packed = c->stamp;
out:
    return rc;
}

/* Counts nonzero units and rows; for integers, from the lists. */
static int count_nonzero(struct ctt_dev *d, const struct ctt_call *c,
                         struct kept *k)
{
    int rc = 0;

    if (k->counted == c->stamp)
        return 0;
    CTT_TRY(ctt_call_lacks(c));
    CTT_TRY(get_lists(d, c, k, 0));
    k->units = k->w.units;
    k->rows = ctt_sparse_rows_count(c);
    k->counted = c->stamp;
out:
    return rc;
}

/* Chooses the faster kernel and compares it with a dense conv. */
static double least_of(const struct ctt_call *c, const struct kept *k,
                       int *by_rows)
{
    const struct ctt_int8_isa *rows = ctt_sparse_rows_best(c);
    double units = units_of(ctt_sparse_best(c), k, c);
    double by = rows ? rows_cost(rows, k, c) : units;

    *by_rows = by < units;
    return *by_rows ? by : units;
}

static int choose_kernel(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call;
    const struct ctt_sparse_isa *isa = ctt_sparse_best(c);
    int rc = 0;

    drop_stale(k, isa, c);
    if (k->decided == c->stamp)
        return 0;
    CTT_TRY(count_nonzero(q->dev, c, k));
    k->wins = least_of(c, k, &k->rows_win) < dense_of(isa, c);
    k->decided = c->stamp;
    if (!k->wins || k->by_rows != k->rows_win)
        drop_lists(k);
out:
    return rc;
}

/* ---- with an lstm ---- */

/* Costs with an lstm: GATE converts and adds a register of sums; three
 * registers of states per cell are transposed; a cell costs CELL, also at
 * positions without a result.  (Fitted to bench/run_sparse.sh's models and a
 * ConvLSTM 64->256 at 32x32, on AVX-512.) */
enum { GATE = 6, CELL = 140 };

/* Costs of a call without its pair: its share of the cost with its lstm, and
 * the least cost without. */
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

/* Decides whether the conv with its pair and lstm is faster than each by itself
 * and than Winograd with both. */
static int decide_cell(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call, pair = ctt_call_pair(c);
    const struct ctt_sparse_isa *isa = ctt_sparse_best(c);
    double ours = 0, apart = 0;
    int rc = 0, both = pair.node != NULL;

    drop_stale(k, isa, c);
    if (both)
        drop_stale(k + PAIR, isa, &pair);
    if (k->both == c->stamp && k[PAIR].decided == c->stamp)
        return 0;
    CTT_TRY(count_nonzero(q->dev, c, k));
    ours = with_lstm(k, c, &apart);
    if (both) {
        CTT_TRY(count_nonzero(q->dev, &pair, k + PAIR));
        ours += with_lstm(k + PAIR, &pair, &apart);
    }
    ours += CELL * places_of(isa, k, c) * (double)c->lstm.h.c;
    apart += CELL * (double)ctt_volume(&c->lstm.h) / isa->lanes;
    k[PAIR].wins = ours < apart &&
                   (!both || ctt_sparse_same_layout(&k->s, &k[PAIR].s));
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

static int sparse_pays(struct ctt_conv_ask *q)
{
    struct kept *k = *q->own, *of = is_alone(q->call) ? k : k + PAIR;
    int rc = of == k ? choose_kernel(q, k) : decide_cell(q, k);

    if (rc < 0)
        return rc;
    q->why = of->wins ? "most weights are zeros"
                      : "too few zeros to be faster than a dense convolution";
    return of->wins;
}

/* Under --tune it may run without an earlier call of pays. */
static int sparse_run(struct ctt_conv_ask *q)
{
    const struct ctt_sparse_isa *isa = ctt_sparse_best(q->call);
    const struct ctt_int8_isa *rows = ctt_sparse_rows_best(q->call);
    struct kept *k = *q->own;
    int rc;

    if (!is_alone(q->call))
        return run_cell(q, k);
    CTT_TRY(choose_kernel(q, k));
    CTT_TRY(get_lists(q->dev, q->call, k, k->rows_win));
    q->code = k->by_rows ? rows->name : isa->name;
    rc = k->by_rows ? ctt_sparse_rows_run(rows, q->dev, q->call, &k->w)
                    : ctt_sparse_run(isa, q->dev, q->call, &k->s, &k->w);
out:
    return rc;
}

static void sparse_free(void *own)
{
    struct kept *k = own;

    ctt_free(k[CONV].w.room);
    ctt_free(k[PAIR].w.room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_sparse = {
    .name = "sparse", .along = 1, .apart = CTT_APART_ALONG | CTT_APART_CHAIN,
    .int8 = 1, .any_threads = 1, .can = sparse_supports, .pays = sparse_pays,
    .run = sparse_run,
    .forget = sparse_free,
};
