/* SPDX-License-Identifier: Apache-2.0
 * attend.cu: each pixel's mean of all vectors of another value, weighted by the
 * softmax of its products with them.  A block computes one vector of a result,
 * CTT_THREADS weights at a time, which no memory holds (after Dao and others
 * 2022). */
#include "device/cuda/kernel/lanes.cuh"
#include "device/cuda/kernels.h"
#include "device/ewise.h"

#include <math.h>

/* q, k, m: the inputs; rows, keys: vectors of a sample in q and in k, of c
 * channels, `groups` of them in a pixel of k; stat: of each row of q the
 * largest product, one over the sum, and dy y. */
struct attention {
    struct view q, k, m, y, dy, dq, dk;
    float      *stat;
    int64_t     samples, rows, keys, c, groups;
    int         add, add_k, some_count;

    /* Vector j of a sample. */
    __device__ __forceinline__ struct spot key(int64_t sample, int64_t j) const
    {
        struct spot s = { sample * (keys / groups) + j / groups,
                          j % groups * c };
        return s;
    }

    __device__ __forceinline__ int counts(int64_t sample, int64_t j) const
    {
        struct spot s = { sample, j % groups };
        return !some_count || number_at(m, s) != 0;
    }

    __device__ __forceinline__ float dot(struct view a, struct spot s,
                                         struct view b, struct spot t) const
    {
        float sum = 0;

        for (int64_t i = 0; i < c; i++, s.col++, t.col++)
            sum += number_at(a, s) * number_at(b, t);
        return sum;
    }

    /* The weight of vector j for row r; ds: the gradient of their product. */
    __device__ __forceinline__ float weight(int64_t r, int64_t j,
                                            float *ds) const
    {
        struct spot row = { r, 0 }, s = key(r / rows, j);
        float w;

        *ds = 0;
        if (!counts(r / rows, j))
            return 0;
        w = ctt_exp(dot(q, row, k, s) - stat[3 * r]) * stat[3 * r + 1];
        if (dy.p)
            *ds = w * (dot(dy, row, k, s) - stat[3 * r + 2]);
        return w;
    }
};

static struct attention attention_of(const struct ctt_call *c, void *scratch)
{
    int64_t groups = c->in[1].c / c->out.c;
    struct attention a = { view_of(c->in[0]), view_of(c->in[1]),
                           view_of(c->in[2]), view_of(c->out),
                           view_of(c->dout), view_of(c->din[0]),
                           view_of(c->din[1]), (float *)scratch, c->out.n,
                           ctt_rows(&c->out) / c->out.n,
                           ctt_rows(&c->in[1]) / c->in[1].n * groups, c->out.c,
                           groups, (int)(c->add & 1), (int)(c->add >> 1 & 1),
                           c->node->nin > 2 };

    return a;
}

static __global__ void __launch_bounds__(CTT_THREADS)
attend_stats(struct attention a, struct lanes l)
{
    __shared__ float shared[CTT_THREADS];

    for (int64_t r = blockIdx.x; r < a.samples * a.rows; r += gridDim.x) {
        struct spot row = { r, 0 };
        int64_t sample = r / a.rows;
        float most = -INFINITY, sum = 0;
        for (int64_t j = threadIdx.x; j < a.keys; j += CTT_THREADS) {
            float s = a.counts(sample, j) ? a.dot(a.q, row, a.k,
                                                  a.key(sample, j)) : most;
            most = s > most ? s : most;
        }
        most = join_lanes(l, 1, most, shared);
        for (int64_t j = threadIdx.x; j < a.keys; j += CTT_THREADS)
            if (a.counts(sample, j))
                sum += ctt_exp(a.dot(a.q, row, a.k, a.key(sample, j)) - most);
        sum = join_lanes(l, 0, sum, shared);
        if (threadIdx.x == 0) {
            a.stat[3 * r] = most;
            a.stat[3 * r + 1] = sum > 0 ? 1 / sum : 0;
            a.stat[3 * r + 2] = a.dy.p ? a.dot(a.y, row, a.dy, row) : 0;
        }
    }
}

/* The result of a row (back = 0), or the gradient of its vector of q. */
static __global__ void __launch_bounds__(CTT_THREADS)
attend_rows(struct attention a, int back)
{
    __shared__ float part[CTT_THREADS];

    for (int64_t k = blockIdx.x; k < a.samples * a.rows; k += gridDim.x)
        for (int64_t c = 0; c < a.c; c += CTT_THREADS) {
            struct spot to = { k, c + threadIdx.x };
            float sum = 0;
            for (int64_t j = 0; j < a.keys; j += CTT_THREADS) {
                int64_t end = a.keys - j, mine = j + threadIdx.x;
                float ds = 0, w = 0;
                __syncthreads();
                if (mine < a.keys)
                    w = a.weight(k, mine, &ds);
                part[threadIdx.x] = back ? ds : w;
                __syncthreads();
                for (int i = 0; to.col < a.c && i < CTT_THREADS && i < end;
                     i++) {
                    struct spot s = a.key(k / a.rows, j + i);
                    s.col += to.col;
                    sum += part[i] * number_at(a.k, s);
                }
            }
            if (to.col < a.c)
                put_number(back ? a.dq : a.y, to, sum, back && a.add);
        }
}

/* The gradient of a vector of k. */
static __global__ void __launch_bounds__(CTT_THREADS)
attend_keys(struct attention a)
{
    __shared__ float part[2][CTT_THREADS];

    for (int64_t k = blockIdx.x; k < a.samples * a.keys; k += gridDim.x)
        for (int64_t c = 0; c < a.c; c += CTT_THREADS) {
            int64_t sample = k / a.keys, col = c + threadIdx.x;
            struct spot to = a.key(sample, k % a.keys);
            float sum = 0;
            for (int64_t j = 0; j < a.rows; j += CTT_THREADS) {
                int64_t end = a.rows - j, mine = j + threadIdx.x;
                float ds = 0, w = 0;
                __syncthreads();
                if (mine < a.rows)
                    w = a.weight(sample * a.rows + mine, k % a.keys, &ds);
                part[0][threadIdx.x] = w;
                part[1][threadIdx.x] = ds;
                __syncthreads();
                for (int i = 0; col < a.c && i < CTT_THREADS && i < end; i++) {
                    struct spot s = { sample * a.rows + j + i, col };
                    sum += part[0][i] * number_at(a.dy, s) +
                           part[1][i] * number_at(a.q, s);
                }
            }
            to.col += col;
            if (col < a.c)
                put_number(a.dk, to, sum, a.add_k);
        }
}

/* The third input only selects. */
struct no_gradient {
    struct view dx;

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V] = { };

        N::put(dx, s, v, 0);
    }
};

static unsigned row_blocks(int64_t n)
{
    return (unsigned)(n < 1 << 16 ? n : 1 << 16);
}

/* All threads of a block work on one line. */
static struct lanes whole_block(void)
{
    struct lanes l = { 1, CTT_THREADS, 0, 1, CTT_THREADS, 1 };

    return l;
}

int ctt_launch_attend_fwd(const struct ctt_call *c, void *scratch,
                          void *stream)
{
    struct attention a = attention_of(c, scratch);
    unsigned blocks = row_blocks(a.samples * a.rows);

    a.dy.p = NULL;
    CTT_LAUNCH(attend_stats, blocks, stream, a, whole_block());
    CTT_LAUNCH(attend_rows, blocks, stream, a, 0);
    return (int)cudaGetLastError();
}

int ctt_launch_attend_bwd(const struct ctt_call *c, void *scratch,
                          void *stream)
{
    struct attention a = attention_of(c, scratch);
    unsigned blocks = row_blocks(a.samples * a.rows);
    struct form form = form_of(c->din[2]);
    struct no_gradient none = { view_of(c->din[2]) };

    by_channel(&form);
    CTT_LAUNCH(attend_stats, blocks, stream, a, whole_block());
    if (a.dq.p)
        CTT_LAUNCH(attend_rows, blocks, stream, a, 1);
    if (a.dk.p)
        CTT_LAUNCH(attend_keys, row_blocks(a.samples * a.keys), stream, a);
    if (!c->din[2].data || c->add >> 2 & 1)
        return (int)cudaGetLastError();
    return run_each(none, form, stream);
}

size_t ctt_launch_attend_fwd_scratch(const struct ctt_call *c)
{
    return (size_t)ctt_rows(&c->out) * 3 * sizeof(float);
}

size_t ctt_launch_attend_bwd_scratch(const struct ctt_call *c)
{
    return ctt_launch_attend_fwd_scratch(c);
}
