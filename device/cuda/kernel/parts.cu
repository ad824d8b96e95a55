/* SPDX-License-Identifier: Apache-2.0
 * parts.cu: exchanges between the processes that divide a graph, for a single
 * process (device/device.h): rows of zeros around an image, and copies. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

/* h, w: of the written image, whose row y is row y + down of the other image,
 * if that row exists. */
struct shifting {
    struct view  from, to;
    struct quick h, w;
    int64_t      from_h, down;
    int          add;

    template <class N> __device__ void at(struct spot s) const
    {
        int64_t n = s.row, x, y;
        float v[N::V];

        x = rest(w, n, &n);
        y = rest(h, n, &n) + down;
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = 0;
        if (y >= 0 && y < from_h) {
            struct spot there = { (n * from_h + y) * w.by + x, s.col };

            typename N::got(from, there).give(v);
        }
        N::put(to, s, v, add);
    }
};

static int shift(const struct ctt_tensor &from, const struct ctt_tensor &to,
                 int64_t down, int add, void *stream)
{
    int64_t rows = ctt_rows(&to);
    struct form form = form_of(to);
    struct shifting f = { view_of(from), view_of(to), quick_of(to.h, rows),
                          quick_of(to.w, rows), from.h, down, add };

    note_view(&form, from);
    by_channel(&form);
    return run_each(f, form, stream);
}

int ctt_launch_halo_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    (void)scratch;
    return shift(c->in[0], c->out, -c->node->attr.halo.up, 0, stream);
}

int ctt_launch_halo_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    (void)scratch;
    if (!c->din[0].data)
        return 0;
    return shift(c->dout, c->din[0], c->node->attr.halo.up,
                 (int)(c->add & 1), stream);
}

/* The sum of all inputs, and the gradient of each. */
static int pass_on(const struct ctt_call *c, int back, void *stream)
{
    int rc = 0;

    for (int k = 0; k < c->node->nin && rc == 0; k++)
        if (!back)
            rc = ctt_launch_copy(c->in[k], c->out, k > 0, stream);
        else if (c->din[k].data)
            rc = ctt_launch_copy(c->dout, c->din[k], (int)(c->add >> k & 1),
                                 stream);
    return rc;
}

int ctt_launch_collect_fwd(const struct ctt_call *c, void *scratch,
                           void *stream)
{
    (void)scratch;
    return pass_on(c, 0, stream);
}

int ctt_launch_collect_bwd(const struct ctt_call *c, void *scratch,
                           void *stream)
{
    (void)scratch;
    return pass_on(c, 1, stream);
}

int ctt_launch_total_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    (void)scratch;
    return pass_on(c, 0, stream);
}

int ctt_launch_total_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    (void)scratch;
    return pass_on(c, 1, stream);
}
