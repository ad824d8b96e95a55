/* SPDX-License-Identifier: Apache-2.0
 * call_work.c: how much a call of a kernel multiplies, reads and writes. */
#include "tools/profile/profile.h"
#include "net/op.h"

static double bytes_of(const struct ctt_tensor *t)
{
    return t->data ? (double)(ctt_volume(t) * ctt_dtype_size(t->dtype)) : 0;
}

static double flops_of(const struct ctt_node *n, const struct ctt_tensor *in,
                       const struct ctt_tensor *out, const struct ctt_tensor *w)
{
    enum ctt_macs macs = ctt_ops[n->op].macs;
    const struct ctt_tensor *of = macs == CTT_MACS_IN ? in : out;

    return macs == CTT_MACS_NONE
           ? 0 : 2 * (double)ctt_rows(of) * (double)ctt_volume(w);
}

/* A window op reads as much as it writes, of more that lies there. */
static double read_of(const struct ctt_call *c, int k)
{
    return c->node->op == CTT_OP_WINDOW ? bytes_of(&c->out)
                                        : bytes_of(&c->in[k]);
}

static struct ctt_call_work forward(const struct ctt_call *c)
{
    struct ctt_call_work w = {
        flops_of(c->node, &c->in[0], &c->out, &c->w[0].t),
        c->lstm.node && !c->lstm.keep ? 0 : bytes_of(&c->out) };

    for (int k = 0; k < c->node->nin && !c->links; k++)
        w.bytes += read_of(c, k);
    for (int k = 0; k < c->node->nw; k++)
        w.bytes += bytes_of(&c->w[k].t);
    for (int i = 0; i < c->links; i++) {
        struct ctt_call_work link = forward(&c->chain[i]);

        w.flops += link.flops;
        w.bytes += link.bytes - bytes_of(&c->chain[i].out);
    }
    if (c->links)    /* results in between stay within the call */
        for (int i = 1; i < c->links; i++)
            w.bytes -= bytes_of(&c->chain[i].in[0]);
    if (c->pair.node) {
        w.flops += flops_of(c->pair.node, &c->pair.in, &c->out,
                            &c->pair.w[0].t);
        w.bytes += bytes_of(&c->pair.in) + bytes_of(&c->pair.w[0].t) +
                   bytes_of(&c->pair.w[1].t);
    }
    if (c->lstm.node)
        w.bytes += bytes_of(&c->lstm.old) + bytes_of(&c->lstm.h) +
                   bytes_of(&c->lstm.c);
    w.bytes += bytes_of(&c->also);
    return w;
}

/* The reads follow from the gradients that are wanted. */
static struct ctt_call_work backward(const struct ctt_call *c)
{
    struct ctt_call_work w = { 0, bytes_of(&c->dout) + bytes_of(&c->dalso) };
    double once = flops_of(c->node, &c->in[0], &c->dout, &c->w[0].t);
    unsigned din = 0, reads;
    int dw = c->dw[0].data != NULL;

    for (int k = 0; k < c->node->nin; k++) {
        din |= c->din[k].data ? 1u << k : 0;
        w.bytes += bytes_of(&c->din[k]) * (c->add >> k & 1 ? 2 : 1);
    }
    reads = ctt_ops[c->node->op].reads(c->node, din, dw);
    for (int k = 0; k < c->node->nin; k++)
        w.bytes += reads >> k & 1 ? bytes_of(&c->in[k]) : 0;
    w.bytes += reads & CTT_READS_OUT ? bytes_of(&c->out) : 0;
    for (int k = 0; k < c->node->nw; k++)
        w.bytes += 2 * bytes_of(&c->dw[k]) +
                   (din & 1 ? bytes_of(&c->w[k].t) : 0);
    w.flops = once * ((din & 1) + dw);
    return w;
}

struct ctt_call_work ctt_call_work(const struct ctt_call *c,
                                   enum ctt_pass pass)
{
    return pass == CTT_FWD ? forward(c) : backward(c);
}

const char *ctt_call_type(const struct ctt_call *c)
{
    if (ctt_call_is_int8(c))
        return "int8";
    if (c->mul)
        return ctt_dtype_word(c->mul);
    return ctt_dtype_word(c->out.data ? c->out.dtype : c->dout.dtype);
}
