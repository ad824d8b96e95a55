/* SPDX-License-Identifier: Apache-2.0
 * fold.c: a convolution in as few axes as it needs: libraries are slow on
 * axes of size 1 and on kernels of size 1 in many dimensions. */
#include "device/fold.h"

#include <string.h>

/* An axis on which the kernel does nothing. */
static int idle(const struct ctt_fold *f, int i)
{
    return f->kernel[i] == 1 && f->stride[i] == 1 && f->pad[i] == 0;
}

/* An axis of one pixel, or of none any more. */
static int single(const struct ctt_fold *f, int i)
{
    return idle(f, i) && f->large[i] == 1;
}

static void set(struct ctt_fold *f, int i, int64_t size)
{
    f->large[i] = f->small[i] = size;
    f->kernel[i] = f->stride[i] = 1;
    f->pad[i] = 0;
}

/* Takes axis i away; those before it move behind, a new one of size 1 comes
 * first. */
static void drop(struct ctt_fold *f, int i)
{
    for (; i > 0; i--) {
        f->large[i] = f->large[i - 1];
        f->small[i] = f->small[i - 1];
        f->kernel[i] = f->kernel[i - 1];
        f->stride[i] = f->stride[i - 1];
        f->pad[i] = f->pad[i - 1];
    }
    set(f, 0, 1);
}

/* A kernel as large as its input is a layer on pixels of many channels. */
static int whole(const struct ctt_fold *f)
{
    for (int i = 0; i < 3; i++)
        if (f->small[i] != 1 || f->pad[i] || f->kernel[i] != f->large[i])
            return 0;
    return f->step_ic == 1;
}

static void simplify(struct ctt_fold *f)
{
    if (whole(f))
        for (int i = 0; i < 3; i++) {
            f->ic *= f->large[i];
            set(f, i, 1);
        }
    for (int i = 1; i < 3; i++)    /* an axis of size 1 */
        if (f->large[i] == 1 && idle(f, i))
            drop(f, i);
    if (idle(f, 1) && idle(f, 2)) {    /* two that lie side by side */
        int64_t both = f->large[1] * f->large[2];
        drop(f, 1);
        set(f, 2, both);
    }
    for (int i = 0; i < 2 && idle(f, i); i++) {    /* those before the rest */
        f->n *= f->large[i];
        set(f, i, 1);
    }
    if (single(f, 0) && single(f, 1) && idle(f, 2)) {    /* one long line */
        set(f, 2, f->n * f->large[2]);
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
    struct ctt_fold f;

    memset(&f, 0, sizeof(f));    /* plans are found by memcmp */
    f.way = way;
    f.n = large->n;
    f.ic = large->c;
    f.oc = small->c;
    memcpy(f.large, (int64_t[]){ large->d, large->h, large->w },
           sizeof(f.large));
    memcpy(f.small, (int64_t[]){ small->d, small->h, small->w },
           sizeof(f.small));
    for (int i = 0; i < 3; i++) {
        f.kernel[i] = c->node->attr.conv.kernel[i];
        f.stride[i] = c->node->attr.conv.stride[i];
        f.pad[i] = c->node->attr.conv.pad[i];
    }
    f.step_oc = up ? 1 : outs;
    f.step_ic = up ? outs : 1;
    f.step_tap = w->c;
    simplify(&f);
    return f;
}

double ctt_fold_work(const struct ctt_fold *f)
{
    double work = (double)f->n * (double)f->ic * (double)f->oc;

    for (int i = 0; i < 3; i++)
        work *= (double)(f->small[i] * f->kernel[i]);
    return work;
}
