/* SPDX-License-Identifier: Apache-2.0
 * softmax.cu: softmax, and local response normalisation. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/lanes.cuh"
#include "device/ewise.h"

#include <math.h>

struct softmax { struct view x, y, dy, dx; int add; };

static __global__ void __launch_bounds__(CTT_THREADS)
softmax_result(struct softmax f, struct lanes l)
{
    __shared__ float shared[CTT_THREADS];
    int64_t each = CTT_THREADS / l.share, turns = (l.lines + each - 1) / each;

    for (int64_t k = blockIdx.x; k < turns; k += gridDim.x) {
        int64_t line = line_of(l, k), n = line < l.lines ? l.n : 0;
        float most = -INFINITY, sum = 0;
        for (int64_t i = lane_of(l); i < n; i += l.share) {
            float x = number_at(f.x, spot_of(l, line, i));
            most = x > most ? x : most;
        }
        most = join_lanes(l, 1, most, shared);
        for (int64_t i = lane_of(l); i < n; i += l.share)
            sum += ctt_exp(number_at(f.x, spot_of(l, line, i)) - most);
        sum = join_lanes(l, 0, sum, shared);
        for (int64_t i = lane_of(l); i < n; i += l.share) {
            struct spot s = spot_of(l, line, i);
            put_number(f.y, s, ctt_exp(number_at(f.x, s) - most) / sum, 0);
        }
    }
}

/* dx (+)= y (dy - the sum of y dy). */
static __global__ void __launch_bounds__(CTT_THREADS)
softmax_gradient(struct softmax f, struct lanes l)
{
    __shared__ float shared[CTT_THREADS];
    int64_t each = CTT_THREADS / l.share, turns = (l.lines + each - 1) / each;

    for (int64_t k = blockIdx.x; k < turns; k += gridDim.x) {
        int64_t line = line_of(l, k), n = line < l.lines ? l.n : 0;
        float dot = 0;
        for (int64_t i = lane_of(l); i < n; i += l.share) {
            struct spot s = spot_of(l, line, i);
            dot += number_at(f.y, s) * number_at(f.dy, s);
        }
        dot = join_lanes(l, 0, dot, shared);
        for (int64_t i = lane_of(l); i < n; i += l.share) {
            struct spot s = spot_of(l, line, i);
            put_number(f.dx, s, number_at(f.y, s) *
                       (number_at(f.dy, s) - dot), f.add);
        }
    }
}

static struct softmax softmax_of(const struct ctt_call *c)
{
    struct softmax f = { view_of(c->in[0]), view_of(c->out), view_of(c->dout),
                         view_of(c->din[0]), (int)(c->add & 1) };

    return f;
}

static struct lanes softmax_lanes(const struct ctt_call *c)
{
    return lanes_of(c->out, c->node->attr.softmax.over == CTT_OVER_POSITIONS);
}

int ctt_launch_softmax_fwd(const struct ctt_call *c, void *scratch,
                           void *stream)
{
    struct lanes l = softmax_lanes(c);

    (void)scratch;
    CTT_LAUNCH(softmax_result, lanes_blocks(l), stream, softmax_of(c), l);
    return (int)cudaGetLastError();
}

int ctt_launch_softmax_bwd(const struct ctt_call *c, void *scratch,
                           void *stream)
{
    struct lanes l = softmax_lanes(c);

    (void)scratch;
    if (!c->din[0].data)
        return 0;
    CTT_LAUNCH(softmax_gradient, lanes_blocks(l), stream, softmax_of(c), l);
    return (int)cudaGetLastError();
}

/* ---- local response normalisation ---- */

/* left, right: channels of a window beside its own; share: alpha / size. */
struct lrn {
    struct view x, y, dy, dx;
    int64_t     c, left, right;
    float       share, beta, k;
    int         add;

    /* k + share times the sum of the squares of the window of channel j. */
    __device__ __forceinline__ float sum(int64_t row, int64_t j) const
    {
        int64_t to = j + right < c ? j + right : c - 1;
        float sum = 0;

        for (int64_t i = j > left ? j - left : 0; i <= to; i++) {
            struct spot s = { row, i };
            float v = number_at(x, s);
            sum += v * v;
        }
        return k + share * sum;
    }
};

struct lrn_forward : lrn {
    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V];

        typename N::got(x, s).give(v);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] *= ctt_power(sum(s.row, s.col + i), -beta);
        N::put(y, s, v, 0);
    }
};

struct lrn_backward : lrn {
    /* The sum over the channels whose windows have channel j of
     * dy x s^(-beta - 1). */
    __device__ __forceinline__ float others(int64_t row, int64_t j) const
    {
        int64_t to = j + left < c ? j + left : c - 1;
        float all = 0;

        for (int64_t i = j > right ? j - right : 0; i <= to; i++) {
            struct spot at = { row, i };
            float s = sum(row, i);
            all += number_at(dy, at) * number_at(x, at) *
                   ctt_power(s, -beta) / s;
        }
        return all;
    }

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V], g[N::V];

        typename N::got(x, s).give(v);
        typename N::got(dy, s).give(g);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            g[i] = g[i] * ctt_power(sum(s.row, s.col + i), -beta) -
                   2 * share * beta * v[i] * others(s.row, s.col + i);
        N::put(dx, s, g, add);
    }
};

template <class L>
static int run_lrn(const struct ctt_call *c, const struct form &form,
                   void *stream)
{
    int size = c->node->attr.lrn.size;
    L f;

    f.x = view_of(c->in[0]);
    f.y = view_of(c->out);
    f.dy = view_of(c->dout);
    f.dx = view_of(c->din[0]);
    f.c = c->in[0].c;
    f.left = (size - 1) / 2;
    f.right = size / 2;
    f.share = c->node->attr.lrn.alpha / (float)size;
    f.beta = c->node->attr.lrn.beta;
    f.k = c->node->attr.lrn.k;
    f.add = (int)(c->add & 1);
    return run_each(f, form, stream);
}

int ctt_launch_lrn_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct form form = form_of(c->out);

    (void)scratch;
    note_view(&form, c->in[0]);
    by_channel(&form);
    return run_lrn<struct lrn_forward>(c, form, stream);
}

int ctt_launch_lrn_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct form form = form_of(c->in[0]);

    (void)scratch;
    if (!c->din[0].data)
        return 0;
    note_view(&form, c->dout);
    note_view(&form, c->din[0]);
    by_channel(&form);
    return run_lrn<struct lrn_backward>(c, form, stream);
}
