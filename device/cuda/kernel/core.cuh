/* SPDX-License-Identifier: Apache-2.0
 * core.cuh: common part of the kernels of cores: the call, the sums that a core
 * reads and adds, and how its results are stored. */
#ifndef CTT_CORE_CUH
#define CTT_CORE_CUH

#include "device/cuda/cores.h"
#include "device/cuda/kernel/walk.cuh"

/* Columns and rows of a block's tile; the second are those of core_mma.cu. */
enum { CORE_WIDE = 32, CORE_HIGH = 16, CORE_MMA_HIGH = 8 };

struct terms {
    struct view  x[CTT_MAX_IN];
    const float *bias;
    int          n;
    unsigned     add;
};

/* Forward y = conv(x) + bias + plus, where x may be the sum `head`, which is
 * stored there; backward x is the gradient of y and y that of x, and `plus` and
 * `head` are the gradients of the terms. */
struct core {
    struct view  x, y;
    const void  *w;
    const float *bias;
    struct terms head, plus;
    int64_t      tiles;
    int          w16, c, k, h, wide, across, down, back, add;
};

template <class N>
static __device__ __forceinline__ void sum_terms(const struct terms &t,
                                                 struct spot s, float *v)
{
    for (int k = 0; k < t.n; k++) {
        float b[N::V];
        typename N::got(t.x[k], s).give(b);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] += b[i];
    }
    for (int i = 0; t.bias && i < N::V; i++)
        v[i] += t.bias[s.col + i];
}

template <class N>
static __device__ __forceinline__ void give_terms(const struct terms &t,
                                                  struct spot s,
                                                  const float *v)
{
    for (int k = 0; k < t.n; k++) {
        float b[N::V];
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            b[i] = v[i];
        if (t.x[k].p)
            N::put(t.x[k], s, b, (int)(t.add >> k & 1));
    }
}

/* Rounds as a stored number. */
template <class T, int V> CTT_GPU void round_as(num<T, V>, float *v)
{
    widen<T, V>(narrowed<T, V>(v), v);
}
CTT_GPU void round_as(num<some, 8>, float *) { }    /* checked: fp32 */

CTT_GPU float weight_at(const struct core &f, int64_t i)
{
    struct view v = { (void *)f.w, 0, f.w16, 0, 0 };
    struct spot s = { 0, i };
    float x;

    num<some, 1>::got(v, s).give(&x);
    return x;
}

/* Weight of an output and an input channel.  The gradient of the input is a
 * conv with the kernel turned round. */
CTT_GPU float core_weight(const struct core &f, int tap, int in, int out)
{
    int taps = f.k * f.k;

    return weight_at(f, f.back
                     ? ((int64_t)in * taps + taps - 1 - tap) * f.c + out
                     : ((int64_t)out * taps + tap) * f.c + in);
}

/* The numbers of the input at s, which may be the sum that it is to be. */
template <class N>
static __device__ __forceinline__ void read_input(const struct core &f,
                                                  struct spot s, float *v)
{
    if (f.head.n && !f.back) {
        for (int i = 0; i < N::V; i++)
            v[i] = 0;
        sum_terms<N>(f.head, s, v);
        round_as(N(), v);
    } else {
        typename N::got(f.x, s).give(v);
    }
}

/* Of a block: its image, and the first row and column of its tile. */
struct core_place { int64_t image; int top, left; };

CTT_GPU struct core_place place_of(const struct core &f, int64_t tile,
                                     int wide, int high)
{
    struct core_place p = { tile / f.across / f.down,
                            (int)(tile / f.across % f.down) * high,
                            (int)(tile % f.across) * wide };

    return p;
}

CTT_GPU int is_inside(const struct core &f, int row, int col)
{
    return row >= 0 && row < f.h && col >= 0 && col < f.wide;
}

CTT_GPU struct spot pixel_at(const struct core &f, struct core_place p,
                             int row, int col)
{
    struct spot s = { (p.image * f.h + p.top + row) * f.wide + p.left + col,
                      0 };

    return s;
}

/* Stores the sums of a pixel; own: what was loaded for it. */
template <class N>
static __device__ __forceinline__ void store_sums(const struct core &f,
                                                   struct spot s, float *own,
                                                   float *sum)
{
    if (f.back) {
        give_terms<N>(f.plus, s, own);
        if (f.add)
            typename N::got(f.y, s).give(own);
        for (int i = 0; i < N::V && f.add; i++)
            sum[i] += own[i];
        N::put(f.y, s, sum, 0);
        round_as(N(), sum);
        give_terms<N>(f.head, s, sum);
        return;
    }
    if (f.head.n)
        N::put(f.x, s, own, 0);
    for (int i = 0; f.bias && i < N::V; i++)
        sum[i] += f.bias[s.col + i];
    sum_terms<N>(f.plus, s, sum);
    N::put(f.y, s, sum, 0);
}

static inline unsigned core_blocks(const struct core &f)
{
    return (unsigned)(f.tiles < 65536 ? f.tiles : 65536);
}

/* core_mma.cu: products by tensor cores of fp16 or bf16 or, of 8 channels, of
 * floats rounded to TF32.  even: all numbers of a pixel are one or two accesses
 * of 16 bytes; so they are in floats. */
void ctt_launch_core_mma(const struct core &f, int type, int even,
                         void *stream);

#endif
