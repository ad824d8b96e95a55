/* SPDX-License-Identifier: Apache-2.0
 * wino_provider.c: the provider "winograd": which convs it computes, when that
 * is faster than the rows below, and with which weights. */
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/winograd/wino.h"
#include "device/cpu/conv/winograd/wino_plan.h"
#include "net/winograd.h"

/* Weights in the transform domain, for one kind of pass. */
struct packed {
    float   *u;
    int64_t  room, c2, hidden;
    uint64_t stamp;
};

/* A call's cache: transformed weights of the forward pass in large and small
 * tiles, of the gradient of the input, and of a forward pass with pair or lstm;
 * windows of a forward pass in tiles of any size. */
enum way { FORWARD, SMALL, TO_INPUT, ALONG, WINDOWS, WAYS };
struct wino_cache { struct packed way[WAYS]; };

/* ---- the choice ---- */

/* state: kernels of the best instruction set, or NULL. */
static int open_isa(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = (void *)(uintptr_t)ctt_wino_best();
    return 0;
}

/* Shape of the convolution for a part: the forward pass for the result and the
 * gradient of the weights, else the gradient of the input. */
static struct ctt_wino_shape part_shape(const struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct ctt_wino_shape s;

    if (q->part == CTT_CONV_DIN)
        return ctt_wino_din_shape(c->node, &c->in[0]);
    s = ctt_wino_fwd_shape(c->node, &c->in[0]);
    if (q->part == CTT_CONV_OUT) {
        s.c2 = c->pair.node ? c->pair.in.c : 0;
        s.hidden = c->lstm.node ? c->lstm.h.c : 0;
        s.small = s.r == 3 && !s.c2 && !s.hidden &&
                  ctt_winograd_small_tiles(&c->out, s.c);
        s.windows = ctt_wino_few_tiles(q->state, &s);
    }
    return s;
}

static int wino_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;

    if (!q->state)
        q->why = "this processor has no AVX2";
    else if (ctt_part_is_short(q))
        q->why = "reads and writes floats";
    else if ((c->pair.node || c->lstm.node) && c->act)
        q->why = "an activation comes before the fused nodes";
    else
        q->why = ctt_winograd_refuses(c->node);
    return !q->why;
}

/* Cost model, the same for every number of threads: 1 if Winograd is faster. */
static int is_faster(struct ctt_conv_ask *q)
{
    const struct ctt_wino_isa *i = q->state;
    struct ctt_wino_shape s = part_shape(q);
    struct ctt_wino_plan p = ctt_wino_plan(&s, i->lanes, 1);
    const struct ctt_winograd_work work = {
        .pixels = s.n * p.oh * p.ow, .tiles = p.tiles, .freqs = p.freqs,
        .in = p.c, .out = s.k, .window = s.r, .lanes = i->lanes,
        .sums = q->part == CTT_CONV_DW
    };
    const char *loses = ctt_winograd_loses(&work);

    q->why = loses ? loses
             : s.r == 3 ? "3x3, stride 1, fewer multiplications"
                        : "5x5, stride 1, fewer multiplications";
    return !loses;
}

/* ---- the parts ---- */

static void pack_for(const struct ctt_conv_ask *q,
                     const struct ctt_wino_shape *s, enum way way, float *u)
{
    const struct ctt_call *c = q->call;

    ctt_wino_pack(q->state, s, c->w[0].t.data, c->pair.w[0].t.data,
                  way == TO_INPUT,
                  ctt_dev_team(q->dev, (double)ctt_wino_packed(q->state, s) *
                               8), u);
}

static int get_packed(const struct ctt_conv_ask *q,
                      const struct ctt_wino_shape *s, enum way way,
                      struct packed *p)
{
    const struct ctt_wino_isa *isa = q->state;
    const struct ctt_call *c = q->call;
    int same = p->c2 == s->c2 && p->hidden == s->hidden;
    int64_t n = ctt_wino_packed(isa, s);
    int rc = 0;

    if (n <= p->room && p->stamp == c->stamp && c->stamp && same)
        return 0;
    CTT_TRY(ctt_call_lacks(c));
    if (n > p->room) {
        ctt_free(p->u);
        p->room = 0;
        p->u = ctt_calloc_full((size_t)n, sizeof(float));
        CTT_TRY(p->u ? 0 : CTT_ENOMEM);
        p->room = n;
    }
    pack_for(q, s, way, p->u);
    p->stamp = c->stamp;
    p->c2 = s->c2;
    p->hidden = s->hidden;
out:
    return rc;
}

/* Threads for a pass of shape s, by its multiplications. */
static int team(const struct ctt_dev *d, const struct ctt_wino_shape *s)
{
    return ctt_dev_team(d, (double)(s->n * s->h * s->w) *
                           (double)(s->c + s->c2) *
                           (double)s->k * s->r * s->r / 128);
}

static float *scratch_for(struct ctt_dev *d, int64_t floats)
{
    return ctt_dev_scratch(d, (size_t)floats * sizeof(float));
}

/* Used by both passes: y is the convolution of job->x. */
static int convolve(struct ctt_conv_ask *q, struct ctt_wino_job *job,
                    enum way way)
{
    const struct ctt_wino_isa *isa = q->state;
    int threads = team(q->dev, job->s), rc = 0;
    int64_t own = ctt_align(ctt_wino_scratch(isa, job->s, threads), 16);
    int64_t packed = q->call->once ? ctt_wino_packed(isa, job->s) : 0;
    float *scratch = scratch_for(q->dev, own + packed);
    struct wino_cache *k;

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    if (packed) {
        CTT_TRY(ctt_call_lacks(q->call));
        job->u = scratch + own;
        pack_for(q, job->s, way, scratch + own);
    } else {
        CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
        CTT_TRY(get_packed(q, job->s, way, &k->way[way]));
        job->u = k->way[way].u;
    }
    job->dev = q->dev;
    ctt_wino_conv(isa, job, threads, scratch);
out:
    return rc;
}

/* The transforms apply relu; other acts are applied to the result. */
static int forward_pass(struct ctt_conv_ask *q, const struct ctt_wino_shape *s)
{
    const struct ctt_call *c = q->call;
    int relu = c->act == CTT_ACT_RELU + 1, rc = 0;
    const struct ctt_also_lstm *l = &c->lstm;
    struct ctt_wino_cell cell = { l->old.data, l->h.data, l->c.data,
                                  l->old.ld, l->h.ld, l->c.ld };
    struct ctt_wino_epilogue end = {
        .bias = c->w[1].t.data, .bias2 = s->c2 ? c->pair.w[1].t.data : NULL,
        .act = relu ? c->act : 0, .cell = s->hidden ? &cell : NULL,
    };
    struct ctt_wino_job job = {
        .s = s, .x = { c->in[0].data, c->pair.in.data },
        .ldx = { c->in[0].ld, c->pair.in.ld }, .ldy = c->out.ld, .end = &end,
        .y = !s->hidden || l->keep ? c->out.data : NULL,
    };

    if (c->node->plus) {
        end.plus = c->in[1].data;
        end.ldplus = c->in[1].ld;
    }
    CTT_TRY(convolve(q, &job, s->c2 || s->hidden ? ALONG
                              : s->windows ? WINDOWS
                              : s->small ? SMALL : FORWARD));
    if (c->act && !relu)
        ctt_cpu_of(q->dev)->isa->row_ops->finish(q->dev, &c->out, NULL,
                                                 c->act);
out:
    return rc;
}

static int to_input(struct ctt_conv_ask *q, const struct ctt_wino_shape *s)
{
    const struct ctt_call *c = q->call;
    struct ctt_wino_epilogue end = { .add = c->add & 1 };
    struct ctt_wino_job job = {
        .s = s, .x = { c->dout.data }, .ldx = { c->dout.ld }, .end = &end,
        .y = c->din[0].data, .ldy = c->din[0].ld,
    };

    return convolve(q, &job, TO_INPUT);
}

static int to_weights(struct ctt_conv_ask *q, const struct ctt_wino_shape *s)
{
    const struct ctt_wino_isa *isa = q->state;
    const struct ctt_call *c = q->call;
    int threads = team(q->dev, s), rc = 0;
    float *scratch = scratch_for(q->dev, ctt_wino_grad_scratch(isa, s,
                                                               threads));
    struct ctt_wino_back back = {
        .s = s, .x = c->in[0].data, .ldx = c->in[0].ld, .dy = c->dout.data,
        .lddy = c->dout.ld, .dev = q->dev,
    };

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    ctt_wino_grad(isa, &back, threads, scratch, c->dw[0].data);
out:
    return rc;
}

static int wino_run(struct ctt_conv_ask *q)
{
    static int (*const parts[CTT_CONV_PARTS])(struct ctt_conv_ask *,
                                              const struct ctt_wino_shape *) = {
        [CTT_CONV_OUT] = forward_pass, [CTT_CONV_DIN] = to_input,
        [CTT_CONV_DW] = to_weights,
    };
    const struct ctt_wino_isa *isa = q->state;
    struct ctt_wino_shape s = part_shape(q);

    q->code = isa->name;
    return parts[q->part](q, &s);
}

static void wino_free(void *own)
{
    struct wino_cache *k = own;

    for (int i = 0; i < WAYS; i++)
        ctt_free(k->way[i].u);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_winograd = {
    .name = "winograd", .along = 1, .apart = CTT_APART_CHAIN,
    .any_threads = 1, .open = open_isa, .can = wino_supports, .pays = is_faster,
    .run = wino_run,
    .forget = wino_free,
};
