/* SPDX-License-Identifier: Apache-2.0
 * pool.cu: the largest or the mean value of a window.  Padding does not count:
 * the mean is over the values inside the image. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

#include <math.h>

/* One axis: sizes, and the window along it. */
struct axis {
    int          in, out, kernel, stride, pad;
    struct quick by_in, by_out;
};

struct pooling {
    struct view x, y;
    struct axis axis[3];
    int         kind;
};

/* A range on each axis, the end excluded, in image n. */
struct box { int64_t n; int from[3], to[3]; };

static struct pooling pooling_of(const struct ctt_call *c)
{
    const struct ctt_tensor &x = c->in[0], &y = c->out;
    const int64_t in[3] = { x.d, x.h, x.w }, out[3] = { y.d, y.h, y.w };
    int64_t rows = ctt_rows(&x) > ctt_rows(&y) ? ctt_rows(&x) : ctt_rows(&y);
    struct pooling p = { view_of(x), view_of(y), { },
                         c->node->attr.pool.kind };

    for (int i = 0; i < 3; i++) {
        struct axis a = { (int)in[i], (int)out[i],
                          c->node->attr.pool.kernel[i],
                          c->node->attr.pool.stride[i],
                          c->node->attr.pool.pad[i],
                          quick_of(in[i], rows), quick_of(out[i], rows) };
        p.axis[i] = a;
    }
    return p;
}

/* Inputs of output o along an axis. */
CTT_GPU void inputs_of(const struct axis &a, int o, int *from, int *to)
{
    int start = o * a.stride - a.pad;

    *from = max(start, 0);
    *to = min(start + a.kernel, a.in);
}

CTT_GPU struct box box_of(const struct pooling &p, int64_t row)
{
    struct box b;

    CTT_UNROLL
    for (int i = 2; i >= 0; i--) {
        int o = (int)rest(p.axis[i].by_out, row, &row);
        inputs_of(p.axis[i], o, &b.from[i], &b.to[i]);
    }
    b.n = row;
    return b;
}

CTT_GPU int volume(const struct box &b)
{
    return (b.to[0] - b.from[0]) * (b.to[1] - b.from[1]) *
           (b.to[2] - b.from[2]);
}

/* The row of a pixel of image n in the input or, if out, the output. */
CTT_GPU int64_t row_of(const struct pooling &p, int out, int64_t n, int d,
                       int h, int w)
{
    const struct axis *a = p.axis;
    int64_t D = out ? a[0].out : a[0].in, H = out ? a[1].out : a[1].in;

    return ((n * D + d) * H + h) * (out ? a[2].out : a[2].in) + w;
}

/* Combines x into y. */
template <int V> CTT_GPU void pool_join(int kind, const float *x, float *y)
{
    CTT_UNROLL
    for (int i = 0; i < V; i++)
        y[i] = kind == CTT_POOL_AVG ? y[i] + x[i] : y[i] > x[i] ? y[i] : x[i];
}

/* A block has `parts` (a power of two) threads per result, each of which takes
 * every parts-th row of the window: global pools have few results. */
struct pool_plan {
    int64_t      n;         /* results */
    struct quick cols;
    int          parts;
};

template <class N>
static __global__ void __launch_bounds__(CTT_THREADS)
pool_forward(struct pooling p, struct pool_plan plan)
{
    enum { V = N::V };
    __shared__ float shared[V][CTT_THREADS];
    int each = CTT_THREADS / plan.parts, t = threadIdx.x;
    int part = t / each;
    int64_t blocks = (plan.n + each - 1) / each;

    for (int64_t k = blockIdx.x; k < blocks; k += gridDim.x) {
        int64_t i = k * each + t % each;
        struct spot s = { 0, 0 };
        float y[V];
        CTT_UNROLL
        for (int j = 0; j < V; j++)
            y[j] = p.kind == CTT_POOL_AVG ? 0 : -INFINITY;
        s.col = rest(plan.cols, i < plan.n ? i : 0, &s.row) * V;
        struct box b = box_of(p, s.row);
        int wide = b.to[2] - b.from[2], high = b.to[1] - b.from[1];
        int all = volume(b);
        for (int q = part; q < all; q += plan.parts) {
            float x[V];
            int line = q / wide, deep = line / high;
            struct spot from = { row_of(p, 0, b.n, b.from[0] + deep,
                                        b.from[1] + line - deep * high,
                                        b.from[2] + q - line * wide), s.col };
            typename N::got(p.x, from).give(x);
            pool_join<V>(p.kind, x, y);
        }
        for (int o = plan.parts / 2; o >= 1; o /= 2) {
            float x[V];
            __syncthreads();
            CTT_UNROLL
            for (int j = 0; j < V; j++)
                shared[j][t] = y[j];
            __syncthreads();
            if (part >= o)
                continue;
            CTT_UNROLL
            for (int j = 0; j < V; j++)
                x[j] = shared[j][t + o * each];
            pool_join<V>(p.kind, x, y);
        }
        if (part > 0 || i >= plan.n)
            continue;
        CTT_UNROLL
        for (int j = 0; j < V; j++)
            y[j] *= p.kind == CTT_POOL_AVG ? 1 / (float)all : 1;
        N::put(p.y, s, y, 0);
    }
}

int ctt_launch_pool_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    const int *k = c->node->attr.pool.kernel;
    int64_t rows = (int64_t)k[0] * k[1] * k[2];
    struct pooling p = pooling_of(c);
    struct form form = form_of(c->out);

    (void)scratch;
    note_view(&form, c->in[0]);
    by_channel(&form);
    return by_form(form, [&](auto n) {
        typedef decltype(n) N;
        struct walk w = walk_of(form, N::V);
        struct pool_plan plan = { w.n, w.cols, 1 };
        while (plan.parts < 64 && plan.parts * 8 < rows)
            plan.parts *= 2;
        CTT_LAUNCH((pool_forward<N>), ctt_blocks(w.n * plan.parts), stream, p,
                   plan);
    });
}

/* Windows overlap, so each input gathers from the windows that contain it. */
struct pool_sources {
    struct pooling p;
    struct view    dy, dx;
    int            add;
};

/* The range of windows that contain i, the end excluded. */
CTT_GPU void windows_of(const struct axis &a, int i, int *from, int *to)
{
    int first = i + a.pad - a.kernel + a.stride;

    *from = first < 0 ? 0 : first / a.stride;
    *to = min((i + a.pad) / a.stride + 1, a.out);
}

struct mean_back : pool_sources {
    /* Gradient of the input at s from the window at o. */
    template <class N>
    __device__ __forceinline__ void gather(struct spot, const float *,
                                           struct spot o, const struct box &b,
                                           float *sum) const
    {
        float g[N::V], part = 1 / (float)volume(b);

        typename N::got(dy, o).give(g);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            sum[i] += g[i] * part;
    }

    template <class N>
    __device__ __forceinline__ void values(struct spot, float *) const { }
};

/* One bit per number: x equals y. */
template <class N>
__device__ __forceinline__ unsigned same(const float *x, const float *y)
{
    unsigned bits = 0;

    CTT_UNROLL
    for (int i = 0; i < N::V; i++)
        bits |= (unsigned)(x[i] == y[i]) << i;
    return bits;
}

/* If several values are the largest, the first gets the gradient. */
struct max_back : pool_sources {
    /* The hits with no earlier hit in the window. */
    template <class N>
    __device__ __forceinline__ unsigned firsts(const struct box &b,
                                               struct spot me, const float *y,
                                               unsigned hits) const
    {
        int high = b.to[1] - b.from[1], wide = b.to[2] - b.from[2];

        for (int q = 0; hits; q++) {
            int line = q / wide, deep = line / high;
            struct spot s = { row_of(p, 0, b.n, b.from[0] + deep,
                                     b.from[1] + line - deep * high,
                                     b.from[2] + q - line * wide), me.col };
            float x[N::V];
            if (s.row >= me.row)
                break;
            typename N::got(p.x, s).give(x);
            hits &= ~same<N>(x, y);
        }
        return hits;
    }

    template <class N>
    __device__ __forceinline__ void gather(struct spot s, const float *x,
                                           struct spot o, const struct box &b,
                                           float *sum) const
    {
        float y[N::V];
        unsigned hits;

        typename N::got(p.y, o).give(y);
        hits = same<N>(x, y);
        if (hits)
            hits = firsts<N>(b, s, y, hits);
        if (!hits)
            return;
        typename N::got(dy, o).give(y);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            sum[i] += hits >> i & 1 ? y[i] : 0;
    }

    template <class N>
    __device__ __forceinline__ void values(struct spot s, float *x) const
    {
        typename N::got(p.x, s).give(x);
    }
};

template <class B> struct pool_backward : B {
    template <class N> __device__ void at(struct spot s) const
    {
        int from[3], to[3];
        int64_t n = s.row;
        float x[N::V], sum[N::V];

        B::template values<N>(s, x);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            sum[i] = 0;
        CTT_UNROLL
        for (int i = 2; i >= 0; i--) {
            const struct axis &a = this->p.axis[i];
            windows_of(a, (int)rest(a.by_in, n, &n), &from[i], &to[i]);
        }
        for (int d = from[0]; d < to[0]; d++)
            for (int h = from[1]; h < to[1]; h++)
                for (int w = from[2]; w < to[2]; w++) {
                    struct spot o = { row_of(this->p, 1, n, d, h, w), s.col };
                    struct box b;
                    b.n = n;
                    inputs_of(this->p.axis[0], d, &b.from[0], &b.to[0]);
                    inputs_of(this->p.axis[1], h, &b.from[1], &b.to[1]);
                    inputs_of(this->p.axis[2], w, &b.from[2], &b.to[2]);
                    B::template gather<N>(s, x, o, b, sum);
                }
        N::put(this->dx, s, sum, this->add);
    }
};

template <class B>
static int run_backward(const struct ctt_call *c, const struct form &form,
                        void *stream)
{
    pool_backward<B> f;

    f.p = pooling_of(c);
    f.dy = view_of(c->dout);
    f.dx = view_of(c->din[0]);
    f.add = (int)(c->add & 1);
    return run_each(f, form, stream);
}

int ctt_launch_pool_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct form form = form_of(c->din[0]);

    (void)scratch;
    if (!c->din[0].data)
        return 0;
    note_view(&form, c->dout);
    by_channel(&form);
    if (c->node->attr.pool.kind == CTT_POOL_AVG)
        return run_backward<struct mean_back>(c, form, stream);
    note_view(&form, c->in[0]);
    note_view(&form, c->out);
    return run_backward<struct max_back>(c, form, stream);
}
