/* SPDX-License-Identifier: Apache-2.0
 * fold_slice.c: which elements Slice and Split take, of constants and of other
 * values. */
#include "exchange/onnx/fold.h"

/* Numbers of an attribute or, in newer versions, of input k. */
struct list { const struct ctt_onnx_tensor *t; const int64_t *is;
              int64_t count; };

static int list_of(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   const char *name, int k, struct list *out)
{
    int rc = 0;

    out->t = ctt_onnx_constant(o, n, k);
    CTT_CHECK(out->t || !ctt_onnx_in(o, n, k), CTT_EUNSUP, "%s: no constant",
              name);
    out->is = ctt_onnx_ints(n, name, &out->count);
    if (out->t)
        out->count = out->t->count;
out:
    return rc;
}

static int64_t item(const struct list *l, int64_t i, int64_t none)
{
    if (i >= l->count)
        return none;
    return l->t ? ctt_onnx_whole(l->t, i) : l->is[i];
}

static int64_t within(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* As of Python: ends before the start are counted from the end, and those
 * outside are moved inside. */
static int range_of(int64_t from, int64_t to, int64_t step, int64_t size,
                    struct ctt_fold_range *out)
{
    int rc = 0;

    CTT_CHECK(step != 0 && step > -CTT_ONNX_COUNT_MOST &&
              step < CTT_ONNX_COUNT_MOST, CTT_EUNSUP, "steps: %lld",
              (long long)step);
    from += from < 0 ? size : 0;
    to += to < 0 ? size : 0;
    if (step > 0) {
        from = within(from, 0, size);
        to = within(to, 0, size);
    } else {
        from = within(from, 0, size - 1);
        to = within(to, -1, size - 1);
    }
    *out = (struct ctt_fold_range){ .from = from, .step = step };
    if (step > 0 ? to > from : to < from)
        out->count = (to - from + (step > 0 ? step - 1 : step + 1)) / step;
    if (!out->count)
        out->from = 0;
out:
    return rc;
}

int ctt_fold_slice(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   const struct ctt_onnx_tensor *x,
                   struct ctt_fold_range range[CTT_ONNX_RANK])
{
    struct list starts, ends, axes, steps;
    int rc, axis;

    CTT_TRY(list_of(o, n, "starts", 1, &starts));
    CTT_TRY(list_of(o, n, "ends", 2, &ends));
    CTT_TRY(list_of(o, n, "axes", 3, &axes));
    CTT_TRY(list_of(o, n, "steps", 4, &steps));
    for (int a = 0; a < x->rank; a++)
        range[a] = (struct ctt_fold_range){ 0, x->dim[a], 1 };
    CTT_CHECK(starts.count == ends.count && starts.count <= x->rank,
              CTT_EUNSUP, "starts: not one number an axis");
    for (int64_t i = 0; i < starts.count; i++) {
        CTT_TRY(ctt_onnx_axis(item(&axes, i, i), x->rank, &axis));
        CTT_TRY(range_of(item(&starts, i, 0), item(&ends, i, 0),
                         item(&steps, i, 1), x->dim[axis], &range[axis]));
    }
out:
    return rc;
}

/* Without sizes the parts are equal, the last one perhaps smaller. */
int ctt_fold_split(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   const struct ctt_onnx_tensor *x, int *axis, int64_t *size)
{
    int64_t all = 0, each;
    struct list sizes;
    int rc;

    CTT_TRY(ctt_onnx_axis(ctt_onnx_int(n, "axis", 0), x->rank, axis));
    CTT_TRY(list_of(o, n, "split", 1, &sizes));
    CTT_CHECK(n->nout > 0 && (!sizes.count || sizes.count == n->nout),
              CTT_EUNSUP, "split: not one size a part");
    each = (x->dim[*axis] + n->nout - 1) / n->nout;
    for (int k = 0; k < n->nout; k++) {
        size[k] = sizes.count ? item(&sizes, k, 0) :
                  within(x->dim[*axis] - k * each, 0, each);
        CTT_CHECK(size[k] >= 0 && size[k] <= x->dim[*axis] - all, CTT_EUNSUP,
                  "split: %lld of %lld", (long long)size[k],
                  (long long)x->dim[*axis]);
        all += size[k];
    }
    CTT_CHECK(all == x->dim[*axis], CTT_EUNSUP, "split: the parts are not "
              "the whole");
out:
    return rc;
}
