/* SPDX-License-Identifier: Apache-2.0
 * upsample.cu: each pixel repeated as a block (nearest neighbour). */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

/* The small and the large image.  h, w: of the written one, whose rows are
 * divided among threads. */
struct upsampling {
    struct view  small, large;
    struct quick h, w, by[3];
    int64_t      small_h, small_w, large_h, large_w;
    int          add;
};

/* to: the written tensor. */
static struct upsampling upsampling_of(const struct ctt_call *c,
                                       const struct ctt_tensor &small,
                                       const struct ctt_tensor &large,
                                       const struct ctt_tensor &to)
{
    int64_t rows = ctt_rows(&to);
    struct upsampling u = { view_of(small), view_of(large),
                            quick_of(to.h, rows), quick_of(to.w, rows), { },
                            small.h, small.w, large.h, large.w,
                            (int)(c->add & 1) };

    for (int i = 0; i < 3; i++)
        u.by[i] = quick_of(c->node->attr.upsample.by[i], rows);
    return u;
}

struct repeating : upsampling {
    template <class N> __device__ void at(struct spot s) const
    {
        int64_t n = s.row, y, x;
        float v[N::V];

        x = rest(w, n, &n);
        y = rest(h, n, &n);
        struct spot from = { (quotient(by[0], n) * small_h +
                              quotient(by[1], y)) * small_w +
                             quotient(by[2], x), s.col };
        typename N::got(small, from).give(v);
        N::put(large, s, v, 0);
    }
};

/* Each pixel of the input sums its own block. */
struct block_sums : upsampling {
    template <class N>
    __device__ __forceinline__ void more(int64_t row, int64_t col,
                                         float *sum) const
    {
        struct spot from = { row, col };
        float v[N::V];

        typename N::got(large, from).give(v);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            sum[i] += v[i];
    }

    template <class N> __device__ void at(struct spot s) const
    {
        int64_t n = s.row, y, x, first;
        float sum[N::V];

        x = rest(w, n, &n);
        y = rest(h, n, &n);
        first = (n * by[0].by * large_h + y * by[1].by) * large_w +
                x * by[2].by;
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            sum[i] = 0;
        for (int64_t a = 0; a < by[0].by; a++)
            for (int64_t b = 0; b < by[1].by; b++)
                for (int64_t k = 0; k < by[2].by; k++)
                    more<N>(first + (a * large_h + b) * large_w + k, s.col,
                            sum);
        N::put(small, s, sum, add);
    }
};

int ctt_launch_upsample_fwd(const struct ctt_call *c, void *scratch,
                            void *stream)
{
    struct form form = form_of(c->out);
    struct repeating f = { upsampling_of(c, c->in[0], c->out, c->out) };

    (void)scratch;
    note_view(&form, c->in[0]);
    by_channel(&form);
    return run_each(f, form, stream);
}

int ctt_launch_upsample_bwd(const struct ctt_call *c, void *scratch,
                            void *stream)
{
    struct form form = form_of(c->din[0]);
    struct block_sums f = { upsampling_of(c, c->din[0], c->dout, c->din[0]) };

    (void)scratch;
    if (!c->din[0].data)
        return 0;
    note_view(&form, c->dout);
    by_channel(&form);
    return run_each(f, form, stream);
}
