/* SPDX-License-Identifier: Apache-2.0
 * whole.cu: convs of quantised values: weights in 8 bits, and from sums of
 * whole numbers to results, bit for bit those of device/cpu/conv/int8. */
#include "device/cuda/kernel/act.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernel/walk.cuh"

/* A product and a sum that are rounded each: never one operation. */
#ifdef CTT_SIM
CTT_GPU float times(float a, float b) { return a * b; }
CTT_GPU float plus(float a, float b) { return a + b; }
#else
CTT_GPU float times(float a, float b) { return __fmul_rn(a, b); }
CTT_GPU float plus(float a, float b) { return __fadd_rn(a, b); }
#endif

/* ---- weights ---- */

struct weighing {
    const float     *w;
    int64_t          each, ins, channels;
    float            scale;    /* of the input */
    struct ctt_whole to;
};

/* A block for each channel; a thread for each tap. */
static __global__ void __launch_bounds__(CTT_THREADS)
weigh_channel(struct weighing f)
{
    __shared__ float most[CTT_THREADS];
    __shared__ int   all[CTT_THREADS];
    int64_t o = blockIdx.x, taps = f.each / f.ins;
    const float *row = f.w + o * f.each;
    float step = ctt_quant_step(row_most(row, f.each, most));
    int t = threadIdx.x, sum = 0;

    for (int64_t k = t; k < taps; k += CTT_THREADS) {
        int part = 0;
        for (int64_t i = k * f.ins; i < (k + 1) * f.ins; i++) {
            int q = (int)ctt_quant_weight(row[i], step);
            f.to.q[o * f.each + i] = (int8_t)q;
            part += q;
        }
        f.to.part[k * f.channels + o] = part;
        sum += part;
    }
    all[t] = sum;
    for (int by = CTT_THREADS / 2; by > 0; by /= 2) {
        __syncthreads();
        if (t < by)
            all[t] += all[t + by];
    }
    if (t == 0) {
        f.to.part[taps * f.channels + o] = all[0];
        f.to.factor[o] = times(step, f.scale);
    }
}

int ctt_launch_whole_weights(const struct ctt_call *c, struct ctt_whole w,
                             void *stream)
{
    const struct ctt_tensor *t = &c->w[0].t;
    struct weighing f = { (const float *)t->data, ctt_volume(t) / t->n, t->c,
                          t->n, c->in[0].scale, w };

    CTT_LAUNCH(weigh_channel, (unsigned)t->n, stream, f);
    return (int)cudaGetLastError();
}

/* ---- results ---- */

/* One axis of the conv. */
struct axis {
    int          in, kernel, stride, pad, dilation;
    struct quick by_out;
};

struct finishing {
    struct view      x, more, y;
    const void      *sums;
    int              floats, act, has_more;
    struct ctt_whole w;
    const float     *bias;
    int64_t          ins, outs, channels, taps;    /* ins, outs: of a group */
    struct axis      axis[3];
};

/* The first input of a pixel on each axis, and the taps inside the image, the
 * end excluded. */
struct reach { int64_t n; int at[3], from[3], to[3], whole; };

CTT_GPU struct reach reach_of(const struct finishing &f, int64_t row)
{
    struct reach r = { 0, { 0 }, { 0 }, { 0 }, 1 };

    CTT_UNROLL
    for (int i = 2; i >= 0; i--) {
        const struct axis &a = f.axis[i];
        int at = (int)rest(a.by_out, row, &row) * a.stride - a.pad;
        int from = at < 0 ? (-at + a.dilation - 1) / a.dilation : 0;
        int to = (a.in - at + a.dilation - 1) / a.dilation;

        r.at[i] = at;
        r.from[i] = from;
        r.to[i] = to < 0 ? 0 : to < a.kernel ? to : a.kernel;
        r.whole = r.whole && from == 0 && r.to[i] == a.kernel;
    }
    r.n = row;
    return r;
}

/* Calls g(tap, row of the input) for each tap inside the image. */
template <class G>
CTT_GPU void each_inside(const struct finishing &f, const struct reach &r, G g)
{
    const struct axis *a = f.axis;

    for (int d = r.from[0]; d < r.to[0]; d++)
        for (int h = r.from[1]; h < r.to[1]; h++)
            for (int w = r.from[2]; w < r.to[2]; w++)
                g((d * a[1].kernel + h) * a[2].kernel + w,
                  ((r.n * a[0].in + r.at[0] + d * a[0].dilation) * a[1].in +
                   r.at[1] + h * a[1].dilation) * a[2].in +
                  r.at[2] + w * a[2].dilation);
}

/* The sums of bytes times q, directly. */
template <int V>
CTT_GPU void sum_bytes(const struct finishing &f, const struct reach &r,
                       int64_t col, int *sum)
{
    CTT_UNROLL
    for (int i = 0; i < V; i++) {
        int64_t o = col + i, group = o / f.outs;
        const int8_t *x = (const int8_t *)f.x.p + group * f.ins;
        const int8_t *q = f.w.q + o * f.taps * f.ins;
        int s = 0;

        each_inside(f, r, [&](int tap, int64_t row) {
            for (int64_t k = 0; k < f.ins; k++)
                s += x[row * f.x.ld + k] * q[tap * f.ins + k];
        });
        sum[i] = s;
    }
}

template <int V>
CTT_GPU void read_sums(const struct finishing &f, struct spot s, int *sum)
{
    int64_t at = s.row * f.channels + s.col;

    CTT_UNROLL
    for (int i = 0; i < V; i++)
        sum[i] = f.floats ? (int)((const float *)f.sums)[at + i]
                          : ((const int *)f.sums)[at + i];
}

/* A value is its byte less zero: takes zero times the weights inside off. */
template <int V>
CTT_GPU void take_zero(const struct finishing &f, const struct reach &r,
                       int64_t col, int *sum)
{
    const int32_t *part = f.w.part + col;

    if (r.whole) {
        part += f.taps * f.channels;
        for (int i = 0; i < V; i++)
            sum[i] -= f.x.zero * part[i];
        return;
    }
    each_inside(f, r, [&](int tap, int64_t) {
        for (int i = 0; i < V; i++)
            sum[i] -= f.x.zero * part[tap * f.channels + i];
    });
}

struct finish_whole {
    struct finishing f;

    template <class N> __device__ void at(struct spot s) const
    {
        struct reach r = reach_of(f, s.row);
        float v[N::V], b[N::V];
        int sum[N::V];

        if (f.sums)
            read_sums<N::V>(f, s, sum);
        else
            sum_bytes<N::V>(f, r, s.col, sum);
        if (f.x.zero)
            take_zero<N::V>(f, r, s.col, sum);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = times((float)sum[i], f.w.factor[s.col + i]);
        for (int i = 0; f.bias && i < N::V; i++)
            v[i] = plus(v[i], f.bias[s.col + i]);
        if (f.has_more) {
            typename N::got(f.more, s).give(b);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                v[i] = plus(v[i], b[i]);
        }
        act_of<N::V>(f.act - 1, v);
        N::put(f.y, s, v, 0);
    }
};

static struct finishing finishing_of(const struct ctt_call *c)
{
    const struct ctt_tensor &x = c->in[0], &y = c->out, &w = c->w[0].t;
    const int64_t in[3] = { x.d, x.h, x.w }, out[3] = { y.d, y.h, y.w };
    struct finishing f = { view_of(x), view_of(c->in[1]), view_of(y) };

    f.act = c->act;
    f.has_more = c->node->plus && c->in[1].data;
    f.bias = (const float *)c->w[1].t.data;
    f.ins = w.c;
    f.outs = w.n / ctt_call_groups(c);
    f.channels = w.n;
    f.taps = w.d * w.h * w.w;
    for (int i = 0; i < 3; i++) {
        struct axis one = { (int)in[i], c->node->attr.conv.kernel[i],
                            c->node->attr.conv.stride[i],
                            c->node->attr.conv.pad[i],
                            c->node->attr.conv.dilation[i],
                            quick_of(out[i], ctt_rows(&y)) };
        f.axis[i] = one;
    }
    return f;
}

int ctt_launch_whole_result(const struct ctt_call *c, struct ctt_whole w,
                            const void *sums, int floats, void *stream)
{
    struct finish_whole g = { finishing_of(c) };
    struct form form = form_of(c->out);

    g.f.w = w;
    g.f.sums = sums;
    g.f.floats = floats;
    if (g.f.has_more)
        note_view(&form, c->in[1]);
    by_channel(&form);
    return run_each(g, form, stream);
}
