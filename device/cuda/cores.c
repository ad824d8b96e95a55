/* SPDX-License-Identifier: Apache-2.0
 * cores.c: trains of cores: a conv whose chain is the cores before it, with
 * their sums, is a kernel a core. */
#include "device/cuda/cores.h"
#include "device/cuda/core.h"
#include "net/op.h"

/* A conv that keeps the size, of as few channels as the kernel for values of
 * this type has. */
static int is_core(const struct ctt_node *n, enum ctt_dtype type)
{
    int wide = type == CTT_F16 || type == CTT_BF16, k, good;
    struct ctt_slide s;

    if (n->op != CTT_OP_CONV || !n->plus || n->nw != 2)
        return 0;
    s = ctt_slide_of(n);
    k = s.kernel[1];
    good = (wide ? n->out.c <= CTT_CORE_MOST : n->out.c == CTT_CORE_CHANNELS) &&
           n->w[0].c == n->out.c &&
           n->attr.conv.groups <= 1 && !ctt_is_dilated(n) && n->out.d == 1 &&
           s.kernel[0] == 1 && k % 2 == 1 && k <= CTT_CORE_KERNEL;
    for (int i = 1; i < 3; i++)
        good = good && s.kernel[i] == k && s.stride[i] == 1 &&
               s.pad[i] == k / 2 && s.after[i] == k / 2;
    return good;
}

int ctt_cuda_fuses(enum ctt_fusion what, const struct ctt_node *n,
                   const struct ctt_node *next, enum ctt_dtype between)
{
    if (what == CTT_FUSE_JOINT)
        return 1;
    return is_core(next, between) &&
           ((n->op == CTT_OP_ADD && !n->attr.add.minus) || is_core(n, between));
}

/* Call i of the chain, and the conv itself behind it. */
static const struct ctt_call *call_at(const struct ctt_call *c, int i)
{
    return i < c->links ? &c->chain[i] : c;
}

static int is_add_of(const struct ctt_call *c, int i, const void *value)
{
    return i >= 0 && call_at(c, i)->node->op == CTT_OP_ADD &&
           call_at(c, i)->out.data == value;
}

/* The core that ends with the conv at i; returns how many calls it has. */
static int core_at(const struct ctt_call *c, int i, struct ctt_core_calls *a)
{
    int from = i;

    a->conv = call_at(c, i);
    a->plus = a->head = NULL;
    if (is_add_of(c, from - 1, a->conv->in[1].data))
        a->plus = call_at(c, --from);
    if (is_add_of(c, from - 1, a->conv->in[0].data))
        a->head = call_at(c, --from);
    return i - from + 1;
}

int ctt_cuda_along(struct ctt_dev *d, const struct ctt_call *c)
{
    int back = c->dout.data != NULL;
    struct ctt_core_calls a;

    (void)d;
    if (!c->links || c->pair.node || c->lstm.node)
        return 0;
    for (int i = c->links; i >= 0; i -= core_at(c, i, &a)) {
        core_at(c, i, &a);
        if (a.conv->node->op != CTT_OP_CONV || !a.plus ||
            !ctt_core_fits(&a, back))
            return 0;
    }
    return 1;
}

/* The last call of the core that begins with call i. */
static int core_end(const struct ctt_call *c, int i)
{
    while (call_at(c, i)->node->op != CTT_OP_CONV)
        i++;
    return i;
}

int ctt_cuda_train(struct ctt_dev *d, const struct ctt_call *c)
{
    int back = c->dout.data != NULL, at = back ? c->links : 0, n, rc = 0;
    void *stream = ctt_cuda_lane(d)->stream;
    struct ctt_core_calls a;

    while (at >= 0 && at <= c->links) {
        n = core_at(c, back ? at : core_end(c, at), &a);
        CTT_CUDA(a.conv, (cudaError_t)ctt_launch_core(&a, back, d->tf32,
                                                  stream));
        at += back ? -n : n;
    }
out:
    return rc;
}
