/* SPDX-License-Identifier: Apache-2.0
 * rows.cuh: sums along each row, by a power of two of threads of one block. */
#ifndef CTT_ROWS_CUH
#define CTT_ROWS_CUH

#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernel/walk.cuh"

/* share: threads per row; a block computes CTT_THREADS / share rows at a
 * time. */
struct rows_plan { int64_t rows, c; int share; };

static inline struct rows_plan rows_plan_of(const struct form &f, int v)
{
    struct rows_plan p = { f.rows, f.c, 1 };

    while (p.share < CTT_THREADS && p.share < f.c / v)
        p.share *= 2;
    return p;
}

static inline unsigned rows_blocks(const struct rows_plan &p)
{
    return ctt_blocks(p.rows * p.share);
}

/* Joins the K partial results of a row's threads by J::join(a, b, na, nb); n:
 * how many numbers a covers.  All threads of the row get the result; all
 * threads of the block must call it. */
template <class J>
CTT_GPU void join_row(int share, float *a, float n,
                      float (*shared)[CTT_THREADS])
{
    int t = threadIdx.x, lane = t % share;

    for (int o = share / 2; o >= 1; o /= 2) {
        __syncthreads();
        shared[J::K][t] = n;
        CTT_UNROLL
        for (int i = 0; i < J::K; i++)
            shared[i][t] = a[i];
        __syncthreads();
        if (lane >= o)
            continue;
        float b[J::K];
        CTT_UNROLL
        for (int i = 0; i < J::K; i++)
            b[i] = shared[i][t + o];
        J::join(a, b, n, shared[J::K][t + o]);
        n += shared[J::K][t + o];
    }
    __syncthreads();
    if (lane == 0)
        CTT_UNROLL
        for (int i = 0; i < J::K; i++)
            shared[i][t] = a[i];
    __syncthreads();
    CTT_UNROLL
    for (int i = 0; i < J::K; i++)
        a[i] = shared[i][t - lane];
}

#endif
