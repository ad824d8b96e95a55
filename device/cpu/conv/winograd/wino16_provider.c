/* SPDX-License-Identifier: Apache-2.0
 * wino16_provider.c: the provider "wino16": which convs of quantised values it
 * computes, when that is faster than the rows below, and with which weights. */
#include "device/cpu/conv/int8/int8_job.h"
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/winograd/wino16_plan.h"
#include "net/winograd.h"

/* A call's cache: weights in the transform domain, and the factors of the sums,
 * valid for a stamp, a requested tile, and scale and zero of the values; tile:
 * the one in use. */
struct packed {
    int16_t *u;
    float   *factor;
    int64_t  room;
    int      tile, asked, zero;
    float    scale;
    uint64_t stamp;
};

/* ---- the choice ---- */

/* state: kernels of the best instruction set, or NULL. */
static int open_isa(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = (void *)(uintptr_t)ctt_wino16_best();
    return 0;
}

/* For a window of depth 1, planes in depth count as images. */
static struct ctt_wino16_shape call_shape(const struct ctt_call *c)
{
    const struct ctt_tensor *x = &c->in[0];
    const int *pad = c->node->attr.conv.pad;

    return (struct ctt_wino16_shape){
        x->n * x->d, x->h, x->w, x->c, c->out.c, pad[1], pad[2],
        ctt_wino16_tile(c->out.h, c->out.w)
    };
}

static int wino16_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;

    if (q->part != CTT_CONV_OUT || !(c->in[0].scale > 0))
        return 0;
    if (!q->state)
        q->why = "this processor has no AVX2";
    else if (ctt_winograd_refuses(c->node))
        q->why = ctt_winograd_refuses(c->node);
    else if (c->node->attr.conv.kernel[1] != 3)
        q->why = "the window is not 3x3";
    else if (c->in[0].c > CTT_WINO16_CHANNELS)
        q->why = "so many channels that sums may leave 32 bits";
    return !q->why;
}

/* Cost model, the same for every number of threads: 1 if Winograd needs less
 * time than direct sums, which reach about 4 in 5 of the processor's rate.
 * Units are products of registers: per register and frequency the inverse
 * transform costs BACK, the forward transform FORTH; reading weights costs the
 * products of READ tiles, or of FAR if they exceed the caches (FAR_BYTES).
 * Where an instruction adds four products of bytes, direct sums need 3/5 of the
 * time: of 10 calls that were timed on a Zen 4 the faster one is chosen.
 * (The others were measured on AVX2, 196 calls, 1 to 512 channels, images of
 * 2x2 to 28x28, against direct sums at 1.6 times the rate of sgemm: it chose
 * the faster one, or one at most a quarter slower, in 189.) */
enum { BACK = 12, FORTH = 10, READ = 2, FAR = 16, FAR_BYTES = 3 << 20 };

static int is_faster(struct ctt_conv_ask *q)
{
    const struct ctt_wino16_isa *isa = q->state;
    struct ctt_wino16_shape s = call_shape(q->call);
    struct ctt_wino16_plan p = ctt_wino16_plan(&s, isa->lanes, 1);
    int64_t out = (s.k + isa->lanes - 1) / isa->lanes;
    int64_t read = ctt_wino16_packed(isa, &s) * 2 > FAR_BYTES ? FAR : READ;
    const struct ctt_int8_isa *sums = ctt_int8_best(q->call);
    int64_t direct = s.n * p.oh * p.ow * 9 * p.pairs * out * 5 / 4;
    int64_t ours = (p.tiles + read) * p.pairs * out +
                   p.tiles * (BACK * out + FORTH * p.cp / 16);

    if (sums == &ctt_int8_amx) {
        q->why = "tiles of AMX multiply faster";
        return 0;
    }
    direct = sums && sums->unit == 4 ? direct * 3 / 5 : direct;
    q->why = ours * p.freqs < direct
                 ? "3x3, stride 1, fewer multiplications"
                 : "transforms cost more than they save";
    return ours * p.freqs < direct;
}

/* ---- weights ---- */

/* Allocates packed weights for tiles of either size.  CTT_ENOMEM. */
static int alloc_packed(const struct ctt_wino16_isa *isa,
                        struct ctt_wino16_shape s, struct packed *p)
{
    int64_t n;

    s.tile = 4;
    n = ctt_wino16_packed(isa, &s);
    if (n <= p->room)
        return 0;
    ctt_free(p->u);
    ctt_free(p->factor);
    p->room = 0;
    p->stamp = 0;
    p->u = ctt_calloc_full((size_t)n, sizeof(*p->u));
    p->factor = ctt_calloc((size_t)s.k, sizeof(*p->factor));
    if (!p->u || !p->factor)
        return CTT_ENOMEM;
    p->room = n;
    return 0;
}

/* Packs weights and sets s->tile: larger tiles are not exact for every
 * weight. */
static int pack_weights(struct ctt_conv_ask *q, struct ctt_wino16_shape *s,
                        struct packed *p)
{
    const struct ctt_call *c = q->call;
    int64_t each = 9 * s->c;
    int threads = ctt_dev_team(q->dev, (double)(s->k * each) * 8);
    int8_t *whole = ctt_dev_scratch(q->dev, (size_t)(s->k * each));

    if (!whole)
        return CTT_ENOMEM;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t o = 0; o < s->k; o++) {
        ctt_quant_weights((const float *)c->w[0].t.data + o * each, 1, each,
                          whole + o * each, p->factor + o);
        p->factor[o] *= c->in[0].scale;
    }
    p->asked = s->tile;
    if (!ctt_wino16_exact(s->tile, whole, s->k, each, c->in[0].zero))
        s->tile = 3;
    p->tile = s->tile;
    ctt_wino16_pack(q->state, s, whole, threads, p->u);
    return 0;
}

static int get_packed(struct ctt_conv_ask *q, struct ctt_wino16_shape *s,
                      struct packed *p)
{
    const struct ctt_call *c = q->call;
    int rc = 0;

    CTT_TRY(alloc_packed(q->state, *s, p));
    if (c->stamp && p->stamp == c->stamp && p->asked == s->tile &&
        p->scale == c->in[0].scale && p->zero == c->in[0].zero) {
        s->tile = p->tile;
        return 0;
    }
    CTT_TRY(ctt_call_lacks(c));
    CTT_TRY(pack_weights(q, s, p));
    p->scale = c->in[0].scale;
    p->zero = c->in[0].zero;
    p->stamp = c->stamp;
out:
    return rc;
}

/* ---- the result ---- */

static int team(const struct ctt_dev *d, const struct ctt_wino16_shape *s)
{
    return ctt_dev_team(d, (double)(s->n * s->h * s->w) * (double)s->c *
                           (double)s->k * 9 / 256);
}

/* Copy of the values with rows of a multiple of 16 bytes. */
struct copying {
    const struct ctt_cast   *cast;
    const struct ctt_tensor *x;
    uint8_t                 *to;
    int64_t                  ld;
};

static void copy_rows(const void *arg, int64_t from, int64_t last)
{
    const struct copying *c = arg;
    const struct ctt_tensor *x = c->x;

    for (int64_t r = from; r < last; r++)
        if (ctt_is_bytes(x))
            memcpy(c->to + r * c->ld, (const uint8_t *)x->data + r * x->ld,
                   (size_t)x->c);
        else
            c->cast->to_bytes(ctt_row(x, r), x->scale, x->zero,
                              c->to + r * c->ld, x->c);
}

static void copy_bytes(const struct ctt_conv_ask *q, uint8_t *to, int64_t ld)
{
    const struct ctt_tensor *x = &q->call->in[0];

    ctt_dev_rows(q->dev, (double)(ctt_rows(x) * ld / 8), ctt_rows(x),
                 copy_rows,
                 &(struct copying){ ctt_cast_of(q->dev), x, to, ld });
}

/* Reads values in place if they are bytes and rows are whole registers, else
 * copies them. */
static int wino16_run(struct ctt_conv_ask *q)
{
    const struct ctt_wino16_isa *isa = q->state;
    const struct ctt_tensor *x = &q->call->in[0];
    struct ctt_wino16_shape s = call_shape(q->call);
    struct ctt_wino16_job job = { .s = &s, .x = x->data, .ldx = x->ld,
                                  .zero = x->zero };
    struct ctt_int8_epilogue end = { .c = q->call };
    int64_t cp = ctt_align(s.c, 64), ld = ctt_align(s.c, 16), copy, bytes;
    int threads = team(q->dev, &s), rc = 0;
    struct packed *p;
    uint8_t *room;

    q->code = isa->name;
    CTT_TRY((p = ctt_conv_own(q, sizeof(*p))) ? 0 : CTT_ENOMEM);
    CTT_TRY(get_packed(q, &s, p));
    copy = ctt_is_bytes(x) && ld == s.c ? 0
               : ctt_align(ctt_rows(x) * ld, 64);
    bytes = ctt_wino16_scratch(isa, &s, threads);
    CTT_TRY((room = ctt_dev_scratch(q->dev, (size_t)(cp + copy + bytes)))
                ? 0 : CTT_ENOMEM);
    memset(room, x->zero, (size_t)cp);
    if (copy) {
        copy_bytes(q, room + cp, ld);
        job.x = room + cp;
        job.ldx = ld;
    }
    job.blank = room;
    job.u = p->u;
    job.end = &end;
    job.dev = q->dev;
    end.factor = p->factor;
    ctt_wino16_conv(isa, &job, threads, room + cp + copy);
out:
    return rc;
}

static void wino16_free(void *own)
{
    struct packed *p = own;

    ctt_free(p->u);
    ctt_free(p->factor);
    ctt_free(p);
}

const struct ctt_conv_provider ctt_conv_wino16 = {
    .name = "wino16", .int8 = 1, .any_threads = 1, .apart = CTT_APART_CHAIN,
    .open = open_isa, .can = wino16_supports, .pays = is_faster,
    .run = wino16_run, .forget = wino16_free,
};
