/* SPDX-License-Identifier: Apache-2.0
 * embed.cu: a row of a table for each symbol.  A kernel cannot report an error:
 * a number that is no symbol gives NaN, and has no gradient. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

#include "device/ewise.h"

/* table: the values, or their gradients. */
struct embedding {
    struct view x, y;
    float      *table;
    int64_t     rows, c, vocab;
};

static struct embedding embedding_of(const struct ctt_call *c, void *table,
                                     const struct ctt_tensor &y)
{
    struct embedding e = { view_of(c->in[0]), view_of(y), (float *)table,
                           ctt_rows(&y), y.c, c->node->attr.embed.vocab };

    return e;
}

/* The row of the table for a row of the tensors; -1: there is none. */
CTT_GPU int64_t symbol_of(const struct embedding &e, int64_t row)
{
    struct spot s = { row, 0 };
    float x;

    num<some, 1>::got(e.x, s).give(&x);
    return x >= 0 && x < (float)e.vocab ? (int64_t)x : -1;
}

struct looking_up : embedding {
    template <class N> __device__ void at(struct spot s) const
    {
        int64_t k = symbol_of(*this, s.row);
        float v[N::V];

        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = k < 0 ? ctt_from_bits(0x7fc00000u)
                         : table[k * c + s.col + i];
        N::put(y, s, v, 0);
    }
};

/* Each thread has channels of its own and adds all rows in their order. */
struct channel_sums : embedding {
    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V];

        for (int64_t r = 0; r < rows; r++) {
            struct spot from = { r, s.col };
            int64_t k = symbol_of(*this, r);

            typename N::got(y, from).give(v);
            CTT_UNROLL
            for (int i = 0; i < N::V && k >= 0; i++)
                table[k * c + s.col + i] += v[i];
        }
    }
};

int ctt_launch_embed_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct form form = form_of(c->out);
    struct looking_up f = { embedding_of(c, c->w[0].t.data, c->out) };

    (void)scratch;
    by_channel(&form);
    return run_each(f, form, stream);
}

int ctt_launch_embed_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct form form = form_of(c->dout);
    struct channel_sums f = { embedding_of(c, c->dw[0].data, c->dout) };

    (void)scratch;
    if (!c->dw[0].data)
        return 0;
    by_channel(&form);
    form.rows = 1;
    return run_each(f, form, stream);
}
