/* SPDX-License-Identifier: Apache-2.0
 * layer.cu: layer normalisation (Ba and others 2016), and the launchers of both
 * kinds of norm. */
#include "device/cuda/kernel/act.cuh"
#include "device/cuda/kernel/moments.cuh"
#include "device/cuda/kernel/norm.cuh"
#include "device/cuda/kernel/rows.cuh"
#include "device/cuda/kernel/sums.cuh"

struct layer {
    struct view  x, y, dy, dx;
    const float *gamma, *beta;
    float       *mean, *inv;    /* per row, for the weights' gradients */
    float        eps;
    int          act, add;
};

static struct layer layer_of(const struct ctt_call *c)
{
    struct layer f = { view_of(c->in[0]), view_of(c->out), view_of(c->dout),
                       view_of(c->din[0]), (const float *)c->w[0].t.data,
                       (const float *)c->w[1].t.data, NULL, NULL,
                       c->node->attr.norm.eps, c->act, (int)(c->add & 1) };

    return f;
}

template <int Count> struct layer_join {
    enum { K = Count };
    static __device__ __forceinline__ void join(float *a, const float *b,
                                                float na, float nb)
    {
        join_moments<K>(a, b, na, nb);
    }
};

/* The moments of a row; K = 4: with gamma dy as the weights. */
template <class N, int K>
static __device__ __forceinline__ void
row_moments(const struct layer &f, const struct rows_plan &p, int64_t row,
            float *out, float (*shared)[CTT_THREADS])
{
    int lane = threadIdx.x % p.share;
    struct spot s = { row, (int64_t)lane * N::V };
    struct around<K> sum;
    float n = 0;

    sum.begin(0);
    for (; row < p.rows && s.col < p.c; s.col += p.share * N::V) {
        typename N::got value(f.x, s), grad(K > 2 ? f.dy : f.x, s);
        float x[N::V], g[N::V], gamma[N::V];
        value.give(x);
        grad.give(g);
        channels<N::V>(f.gamma, s.col, gamma);
        if (n == 0)
            sum.begin(x[0]);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            sum.add(x[i], gamma[i] * g[i]);
        n += N::V;
    }
    sum.end(n, out);
    join_row<layer_join<K>>(p.share, out, n, shared);
}

template <class N>
static __global__ void __launch_bounds__(CTT_THREADS)
layer_result(struct layer f, struct rows_plan p)
{
    __shared__ float shared[3][CTT_THREADS];
    int each = CTT_THREADS / p.share;
    int64_t blocks = (p.rows + each - 1) / each;

    for (int64_t k = blockIdx.x; k < blocks; k += gridDim.x) {
        struct spot s = { k * each + threadIdx.x / p.share, 0 };
        float m[2], inv;
        row_moments<N, 2>(f, p, s.row, m, shared);
        inv = 1 / sqrtf(m[SQUARES] / (float)p.c + f.eps);
        s.col = (int64_t)(threadIdx.x % p.share) * N::V;
        for (; s.row < p.rows && s.col < p.c; s.col += p.share * N::V) {
            float x[N::V], a[N::V], b[N::V];
            typename N::got(f.x, s).give(x);
            channels<N::V>(f.gamma, s.col, a);
            channels<N::V>(f.beta, s.col, b);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                x[i] = (x[i] - m[MEAN]) * inv * a[i] + b[i];
            act_of<N::V>(f.act - 1, x);
            N::put(f.y, s, x, 0);
        }
    }
}

/* dx, if wanted, and per row the mean and one over the deviation. */
template <class N>
static __global__ void __launch_bounds__(CTT_THREADS)
layer_gradient(struct layer f, struct rows_plan p)
{
    __shared__ float shared[5][CTT_THREADS];
    int each = CTT_THREADS / p.share, lane = threadIdx.x % p.share;
    int64_t blocks = (p.rows + each - 1) / each;

    for (int64_t k = blockIdx.x; k < blocks; k += gridDim.x) {
        struct spot s = { k * each + threadIdx.x / p.share, 0 };
        float m[4], inv, a, b, n = (float)p.c;
        row_moments<N, 4>(f, p, s.row, m, shared);
        inv = 1 / sqrtf(m[SQUARES] / n + f.eps);
        a = m[WEIGHT] / n;
        b = m[CROSS] * inv / n;
        if (lane == 0 && s.row < p.rows) {
            f.mean[s.row] = m[MEAN];
            f.inv[s.row] = inv;
        }
        s.col = (int64_t)lane * N::V;
        for (; f.dx.p && s.row < p.rows && s.col < p.c;
             s.col += p.share * N::V) {
            typename N::got value(f.x, s), grad(f.dy, s);
            float x[N::V], g[N::V], gamma[N::V];
            value.give(x);
            grad.give(g);
            channels<N::V>(f.gamma, s.col, gamma);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                g[i] = inv * (gamma[i] * g[i] - a -
                              (x[i] - m[MEAN]) * inv * b);
            N::put(f.dx, s, g, f.add);
        }
    }
}

/* Per channel the sums of dy xhat and of dy. */
struct layer_weights : plain_sums<2> {
    struct view  x, dy;
    const float *mean, *inv;

    template <class N> struct sums {
        float cross[N::V], sum[N::V];

        __device__ __forceinline__ void begin(const layer_weights &,
                                              struct spot, int)
        {
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                cross[i] = sum[i] = 0;
        }
        __device__ __forceinline__ void add(const layer_weights &f,
                                            struct spot s)
        {
            typename N::got value(f.x, s), grad(f.dy, s);
            float a[N::V], g[N::V], m = f.mean[s.row], inv = f.inv[s.row];

            value.give(a);
            grad.give(g);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++) {
                cross[i] += g[i] * ((a[i] - m) * inv);
                sum[i] += g[i];
            }
        }
        __device__ __forceinline__ void end(float, float out[N::V][K]) const
        {
            CTT_UNROLL
            for (int i = 0; i < N::V; i++) {
                out[i][0] = cross[i];
                out[i][1] = sum[i];
            }
        }
    };
};

int ctt_layer_forward(const struct ctt_call *c, void *scratch, void *stream)
{
    struct layer f = layer_of(c);
    struct form form = form_of(c->out);

    (void)scratch;
    note_view(&form, c->in[0]);
    note_view(&form, f.gamma);
    note_view(&form, f.beta);
    by_channel(&form);
    return by_form(form, [&](auto n) {
        typedef decltype(n) N;
        struct rows_plan p = rows_plan_of(form, N::V);
        CTT_LAUNCH(layer_result<N>, rows_blocks(p), stream, f, p);
    });
}

static int weight_gradients(const struct ctt_call *c, const struct layer &f,
                            void *scratch, void *stream)
{
    struct sums_to<2> to = { { (float *)c->dw[0].data,
                               (float *)c->dw[1].data } };
    struct form form = form_of(c->in[0]);
    struct layer_weights w;
    int e, chunks;

    w.x = f.x;
    w.dy = f.dy;
    w.mean = f.mean;
    w.inv = f.inv;
    note_view(&form, c->dout);
    by_channel(&form);
    e = run_sums(w, form, (float *)scratch, &chunks, stream);
    if (e)
        return e;
    CTT_LAUNCH((join_sums<2>), join_blocks(form.c), stream,
               (const float *)scratch, form.c, chunks, to);
    return (int)cudaGetLastError();
}

int ctt_layer_backward(const struct ctt_call *c, void *scratch, void *stream)
{
    struct layer f = layer_of(c);
    struct form form = form_of(c->in[0]);
    int e;

    f.mean = (float *)((char *)scratch + sums_bytes(c->in[0], 2));
    f.inv = f.mean + ctt_rows(&c->in[0]);
    note_view(&form, c->dout);
    note_view(&form, c->din[0]);
    note_view(&form, f.gamma);
    by_channel(&form);
    e = by_form(form, [&](auto n) {
        typedef decltype(n) N;
        struct rows_plan p = rows_plan_of(form, N::V);
        CTT_LAUNCH(layer_gradient<N>, rows_blocks(p), stream, f, p);
    });
    if (e || (!c->dw[0].data && !c->dw[1].data))
        return e;
    return weight_gradients(c, f, scratch, stream);
}

size_t ctt_layer_bytes(const struct ctt_call *c)
{
    return sums_bytes(c->in[0], 2) +
           (size_t)ctt_rows(&c->in[0]) * 2 * sizeof(float);
}

/* ---- launchers ---- */

static int is_batch(const struct ctt_call *c)
{
    return c->node->attr.norm.kind == CTT_NORM_BATCH;
}

int ctt_launch_norm_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    return (is_batch(c) ? ctt_batch_forward : ctt_layer_forward)(c, scratch,
                                                                 stream);
}

int ctt_launch_norm_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    return (is_batch(c) ? ctt_batch_backward : ctt_layer_backward)(c, scratch,
                                                                   stream);
}

size_t ctt_launch_norm_fwd_scratch(const struct ctt_call *c)
{
    return is_batch(c) ? ctt_batch_bytes(c, 2) : 0;
}

size_t ctt_launch_norm_bwd_scratch(const struct ctt_call *c)
{
    return is_batch(c) ? ctt_batch_bytes(c, 4) : ctt_layer_bytes(c);
}
