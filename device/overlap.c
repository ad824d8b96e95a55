/* SPDX-License-Identifier: Apache-2.0
 * overlap.c: backward calls whose input gradients overlap in memory: slices of
 * one value, or neighbouring steps of it.  A kernel that writes both gradients
 * in one call could lose one of the sums, so each input gets its own call. */
#include "device/dev.h"
#include "base/half.h"

static int same(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    return a->data == b->data && a->ld == b->ld && a->c == b->c;
}

/* 1 if two views have elements in common but are not the same view. */
static int overlap(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    int64_t size = ctt_dtype_size(a->dtype), gap, column;

    if (!a->data || !b->data || same(a, b))
        return 0;
    if ((uintptr_t)a->data > (uintptr_t)b->data) {
        const struct ctt_tensor *t = a;
        a = b;
        b = t;
    }
    gap = (int64_t)((uintptr_t)b->data - (uintptr_t)a->data) / size;
    if (gap >= (ctt_rows(a) - 1) * a->ld + a->c)
        return 0;
    column = gap % a->ld;
    return a->ld != b->ld || column < a->c || column + b->c > a->ld;
}

int ctt_din_overlaps(const struct ctt_call *c)
{
    for (int k = 0; k < c->node->nin; k++)
        for (int i = 0; i < k; i++)
            if (overlap(&c->din[i], &c->din[k]))
                return 1;
    return 0;
}

int ctt_run_per_input(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call one = *c;
    int rc = 0;

    for (int k = 0; k < c->node->nin; k++) {
        for (int i = 0; i < c->node->nin; i++)
            one.din[i].data = i == k ? c->din[i].data : NULL;
        if (one.din[k].data)
            CTT_TRY(ctt_dev_run(d, &one, CTT_BWD));
        for (int i = 0; i < c->node->nw && one.din[k].data; i++)
            one.dw[i].data = NULL;
    }
out:
    return rc;
}
