/* SPDX-License-Identifier: Apache-2.0
 * blame.c: searches the tensors that a call wrote for NaN and Inf. */
#include "device/dev.h"

#include <math.h>

/* CTT_ENAN, without a message, if an element of a tensor is not finite. */
static int finite(struct ctt_dev *d, const struct ctt_tensor *t)
{
    int64_t n = t->data ? ctt_volume(t) : 0;
    float *x = ctt_calloc((size_t)n + 1, sizeof(*x));
    int rc = x ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (n)
        CTT_TRY(ctt_dev_get(d, t, x));
    for (int64_t i = 0; i < n && rc == 0; i++)
        rc = isfinite(x[i]) ? 0 : CTT_ENAN;
out:
    ctt_free(x);
    return rc;
}

/* Makes CTT_ENAN an error with a message: `what` (k < 0) or the gradient of
 * `what` number k is not finite. */
static int named(int rc, const struct ctt_call *c, const char *what, int k)
{
    if (rc != CTT_ENAN)
        return rc;
    return k < 0 ? ctt_error(rc, "%s: the %s is not finite", c->node->name,
                             what)
                 : ctt_error(rc, "%s: the gradient of %s %d is not finite",
                             c->node->name, what, k);
}

int ctt_dev_blame_call(struct ctt_dev *d, const struct ctt_call *c,
                       enum ctt_pass pass)
{
    int rc = 0;

    if (pass == CTT_FWD) {
        CTT_TRY(named(finite(d, &c->out), c, "result", -1));
        CTT_TRY(named(finite(d, &c->also), c, "result", -1));
        goto out;
    }
    for (int k = 0; k < c->node->nin && c->node->op != CTT_OP_WINDOW; k++)
        CTT_TRY(named(finite(d, &c->din[k]), c, "input", k));
    for (int k = 0; k < c->node->nw; k++)
        CTT_TRY(named(finite(d, &c->dw[k]), c, "weight", k));
out:
    return rc;
}
