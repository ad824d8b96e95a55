/* SPDX-License-Identifier: Apache-2.0
 * lstm.cu: the gates and both states of an LSTM cell in one kernel. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/sums.cuh"
#include "device/cuda/kernel/walk.cuh"
#include "device/ewise.h"

/* Adds the bias of the gates, if their conv did not. */
template <class N>
static __device__ __forceinline__ void add_gate_bias(const float *bias,
                                                     int64_t at, float *x)
{
    float b[N::V];

    if (!bias)
        return;
    channels<N::V>(bias, at, b);
    CTT_UNROLL
    for (int i = 0; i < N::V; i++)
        x[i] += b[i];
}

/* The four gates of a state are H channels apart. */
template <class N>
static __device__ __forceinline__ void gates(struct view z, struct spot s,
                                             int64_t H, const float *bias,
                                             float x[4][N::V])
{
    struct spot at[4] = { s, { s.row, s.col + H }, { s.row, s.col + 2 * H },
                          { s.row, s.col + 3 * H } };
    typename N::got i(z, at[0]), f(z, at[1]), o(z, at[2]), g(z, at[3]);

    i.give(x[0]);
    f.give(x[1]);
    o.give(x[2]);
    g.give(x[3]);
    CTT_UNROLL
    for (int k = 0; k < 4; k++)
        add_gate_bias<N>(bias, at[k].col, x[k]);
}

struct lstm_forward {
    struct view  z, old, h, c;
    int64_t      H;
    const float *bias;

    template <class N> __device__ void at(struct spot s) const
    {
        typename N::got before(old, s);
        float x[4][N::V], cell[N::V], hidden[N::V];

        gates<N>(z, s, H, bias, x);
        before.give(cell);
        CTT_UNROLL
        for (int k = 0; k < N::V; k++) {
            struct ctt_lstm g = { x[0][k], x[1][k], x[2][k], x[3][k] };
            ctt_lstm_fwd(g, cell[k], &hidden[k], &cell[k]);
        }
        N::put(h, s, hidden, 0);
        if (c.p)
            N::put(c, s, cell, 0);
    }
};

static const float *gate_bias(const struct ctt_call *c)
{
    return (const float *)c->w[0].t.data;
}

/* Checks the alignment of all four gates. */
static void look_at_gates(struct form *f, const struct ctt_tensor &z, int64_t H)
{
    struct ctt_tensor gate = z;

    gate.c = H;
    for (int k = 0; k < 4 && z.data; k++) {
        note_view(f, gate);
        gate.data = (char *)gate.data + H * ctt_dtype_size(z.dtype);
    }
}

static void look_at_bias(struct form *f, const float *bias, int64_t H)
{
    for (int k = 0; bias && k < 4; k++)
        note_view(f, bias + k * H);
}

int ctt_launch_lstm_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct lstm_forward f = { view_of(c->in[0]), view_of(c->in[1]),
                              view_of(c->out), view_of(c->also), c->out.c,
                              gate_bias(c) };
    struct form form = form_of(c->out);

    (void)scratch;
    look_at_gates(&form, c->in[0], f.H);
    look_at_bias(&form, f.bias, f.H);
    note_view(&form, c->in[1]);
    note_view(&form, c->also);
    return run_each(f, form, stream);
}

/* Gradients of one of the two results may be absent, and gradients of one of
 * the two inputs unwanted. */
struct lstm_backward {
    struct view  z, old, dh, dc, dz, dold;
    int64_t      H;
    const float *bias;
    unsigned     add;

    /* An absent gradient is zero; reads valid memory all the same. */
    template <class N>
    static __device__ __forceinline__ void or_zero(const typename N::got &g,
                                                   int there, float *x)
    {
        g.give(x);
        CTT_UNROLL
        for (int k = 0; k < N::V; k++)
            x[k] = there ? x[k] : 0;
    }

    /* x: the gradients of the gates. */
    template <class N>
    __device__ __forceinline__ void at(struct spot s, float x[4][N::V]) const
    {
        typename N::got before(old, s), of_h(dh.p ? dh : old, s);
        typename N::got of_c(dc.p ? dc : old, s);
        float a[N::V], gh[N::V], gc[N::V];

        gates<N>(z, s, H, bias, x);
        before.give(a);
        or_zero<N>(of_h, dh.p != NULL, gh);
        or_zero<N>(of_c, dc.p != NULL, gc);
        CTT_UNROLL
        for (int k = 0; k < N::V; k++) {
            struct ctt_lstm g = { x[0][k], x[1][k], x[2][k], x[3][k] };
            g = ctt_lstm_bwd(g, a[k], gh[k], gc[k], &a[k]);
            x[0][k] = g.i;
            x[1][k] = g.f;
            x[2][k] = g.o;
            x[3][k] = g.g;
        }
        CTT_UNROLL
        for (int k = 0; k < 4 && dz.p; k++) {
            struct spot gate = { s.row, s.col + k * H };
            N::put(dz, gate, x[k], (int)(add & 1));
        }
        if (dold.p)
            N::put(dold, s, a, (int)(add >> 1 & 1));
    }

    template <class N> __device__ void at(struct spot s) const
    {
        float x[4][N::V];

        at<N>(s, x);
    }
};

/* The same with sums over the rows of the gradients of the gates, which nothing
 * is added to. */
struct lstm_sums : plain_sums<4> {
    struct lstm_backward f;

    template <class N> struct sums {
        float sum[4][N::V];

        __device__ __forceinline__ void begin(const lstm_sums &, struct spot,
                                              int)
        {
            CTT_UNROLL
            for (int i = 0; i < 4 * N::V; i++)
                sum[i / N::V][i % N::V] = 0;
        }
        __device__ __forceinline__ void add(const lstm_sums &k, struct spot s)
        {
            float x[4][N::V];

            k.f.template at<N>(s, x);
            CTT_UNROLL
            for (int i = 0; i < 4 * N::V; i++)
                sum[i / N::V][i % N::V] += x[i / N::V][i % N::V];
        }
        __device__ __forceinline__ void end(float, float out[N::V][K]) const
        {
            CTT_UNROLL
            for (int i = 0; i < 4 * N::V; i++)
                out[i % N::V][i / N::V] = sum[i / N::V][i % N::V];
        }
    };
};

/* dw[0]: memory of the partial sums of dw[0].n steps before this one. */
static int run_with_sums(const struct ctt_call *c,
                         const struct lstm_backward &f,
                         const struct form &form, void *stream)
{
    struct lstm_sums k;

    k.f = f;
    return by_form(form, [&](auto n) {
        typedef decltype(n) N;
        struct sums_plan p = sums_plan_of(form, N::V);
        float *part = (float *)c->dw[0].data +
                      c->dw[0].n * p.chunks * 4 * f.H;
        CTT_LAUNCH((sum_chunks<N, lstm_sums>), (unsigned)(p.tiles * p.chunks),
                   stream, k, p, part);
    });
}

/* dw[1] += the sums of dw[0].n steps. */
static int join_steps(const struct ctt_call *c, const struct form &form,
                      void *stream)
{
    int64_t H = c->out.c;
    float *db = (float *)c->dw[1].data;
    struct sums_to<4> to = { { db, db + H, db + 2 * H, db + 3 * H } };

    return by_form(form, [&](auto n) {
        typedef decltype(n) N;
        struct sums_plan p = sums_plan_of(form, N::V);
        CTT_LAUNCH((join_sums<4>), join_blocks(H), stream,
                   (const float *)c->dw[0].data, H,
                   (int)c->dw[0].n * p.chunks, to);
    });
}

int ctt_launch_lstm_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct lstm_backward f = { view_of(c->in[0]), view_of(c->in[1]),
                               view_of(c->dout), view_of(c->dalso),
                               view_of(c->din[0]), view_of(c->din[1]),
                               c->out.c, gate_bias(c), c->add };
    struct form form = form_of(c->in[1]);

    (void)scratch;
    if (!c->din[0].data && !c->din[1].data)
        return 0;
    look_at_gates(&form, c->in[0], f.H);
    look_at_bias(&form, f.bias, f.H);
    look_at_gates(&form, c->din[0], f.H);
    note_view(&form, c->dout);
    note_view(&form, c->dalso);
    note_view(&form, c->din[1]);
    if (c->dw[1].data)
        return join_steps(c, form, stream);
    return c->dw[0].data ? run_with_sums(c, f, form, stream)
                         : run_each(f, form, stream);
}
