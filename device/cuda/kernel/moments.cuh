/* SPDX-License-Identifier: Apache-2.0
 * moments.cuh: the mean and the sum of squared deviations of numbers x and,
 * with weights g, the sum of g and of g times the deviation, in one pass.  Each
 * thread subtracts its own first number, and partial results are joined by the
 * difference of their means, which avoids cancellation (Chan and others
 * 1983). */
#ifndef CTT_MOMENTS_CUH
#define CTT_MOMENTS_CUH

#include "device/cuda/kernel/num.cuh"

enum { MEAN, SQUARES, WEIGHT, CROSS };

/* The sums of one thread for one channel, around `first`. */
template <int K> struct around {
    float first, x, xx, g, gx;

    __device__ __forceinline__ void begin(float value)
    {
        first = value;
        x = xx = g = gx = 0;
    }
    __device__ __forceinline__ void add(float value, float weight)
    {
        float d = value - first;

        x += d;
        xx += d * d;
        g += weight;
        gx += weight * d;
    }
    __device__ __forceinline__ void end(float n, float *out) const
    {
        float mean = n > 0 ? x / n : 0, rest = xx - x * mean;

        out[MEAN] = first + mean;
        out[SQUARES] = rest < 0 ? 0 : rest;
        if (K > 2) {
            out[K - 2] = g;             /* WEIGHT, CROSS */
            out[K - 1] = gx - g * mean;
        }
    }
};

/* Joins the moments b of nb numbers to a of na numbers. */
template <int K>
CTT_GPU void join_moments(float *a, const float *b, float na, float nb)
{
    float d = b[MEAN] - a[MEAN], part = nb / (na + nb);

    if (nb == 0)
        return;
    if (K > 2) {
        a[K - 1] += b[K - 1] + d * ((1 - part) * b[K - 2] - part * a[K - 2]);
        a[K - 2] += b[K - 2];
    }
    a[SQUARES] += b[SQUARES] + d * d * na * part;
    a[MEAN] += d * part;
}

#endif
