/* SPDX-License-Identifier: Apache-2.0
 * patch.c: blocks of pixels as channels of one pixel, and the reverse. */
#include "device/cpu/cpu.h"

/* Two tensors that hold the same numbers: of pixels, and of blocks. */
struct patching { const struct ctt_tensor *fine, *coarse; const int *by; };

/* The block of pixel r, and the first of its channels there. */
static float *patch_place(const struct patching *p, int64_t r)
{
    const struct ctt_tensor *f = p->fine, *t = p->coarse;
    int64_t x = r % f->w, y = r / f->w % f->h, z = r / f->w / f->h;
    int64_t row = (z / p->by[0] * t->h + y / p->by[1]) * t->w + x / p->by[2];
    int64_t at = (z % p->by[0] * p->by[1] + y % p->by[1]) * p->by[2] +
                 x % p->by[2];

    return ctt_row(t, row) + at * f->c;
}

/* to_blocks: from pixels to blocks. */
static void patch_move(struct ctt_dev *d, const struct patching *p,
                       int to_blocks, int add)
{
    int64_t rows = ctt_rows(p->fine), c = p->fine->c;

    PARALLEL(d, rows * c)
    for (int64_t r = 0; r < rows; r++) {
        float *a = ctt_row(p->fine, r), *b = patch_place(p, r);
        ctt_put(to_blocks ? b : a, to_blocks ? a : b, c, add);
    }
}

static void patch_pass(struct ctt_dev *d, const struct ctt_call *c,
                       const struct ctt_tensor *in,
                       const struct ctt_tensor *out, int backward)
{
    int back = c->node->attr.patch.back;
    struct patching p = { back ? out : in, back ? in : out,
                          c->node->attr.patch.by };

    patch_move(d, &p, back == backward, backward && c->add & 1);
}

int K(patch_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    patch_pass(d, c, &c->in[0], &c->out, 0);
    return 0;
}

int K(patch_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    if (c->din[0].data)
        patch_pass(d, c, &c->din[0], &c->dout, 1);
    return 0;
}
