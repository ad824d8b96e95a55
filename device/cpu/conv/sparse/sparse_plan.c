/* SPDX-License-Identifier: Apache-2.0
 * sparse_plan.c: sparse convs: choice of kernels, and layout of the values. */
#include "device/cpu/conv/sparse/sparse.h"

const struct ctt_sparse_isa *ctt_sparse_best(const struct ctt_call *c)
{
    static const struct ctt_sparse_isa *const all[] = {
        &ctt_sparse_vnni, &ctt_sparse_int16, &ctt_sparse_avx512,
        &ctt_sparse_avx2,
    };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->is_int8 == ctt_call_is_int8(c) && all[i]->supported())
            return all[i];
    return NULL;
}

/* Positions from row to row along one axis: the input's pixels plus the larger
 * padding of both sides; more if the padding is wider than the window. */
static int64_t pitch_of(int64_t in, int64_t out, int64_t kernel,
                        int64_t stride, int64_t pad)
{
    int64_t size = (out - 1) * stride + kernel, used = size - pad, after;

    used = used < 0 ? 0 : used > in ? in : used;
    after = size - pad - used;
    used += after > pad ? after : pad;
    used = (used + stride - 1) / stride;
    return used < out ? out : used;
}

/* 1 for rows of whole registers and lists by columns, if aligned loads outweigh
 * the longer rows.  Tiles of few registers would read one more register for
 * each. */
enum { TILE_LEAST = 6 };

static int64_t whole_row(const struct ctt_sparse_isa *isa,
                         const struct ctt_call *c, int64_t pitch)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    int64_t wide = ctt_align(x->w > y->w ? x->w : y->w, isa->lanes);
    int kernel = c->node->attr.conv.kernel[2];

    return isa->columns && c->node->attr.conv.stride[2] == 1 && kernel > 1 &&
           kernel <= CTT_SPARSE_COLUMNS &&
           c->node->attr.conv.pad[2] < kernel && 16 * wide <= 17 * pitch &&
           y->d * y->h * wide >= TILE_LEAST * isa->lanes ? wide : 0;
}

/* Units laid out at a time, so that they are still in the cache when kernels
 * read them; NEAR: those that stay in the first one, for the most part. */
enum { UNITS = 128 << 10, NEAR = 12 << 10 };

/* 1 for planes by tap: with strides, which have several planes anyway, if their
 * values stay near. */
static int has_planes_of_taps(const struct ctt_sparse_isa *isa,
                              const struct ctt_call *c)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    const int *k = c->node->attr.conv.kernel, *by = c->node->attr.conv.stride;
    int64_t groups = (x->c + isa->unit - 1) / isa->unit;

    return isa->columns && by[2] > 1 &&
           k[0] * k[1] * k[2] * groups *
           ctt_align(y->d * y->h * y->w, isa->lanes) <= NEAR;
}

struct ctt_sparse_shape ctt_sparse_plan(const struct ctt_sparse_isa *isa,
                                        const struct ctt_call *c)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    const int64_t in[3] = { x->d, x->h, x->w }, out[3] = { y->d, y->h, y->w };
    const struct ctt_node *n = c->node;
    struct ctt_sparse_shape s = {
        .units = isa->unit, .groups = (x->c + isa->unit - 1) / isa->unit,
        .by_taps = has_planes_of_taps(isa, c)
    };
    int64_t far = 0, size = s.groups, fit, last = 0, row;

    for (int k = 0; k < 3; k++) {
        int64_t kernel = n->attr.conv.kernel[k];
        int64_t stride = s.by_taps ? kernel : n->attr.conv.stride[k];
        s.phases[k] = kernel < stride ? kernel : stride;
        s.pitch[k] = s.by_taps ? out[k] :
                     pitch_of(in[k], out[k], kernel, stride,
                              n->attr.conv.pad[k]);
        row = k == 2 ? whole_row(isa, c, s.pitch[k]) : 0;
        s.columns = row ? kernel : 1;
        s.pitch[k] = row ? row : s.pitch[k];
        far = far * s.pitch[k] + (kernel - 1) / stride;
        last = last * s.pitch[k] + out[k] - 1;
        size *= s.pitch[k] * s.phases[k];
    }
    fit = UNITS / size;
    s.samples = fit < 1 ? 1 : fit > x->n ? x->n : fit;
    size = s.pitch[0] * s.pitch[1] * s.pitch[2];
    s.span = (s.samples - 1) * size + last + 1;
    s.plane = s.samples * size;
    if (s.plane < s.span + far)
        s.plane = s.span + far;
    /* Slack that the last register reads after the last result. */
    row = s.by_taps ? 0 : s.columns > 1 ? 2 : 1;
    s.plane = ctt_align(s.plane + row * isa->lanes, 16);
    return s;
}
