/* SPDX-License-Identifier: Apache-2.0
 * widen_conv.c: the parts of a conv on values of 16 bits that a provider
 * multiplies as they are, without float copies.  Views are made dense.  A
 * gradient that is added to another is left to floats, as each sum is rounded
 * once. */
#include "device/cpu/cpu.h"
#include "device/cpu/widen.h"
#include "base/half.h"

/* A tensor of a call and its dense counterpart. */
struct dense { struct ctt_tensor from, *to; int write; };

struct short_conv { struct ctt_call one; struct dense dense[3]; int count; };

struct copying { const struct ctt_tensor *x, *y; };

static void copy_short_rows(const void *arg, int64_t from, int64_t last)
{
    const struct copying *j = arg;
    int64_t size = ctt_dtype_size(j->x->dtype);

    for (int64_t r = from; r < last; r++) {
        const char *x = (const char *)j->x->data + r * j->x->ld * size;
        char *y = (char *)j->y->data + r * j->y->ld * size;
        memcpy(y, x, (size_t)(j->x->c * size));
    }
}

static void copy_short(struct ctt_dev *d, const struct ctt_tensor *x,
                 const struct ctt_tensor *y)
{
    ctt_dev_rows(d, (double)ctt_volume(x) / 4, ctt_rows(x), copy_short_rows,
                 &(struct copying){ x, y });
}

static void add_dense(struct short_conv *j, struct ctt_tensor *t, int write)
{
    if (t->data && t->ld != t->c)
        j->dense[j->count++] = (struct dense){ *t, t, write };
}

/* The part alone, as a call. */
static void take_short_part(struct short_conv *j, enum ctt_conv_part part)
{
    struct ctt_call *c = &j->one;

    if (part != CTT_CONV_DIN)
        c->din[0].data = NULL;
    if (part != CTT_CONV_DW)
        c->dw[0].data = c->dw[1].data = NULL;
    c->din[1].data = NULL;
    if (part == CTT_CONV_OUT)
        c->dout.data = NULL;
    else
        c->in[1].data = c->out.data = NULL;
    if (part == CTT_CONV_DIN)
        c->in[0].data = NULL;
    add_dense(j, &c->in[0], 0);
    add_dense(j, &c->in[1], 0);
    add_dense(j, &c->dout, 0);
    add_dense(j, part == CTT_CONV_OUT ? &c->out : &c->din[0], 1);
    if (part != CTT_CONV_DIN)
        c->add = 0;
}

static int place_dense(struct ctt_dev *d, struct short_conv *j)
{
    int64_t bytes = 0;
    char *room = NULL;

    for (int pass = 0; pass < 2; pass++) {
        int64_t at = 0;
        for (int i = 0; i < j->count; i++) {
            struct dense *p = &j->dense[i];
            p->to->data = room ? room + at : NULL;
            p->to->ld = p->to->c;
            at += ctt_align(ctt_volume(p->to) * ctt_dtype_size(p->to->dtype),
                            64);
        }
        bytes = at;
        if (pass == 0 && !(room = ctt_widen_scratch(d, (size_t)bytes)))
            return ctt_error(CTT_ENOMEM, "no memory for dense values");
    }
    return 0;
}

/* 1 if the part was computed, 0 if nobody does in 16 bits, or an error. */
static int run_short_part(struct ctt_dev *d, ctt_kernel *kernel,
                    const struct ctt_call *c, enum ctt_conv_part part)
{
    struct short_conv j = { .one = *c };
    int rc = 0, taken;

    take_short_part(&j, part);
    CTT_TRY(place_dense(d, &j));
    CTT_TRY(taken = ctt_conv_can(&ctt_cpu_of(d)->conv, d, &j.one, part));
    if (!taken)
        goto out;
    for (int i = 0; i < j.count; i++)
        if (!j.dense[i].write)
            copy_short(d, &j.dense[i].from, j.dense[i].to);
    CTT_TRY(kernel(d, &j.one));
    for (int i = 0; i < j.count; i++)
        if (j.dense[i].write)
            copy_short(d, j.dense[i].to, &j.dense[i].from);
    rc = 1;
out:
    return rc;
}

static int run_short_backward(struct ctt_dev *d, ctt_kernel *kernel,
                    const struct ctt_call *c, struct ctt_call *rest)
{
    int rc = 0;

    if (c->din[0].data) {
        CTT_TRY(run_short_part(d, kernel, c, CTT_CONV_DIN));
        if (rc)
            rest->din[0].data = NULL;
    }
    if (c->dw[0].data) {
        CTT_TRY(run_short_part(d, kernel, c, CTT_CONV_DW));
        if (rc)
            rest->dw[0].data = rest->dw[1].data = NULL;
    }
    rc = !rest->din[0].data && !rest->dw[0].data && !rest->dw[1].data &&
         (!rest->din[1].data || rest->din[1].data == rest->dout.data);
out:
    return rc;
}

int ctt_widen_conv(struct ctt_dev *d, ctt_kernel *kernel,
                   const struct ctt_call *c, enum ctt_pass pass,
                   struct ctt_call *rest)
{
    if (c->node->op != CTT_OP_CONV || !ctt_cpu_of(d)->conv.count ||
        !ctt_is_16bit(pass == CTT_FWD ? &c->in[0] : &c->dout))
        return 0;
    return pass == CTT_FWD ? run_short_part(d, kernel, c, CTT_CONV_OUT)
                           : run_short_backward(d, kernel, c, rest);
}
