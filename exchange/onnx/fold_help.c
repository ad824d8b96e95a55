/* SPDX-License-Identifier: Apache-2.0
 * fold_help.c: helpers of operators on constants: their inputs and
 * results, shapes that are broadcast. */
#include "exchange/onnx/fold.h"

int ctt_fold_in(const struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                const struct ctt_onnx_tensor **out)
{
    const struct ctt_onnx_value *v = ctt_onnx_in(o, n, k);
    int rc = 0;

    CTT_CHECK(v, CTT_EUNSUP, "input %d is missing", k);
    CTT_CHECK(v->known != CTT_ONNX_CONSTANT || ctt_onnx_size(v->t.type),
              CTT_EUNSUP, "'%s' has elements of type %d", v->name, v->t.type);
    *out = &v->t;
out:
    return rc;
}

void ctt_fold_set(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                  const struct ctt_onnx_tensor *t)
{
    if (k >= n->nout || n->out[k] < 0)
        return;
    o->value[n->out[k]].known = CTT_ONNX_CONSTANT;
    o->value[n->out[k]].t = *t;
}

int ctt_fold_strides(const struct ctt_onnx_tensor *x, int rank,
                     const int64_t *dim, int64_t *stride)
{
    int64_t all = 1;
    int rc = 0;

    for (int a = rank - 1; a >= 0; a--) {
        int own = a - (rank - x->rank);
        int64_t size = own >= 0 ? x->dim[own] : 1;

        CTT_CHECK(size == 1 || size == dim[a], CTT_EUNSUP, "a size of %lld "
                  "where %lld is wanted", (long long)size, (long long)dim[a]);
        stride[a] = size == 1 ? 0 : all;
        all *= size;
    }
    CTT_CHECK(x->rank <= rank, CTT_EUNSUP, "%d axes where %d are wanted",
              x->rank, rank);
out:
    return rc;
}

int ctt_fold_broadcast(const struct ctt_onnx_tensor *a,
                       const struct ctt_onnx_tensor *b, int *rank,
                       int64_t *dim)
{
    int rc = 0;

    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 0; i < *rank; i++) {
        int j = i - (*rank - a->rank), k = i - (*rank - b->rank);
        int64_t x = j >= 0 ? a->dim[j] : 1, y = k >= 0 ? b->dim[k] : 1;

        CTT_CHECK(x == y || x == 1 || y == 1, CTT_EUNSUP, "shapes with %lld "
                  "and %lld", (long long)x, (long long)y);
        dim[i] = x == 1 ? y : x;
    }
out:
    return rc;
}
