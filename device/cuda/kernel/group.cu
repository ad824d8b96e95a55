/* SPDX-License-Identifier: Apache-2.0
 * group.cu: sums over equal groups of a tensor's rows, and one number for all
 * of a group: how a loss is read and its gradient set. */
#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

/* A block sums one group after the other. */
static __global__ void __launch_bounds__(CTT_THREADS)
group_sums(struct view x, int64_t rows, int64_t c, int64_t groups, double *to)
{
    __shared__ double shared[CTT_THREADS];

    for (int64_t g = blockIdx.x; g < groups; g += gridDim.x) {
        double sum = 0;
        for (int64_t i = threadIdx.x; i < rows * c; i += CTT_THREADS) {
            struct spot s = { g * rows + i / c, i % c };
            float v;
            num<some, 1>::got(x, s).give(&v);
            sum += (double)v;
        }
        sum = over_block(sum, shared);
        if (threadIdx.x == 0)
            to[g] = sum;
        __syncthreads();    /* before the next sum overwrites `shared` */
    }
}

int ctt_launch_group_sums(struct ctt_tensor x, int64_t groups, double *sums,
                          void *stream)
{
    unsigned blocks = (unsigned)(groups < 1 << 16 ? groups : 1 << 16);

    if (!ctt_is_float_type(x.dtype))
        return (int)cudaErrorInvalidValue;
    CTT_LAUNCH(group_sums, blocks, stream, view_of(x), ctt_rows(&x) / groups,
               x.c, groups, sums);
    return (int)cudaGetLastError();
}

struct filling {
    struct view  y;
    struct quick rows;      /* of a group */
    const float *value;

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V], x = value[quotient(rows, s.row)];

        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = x;
        N::put(y, s, v, 0);
    }
};

int ctt_launch_group_fill(const float *value, int64_t groups,
                          struct ctt_tensor y, void *stream)
{
    struct form form = form_of(y);
    struct filling f = { view_of(y),
                         quick_of(ctt_rows(&y) / groups, ctt_rows(&y)),
                         value };

    by_channel(&form);
    return run_each(f, form, stream);
}
