/* SPDX-License-Identifier: Apache-2.0
 * mix.cu: chooses one of two inputs per sample: the frame seen or the one fed
 * back. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

/* The input of a row's sample: 0 or 1. */
struct choice {
    struct view  which;
    struct quick each;      /* rows per sample */

    __device__ __forceinline__ int of(int64_t row) const
    {
        struct spot s = { quotient(each, row), 0 };
        float x;

        if (!which.p)
            return 0;
        num<some, 1>::got(which, s).give(&x);
        return x == 0;
    }
};

static struct choice choice_of(const struct ctt_call *c,
                               const struct ctt_tensor &y)
{
    int64_t rows = ctt_rows(&y);
    struct choice m = { view_of(c->in[2]), quick_of(rows / y.n, rows) };

    if (!c->in[1].data)     /* without a second input it is the first */
        m.which.p = NULL;
    return m;
}

struct mix_forward {
    struct view   x[2], y;
    struct choice taken;

    template <class N> __device__ void at(struct spot s) const
    {
        float v[N::V];

        typename N::got(taken.of(s.row) ? x[1] : x[0], s).give(v);
        N::put(y, s, v, 0);
    }
};

int ctt_launch_mix_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct mix_forward f = { { view_of(c->in[0]), view_of(c->in[1]) },
                             view_of(c->out), choice_of(c, c->out) };
    struct form form = form_of(c->out);

    (void)scratch;
    note_view(&form, c->in[0]);
    note_view(&form, c->in[1]);
    by_channel(&form);
    return run_each(f, form, stream);
}

/* The gradient goes to the chosen input; the other one gets zero. */
struct mix_backward {
    struct view   dy, dx[2];
    struct choice taken;
    unsigned      add;

    template <class N> __device__ void at(struct spot s) const
    {
        typename N::got grad(dy, s);
        int which = taken.of(s.row);

        CTT_UNROLL
        for (int k = 0; k < 2; k++) {
            int more = (int)(add >> k & 1);
            float v[N::V];
            if (!dx[k].p || (more && which != k))
                continue;
            grad.give(v);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                v[i] = which == k ? v[i] : 0;
            N::put(dx[k], s, v, more);
        }
    }
};

int ctt_launch_mix_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct mix_backward f = { view_of(c->dout),
                              { view_of(c->din[0]), view_of(c->din[1]) },
                              choice_of(c, c->dout), c->add };
    struct form form = form_of(c->dout);

    (void)scratch;
    note_view(&form, c->din[0]);
    note_view(&form, c->din[1]);
    by_channel(&form);
    return c->din[0].data || c->din[1].data ? run_each(f, form, stream) : 0;
}
