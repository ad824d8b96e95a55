/* SPDX-License-Identifier: Apache-2.0
 * wino_conv.c: which convolutions Winograd does, and with which weights. */
#include "device/cpu/conv/wino_conv.h"
#include "device/cpu/conv/wino.h"
#include "device/cpu/conv/wino_plan.h"

#include <stdio.h>
#include <string.h>

/* Weights in the transform domain, for one way. */
struct packed {
    float   *u;
    int64_t  room, c2, hidden;
    uint64_t stamp;
};

enum way { FORWARD, TO_INPUT, ALONG, WAYS };

/* What stands in a call's cache. */
struct cache {
    const struct ctt_dev_kind *below;
    void                      *inner;    /* of the kernels below */
    struct packed              way[WAYS];
    char                       impl[CTT_PASSES][32];    /* empty: below */
};

/* The rule that chooses, for all numbers of threads the same.  Products of
 * half a register: those of the direct sum, and ours, where the transform of
 * half a register counts like TRANSFORM products a frequency, and a gradient
 * of weights like that of LEAST tiles more, for adding up and for its way back
 * from the transform domain.  (Measured on 714 calls, 3x3 and 5x5, 1 to 256
 * channels, images of 4x4 to 64x64: the better one, or within a quarter of it,
 * in 94 of 100; the others are mostly calls of a few microseconds.) */
enum { TRANSFORM = 8, LEAST = 32 };

static int pays(const struct ctt_wino_shape *s, const struct ctt_wino_isa *i,
                int64_t more)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 1);
    int64_t half = i->lanes / 2, in = (p.c + half - 1) / half;
    int64_t out = (s->k + half - 1) / half;
    int64_t direct = s->n * p.oh * p.ow * s->r * s->r * p.c * out;
    int64_t ours = (p.tiles + more) * p.c * out +
                   p.tiles * TRANSFORM * (in + out);

    return ours * p.freqs < direct && p.tiles >= 4;
}

static const struct ctt_wino_isa *isa_for(const struct ctt_call *c,
                                          struct ctt_wino_shape *fwd,
                                          struct ctt_wino_shape *din)
{
    if (!ctt_wino_can(c->node))
        return NULL;
    *fwd = ctt_wino_fwd_shape(c->node, &c->in[0]);
    *din = ctt_wino_din_shape(c->node, &c->in[0]);
    return ctt_wino_best();
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
    int same = p->c2 == s->c2 && p->hidden == s->hidden;
    int64_t n = ctt_wino_packed(isa, s);

    if (n > p->room) {
        ctt_free(p->u);
        p->room = 0;
        p->u = ctt_calloc((size_t)n, sizeof(float));
        if (!p->u)
            return CTT_ENOMEM;
        p->room = n;
    } else if (p->stamp == c->stamp && c->stamp && same) {
        return 0;
    }
    ctt_wino_pack(isa, s, c->w[0].t.data, c->pair.w[0].t.data, turned,
                  ctt_dev_team(d, (double)n * 8), p->u);
    p->stamp = c->stamp;
    p->c2 = s->c2;
    p->hidden = s->hidden;
    return 0;
}

/* Threads for a pass of so many multiplications. */
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

static int below(struct ctt_dev *d, const struct ctt_call *c,
                 struct cache *k, enum ctt_pass pass)
{
    struct ctt_call inner = *c;

    if (d->deterministic)    /* oneDNN's sums may depend on the threads */
        return d->plain[pass][c->node->op](d, c);
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

/* The shape of a forward pass with all that goes along. */
static struct ctt_wino_shape with(const struct ctt_call *c,
                                  struct ctt_wino_shape s)
{
    s.c2 = c->pair.node ? c->pair.in.c : 0;
    s.hidden = c->lstm.node ? c->lstm.h.c : 0;
    return s;
}

static void note(const struct ctt_call *c, struct cache *k, enum ctt_pass pass,
                 const struct ctt_wino_isa *isa)
{
    snprintf(k->impl[pass], sizeof(k->impl[pass]), "%s%s%s", isa->name,
             c->pair.node ? "+pair" : "", c->lstm.node ? "+lstm" : "");
}

static int forward(struct ctt_dev *d, const struct ctt_call *c,
                   const struct ctt_wino_isa *isa,
                   const struct ctt_wino_shape *s, struct cache *k)
{
    int relu = c->act == CTT_ACT_RELU + 1, threads = team(d, s), rc = 0;
    struct packed *p = &k->way[s->c2 || s->hidden ? ALONG : FORWARD];
    const struct ctt_also_lstm *l = &c->lstm;
    struct ctt_wino_cell cell = { l->old.data, l->h.data, l->c.data,
                                  l->old.ld, l->h.ld, l->c.ld };
    struct ctt_wino_end end = {
        .bias = c->w[1].t.data, .bias2 = s->c2 ? c->pair.w[1].t.data : NULL,
        .act = relu ? c->act : 0, .cell = s->hidden ? &cell : NULL,
    };
    struct ctt_wino_job job = {
        .s = s, .x = { c->in[0].data, c->pair.in.data },
        .ldx = { c->in[0].ld, c->pair.in.ld }, .ldy = c->out.ld, .end = &end,
        .y = !s->hidden || l->keep ? c->out.data : NULL,
    };
    float *scratch = scratch_for(d, ctt_wino_scratch(isa, s, threads));

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    if (c->node->plus) {
        end.plus = c->in[1].data;
        end.ldplus = c->in[1].ld;
    }
    CTT_TRY(get_packed(d, isa, s, c, p, 0));
    job.u = p->u;
    ctt_wino_conv(isa, &job, threads, scratch);
    if (c->act && !relu)
        CTT_TRY(act(d, &c->out, c->act));
    note(c, k, CTT_FWD, isa);
out:
    return rc;
}

static int to_input(struct ctt_dev *d, const struct ctt_call *c,
                    const struct ctt_wino_isa *isa,
                    const struct ctt_wino_shape *s, struct cache *k)
{
    struct ctt_wino_end end = { .add = c->add & 1 };
    struct ctt_wino_job job = {
        .s = s, .x = { c->dout.data }, .ldx = { c->dout.ld }, .end = &end,
        .y = c->din[0].data, .ldy = c->din[0].ld,
    };
    int threads = team(d, s), rc = 0;
    float *scratch = scratch_for(d, ctt_wino_scratch(isa, s, threads));

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    CTT_TRY(get_packed(d, isa, s, c, &k->way[TO_INPUT], 1));
    job.u = k->way[TO_INPUT].u;
    ctt_wino_conv(isa, &job, threads, scratch);
    note(c, k, CTT_BWD, isa);
out:
    return rc;
}

/* A part is a sum of its own in memory: as many as threads, or always the same
 * number. */
enum { PARTS = 8 };

static int to_weights(struct ctt_dev *d, const struct ctt_call *c,
                      const struct ctt_wino_isa *isa,
                      const struct ctt_wino_shape *s, struct cache *k)
{
    int threads = team(d, s), rc = 0;
    int parts = d->deterministic ? PARTS : threads;
    float *scratch = scratch_for(d, ctt_wino_grad_scratch(isa, s, parts));

    CTT_TRY(scratch ? 0 : CTT_ENOMEM);
    ctt_wino_grad(isa, s, c->in[0].data, c->in[0].ld, c->dout.data,
                  c->dout.ld, c->dw[0].data, parts, threads, scratch);
    note(c, k, CTT_BWD, isa);
out:
    return rc;
}

int ctt_wino_along(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_wino_shape s, t;
    const struct ctt_wino_isa *isa = isa_for(c, &s, &t);

    (void)d;
    if (!isa || !c->cache || c->act)
        return 0;
    s = with(c, s);
    return pays(&s, isa, 0);
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
    *k->impl[CTT_FWD] = 0;
    if (isa)
        s = with(c, s);
    if (isa && pays(&s, isa, 0))
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
    *k->impl[CTT_BWD] = 0;
    if (isa && c->din[0].data && pays(&t, isa, 0)) {
        CTT_TRY(to_input(d, c, isa, &t, k));
        rest.din[0].data = NULL;
    }
    if (isa && c->dw[0].data && pays(&s, isa, LEAST)) {
        CTT_TRY(to_weights(d, c, isa, &s, k));
        rest.dw[0].data = NULL;
    }
    if (c->din[1].data == c->dout.data)
        rest.din[1].data = NULL;
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
    for (int i = 0; i < WAYS; i++)
        ctt_free(k->way[i].u);
    ctt_free(k);
}

const char *ctt_wino_impl(const void *cache, enum ctt_pass pass)
{
    const struct cache *k = cache;

    if (*k->impl[pass])
        return k->impl[pass];
    return k->inner && k->below->impl ? k->below->impl(k->inner, pass)
                                      : "plain";
}
