/* SPDX-License-Identifier: Apache-2.0
 * share.cu: the gradient of a value that weights share, the sum of theirs, as
 * device/cpu/share.c computes it: each thread adds up one code, in the order of
 * the weights, so that the sums are the same in every run. */
#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernels.h"

enum { CODES = CTT_MOST_CODES + 1, BLOCK = 1 << 12 };

static_assert((int)CODES == (int)CTT_THREADS, "a thread per code");

/* Partial sum of code k over a block of weights. */
static __global__ void __launch_bounds__(CTT_THREADS)
share_part(const uint8_t *share, const float *dw, int64_t n, double *part)
{
    __shared__ int code[CTT_THREADS];
    __shared__ float g[CTT_THREADS];
    int64_t from = (int64_t)blockIdx.x * BLOCK, to = from + BLOCK;
    int t = threadIdx.x;
    double sum = 0;

    to = to < n ? to : n;
    for (int64_t i = from; i < to; i += CTT_THREADS) {
        int some = to - i < CTT_THREADS ? (int)(to - i) : (int)CTT_THREADS;
        if (t < some) {
            code[t] = share[i + t];
            g[t] = dw[i + t];
        }
        __syncthreads();
        for (int j = 0; j < some; j++)
            if (code[j] == t)
                sum += (double)g[j];
        __syncthreads();
    }
    part[(int64_t)blockIdx.x * CODES + t] = sum;
}

/* Adds all rows of part into the first one; code 0 marks weights without a
 * shared value. */
static __global__ void __launch_bounds__(CTT_THREADS)
share_join(double *part, int64_t blocks, double *squares)
{
    __shared__ double shared[CTT_THREADS];
    int t = threadIdx.x;
    double sum = 0, all;

    for (int64_t b = 0; b < blocks; b++)
        sum += part[b * CODES + t];
    part[t] = sum;
    all = over_block(t > 0 ? sum * sum : 0, shared);
    if (t == 0)
        *squares = all;
}

static __global__ void __launch_bounds__(CTT_THREADS)
share_spread(const uint8_t *share, const double *sum, int64_t n, float *dw)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += step)
        if (share[i])
            dw[i] = (float)sum[share[i]];
}

static int64_t blocks_of(struct ctt_stretch s)
{
    return (s.count + BLOCK - 1) / BLOCK;
}

int ctt_launch_share(struct ctt_flat f, struct ctt_stretch s, double *sum,
                     void *scratch, void *stream)
{
    const uint8_t *share = f.constraint.share + s.at;
    float *dw = f.dw + s.at;
    double *part = (double *)scratch;

    CTT_LAUNCH(share_part, (unsigned)blocks_of(s), stream, share, dw, s.count,
               part);
    CTT_LAUNCH(share_join, 1, stream, part, blocks_of(s), sum);
    CTT_LAUNCH(share_spread, ctt_blocks(s.count), stream, share,
               (const double *)part, s.count, dw);
    return (int)cudaGetLastError();
}

size_t ctt_launch_share_scratch(struct ctt_stretch s)
{
    return (size_t)(blocks_of(s) * CODES) * sizeof(double);
}
