/* SPDX-License-Identifier: Apache-2.0
 * groupnorm.cu: normalisation by statistics of a sample's pixels and some of
 * its channels (Wu and He 2018). */
#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/lanes.cuh"

/* A lot is a sample's group: `rows` rows of `wide` channels; stat: its mean and
 * one over its deviation. */
struct grouping {
    struct view  x, y, dy, dx;
    const float *gamma, *beta;
    float       *stat, *dgamma, *dbeta, eps;
    int64_t      lots, groups, rows, wide;
    int          add;

    __device__ __forceinline__ struct spot at(int64_t lot, int64_t i) const
    {
        struct spot s = { lot / groups * rows + i / wide,
                          lot % groups * wide + i % wide };
        return s;
    }
};

static struct grouping grouping_of(const struct ctt_call *c, void *scratch)
{
    int64_t groups = c->node->attr.groupnorm.groups;
    struct grouping g = { view_of(c->in[0]), view_of(c->out), view_of(c->dout),
                          view_of(c->din[0]), (const float *)c->w[0].t.data,
                          (const float *)c->w[1].t.data, (float *)scratch,
                          (float *)c->dw[0].data, (float *)c->dw[1].data,
                          c->node->attr.groupnorm.eps, c->out.n * groups,
                          groups, ctt_rows(&c->out) / c->out.n,
                          c->out.c / groups, (int)(c->add & 1) };

    return g;
}

/* The mean of a lot and one over its deviation, by the block's threads. */
CTT_GPU void lot_stats(const struct grouping &g, int64_t lot, double *shared,
                       float *mean, float *inv)
{
    int64_t n = g.rows * g.wide;
    double sum = 0, m;

    for (int64_t i = threadIdx.x; i < n; i += CTT_THREADS)
        sum += (double)number_at(g.x, g.at(lot, i));
    m = over_block(sum, shared) / (double)n;
    __syncthreads();
    sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += CTT_THREADS) {
        double v = (double)number_at(g.x, g.at(lot, i)) - m;
        sum += v * v;
    }
    sum = over_block(sum, shared) / (double)n;
    __syncthreads();
    *mean = (float)m;
    *inv = (float)(1 / sqrt(sum + (double)g.eps));
}

static __global__ void __launch_bounds__(CTT_THREADS)
group_result(struct grouping g)
{
    __shared__ double shared[CTT_THREADS];

    for (int64_t lot = blockIdx.x; lot < g.lots; lot += gridDim.x) {
        float mean, inv;
        lot_stats(g, lot, shared, &mean, &inv);
        for (int64_t i = threadIdx.x; i < g.rows * g.wide; i += CTT_THREADS) {
            struct spot s = g.at(lot, i);
            put_number(g.y, s, (number_at(g.x, s) - mean) * inv *
                       g.gamma[s.col] + g.beta[s.col], 0);
        }
    }
}

/* dx, if wanted, and the statistics of each lot. */
static __global__ void __launch_bounds__(CTT_THREADS)
group_gradient(struct grouping g)
{
    __shared__ double shared[CTT_THREADS];
    int64_t n = g.rows * g.wide;

    for (int64_t lot = blockIdx.x; lot < g.lots; lot += gridDim.x) {
        float mean, inv, a, b;
        double sum = 0, cross = 0;
        lot_stats(g, lot, shared, &mean, &inv);
        for (int64_t i = threadIdx.x; i < n && g.dx.p; i += CTT_THREADS) {
            struct spot s = g.at(lot, i);
            float v = g.gamma[s.col] * number_at(g.dy, s);
            sum += (double)v;
            cross += (double)(v * ((number_at(g.x, s) - mean) * inv));
        }
        a = (float)(over_block(sum, shared) / (double)n);
        __syncthreads();
        b = (float)(over_block(cross, shared) / (double)n);
        __syncthreads();
        for (int64_t i = threadIdx.x; i < n && g.dx.p; i += CTT_THREADS) {
            struct spot s = g.at(lot, i);
            float xhat = (number_at(g.x, s) - mean) * inv;
            put_number(g.dx, s, inv * (g.gamma[s.col] * number_at(g.dy, s) -
                                       a - xhat * b), g.add);
        }
        if (threadIdx.x == 0) {
            g.stat[2 * lot] = mean;
            g.stat[2 * lot + 1] = inv;
        }
    }
}

/* The gradients of the weights: a block for each channel. */
static __global__ void __launch_bounds__(CTT_THREADS)
group_weights(struct grouping g)
{
    __shared__ double shared[CTT_THREADS];
    int64_t all = g.lots / g.groups * g.rows;

    for (int64_t j = blockIdx.x; j < g.groups * g.wide; j += gridDim.x) {
        double sum = 0, cross = 0;
        for (int64_t r = threadIdx.x; r < all; r += CTT_THREADS) {
            const float *stat = g.stat + 2 * (r / g.rows * g.groups +
                                              j / g.wide);
            struct spot s = { r, j };
            float dy = number_at(g.dy, s);
            sum += (double)dy;
            cross += (double)(dy * ((number_at(g.x, s) - stat[0]) * stat[1]));
        }
        sum = over_block(sum, shared);
        __syncthreads();
        cross = over_block(cross, shared);
        __syncthreads();
        if (threadIdx.x == 0 && g.dgamma)
            g.dgamma[j] += (float)cross;
        if (threadIdx.x == 0 && g.dbeta)
            g.dbeta[j] += (float)sum;
    }
}

static unsigned some_blocks(int64_t n)
{
    return (unsigned)(n < 1 << 16 ? n : 1 << 16);
}

int ctt_launch_groupnorm_fwd(const struct ctt_call *c, void *scratch,
                             void *stream)
{
    struct grouping g = grouping_of(c, scratch);

    CTT_LAUNCH(group_result, some_blocks(g.lots), stream, g);
    return (int)cudaGetLastError();
}

int ctt_launch_groupnorm_bwd(const struct ctt_call *c, void *scratch,
                             void *stream)
{
    struct grouping g = grouping_of(c, scratch);

    CTT_LAUNCH(group_gradient, some_blocks(g.lots), stream, g);
    if (g.dgamma || g.dbeta)
        CTT_LAUNCH(group_weights, some_blocks(c->out.c), stream, g);
    return (int)cudaGetLastError();
}

size_t ctt_launch_groupnorm_bwd_scratch(const struct ctt_call *c)
{
    return (size_t)(c->out.n * c->node->attr.groupnorm.groups) * 2 *
           sizeof(float);
}
