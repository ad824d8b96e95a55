/* SPDX-License-Identifier: Apache-2.0
 * bias.cu: the gradient of a bias: sums per channel over all rows. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/sums.cuh"

struct bias_sums : plain_sums<1> {
    struct view dy;

    template <class N> struct sums {
        float sum[N::V];

        __device__ __forceinline__ void begin(const bias_sums &, struct spot,
                                              int)
        {
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                sum[i] = 0;
        }
        __device__ __forceinline__ void add(const bias_sums &f, struct spot s)
        {
            float x[N::V];

            typename N::got(f.dy, s).give(x);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                sum[i] += x[i];
        }
        __device__ __forceinline__ void end(float, float out[N::V][K]) const
        {
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                out[i][0] = sum[i];
        }
    };
};

int ctt_launch_bias_bwd(struct ctt_tensor dy, float *db, void *scratch,
                        void *stream)
{
    struct form form = form_of(dy);
    struct sums_to<1> to = { { db } };
    struct bias_sums f;
    int chunks, e;

    by_channel(&form);
    f.dy = view_of(dy);
    e = run_sums(f, form, (float *)scratch, &chunks, stream);
    if (e)
        return e;
    CTT_LAUNCH((join_sums<1>), join_blocks(dy.c), stream,
               (const float *)scratch, dy.c, chunks, to);
    return (int)cudaGetLastError();
}

size_t ctt_launch_bias_bwd_scratch(struct ctt_tensor dy)
{
    return sums_bytes(dy, 1);
}
