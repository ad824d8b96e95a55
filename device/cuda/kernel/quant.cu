/* SPDX-License-Identifier: Apache-2.0
 * quant.cu: values and weights rounded to whole numbers of a step. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernel/walk.cuh"
#include "base/byte.h"

struct quant_forward {
    struct view x, y;
    float       inv, zero, scale;

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V];

        typename N::got(x, s).give(v);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = ctt_quant(v[i], inv, zero) * scale;
        N::put(y, s, v, 0);
    }
};

int ctt_launch_quant_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    float scale = c->node->attr.quant.scale;
    struct quant_forward f = { view_of(c->in[0]), view_of(c->out), 1 / scale,
                               (float)c->node->attr.quant.zero, scale };
    struct form form = form_of(c->out);

    (void)scratch;
    note_view(&form, c->in[0]);
    return run_each(f, form, stream);
}

struct quant_backward {
    struct view x, dy, dx;
    float       inv, zero;
    int         add;

    template <class N> __device__ void at(struct spot s) const
    {
        float a[N::V], g[N::V];
        typename N::got in(x, s), grad(dy, s);

        in.give(a);
        grad.give(g);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            g[i] = ctt_quant_bwd(a[i], inv, zero, g[i]);
        N::put(dx, s, g, add);
    }
};

int ctt_launch_quant_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct quant_backward f = { view_of(c->in[0]), view_of(c->dout),
                                view_of(c->din[0]),
                                1 / c->node->attr.quant.scale,
                                (float)c->node->attr.quant.zero,
                                (int)(c->add & 1) };
    struct form form = form_of(c->dout);

    (void)scratch;
    if (!c->din[0].data)
        return 0;
    note_view(&form, c->in[0]);
    note_view(&form, c->din[0]);
    return run_each(f, form, stream);
}

/* A block for each row. */
static __global__ void __launch_bounds__(CTT_THREADS)
round_row(const float *x, int64_t each, float *y)
{
    __shared__ float most[CTT_THREADS];
    const float *row = x + blockIdx.x * each;
    float scale = ctt_quant_step(row_most(row, each, most));

    for (int64_t i = threadIdx.x; i < each; i += CTT_THREADS)
        y[blockIdx.x * each + i] = ctt_quant_weight(row[i], scale) * scale;
}

int ctt_launch_round8(const float *x, int64_t rows, int64_t each, float *y,
                      void *stream)
{
    CTT_LAUNCH(round_row, (unsigned)rows, stream, x, each, y);
    return (int)cudaGetLastError();
}
