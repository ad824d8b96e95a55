/* SPDX-License-Identifier: Apache-2.0
 * apart.c: gradients of two inputs that share some numbers: slices of one value
 * that overlap, or its steps.  A kernel that writes both at once would lose
 * what one of them adds, so each has a call of its own. */
#include "device/dev.h"
#include "net/half.h"

static int same(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    return a->data == b->data && a->ld == b->ld && a->c == b->c;
}

/* Whether two views have numbers in common but are not the same. */
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

int ctt_is_shared(const struct ctt_call *c)
{
    for (int k = 0; k < c->node->nin; k++)
        for (int i = 0; i < k; i++)
            if (overlap(&c->din[i], &c->din[k]))
                return 1;
    return 0;
}

int ctt_run_apart(struct ctt_dev *d, const struct ctt_call *c)
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
