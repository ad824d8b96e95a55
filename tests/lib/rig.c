/* SPDX-License-Identifier: Apache-2.0
 * rig.c: calls of kernels for the tests. */
#include "tests/lib/rig.h"
#include "base/half.h"
#include "net/op.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct ctt_case ctt_cases[] = {
    { "c=3 h=5 w=4", NULL, "conv y in=a out=4 kernel=3 pad=1", 0 },
    { "c=2 h=7 w=6", NULL, "conv y in=a out=3 kernel=1,3,2 stride=2", 0 },
    { "c=2 d=4 h=4 w=3", NULL, "conv y in=a out=2 kernel=3 pad=1 bias=0", 0 },
    { "c=3 h=3 w=9", NULL, "conv y in=a out=2 kernel=1,1,3 stride=1,2,2 "
      "pad=0,1,1", 0 },
    { "c=1", NULL, "conv y in=a out=1", 0 },
    { "c=5", "c=19", "conv y in=a plus=b out=19", 0 },
    { "c=2 h=4 w=3", "c=5 h=4 w=3", "conv y in=a plus=b out=5 kernel=3 pad=1 "
      "bias=0", 0 },
    { "c=6 h=5 w=4", NULL, "conv y in=a out=4 kernel=3 pad=1 groups=2", 0 },
    { "c=5 h=6 w=5", NULL, "conv y in=a out=5 kernel=3 stride=2 pad=1 "
      "groups=5", 0 },
    { "c=3 h=4 w=4", NULL, "conv y in=a out=6 kernel=3 pad=1 bias=0 groups=3",
      0 },
    { "c=4 d=3 h=4 w=3", NULL, "conv y in=a out=6 kernel=3 pad=1 groups=2",
      0 },
    { "c=3 d=3 h=3 w=3", NULL, "conv y in=a out=3 kernel=3 pad=1 groups=3",
      0 },
    { "c=6 h=3 w=3", "c=9 h=3 w=3", "conv y in=a plus=b out=9 kernel=3 pad=1 "
      "groups=3", 0 },
    { "c=4 h=2 w=3", NULL, "conv y in=a out=6 kernel=1,2,3 groups=2", 0 },
    { "c=6 h=3 w=2", NULL, "conv y in=a out=4 groups=2", 0 },
    { "c=6", NULL, "conv y in=a out=6 groups=6", 0 },
    { "c=3 h=3 w=4", NULL, "deconv y in=a out=2 kernel=4 stride=2 pad=1", 0 },
    { "c=2 d=2 h=2 w=3", NULL, "deconv y in=a out=3 kernel=2,3,3 "
      "stride=1,2,3", 0 },
    { "c=4 h=3 w=2", NULL, "deconv y in=a out=5 bias=0", 0 },
    { "c=3 h=5 w=6", NULL, "pool y in=a kind=max kernel=2", 0 },
    { "c=3 h=5 w=6", NULL, "pool y in=a kind=max kernel=3 stride=2 pad=1", 0 },
    { "c=3 h=5 w=6", NULL, "pool y in=a kind=avg kernel=3 stride=2 pad=1", 0 },
    { "c=3 d=4 h=4 w=3", NULL, "pool y in=a kind=max kernel=2 stride=1", 0 },
    { "c=3 d=4 h=4 w=3", NULL, "pool y in=a kind=avg", 0 },
    { "c=3 h=2 w=3", NULL, "upsample y in=a by=2", 0 },
    { "c=8 d=2 h=3 w=2", NULL, "upsample y in=a by=2,1,3", 0 },
    { "c=3 h=2 w=3", NULL, "quant y in=a scale=0.02 zero=100", 1 },
    { "c=67 h=2", NULL, "quant y in=a scale=0.01", 1 },
    { "c=5 h=4 w=3", NULL, "norm y in=a kind=batch", 0 },
    { "c=67", NULL, "norm y in=a kind=batch momentum=0.3 eps=0.01", 0 },
    { "c=5 h=4 w=3", NULL, "norm y in=a kind=layer", 0 },
    { "c=71 w=2", NULL, "norm y in=a kind=layer", 0 },
    { "c=5 h=3", NULL, "act y in=a kind=relu", 0 },
    { "c=5 h=3", NULL, "act y in=a kind=relu6", 0 },
    { "c=5 h=3", NULL, "act y in=a kind=sigmoid", 0 },
    { "c=67", NULL, "act y in=a kind=tanh", 0 },
    { "c=5 h=3", NULL, "act y in=a kind=hsigmoid", 0 },
    { "c=67", NULL, "act y in=a kind=hswish", 0 },
    { "c=67", NULL, "act y in=a kind=silu", 0 },
    { "c=67", NULL, "act y in=a kind=gelu", 0 },
    { "c=5 h=3", NULL, "act y in=a kind=leaky slope=0.2", 0 },
    { "c=8 h=3", NULL, "act y in=a kind=leaky", 0 },
    { "c=67", NULL, "act y in=a kind=abs", 0 },
    { "c=5 h=3", NULL, "act y in=a kind=inverse", 0 },
    { "c=3 h=2", "c=3 h=2", "add y in=a,b", 0 },
    { "c=3 h=2", "c=3 h=2", "add y in=a,b,a bias=1", 0 },
    { "c=3 h=2", NULL, "add y in=a bias=1", 0 },
    { "c=3 h=2", "c=3 h=2", "add y in=a,b minus=1", 0 },
    { "c=3 h=2", "c=3 h=2", "add y in=a,b,a minus=1 bias=1", 0 },
    { "c=3 h=2", "c=3 h=2", "add y in=a,b,b minus=1", 0 },
    { "c=3 h=2", "c=3 h=2", "mul y in=a,b", 0 },
    { "c=5 h=3 w=4", "c=5", "mul y in=a,b", 0 },
    { "c=8", "c=8 d=2 h=3 w=3", "mul y in=a,b", 0 },
    { "c=70 h=12 w=13", "c=70", "mul y in=a,b", 1 },
    { "c=5 h=3 w=2", NULL, "softmax y in=a over=channels", 0 },
    { "c=71", NULL, "softmax y in=a over=channels", 0 },
    { "c=5 d=2 h=3 w=2", NULL, "softmax y in=a over=positions", 0 },
    { "c=70 h=9 w=9", NULL, "softmax y in=a over=positions", 1 },
    { "c=1 h=3", NULL, "embed y in=a vocab=4 out=5", 0 },
    { "c=1 h=2 w=3", NULL, "embed y in=a vocab=3 out=8", 0 },
    { "c=1 h=40", NULL, "embed y in=a vocab=11 out=67", 1 },
    { "c=7 h=3", NULL, "lrn y in=a size=3 alpha=2 beta=0.6 k=1.5", 0 },
    { "c=6", NULL, "lrn y in=a size=4 alpha=3", 0 },
    { "c=5 h=2", NULL, "lrn y in=a size=99 alpha=3 beta=2", 0 },
    { "c=136 h=5 w=4", NULL, "lrn y in=a size=5 alpha=1 k=2", 1 },
    { "c=3 d=2 h=4 w=6", NULL, "patch y in=a by=2,2,3", 0 },
    { "c=24 h=3 w=2", NULL, "patch y in=a by=2,2,3 back=1", 0 },
    { "c=8 h=6 w=4", NULL, "patch y in=a by=2", 0 },
    { "c=12 d=2 h=5 w=3", NULL, "groupnorm y in=a groups=3", 0 },
    { "c=7 h=4 w=3", NULL, "groupnorm y in=a eps=0.01", 0 },
    { "c=5 h=9", NULL, "groupnorm y in=a groups=5", 0 },
    { "c=136 h=13 w=12", NULL, "groupnorm y in=a groups=2", 1 },
    { "c=3 d=2 h=2 w=3", "c=6 h=3", "attend y in=a,b", 0 },
    { "c=4 h=5", "c=8 h=2 w=2", "attend y in=a,b,m", 0 },
    { "c=3 h=4", NULL, "attend y in=a,a", 0 },
    { "c=72 h=5 w=9", "c=144 h=9 w=15", "attend y in=a,b,m", 1 },
    { "c=16 d=2 h=6 w=6", "c=48 d=2 h=6 w=6", "attend y in=a,b", 1 },
    { "c=3 h=2", "c=2 h=2", "concat y in=a,b", 0 },
    { "c=3 h=2", "c=2 h=2", "concat y in=b,a,b", 0 },
    { "c=12 w=2", "c=3 w=2", "lstm y in=a,b", 0 },
    { "c=272", "c=68", "lstm y in=a,b", 0 },
    { "c=70 h=3", NULL, "dropout y in=a rate=0.4", 0 },
    { "c=5", "c=2", "loss y in=a,b kind=xent", 0 },
    { "c=7 h=2", "c=2 h=2", "loss y in=a,b kind=xent smooth=0.1", 0 },
    { "c=5 h=3", "c=5 h=3", "loss y in=a,b kind=mse", 0 },
    { "c=5 h=3", "c=5 h=3", "loss y in=a,b kind=l1l2", 0 },
    { "c=5 h=3", "c=10 h=3", "loss y in=a,b kind=soft", 0 },
    { "c=5 h=3", "c=20 h=3", "loss y in=a,b kind=binary", 0 },
    { "c=67", "c=268", "loss y in=a,b kind=binary temperature=3",
      0 },
    { "c=67", "c=134", "loss y in=a,b kind=soft temperature=3",
      0 },
    { "c=4 h=3 w=2", "c=4 h=3 w=2", "mix y in=a,b,m", 0 },
    { "c=3 h=2 w=2", NULL, "window y in=a steps=3 every=2", 0 },
    { "c=2", NULL, "window y in=a steps=4", 0 },
    { "c=3 w=2", NULL, "window y in=a steps=4 every=2 fill=first", 0 },
    { "c=2", NULL, "window y in=a steps=9 fill=first", 0 },
    { "c=3 h=2 w=2", NULL, "window y in=a steps=3 spread=1", 0 },
    { "c=8", NULL, "window y in=a steps=2 spread=1", 0 },
    { "c=3 d=2 h=4 w=3", NULL, "halo y in=a up=2 down=1", 0 },
    { "c=8 h=5 w=2", NULL, "halo y in=a up=-1 down=-3 above=2 below=1", 0 },
    { "c=3 h=4", NULL, "halo y in=a up=-4 down=2", 0 },
    { "c=3 h=4 w=3", NULL, "collect y in=a of=rows all=4", 0 },
    { "c=8 d=2 h=2", NULL, "collect y in=a of=channels pass=backward all=8",
      0 },
    { "c=3 h=4 w=3", NULL, "total y in=a", 0 },
    { "c=3 h=4 w=3", "c=3 h=4 w=3", "total y in=a,b", 0 },
    { "c=8 h=2", NULL, "total y in=a pass=backward", 0 },
    { "c=3 h=24 w=24", NULL, "conv y in=a out=32 kernel=5 stride=2 pad=2", 1 },
    { "c=32 h=12 w=12", NULL, "conv y in=a out=64 kernel=3 stride=2 pad=1",
      1 },
    { "c=64 h=6 w=6", "c=128 h=6 w=6", "conv y in=a plus=b out=128 kernel=3 "
      "pad=1", 1 },
    { "c=24 h=12 w=12", NULL, "conv y in=a out=24 kernel=3 pad=1", 1 },
    { "c=8 h=12 w=12", NULL, "conv y in=a out=8 kernel=5 pad=2", 1 },
    { "c=3 h=6 w=7", NULL, "conv y in=a out=4 kernel=3 stride=2 pad=0 after=1",
      0 },
    { "c=2 h=5 w=4", "c=3 h=4 w=6", "conv y in=a plus=b out=3 kernel=3 "
      "pad=0,0,2 after=0,1,2", 0 },
    { "c=2 d=4 h=4 w=3", NULL, "conv y in=a out=2 kernel=3 pad=1,2,0 "
      "after=0,1,2", 0 },
    { "c=4 h=6 w=6", NULL, "conv y in=a out=4 kernel=3 stride=2 pad=0 after=1 "
      "groups=4", 0 },
    { "c=3 h=8 w=7", NULL, "conv y in=a out=4 kernel=3 pad=2 dilation=2", 0 },
    { "c=2 d=6 h=5 w=6", NULL, "conv y in=a out=3 kernel=2,2,3 stride=1,2,2 "
      "pad=1,0,2 after=0,1,1 dilation=3,2,2", 0 },
    { "c=4 h=7 w=7", NULL, "conv y in=a out=4 kernel=3 pad=0,3,1 dilation=3 "
      "groups=4 stride=2", 0 },
    { "c=3 h=3", NULL, "conv y in=a out=2 kernel=1,3,1 stride=1,9,1 "
      "after=0,4,0 dilation=2", 0 },
    { "c=24 h=13 w=11", NULL, "conv y in=a out=40 kernel=3 stride=2 pad=0 "
      "after=1", 1 },
    { "c=32 h=12 w=12", NULL, "conv y in=a out=32 kernel=3 pad=2 dilation=2",
      1 },
    { "c=24 h=12 w=12", NULL, "conv y in=a out=24 kernel=3 pad=0 after=2", 1 },
    { "c=3 h=6 w=5", NULL, "pool y in=a kind=max kernel=3 stride=2 after=1",
      0 },
    { "c=3 h=6 w=5", NULL, "pool y in=a kind=avg kernel=3 stride=2 pad=1 "
      "after=0,2,0", 0 },
    { "c=5 h=4 w=3", NULL, "conv y in=a out=4 kernel=1,3,1 pad=0,1,0", 0 },
    { "c=5 h=4 w=3", NULL, "conv y in=a out=4 kernel=1,1,3 pad=0,0,1", 0 },
    { "c=3 d=4 h=3 w=2", NULL, "conv y in=a out=4 kernel=3,1,1 pad=1,0,0", 0 },
    { "c=3 d=2 h=5 w=3", NULL, "conv y in=a out=4 kernel=1,3,1 "
      "stride=1,2,1", 0 },
    { "c=3 d=2 h=3 w=4", NULL, "conv y in=a out=2 kernel=1,1,2", 0 },
    { "c=3 d=3 h=2 w=3", NULL, "conv y in=a out=2 kernel=2,1,3", 0 },
    { "c=4 h=3 w=2", NULL, "deconv y in=a out=3 kernel=1,3,1 "
      "stride=1,2,1", 0 },
    { "c=8 h=6 w=6", NULL, "conv y in=a out=8 kernel=1,3,1 pad=0,1,0", 1 },
    { "c=64", NULL, "conv y in=a out=12", 1 },
    { "c=64", "c=256", "conv y in=a plus=b out=256", 1 },
    { "c=16 d=6 h=6 w=6", NULL, "conv y in=a out=32 kernel=3 pad=1", 1 },
    { "c=16 d=8", NULL, "conv y in=a out=24 kernel=3,1,1 pad=1,0,0", 1 },
    { "c=17 h=9 w=7", NULL, "conv y in=a out=33 kernel=3 pad=1", 1 },
    { "c=32 h=6 w=6", NULL, "deconv y in=a out=16 kernel=4 stride=2 pad=1",
      1 },
    { "c=64 h=12 w=12", "c=64 h=12 w=12", "conv y in=a plus=b out=64 kernel=3 "
      "pad=1 groups=4", 1 },
    { "c=32 h=12 w=12", "c=32 h=12 w=12", "conv y in=a plus=b out=32 kernel=3 "
      "pad=1 groups=32", 1 },
    { "c=24 h=11 w=9", NULL, "conv y in=a out=24 kernel=3 stride=2 pad=1 "
      "groups=24", 1 },
    { "c=19 h=9 w=7", NULL, "conv y in=a out=38 kernel=5 pad=2 groups=19", 1 },
    { "c=16 d=4 h=6 w=6", NULL, "conv y in=a out=16 kernel=3 pad=1 groups=16",
      1 },
};
const size_t ctt_case_count = CTT_LEN(ctt_cases);

enum { GAP = 5, STEPS = 5, PAST = 6 };

/* Fills the gaps between the rows of a view; exact in all types. */
static const float marker = 768;

static void open_tensor(struct ctt_rig *r, const struct ctt_tensor *shape,
                        int n, int view, uint64_t key, struct ctt_tensor *t)
{
    float *p;

    *t = *shape;
    t->n = n;
    t->ld = t->c + (view ? GAP : 0);
    p = ctt_calloc((size_t)(ctt_rows(t) * t->ld + 1), sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    r->block[r->blocks++] = p;
    p += view;    /* nor is it aligned */
    t->data = p;
    for (int64_t i = 0; i < ctt_rows(t); i++) {
        if (key)
            ctt_check_fill(p + i * t->ld, t->c, key + (uint64_t)i * 100);
        for (int64_t j = t->c; j < t->ld; j++)
            p[i * t->ld + j] = marker;
    }
}

/* The inputs of an act are spread over all pieces of its function; where it has
 * no second derivative they stay away from: 0 or +-end. */
static const struct { float spread, end; } kinks[CTT_ACT_KINDS] = {
    [CTT_ACT_RELU6] = { 10, 6 }, [CTT_ACT_HSIGMOID] = { 5, 3 },
    [CTT_ACT_HSWISH] = { 5, 3 }, [CTT_ACT_SILU] = { 4, 0 },
    [CTT_ACT_GELU] = { 4, 0 }, [CTT_ACT_INVERSE] = { 4, 0 },
};

/* Keeps inputs of acts away from kinks, and inputs of max apart from each
 * other. */
static void avoid_kinks(const struct ctt_node *n, const struct ctt_tensor *t)
{
    float *x = t->data;

    for (int64_t i = 0, k = 0; i < ctt_rows(t); i++, x += t->ld)
        for (int64_t j = 0; j < t->c; j++, k++) {
            x[j] += x[j] < 0 ? -0.05f : 0.05f;
            if (n->op == CTT_OP_ACT && kinks[n->attr.act.kind].spread > 0) {
                float end = kinks[n->attr.act.kind].end;
                x[j] *= kinks[n->attr.act.kind].spread;
                x[j] += fabsf(fabsf(x[j]) - end) < 0.2f ? 0.4f : 0;
            }
            if (n->op == CTT_OP_POOL)
                x[j] = (float)(k * 37 % 997) * (40.0f / 997) - 20;
        }
}

/* Classes and weights, one of them 0. */
static void targets(const struct ctt_tensor *t, int64_t classes)
{
    float *p = t->data;

    for (int64_t i = 0; i < ctt_rows(t); i++, p += t->ld) {
        p[0] = (float)(i * 3 % classes);
        p[1] = (float)(i % 3) * 0.75f;
    }
}

/* Symbols, some of them equal. */
static void symbols(const struct ctt_tensor *t, int vocab)
{
    for (int64_t i = 0; i < ctt_rows(t); i++)
        ((float *)t->data)[i * t->ld] = (float)(i * i % vocab);
}

/* Fills the choices of a mix or an attend: one of two for each sample. */
static void choices(const struct ctt_tensor *t)
{
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t j = 0; j < t->c; j++)
            ((float *)t->data)[i * t->ld + j] = (i + j) % 2 ? 0 : 1;
}

/* Keeps x away from y, where |x - y| has no derivative. */
static void keep_apart(const struct ctt_tensor *x, const struct ctt_tensor *y)
{
    for (int64_t i = 0; i < ctt_rows(x); i++)
        for (int64_t j = 0; j < x->c; j++) {
            float *a = (float *)x->data + i * x->ld + j;
            float b = ((float *)y->data)[i * y->ld + j];
            *a += fabsf(*a - b) < 0.1f ? 0.25f : 0;
        }
}

/* Place of a window over STEPS steps and one before them, or, with spread=1,
 * the kept ones among the earlier.  Memory holds PAST earlier steps. */
static struct ctt_window_place window_place(const struct ctt_window_attr *a)
{
    enum { LONG_AGO = 20 };
    int shift = ctt_window_shift(a->steps, LONG_AGO - 1);

    if (a->spread)
        return (struct ctt_window_place){ LONG_AGO, 0, 2 * a->steps, shift };
    return (struct ctt_window_place){ .past = 1, .oldest = -1 };
}

static void steps(struct ctt_rig *r, const struct ctt_node *n, int samples,
                  int view)
{
    struct ctt_call *c = &r->call;
    const struct ctt_tensor *shape = &r->g->node[n->in[0]].out;
    struct ctt_tensor *t[] = { &r->whole.in[0], &r->whole.din[0] };

    for (int i = 0; i < 2; i++) {
        open_tensor(r, shape, (STEPS + PAST) * samples, view, 10, t[i]);
        c->stride = ctt_rows(t[i]) / (STEPS + PAST) * t[i]->ld;
        (i ? c->din : c->in)[0] = *t[i];
        (i ? c->din : c->in)[0].n = samples;
        (i ? c->din : c->in)[0].data = (float *)t[i]->data + PAST * c->stride;
    }
    c->place = window_place(&n->attr.window);
    c->ask = r->ask;
    for (int i = 0; i < 8; i++)
        r->ask[i] = (struct ctt_ask){ i % samples, (i * 3 + 4) % STEPS };
}

static void inputs(struct ctt_rig *r, const struct ctt_node *n, int samples,
                   int flags)
{
    struct ctt_call *c = &r->call;

    for (int k = 0; k < n->nin && n->op != CTT_OP_WINDOW; k++) {
        const struct ctt_tensor *shape = &r->g->node[n->in[k]].out;
        open_tensor(r, shape, samples, flags & RIG_VIEW, 10 + (uint64_t)k,
                    &c->in[k]);
        avoid_kinks(n, &c->in[k]);
        open_tensor(r, shape, samples, flags & RIG_VIEW, 0, &c->din[k]);
        r->whole.in[k] = c->in[k];
        r->whole.din[k] = c->din[k];
    }
    if (n->op == CTT_OP_WINDOW)
        steps(r, n, samples, flags & RIG_VIEW);
    if (n->op == CTT_OP_LOSS && n->attr.loss.kind == CTT_LOSS_XENT)
        targets(&c->in[1], c->in[0].c);
    if (n->op == CTT_OP_EMBED)
        symbols(&c->in[0], n->attr.embed.vocab);
    if (n->op == CTT_OP_LOSS && n->attr.loss.kind == CTT_LOSS_L1L2)
        keep_apart(&c->in[0], &c->in[1]);
    if (n->nin > 2 && (n->op == CTT_OP_MIX || n->op == CTT_OP_ATTEND))
        choices(&c->in[2]);
    for (int k = 0; k < n->nin; k++)
        if (!(flags & RIG_DIN) || ctt_ops[n->op].exact >> k & 1)
            c->din[k].data = r->whole.din[k].data = NULL;
}

/* Gives a tensor memory of another type, all of it rounded. */
static void narrow(struct ctt_rig *r, struct ctt_tensor *t, int view,
                   enum ctt_dtype type)
{
    int64_t n = ctt_rows(t) * t->ld;
    const float *from = t->data;
    uint16_t *p;

    if (!from)
        return;
    p = ctt_calloc((size_t)n + 1, sizeof(*p));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    r->block[r->blocks++] = p;
    p += !!view;
    for (int64_t i = 0; i < n; i++)
        ctt_store(p, type, i, from[i]);
    t->data = p;
    t->dtype = type;
}

/* A window's inputs begin after the steps that are past. */
static void narrow_input(struct ctt_rig *r, struct ctt_tensor *whole,
                         struct ctt_tensor *t, int view, enum ctt_dtype type)
{
    const float *start = whole->data;
    int64_t at = t->data ? (const float *)t->data - start : 0;

    narrow(r, whole, view, type);
    if (t->data)
        t->data = (uint16_t *)whole->data + at;
    t->dtype = type;
}

static void narrow_all(struct ctt_rig *r, int view, enum ctt_dtype type)
{
    struct ctt_call *c = &r->call;
    struct ctt_tensor *t[] = { &c->out, &c->dout, &c->also, &c->dalso };

    for (int k = 0; k < c->node->nin; k++) {
        narrow_input(r, &r->whole.in[k], &c->in[k], view, type);
        narrow_input(r, &r->whole.din[k], &c->din[k], view, type);
    }
    for (size_t i = 0; i < CTT_LEN(t); i++)
        narrow(r, t[i], view, type);
    if (ctt_is_conv(c->node))
        narrow(r, &c->w[0].t, 0, type);
}

void ctt_rig_open(struct ctt_rig *r, const struct ctt_case *cs, int samples,
                  int flags, int act)
{
    struct ctt_call *c = &r->call;
    const struct ctt_node *n;
    int view = flags & RIG_VIEW;

    memset(r, 0, sizeof(*r));
    CHECK_OK(ctt_graph_new(&r->g));
    CHECK_OK(ctt_graph_add(r->g, "input a %s", cs->a));
    if (cs->b)
        CHECK_OK(ctt_graph_add(r->g, "input b %s", cs->b));
    if (strstr(cs->op, ",m"))
        CHECK_OK(ctt_graph_add(r->g, "input m c=%d",
                               strncmp(cs->op, "mix", 3) == 0 ? 1 : 2));
    if (strncmp(cs->op, "window", 6) == 0)
        CHECK_OK(ctt_graph_add(r->g, "clip"));
    CHECK_OK(ctt_graph_add(r->g, "%s", cs->op));
    n = c->node = &r->g->node[r->g->count - 1];
    inputs(r, n, samples, flags);
    for (int k = 0; k < n->nw; k++) {
        open_tensor(r, &n->w[k], (int)n->w[k].n, 0, 20 + (uint64_t)k,
                    &c->w[k].t);
        open_tensor(r, &n->w[k], (int)n->w[k].n, 0, 0, &c->dw[k]);
        if (!(flags & RIG_DW) || n->fixed >> k & 1)
            c->dw[k].data = NULL;
    }
    if (n->op == CTT_OP_NORM && n->nw == 4)    /* a variance */
        for (int64_t j = 0; j < n->out.c; j++)
            ((float *)c->w[3].t.data)[j] += 1.5f;
    open_tensor(r, &n->out, samples, view, 0, &c->out);
    open_tensor(r, &n->out, samples, view, 30, &c->dout);
    if (n->op == CTT_OP_LSTM) {
        open_tensor(r, &n->out, samples, view, 0, &c->also);
        open_tensor(r, &n->out, samples, view, 40, &c->dalso);
    }
    c->act = act;
    c->train = !!(flags & RIG_TRAIN);
    c->key = 12345;
    c->stamp = 1;
    c->add = flags & RIG_ADD || n->op == CTT_OP_WINDOW ? ~0u : 0;
    c->cache = &r->cache;
    if (flags & (RIG_F16 | RIG_BF16))
        narrow_all(r, view, flags & RIG_F16 ? CTT_F16 : CTT_BF16);
    ctt_rig_reset(r, flags);
}

static void copy_values(const struct ctt_tensor *from,
                      const struct ctt_tensor *to)
{
    for (int64_t i = 0; from->data && i < ctt_rows(from); i++)
        for (int64_t j = 0; j < from->c; j++)
            ctt_store(to->data, to->dtype, i * to->ld + j,
                      ctt_load(from->data, from->dtype, i * from->ld + j));
}

void ctt_rig_take(struct ctt_rig *r, const struct ctt_rig *from)
{
    const struct ctt_call *c = &from->call;

    for (int k = 0; k < c->node->nin; k++)
        copy_values(&from->whole.in[k], &r->whole.in[k]);
    for (int k = 0; k < c->node->nw; k++)
        copy_values(&c->w[k].t, &r->call.w[k].t);
    copy_values(&c->out, &r->call.out);
    copy_values(&c->also, &r->call.also);
    copy_values(&c->dout, &r->call.dout);
    copy_values(&c->dalso, &r->call.dalso);
}

void ctt_rig_reset(struct ctt_rig *r, int flags)
{
    for (int k = 0; k < r->call.node->nin; k++) {
        struct ctt_tensor *t = &r->whole.din[k];
        for (int64_t i = 0; t->data && i < ctt_rows(t); i++)
            for (int64_t j = 0; j < t->c; j++)
                ctt_store(t->data, t->dtype, i * t->ld + j,
                          flags & RIG_ADD ? (float)(i % 5)
                                          : r->call.add ? 0 : NAN);
    }
    for (int k = 0; k < r->call.node->nw; k++) {
        float *p = r->call.dw[k].data;
        for (int64_t i = 0; p && i < ctt_volume(&r->call.dw[k]); i++)
            p[i] = flags & RIG_ADD ? (float)(i % 5) : 0;
    }
}

void ctt_rig_close(struct ctt_rig *r, struct ctt_dev *d)
{
    ctt_dev_forget(d, &r->cache);
    while (r->blocks)
        ctt_free(r->block[--r->blocks]);
    ctt_graph_free(&r->g);
}

/* Largest number of a tensor's columns. */
static double largest_value(const struct ctt_tensor *t)
{
    double top = 0;

    for (int64_t i = 0; t->data && i < ctt_rows(t); i++)
        for (int64_t j = 0; j < t->c; j++)
            top = fmax(top, fabs((double)ctt_load(t->data, t->dtype,
                                                  i * t->ld + j)));
    return top;
}

/* Errors of Winograd are proportional to the largest value. */
int ctt_rig_close_to(const struct ctt_tensor *a, const struct ctt_tensor *b,
                     double tol, const char *what, const struct ctt_case *c)
{
    double least = largest_value(b) * 0.3;

    for (int64_t i = 0; a->data && i < ctt_rows(a); i++) {
        for (int64_t j = 0; j < a->ld; j++) {
            double x = (double)ctt_load(a->data, a->dtype, i * a->ld + j);
            double y = (double)ctt_load(b->data, b->dtype, i * b->ld + j);
            double e = fabs(x - y) / fmax(1 + fabs(y), least);
            if (e <= (j < a->c ? tol : 0))
                continue;
            if (i == ctt_rows(a) - 1 && j >= a->c)
                break;    /* behind the last row */
            printf("\n    %s (%s): %s row %lld channel %lld: %.9g, expected "
                   "%.9g", c->op, c->a, what, (long long)i, (long long)j,
                   x, y);
            return 0;
        }
    }
    return 1;
}

int ctt_rig_main(CU_SuiteInfo *suites, struct ctt_dev **ref)
{
    int rc;

    if (ctt_dev_open("ref", 1, ref) < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_dev_close(ref);
    return rc ? rc : ctt_live_blocks() != 0;
}
