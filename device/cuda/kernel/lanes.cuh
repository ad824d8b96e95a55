/* SPDX-License-Identifier: Apache-2.0
 * lanes.cuh: sums along the channels of each row, or along the pixels of each
 * channel, by some threads of one block for each. */
#ifndef CTT_LANES_CUH
#define CTT_LANES_CUH

#include "device/cuda/kernel/walk.cuh"

/* `lines` lines of `n` numbers; share (a power of two): threads of a line, each
 * of which takes every share-th number; apart: from thread to thread of a line,
 * so that neighbours read neighbouring channels.  pixels: of a sample, if a
 * line is the pixels of a channel, of c channels; 0: it is a row. */
struct lanes { int64_t lines, n, pixels, c; int share, apart; };

static inline struct lanes lanes_of(const struct ctt_tensor &t, int by_pixels)
{
    struct lanes l = { ctt_rows(&t), t.c, 0, t.c, 1, 1 };

    if (by_pixels) {
        l.pixels = l.n = ctt_rows(&t) / t.n;
        l.lines = t.n * t.c;
    }
    while (l.share < CTT_THREADS && l.share * 4 < l.n)
        l.share *= 2;
    if (by_pixels)
        l.apart = CTT_THREADS / l.share;
    return l;
}

static inline unsigned lanes_blocks(const struct lanes &l)
{
    return ctt_blocks(l.lines * l.share);
}

/* The thread's place in its line, and the line of a block's turn k. */
CTT_GPU int lane_of(const struct lanes &l)
{
    return threadIdx.x / l.apart % l.share;
}

CTT_GPU int64_t line_of(const struct lanes &l, int64_t k)
{
    int each = CTT_THREADS / l.share;

    return k * each + (l.pixels ? threadIdx.x % each : threadIdx.x / l.share);
}

CTT_GPU struct spot spot_of(const struct lanes &l, int64_t line, int64_t i)
{
    struct spot s = { line, i };

    if (l.pixels) {
        s.row = line / l.c * l.pixels + i;
        s.col = line % l.c;
    }
    return s;
}

/* The largest (most), or the sum, of the x of a line's threads, in a fixed
 * order; all threads of the block must call it.  shared: CTT_THREADS floats. */
CTT_GPU float join_lanes(const struct lanes &l, int most, float x,
                         float *shared)
{
    int t = threadIdx.x, lane = lane_of(l);

    for (int o = l.share / 2; o >= 1; o /= 2) {
        __syncthreads();
        shared[t] = x;
        __syncthreads();
        if (lane < o) {
            float other = shared[t + o * l.apart];
            x = !most ? x + other : other > x ? other : x;
        }
    }
    __syncthreads();
    if (lane == 0)
        shared[t] = x;
    __syncthreads();
    return shared[t - lane * l.apart];
}

CTT_GPU float number_at(struct view v, struct spot s)
{
    float x;

    num<some, 1>::got(v, s).give(&x);
    return x;
}

CTT_GPU void put_number(struct view v, struct spot s, float x, int add)
{
    num<some, 1>::put(v, s, &x, add);
}

#endif
