/* SPDX-License-Identifier: Apache-2.0
 * move.cu: ops that only move, add or multiply values. */
#include "device/cuda/kernel/act.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/lanes.cuh"
#include "device/cuda/kernel/walk.cuh"

struct copying {
    struct view x, y;
    int         add;

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V];

        typename N::got(x, s).give(v);
        N::put(y, s, v, add);
    }
};

int ctt_launch_copy(struct ctt_tensor x, struct ctt_tensor y, int add,
                    void *stream)
{
    struct copying f = { view_of(x), view_of(y), add };
    struct form form = form_of(y);

    note_view(&form, x);
    return run_each(f, form, stream);
}

int ctt_launch_cast(const float *x, enum ctt_dtype type, void *y, int64_t n,
                    void *stream)
{
    struct ctt_tensor from = { (void *)x, CTT_F32, 1, 1, 1, 1, n, n };
    struct ctt_tensor to = { y, type, 1, 1, 1, 1, n, n };

    return ctt_launch_copy(from, to, 0, stream);
}

int ctt_launch_sum(enum ctt_dtype type, const void *x, void *y, int64_t n,
                   void *stream)
{
    struct ctt_tensor from = { (void *)x, type, 1, 1, 1, 1, n, n };
    struct ctt_tensor to = { y, type, 1, 1, 1, 1, n, n };

    return ctt_launch_copy(from, to, 1, stream);
}

/* y = act(x[0] + sign x[1] + ... + bias). */
struct adding {
    struct view  x[CTT_MAX_IN], y;
    const float *bias;
    int          n, act;
    float        sign;

    template <class N> __device__ void more(int k, struct spot s,
                                            float *v) const
    {
        float b[N::V];

        typename N::got(x[k], s).give(b);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] += sign * b[i];
    }

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V], b[N::V];
        typename N::got first(x[0], s), second(x[n > 1], s);

        first.give(v);
        second.give(b);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] += n > 1 ? sign * b[i] : 0;
        for (int k = 2; k < n; k++)
            more<N>(k, s, v);
        if (bias) {
            channels<N::V>(bias, s.col, b);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                v[i] += b[i];
        }
        act_of<N::V>(act - 1, v);
        N::put(y, s, v, 0);
    }
};

static int add_all(const struct ctt_tensor *x, int n, float sign,
                   const float *bias, int act, const struct ctt_tensor &y,
                   void *stream)
{
    struct adding f = { { }, view_of(y), bias, n, act, sign };
    struct form form = form_of(y);

    for (int k = 0; k < n; k++) {
        f.x[k] = view_of(x[k]);
        note_view(&form, x[k]);
    }
    if (bias) {
        note_view(&form, bias);
        by_channel(&form);
    }
    return run_each(f, form, stream);
}

int ctt_launch_finish(struct ctt_tensor x, struct ctt_tensor plus,
                      const float *bias, int act, struct ctt_tensor y,
                      void *stream)
{
    struct ctt_tensor both[] = { x, plus };

    return add_all(both, 1 + (plus.data != NULL), 1, bias, act, y, stream);
}

int ctt_launch_add_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    (void)scratch;
    return add_all(c->in, c->node->nin, c->node->attr.add.minus ? -1 : 1,
                   (const float *)c->w[0].t.data, c->act, c->out, stream);
}

/* Several inputs may be one tensor: each thread adds to them in order. */
struct spreading {
    struct view dy, dx[CTT_MAX_IN];
    int         n;
    unsigned    add;
    float       sign;

    template <class N> __device__ void at(struct spot s) const
    {
        typename N::got grad(dy, s);

        for (int k = 0; k < n; k++) {
            float v[N::V];
            if (!dx[k].p)
                continue;
            grad.give(v);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                v[i] *= k ? sign : 1;
            N::put(dx[k], s, v, (int)(add >> k & 1));
        }
    }
};

int ctt_launch_add_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct spreading f = { view_of(c->dout), { }, c->node->nin, c->add,
                           c->node->attr.add.minus ? -1.0f : 1.0f };
    struct form form = form_of(c->dout);
    int e = 0, any_din = 0;

    for (int k = 0; k < f.n; k++) {
        f.dx[k] = view_of(c->din[k]);
        note_view(&form, c->din[k]);
        any_din |= c->din[k].data != NULL;
    }
    if (any_din)
        e = run_each(f, form, stream);
    if (!e && c->dw[0].data)
        e = ctt_launch_bias_bwd(c->dout, (float *)c->dw[0].data, scratch,
                                stream);
    return e;
}

size_t ctt_launch_add_bwd_scratch(const struct ctt_call *c)
{
    return c->dw[0].data ? ctt_launch_bias_bwd_scratch(c->dout) : 0;
}

/* Pixels of the result for which one of the input counts. */
static int64_t pixels_of(const struct ctt_call *c, int k)
{
    return ctt_rows(&c->out) / ctt_rows(&c->in[k]);
}

static struct quick pixels_by(const struct ctt_call *c, int k)
{
    return quick_of(pixels_of(c, k), ctt_rows(&c->out));
}

CTT_GPU struct spot pixel_of(struct quick by, struct spot s)
{
    s.row = quotient(by, s.row);
    return s;
}

struct multiplying {
    struct view  a, b, y;
    struct quick by[2];

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V], w[N::V];
        typename N::got first(a, pixel_of(by[0], s)),
                        second(b, pixel_of(by[1], s));

        first.give(v);
        second.give(w);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] *= w[i];
        N::put(y, s, v, 0);
    }
};

int ctt_launch_mul_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct multiplying f = { view_of(c->in[0]), view_of(c->in[1]),
                             view_of(c->out),
                             { pixels_by(c, 0), pixels_by(c, 1) } };
    struct form form = form_of(c->out);

    (void)scratch;
    note_view(&form, c->in[0]);
    note_view(&form, c->in[1]);
    if (pixels_of(c, 0) * pixels_of(c, 1) > 1)
        by_channel(&form);
    return run_each(f, form, stream);
}

/* din[k] (+)= dout times the other input. */
struct dividing {
    struct view  x[2], dy, dx[2];
    struct quick by[2];
    unsigned     add;

    template <class N> __device__ void at(struct spot s) const
    {
        typename N::got grad(dy, s), a(x[0], pixel_of(by[0], s)),
                        b(x[1], pixel_of(by[1], s));

        CTT_UNROLL
        for (int k = 0; k < 2; k++) {
            float g[N::V], v[N::V];
            if (!dx[k].p)
                continue;
            grad.give(g);
            (k ? a : b).give(v);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                g[i] *= v[i];
            N::put(dx[k], s, g, (int)(add >> k & 1));
        }
    }
};

/* dx (+)= the sum over the pixels of dy times x. */
struct summing { struct view x, dy, dx; int add; };

static __global__ void __launch_bounds__(CTT_THREADS)
sum_pixels(struct summing f, struct lanes l)
{
    __shared__ float shared[CTT_THREADS];
    int64_t each = CTT_THREADS / l.share, turns = (l.lines + each - 1) / each;

    for (int64_t k = blockIdx.x; k < turns; k += gridDim.x) {
        int64_t line = line_of(l, k), n = line < l.lines ? l.n : 0;
        struct spot to = { line / l.c, line % l.c };
        float sum = 0;
        for (int64_t i = lane_of(l); i < n; i += l.share) {
            struct spot s = spot_of(l, line, i);
            sum += number_at(f.x, s) * number_at(f.dy, s);
        }
        sum = join_lanes(l, 0, sum, shared);
        if (n > 0 && lane_of(l) == 0)
            put_number(f.dx, to, sum, f.add);
    }
}

static int sum_gradient(const struct ctt_call *c, int k, void *stream)
{
    struct summing f = { view_of(c->in[1 - k]), view_of(c->dout),
                         view_of(c->din[k]), (int)(c->add >> k & 1) };
    struct lanes l = lanes_of(c->out, 1);

    CTT_LAUNCH(sum_pixels, lanes_blocks(l), stream, f, l);
    return (int)cudaGetLastError();
}

int ctt_launch_mul_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct dividing f = { { view_of(c->in[0]), view_of(c->in[1]) },
                          view_of(c->dout),
                          { view_of(c->din[0]), view_of(c->din[1]) },
                          { pixels_by(c, 0), pixels_by(c, 1) }, c->add };
    struct form form = form_of(c->dout);
    int e = 0;

    (void)scratch;
    for (int k = 0; k < 2; k++) {
        note_view(&form, c->in[k]);
        if (pixels_of(c, k) > 1) {
            by_channel(&form);
            if (c->din[k].data)
                e = e ? e : sum_gradient(c, k, stream);
            f.dx[k].p = NULL;
        }
        note_view(&form, c->din[k]);
    }
    return !e && (f.dx[0].p || f.dx[1].p) ? run_each(f, form, stream) : e;
}

/* The channels of t that hold input k. */
static struct ctt_tensor input_channels(struct ctt_tensor t,
                                        const struct ctt_call *c, int k)
{
    int64_t size = ctt_dtype_size(t.dtype);

    for (int i = 0; i < k; i++)
        t.data = (char *)t.data + c->in[i].c * size;
    t.c = c->in[k].c;
    return t;
}

int ctt_launch_concat_fwd(const struct ctt_call *c, void *scratch,
                          void *stream)
{
    int e = 0;

    (void)scratch;
    for (int k = 0; k < c->node->nin && !e; k++)
        e = ctt_launch_copy(c->in[k], input_channels(c->out, c, k), 0, stream);
    return e;
}

int ctt_launch_concat_bwd(const struct ctt_call *c, void *scratch,
                          void *stream)
{
    int e = 0;

    (void)scratch;
    for (int k = 0; k < c->node->nin && !e; k++)
        if (c->din[k].data)
            e = ctt_launch_copy(input_channels(c->dout, c, k), c->din[k],
                                (int)(c->add >> k & 1), stream);
    return e;
}
