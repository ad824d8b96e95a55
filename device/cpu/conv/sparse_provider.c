/* SPDX-License-Identifier: Apache-2.0
 * sparse_provider.c: the provider "sparse": convs whose weights are mostly
 * zeros, and when that is faster than the rows below. */
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/sparse.h"
#include "device/cpu/conv/wino.h"
#include "device/cpu/conv/wino16_plan.h"
#include "net/winograd.h"

/* The content of a call's cache.  Lists hold for a stamp, sizes, and a step and
 * a zero of the values, and so does what was decided; stamp, counted, packed,
 * decided: 0: nothing yet.  few: there are so few zeros that there are no
 * lists.  by_rows: lists are, or will be, those of rows. */
struct kept {
    struct ctt_sparse_weights w;
    struct ctt_sparse_shape   s;
    uint64_t                  stamp, counted, packed, decided;
    int64_t                   units, rows;
    int                       few, zero, by_rows, wins, high, wide;
    float                     scale;
};

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

/* Weights of a training change in each call. */
static int can(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct kept *k;

    if (q->part != CTT_CONV_OUT || c->train || !c->stamp || !takes(c) ||
        !ctt_sparse_best(c))
        return 0;
    k = ctt_conv_own(q, sizeof(*k));
    if (!k)
        return CTT_ENOMEM;
    if (k->stamp != c->stamp) {
        k->few = has_few(&c->w[0].t) || is_too_large(c);
        k->stamp = c->stamp;
    }
    return !k->few;
}

/* Whether it is faster, the same for every number of threads: compares products
 * of registers, of which dense convs reach about the processor's rate.  One of
 * units takes as long as two of them (its values are read for it alone, and not
 * from a multiple of 64 bytes on); a channel of a tile as many as WALK, to end
 * a register of sums as many as END_SUMS.  To lay out a register of places
 * takes, for each lane, FIND to find its pixels, and TURN to transpose those of
 * as many groups as it has lanes.  Of dense convs Winograd takes 5/4
 * of its products, because of the transforms; of whole numbers, which it
 * multiplies in pairs, 4/3.  (Drawn from bench/bench_sparse.c, on AVX-512;
 * doc/benchmarks.md says how often it was right.) */
enum { WALK = 8, END_SUMS = 12, FIND = 5, TURN = 7 };

static double lay_of(const struct ctt_sparse_isa *isa, const struct kept *k)
{
    const int64_t *phases = k->s.phases;
    int64_t places = phases[0] * phases[1] * phases[2] * k->s.plane;
    int64_t turns = (k->s.groups + isa->lanes - 1) / isa->lanes;

    return (double)(places * (FIND + TURN * turns));
}

static double units_of(const struct ctt_sparse_isa *isa, const struct kept *k,
                      const struct ctt_call *c)
{
    double parts = (double)c->in[0].n / (double)k->s.samples;
    int64_t regs = (k->s.span + isa->lanes - 1) / isa->lanes;
    int64_t tiles = (regs + CTT_SPARSE_REGS - 1) / CTT_SPARSE_REGS;
    int64_t ends = regs * ctt_align(c->out.c, isa->lanes) * END_SUMS;
    int64_t walks = WALK * tiles * c->out.c;

    return parts * (2 * (double)(k->units * regs) + (double)(ends + walks) +
                    lay_of(isa, k));
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
           k->s.groups == s->groups && k->high == y->h && k->wide == y->w;
}

/* Forgets what does not hold for this call. */
static void check(struct kept *k, const struct ctt_sparse_isa *isa,
                  const struct ctt_call *c)
{
    struct ctt_sparse_shape s = ctt_sparse_plan(isa, c);

    if (k->scale != c->in[0].scale || k->zero != c->in[0].zero ||
        !is_moved(k, &s, &c->out))
        k->packed = k->counted = k->decided = 0;
    if (k->packed && !k->by_rows && k->s.plane != s.plane)
        ctt_sparse_move(&k->w, k->units, k->s.plane, s.plane);
    if (k->s.samples != s.samples)
        k->decided = 0;
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

static int get_lists(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call;
    int rc = 0;

    if (k->packed == c->stamp)
        return 0;
    k->packed = 0;
    if (k->by_rows)
        CTT_TRY(ctt_sparse_rows_pack(ctt_sparse_rows_best(c), c, &k->w));
    else
        CTT_TRY(ctt_sparse_pack(ctt_sparse_best(c), q->dev, c, &k->s, &k->w));
    k->packed = c->stamp;
out:
    return rc;
}

/* How many units and rows there are: of whole numbers the lists say it. */
static int count(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call;
    int rc = 0;

    if (k->counted == c->stamp)
        return 0;
    k->by_rows = 0;
    CTT_TRY(get_lists(q, k));
    k->units = k->w.first[c->out.c];
    k->rows = ctt_sparse_rows_count(c);
    k->counted = c->stamp;
out:
    return rc;
}

/* Which kernel is faster, and whether it is than a dense conv. */
static int decide(struct ctt_conv_ask *q, struct kept *k)
{
    const struct ctt_call *c = q->call;
    const struct ctt_sparse_isa *isa = ctt_sparse_best(c);
    const struct ctt_int8_isa *rows = ctt_sparse_rows_best(c);
    double units, by_rows;
    int rc = 0, was;

    check(k, isa, c);
    if (k->decided == c->stamp)
        return 0;
    CTT_TRY(count(q, k));
    was = k->by_rows;
    units = units_of(isa, k, c);
    by_rows = rows ? rows_of(rows, k, c) : units;
    k->by_rows = by_rows < units;
    k->wins = (k->by_rows ? by_rows : units) < dense_of(isa, c);
    k->decided = c->stamp;
    if (!k->wins || k->by_rows != was)
        drop_lists(k);
out:
    return rc;
}

static int pays(struct ctt_conv_ask *q)
{
    struct kept *k = *q->own;
    int rc = decide(q, k);

    if (rc < 0)
        return rc;
    q->why = k->wins ? "most weights are zeros"
                     : "too few zeros to be faster than a dense convolution";
    return k->wins;
}

/* By --tune it may run without having been asked whether it pays. */
static int run(struct ctt_conv_ask *q)
{
    const struct ctt_sparse_isa *isa = ctt_sparse_best(q->call);
    const struct ctt_int8_isa *rows = ctt_sparse_rows_best(q->call);
    struct kept *k = *q->own;
    int rc;

    CTT_TRY(decide(q, k));
    CTT_TRY(get_lists(q, k));
    q->code = k->by_rows ? rows->name : isa->name;
    rc = k->by_rows ? ctt_sparse_rows_run(rows, q->dev, q->call, &k->w)
                    : ctt_sparse_run(isa, q->dev, q->call, &k->s, &k->w);
out:
    return rc;
}

static void forget(void *own)
{
    struct kept *k = own;

    ctt_free(k->w.room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_sparse = {
    .name = "sparse", .apart = CTT_APART_ALONG | CTT_APART_CHAIN, .int8 = 1,
    .any_threads = 1, .can = can, .pays = pays, .run = run, .forget = forget,
};
