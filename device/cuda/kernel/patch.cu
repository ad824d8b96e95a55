/* SPDX-License-Identifier: Apache-2.0
 * patch.cu: blocks of pixels as channels of one pixel, and the reverse. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

/* Two tensors that hold the same numbers, of pixels and of blocks; h, w: of the
 * pixels, coarse_h, coarse_w: of the blocks. */
struct patching {
    struct view  fine, coarse;
    struct quick h, w, by[3];
    int64_t      coarse_h, coarse_w, c;
    int          to_blocks, add;

    template <class N> __device__ void at(struct spot s) const
    {
        int64_t z = s.row, y, x, a, b, k;
        float v[N::V];

        x = rest(w, z, &z);
        y = rest(h, z, &z);
        k = rest(by[2], x, &x);
        b = rest(by[1], y, &y);
        a = rest(by[0], z, &z);
        struct spot block = { (z * coarse_h + y) * coarse_w + x,
                              ((a * by[1].by + b) * by[2].by + k) * c + s.col };
        if (to_blocks) {
            typename N::got(fine, s).give(v);
            N::put(coarse, block, v, add);
        } else {
            typename N::got(coarse, block).give(v);
            N::put(fine, s, v, add);
        }
    }
};

static int run_patch(const struct ctt_call *c, const struct ctt_tensor &in,
                     const struct ctt_tensor &out, int backward, void *stream)
{
    int back = c->node->attr.patch.back;
    const struct ctt_tensor &fine = back ? out : in, &coarse = back ? in : out;
    int64_t rows = ctt_rows(&fine);
    struct form form = form_of(fine);
    struct patching p = { view_of(fine), view_of(coarse),
                          quick_of(fine.h, rows), quick_of(fine.w, rows), { },
                          coarse.h, coarse.w, fine.c, back == backward,
                          backward && c->add & 1 };

    for (int i = 0; i < 3; i++)
        p.by[i] = quick_of(c->node->attr.patch.by[i], rows);
    note_view(&form, coarse);
    by_channel(&form);
    return run_each(p, form, stream);
}

int ctt_launch_patch_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    (void)scratch;
    return run_patch(c, c->in[0], c->out, 0, stream);
}

int ctt_launch_patch_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    (void)scratch;
    return c->din[0].data ? run_patch(c, c->din[0], c->dout, 1, stream) : 0;
}
