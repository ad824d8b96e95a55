/* SPDX-License-Identifier: Apache-2.0
 * phases.c: the provider "phases": a deconv of floats in the runtime.  Pixels
 * of the result that have the same remainder by the strides are read from the
 * same taps: each such phase is a conv of stride 1 (Shi et al. 2016), which
 * writes every stride-th pixel and row. */
#include "device/cpu/conv/dense/dense.h"
#include "device/cpu/conv/providers.h"

#include <string.h>

/* Most phases: strides of 4 by 4. */
enum { MOST = 16 };

/* Packed weights of the phases, of a call's stamp. */
struct phase_weights {
    struct ctt_int8_weights k[MOST];
    uint64_t                stamp;
};

/* Along an axis a phase has `taps` taps: `first`, and every stride-th after it;
 * the last of them reads `pad` pixels before the pixel of the result's
 * quotient. */
struct axis { int64_t taps, first, pad; };

static struct axis axis_of(const struct ctt_node *n, int i, int phase)
{
    int s = n->attr.conv.stride[i], at = phase + n->attr.conv.pad[i];
    int64_t taps = (n->attr.conv.kernel[i] - at % s + s - 1) / s;

    return (struct axis){ taps, at % s, taps - 1 - at / s };
}

static const struct ctt_int8_isa *float_kernels(void)
{
    return ctt_dense_avx512.supported() ? &ctt_dense_avx512 :
           ctt_dense_avx2.supported() ? &ctt_dense_avx2 : NULL;
}

/* 1 if each phase has a tap and as many pixels as the others along an axis, and
 * begins to read at the image or in the padding before it. */
static int splits(const struct ctt_node *n, int i, int64_t size)
{
    int s = n->attr.conv.stride[i];

    for (int phase = 0; phase < s; phase++) {
        struct axis a = axis_of(n, i, phase);
        if (a.taps < 1 || a.pad < 0)
            return 0;
    }
    return size % s == 0;
}

static int phases_can(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    const struct ctt_node *n = c->node;
    const int *s = n->attr.conv.stride;

    if (q->part != CTT_CONV_OUT || n->op != CTT_OP_DECONV || c->train ||
        !c->stamp || !float_kernels() || !ctt_weight_is_floats(&c->w[0]) ||
        c->in[0].dtype != CTT_F32 || c->out.dtype != CTT_F32)
        return 0;
    if (s[0] * n->attr.conv.kernel[0] > 1 || n->attr.conv.pad[0] ||
        s[1] * s[2] > MOST)
        q->why = "it has depth, or more than 16 phases";
    else if (!splits(n, 1, c->out.h) || !splits(n, 2, c->out.w))
        q->why = "its phases differ in size";
    return !q->why;
}

/* The conv of phase h, w; node: its own.  Its weights have no numbers yet. */
static struct ctt_call phase_of(const struct ctt_call *c, int h, int w,
                                struct ctt_node *node)
{
    const int *s = c->node->attr.conv.stride;
    struct axis a[3] = { { 1, 0, 0 }, axis_of(c->node, 1, h),
                         axis_of(c->node, 2, w) };
    struct ctt_call p = *c;

    *node = *c->node;
    node->op = CTT_OP_CONV;
    for (int i = 0; i < 3; i++) {
        node->attr.conv.kernel[i] = (int)a[i].taps;
        node->attr.conv.stride[i] = 1;
        node->attr.conv.pad[i] = (int)a[i].pad;
    }
    p.node = node;
    p.w[0].t.h = a[1].taps;
    p.w[0].t.w = a[2].taps;
    p.w[0].t.data = NULL;
    p.out.data = (float *)c->out.data + (h * c->out.w + w) * c->out.ld;
    p.out.h /= s[1];
    p.out.w /= s[2];
    p.out.ld *= s[2];
    return p;
}

/* Copies the taps of a phase, in the order in which a conv reads them. */
static void fill_taps(const struct ctt_call *c, int h, int w,
                      struct ctt_tensor *to)
{
    const int *s = c->node->attr.conv.stride;
    const struct ctt_tensor *from = &c->w[0].t;
    int64_t up = axis_of(c->node, 1, h).first;
    int64_t far = axis_of(c->node, 2, w).first;
    float *y = to->data;

    for (int64_t o = 0; o < to->n; o++)
        for (int64_t i = to->h - 1; i >= 0; i--)
            for (int64_t k = to->w - 1; k >= 0; k--, y += to->c)
                memcpy(y, (const float *)from->data +
                       ((o * from->h + up + i * s[1]) * from->w + far +
                        k * s[2]) * from->c, (size_t)to->c * sizeof(*y));
}

static int run_phase(struct ctt_conv_ask *q, int h, int w, float *room,
                     struct ctt_int8_weights *k)
{
    struct ctt_node node;
    struct ctt_call p = phase_of(q->call, h, w, &node);

    p.w[0].t.data = room;
    if (room)
        fill_taps(q->call, h, w, &p.w[0].t);
    return ctt_dense_run(float_kernels(), q->dev, &p,
                         (q->call->node->attr.conv.stride[1] - 1) * p.out.w, k);
}

static int phases_run(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    const int *s = c->node->attr.conv.stride;
    struct phase_weights *k = ctt_conv_own(q, sizeof(*k));
    float *room = NULL;
    int rc = 0;

    CTT_TRY(k ? 0 : CTT_ENOMEM);
    q->code = float_kernels()->name;
    if (k->stamp != c->stamp) {
        CTT_TRY(ctt_call_lacks(c));
        room = ctt_calloc((size_t)ctt_volume(&c->w[0].t), sizeof(*room));
        CTT_CHECK(room, CTT_ENOMEM, "%s: out of memory", c->node->name);
    }
    for (int i = 0; i < s[1] * s[2]; i++)
        CTT_TRY(run_phase(q, i / s[2], i % s[2], room, &k->k[i]));
    k->stamp = c->stamp;
out:
    ctt_free(room);
    return rc;
}

static void phases_free(void *own)
{
    struct phase_weights *k = own;

    for (int i = 0; i < MOST; i++)
        ctt_free(k->k[i].room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_phases = {
    .name = "phases", .any_threads = 1, .can = phases_can, .run = phases_run,
    .forget = phases_free,
};
