/* SPDX-License-Identifier: Apache-2.0
 * wino_conv.c: which convolutions Winograd does, and with which weights. */
#include "device/cpu/wino_conv.h"
#include "device/cpu/wino.h"

#include <string.h>

/* Weights in the transform domain, for one way. */
struct packed {
    float   *u;
    int64_t  room;
    uint64_t stamp;
};

/* What stands in a call's cache. */
struct cache {
    const struct ctt_dev_kind *below;
    void                      *inner;    /* of the kernels below */
    struct packed              way[CTT_PASSES];
    const char                *ours;
    int                        used[CTT_PASSES];    /* ways done here */
};

/* Few channels leave registers empty, small images leave tiles empty, and
 * little work does not pay the transforms. */
static int pays(const struct ctt_wino_shape *s)
{
    int64_t oh = s->h + 2 * s->pad_h - s->r + 1;
    int64_t ow = s->w + 2 * s->pad_w - s->r + 1;
    int64_t tiles = (oh + 3) / 4 * ((ow + 3) / 4);

    return s->c >= 12 && s->k >= 12 && 48 * tiles <= 5 * oh * ow &&
           (s->c + s->k) * 2 * 16 * tiles <= s->c * s->k * oh * ow &&
           s->n * tiles >= 4;
}

static const struct ctt_wino_isa *isa_for(const struct ctt_call *c,
                                          struct ctt_wino_shape *fwd,
                                          struct ctt_wino_shape *din)
{
    if (!ctt_wino_can(c->node))
        return NULL;
    *fwd = ctt_wino_fwd_shape(c->node, &c->in[0]);
    *din = ctt_wino_din_shape(c->node, &c->in[0]);
    return pays(fwd) ? ctt_wino_best() : NULL;
}

static int open_cache(struct ctt_dev *d, const struct ctt_call *c,
                      struct cache **out)
{
    struct cache *k = *c->cache;

    if (!k) {
        k = ctt_calloc(1, sizeof(*k));
        if (!k)
            return CTT_ENOMEM;
        k->below = d->below;
        *c->cache = k;
    }
    *out = k;
    return 0;
}

static int get_packed(struct ctt_dev *d, const struct ctt_wino_isa *isa,
                      const struct ctt_wino_shape *s, const struct ctt_call *c,
                      struct packed *p, int turned)
{
    int64_t n = ctt_wino_packed(isa, s);

    if (n > p->room) {
        ctt_free(p->u);
        p->room = 0;
        p->u = ctt_calloc((size_t)n, sizeof(float));
        if (!p->u)
            return CTT_ENOMEM;
        p->room = n;
    } else if (p->stamp == c->stamp && c->stamp) {
        return 0;
    }
    ctt_wino_pack(isa, s, c->w[0].data, turned,
                  ctt_dev_team(d, (double)n * 8), p->u);
    p->stamp = c->stamp;
    return 0;
}

/* Threads for a pass of so many multiplications. */
static int team(const struct ctt_dev *d, const struct ctt_wino_shape *s)
{
    return ctt_dev_team(d, (double)(s->n * s->h * s->w) * (double)s->c *
                           (double)s->k * s->r * s->r / 128);
}

static float *scratch_for(struct ctt_dev *d, int64_t floats)
{
    return ctt_dev_scratch(d, (size_t)floats * sizeof(float));
}

static int below(struct ctt_dev *d, const struct ctt_call *c,
                 struct cache *k, enum ctt_pass pass)
{
    struct ctt_call inner = *c;

    inner.cache = &k->inner;
    return d->inner[pass][c->node->op](d, &inner);
}

/* y = act(y), for the acts that the kernels of Winograd do not know. */
static int act(struct ctt_dev *d, const struct ctt_tensor *y, int kind)
{
    struct ctt_node n = { .op = CTT_OP_ACT, .nin = 1,
                          .attr.act.kind = kind - 1 };
    struct ctt_call c = { .node = &n, .out = *y };

    c.in[0] = *y;
    return d->plain[CTT_FWD][CTT_OP_ACT](d, &c);
}

static int forward(struct ctt_dev *d, const struct ctt_call *c,
                   const struct ctt_wino_isa *isa,
                   const struct ctt_wino_shape *s, struct cache *k)
{
    int relu = c->act == CTT_ACT_RELU + 1, threads = team(d, s), rc = 0;
    struct ctt_wino_end end = { .bias = c->w[1].data,
                                .act = relu ? c->act : 0 };
    float *scratch = scratch_for(d, ctt_wino_scratch(isa, s, threads));

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    if (c->node->plus) {
        end.plus = c->in[1].data;
        end.ldplus = c->in[1].ld;
    }
    CTT_TRY(get_packed(d, isa, s, c, &k->way[CTT_FWD], 0));
    ctt_wino_conv(isa, s, c->in[0].data, c->in[0].ld, k->way[CTT_FWD].u,
                  c->out.data, c->out.ld, &end, threads, scratch);
    if (c->act && !relu)
        CTT_TRY(act(d, &c->out, c->act));
    k->used[CTT_FWD] = 1;
    k->ours = isa->name;
out:
    return rc;
}

static int to_input(struct ctt_dev *d, const struct ctt_call *c,
                    const struct ctt_wino_isa *isa,
                    const struct ctt_wino_shape *s, struct cache *k)
{
    struct ctt_wino_end end = { .add = c->add & 1 };
    int threads = team(d, s), rc = 0;
    float *scratch = scratch_for(d, ctt_wino_scratch(isa, s, threads));

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    CTT_TRY(get_packed(d, isa, s, c, &k->way[CTT_BWD], 1));
    ctt_wino_conv(isa, s, c->dout.data, c->dout.ld, k->way[CTT_BWD].u,
                  c->din[0].data, c->din[0].ld, &end, threads, scratch);
out:
    return rc;
}

static int to_weights(struct ctt_dev *d, const struct ctt_call *c,
                      const struct ctt_wino_isa *isa,
                      const struct ctt_wino_shape *s)
{
    int threads = team(d, s), rc = 0;
    float *scratch = scratch_for(d, ctt_wino_grad_scratch(isa, s, threads));

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    ctt_wino_grad(isa, s, c->in[0].data, c->in[0].ld, c->dout.data,
                  c->dout.ld, c->dw[0].data, threads, scratch);
out:
    return rc;
}

static int conv_fwd(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_wino_shape s, t;
    const struct ctt_wino_isa *isa = isa_for(c, &s, &t);
    struct cache *k;
    int rc = 0;

    if (!c->cache)
        return d->plain[CTT_FWD][c->node->op](d, c);
    CTT_TRY(open_cache(d, c, &k));
    if (isa)
        CTT_TRY(forward(d, c, isa, &s, k));
    else
        CTT_TRY(below(d, c, k, CTT_FWD));
out:
    return rc;
}

/* What is done here is taken out of the call that goes below; there remain at
 * least the bias and the plus input. */
static int conv_bwd(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call rest = *c;
    struct ctt_wino_shape s, t;
    const struct ctt_wino_isa *isa = isa_for(c, &s, &t);
    struct cache *k;
    int rc = 0;

    if (!c->cache)
        return d->plain[CTT_BWD][c->node->op](d, c);
    CTT_TRY(open_cache(d, c, &k));
    if (isa && c->din[0].data) {
        CTT_TRY(to_input(d, c, isa, &t, k));
        rest.din[0].data = NULL;
    }
    if (isa && c->dw[0].data) {
        CTT_TRY(to_weights(d, c, isa, &s));
        rest.dw[0].data = NULL;
    }
    if (isa) {
        k->used[CTT_BWD] = 1;
        k->ours = isa->name;
    }
    if (rest.din[0].data || rest.dw[0].data || rest.dw[1].data ||
        rest.din[1].data)
        CTT_TRY(below(d, &rest, k, CTT_BWD));
out:
    return rc;
}

void ctt_wino_open(struct ctt_dev *d, const struct ctt_dev_kind *kind)
{
    static const enum ctt_opcode ops[] = { CTT_OP_CONV, CTT_OP_DECONV };

    memcpy(d->inner, d->kernel, sizeof(d->inner));
    d->below = kind;
    for (size_t i = 0; i < CTT_LEN(ops); i++) {
        d->kernel[CTT_FWD][ops[i]] = conv_fwd;
        d->kernel[CTT_BWD][ops[i]] = conv_bwd;
    }
}

void ctt_wino_forget(void *cache)
{
    struct cache *k = cache;

    if (k->inner && k->below->forget)
        k->below->forget(k->inner);
    for (int i = 0; i < CTT_PASSES; i++)
        ctt_free(k->way[i].u);
    ctt_free(k);
}

const char *ctt_wino_impl(const void *cache, enum ctt_pass pass)
{
    const struct cache *k = cache;

    if (k->used[pass])
        return k->ours;
    return k->inner && k->below->impl ? k->below->impl(k->inner, pass)
                                      : "plain";
}
