/* SPDX-License-Identifier: Apache-2.0
 * fold.c: reduces a convolution to as few axes as possible, as libraries are
 * slow on axes of size 1 and on kernels of size 1 in many dimensions. */
#include "device/fold.h"
#include "net/op.h"

#include <string.h>

/* An axis with kernel 1, stride 1 and no padding. */
static int idle(const struct ctt_fold *f, int i)
{
    return f->kernel[i] == 1 && f->stride[i] == 1 && f->pad[i] == 0 &&
           f->after[i] == 0;
}

/* An idle axis of size 1. */
static int single(const struct ctt_fold *f, int i)
{
    return idle(f, i) && f->large[i] == 1;
}

static void set_axis(struct ctt_fold *f, int i, int64_t size)
{
    f->large[i] = f->small[i] = size;
    f->kernel[i] = f->stride[i] = f->dilation[i] = 1;
    f->pad[i] = f->after[i] = 0;
}

/* Removes axis i: the axes before it move up by one, and axis 0 gets size 1. */
static void drop_axis(struct ctt_fold *f, int i)
{
    for (; i > 0; i--) {
        f->large[i] = f->large[i - 1];
        f->small[i] = f->small[i - 1];
        f->kernel[i] = f->kernel[i - 1];
        f->stride[i] = f->stride[i - 1];
        f->pad[i] = f->pad[i - 1];
        f->after[i] = f->after[i - 1];
        f->dilation[i] = f->dilation[i - 1];
    }
    set_axis(f, 0, 1);
}

/* 1 if the kernel is as large as its input: a dense layer on all of it. */
static int is_dense(const struct ctt_fold *f)
{
    for (int i = 0; i < 3; i++)
        if (f->small[i] != 1 || f->pad[i] || f->kernel[i] != f->large[i] ||
            f->dilation[i] > 1)
            return 0;
    return f->step_ic == 1 && f->groups == 1;
}

static void simplify(struct ctt_fold *f)
{
    if (is_dense(f))
        for (int i = 0; i < 3; i++) {
            f->ic *= f->large[i];
            set_axis(f, i, 1);
        }
    for (int i = 1; i < 3; i++)    /* an axis of size 1 */
        if (f->large[i] == 1 && idle(f, i))
            drop_axis(f, i);
    if (idle(f, 1) && idle(f, 2)) {    /* two adjacent idle axes */
        int64_t both = f->large[1] * f->large[2];
        drop_axis(f, 1);
        set_axis(f, 2, both);
    }
    for (int i = 0; i < 2 && idle(f, i); i++) {    /* leading idle axes */
        f->n *= f->large[i];
        set_axis(f, i, 1);
    }
    if (single(f, 0) && single(f, 1) && idle(f, 2)) {    /* one long line */
        set_axis(f, 2, f->n * f->large[2]);
        f->n = 1;
    }
    f->axes = f->large[0] == 1 && idle(f, 0) ? 2 : 3;
}

struct ctt_fold ctt_fold(const struct ctt_call *c, enum ctt_conv_way way)
{
    int up = c->node->op == CTT_OP_DECONV;
    const struct ctt_tensor *w = &c->w[0].t;
    const struct ctt_tensor *large = up ? &c->out : &c->in[0];
    const struct ctt_tensor *small = up ? &c->in[0] : &c->out;
    int64_t outs = w->d * w->h * w->w * w->c;
    struct ctt_slide s = ctt_slide_of(c->node);
    struct ctt_fold f;

    memset(&f, 0, sizeof(f));    /* plans are found by memcmp */
    f.way = way;
    f.n = large->n;
    f.ic = large->c;
    f.oc = small->c;
    f.groups = ctt_call_groups(c);
    memcpy(f.large, (int64_t[]){ large->d, large->h, large->w },
           sizeof(f.large));
    memcpy(f.small, (int64_t[]){ small->d, small->h, small->w },
           sizeof(f.small));
    for (int i = 0; i < 3; i++) {
        f.kernel[i] = s.kernel[i];
        f.stride[i] = s.stride[i];
        f.pad[i] = s.pad[i];
        f.after[i] = s.after[i];
        f.dilation[i] = s.dilation[i] ? s.dilation[i] : 1;
    }
    f.step_oc = up ? 1 : outs;
    f.step_ic = up ? outs : 1;
    f.step_tap = w->c;
    simplify(&f);
    return f;
}

double ctt_fold_work(const struct ctt_fold *f)
{
    double work = (double)f->n * (double)f->ic * (double)(f->oc / f->groups);

    for (int i = 0; i < 3; i++)
        work *= (double)(f->small[i] * f->kernel[i]);
    return work;
}
