/* SPDX-License-Identifier: Apache-2.0
 * act.cu: activations and dropout. */
#include "device/cuda/kernel/act.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

struct act_forward {
    struct view x, y;
    int         kind;
    float       slope;

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V];

        typename N::got(x, s).give(v);
        act_of<N::V>(kind, v, slope);
        N::put(y, s, v, 0);
    }
};

int ctt_launch_act_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct act_forward f = { view_of(c->in[0]), view_of(c->out),
                             c->node->attr.act.kind,
                             c->node->attr.act.slope };
    struct form form = form_of(c->out);

    (void)scratch;
    note_view(&form, c->in[0]);
    return run_each(f, form, stream);
}

struct act_backward {
    struct view v, dy, dx;
    int         kind, add;
    float       slope;

    template <class N> __device__ void at(struct spot s) const
    {
        float a[N::V], g[N::V];
        typename N::got from(v, s), grad(dy, s);

        from.give(a);
        grad.give(g);
        act_back<N::V>(kind, a, g, slope);
        N::put(dx, s, g, add);
    }
};

int ctt_launch_act_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    int kind = c->node->attr.act.kind;
    const struct ctt_tensor &v = ctt_act_reads_input(kind) ? c->in[0] : c->out;
    struct act_backward f = { view_of(v), view_of(c->dout),
                              view_of(c->din[0]), kind, (int)(c->add & 1),
                              c->node->attr.act.slope };
    struct form form = form_of(v);

    (void)scratch;
    if (!c->din[0].data)
        return 0;
    note_view(&form, c->dout);
    note_view(&form, c->din[0]);
    return run_each(f, form, stream);
}

/* y (+)= x times the mask, which is recomputed from the key each time. */
struct drop {
    struct view     x, y;
    int64_t         c;      /* row length for the index of a number */
    float           rate, keep;
    uint64_t        key;
    struct ctt_live live;
    int             add;

    template <class N> __device__ void at(struct spot s) const
    {
        typename N::got from(x, s);
        uint64_t k = key, i = (uint64_t)(s.row * c + s.col);
        float v[N::V];

        if (live.key)
            k = ctt_call_key(*live.key, live.node,
                             live.which ? (uint64_t)(int64_t)*live.which
                                        : live.at);
        from.give(v);
        CTT_UNROLL
        for (int j = 0; j < N::V; j++)
            v[j] *= ctt_drop(k, i + (uint64_t)j, rate, keep);
        N::put(y, s, v, add);
    }
};

static int drop_or_copy(const struct ctt_call *c, const struct ctt_tensor &x,
                        const struct ctt_tensor &y, int add, void *stream)
{
    float rate = c->node->attr.dropout.rate;
    struct drop f = { view_of(x), view_of(y), y.c, rate, 1 / (1 - rate),
                      c->key, c->live, add };
    struct form form = form_of(y);

    if (c->train && rate != 0) {
        note_view(&form, x);
        return run_each(f, form, stream);
    }
    return x.data == y.data ? 0 : ctt_launch_copy(x, y, add, stream);
}

int ctt_launch_dropout_fwd(const struct ctt_call *c, void *scratch,
                           void *stream)
{
    (void)scratch;
    return drop_or_copy(c, c->in[0], c->out, 0, stream);
}

int ctt_launch_dropout_bwd(const struct ctt_call *c, void *scratch,
                           void *stream)
{
    (void)scratch;
    return !c->din[0].data ? 0 : drop_or_copy(c, c->dout, c->din[0],
                                              (int)(c->add & 1), stream);
}
