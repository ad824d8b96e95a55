/* SPDX-License-Identifier: Apache-2.0
 * fold_move.c: constants whose elements are picked, repeated or put in another
 * order. */
#include "exchange/onnx/fold.h"

#include <string.h>

int ctt_fold_copy(struct ctt_onnx *o, const struct ctt_onnx_tensor *x, int rank,
                  const int64_t *dim, const int64_t *stride, int64_t start,
                  struct ctt_onnx_tensor *out)
{
    size_t size = (size_t)ctt_onnx_size(x->type);
    int64_t at[CTT_ONNX_RANK] = { 0 }, from = start;
    uint8_t *data;
    int rc;

    CTT_TRY(ctt_onnx_new(o, x->type, rank, dim, out, &data));
    for (int64_t i = 0; i < out->count; i++) {
        memcpy(data + (size_t)i * size, x->data + (size_t)from * size, size);
        for (int a = rank - 1; a >= 0; a--) {
            from += stride[a];
            if (++at[a] < dim[a])
                break;
            from -= stride[a] * dim[a];
            at[a] = 0;
        }
    }
out:
    return rc;
}

static void own_strides(const struct ctt_onnx_tensor *x, int64_t *stride)
{
    int64_t all = 1;

    for (int a = x->rank - 1; a >= 0; a--) {
        stride[a] = all;
        all *= x->dim[a];
    }
}

int ctt_fold_transpose(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    int64_t dim[CTT_ONNX_RANK], own[CTT_ONNX_RANK], stride[CTT_ONNX_RANK];
    int64_t perms;
    const int64_t *perm = ctt_onnx_ints(n, "perm", &perms);
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    int rc, axis;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_CHECK(!perm || perms == x->rank, CTT_EUNSUP, "perm: not one number an "
              "axis");
    own_strides(x, own);
    for (int a = 0; a < x->rank; a++) {
        CTT_TRY(ctt_onnx_axis(perm ? perm[a] : x->rank - 1 - a, x->rank,
                              &axis));
        dim[a] = x->dim[axis];
        stride[a] = own[axis];
    }
    CTT_TRY(ctt_fold_copy(o, x, x->rank, dim, stride, 0, &t));
    CTT_CHECK(t.count == x->count, CTT_EUNSUP, "perm: an axis twice");
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_expand(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    int64_t dim[CTT_ONNX_RANK], stride[CTT_ONNX_RANK];
    const struct ctt_onnx_tensor *x, *s;
    struct ctt_onnx_tensor want = { .rank = 0 }, t;
    int rc, rank;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_fold_in(o, n, 1, &s));
    CTT_CHECK(s->rank == 1 && s->count <= CTT_ONNX_RANK, CTT_EUNSUP,
              "a shape of more than %d axes", CTT_ONNX_RANK);
    for (; want.rank < s->count; want.rank++)
        want.dim[want.rank] = ctt_onnx_whole(s, want.rank);
    CTT_TRY(ctt_fold_broadcast(x, &want, &rank, dim));
    CTT_TRY(ctt_fold_strides(x, rank, dim, stride));
    CTT_TRY(ctt_fold_copy(o, x, rank, dim, stride, 0, &t));
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_slices(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    struct ctt_fold_range r[CTT_ONNX_RANK];
    int64_t dim[CTT_ONNX_RANK], stride[CTT_ONNX_RANK], start = 0;
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_fold_slice(o, n, x, r));
    own_strides(x, stride);
    for (int a = 0; a < x->rank; a++) {
        start += r[a].from * stride[a];
        stride[a] *= r[a].step;
        dim[a] = r[a].count;
    }
    CTT_TRY(ctt_fold_copy(o, x, x->rank, dim, stride, start, &t));
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_parts(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    int64_t stride[CTT_ONNX_RANK], start = 0, *size;
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t, part;
    int rc, axis;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    size = ctt_arena_take(&o->arena, n->nout, sizeof(*size));
    CTT_TRY(size ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_fold_split(o, n, x, &axis, size));
    own_strides(x, stride);
    part = *x;
    for (int k = 0; k < n->nout; k++) {
        part.dim[axis] = size[k];
        CTT_TRY(ctt_fold_copy(o, x, part.rank, part.dim, stride, start, &t));
        ctt_fold_set(o, n, k, &t);
        start += size[k] * stride[axis];
    }
out:
    return rc;
}

/* The shape is that of x with the axis replaced by the shape of the indices. */
int ctt_fold_gather(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x, *index;
    struct ctt_onnx_tensor t = { .rank = 0 };
    int64_t inner = 1, outer = 1, size, from;
    uint8_t *data;
    int rc, axis;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_fold_in(o, n, 1, &index));
    CTT_TRY(ctt_onnx_axis(ctt_onnx_int(n, "axis", 0), x->rank, &axis));
    CTT_CHECK(x->rank - 1 + index->rank <= CTT_ONNX_RANK, CTT_EUNSUP,
              "more than %d axes", CTT_ONNX_RANK);
    for (int a = 0; a < x->rank; a++) {
        if (a == axis)
            for (int k = 0; k < index->rank; k++)
                t.dim[t.rank++] = index->dim[k];
        else
            t.dim[t.rank++] = x->dim[a];
        outer *= a < axis ? x->dim[a] : 1;
        inner *= a > axis ? x->dim[a] : 1;
    }
    CTT_TRY(ctt_onnx_new(o, x->type, t.rank, t.dim, &t, &data));
    size = inner * ctt_onnx_size(x->type);
    for (int64_t i = 0; i < outer && size; i++)
        for (int64_t k = 0; k < index->count; k++) {
            from = ctt_onnx_whole(index, k);
            from += from < 0 ? x->dim[axis] : 0;
            CTT_CHECK(from >= 0 && from < x->dim[axis], CTT_EUNSUP,
                      "an index of %lld of %lld", (long long)from,
                      (long long)x->dim[axis]);
            memcpy(data, x->data + (i * x->dim[axis] + from) * size,
                   (size_t)size);
            data += size;
        }
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

static int concat_shape(const struct ctt_onnx *o,
                        const struct ctt_onnx_node *n, int axis,
                        struct ctt_onnx_tensor *t)
{
    const struct ctt_onnx_tensor *x;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    *t = *x;
    for (int k = 1; k < n->nin; k++) {
        CTT_TRY(ctt_fold_in(o, n, k, &x));
        CTT_CHECK(x->rank == t->rank && x->type == t->type, CTT_EUNSUP,
                  "inputs of different axes or types");
        for (int a = 0; a < x->rank; a++)
            CTT_CHECK(a == axis || x->dim[a] == t->dim[a], CTT_EUNSUP,
                      "inputs of different shapes");
        t->dim[axis] += x->dim[axis];
    }
out:
    return rc;
}

int ctt_fold_concat(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    int64_t outer = 1, inner;
    uint8_t *data;
    int rc, axis;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_onnx_axis(ctt_onnx_int(n, "axis", 1), x->rank, &axis));
    CTT_TRY(concat_shape(o, n, axis, &t));
    CTT_TRY(ctt_onnx_new(o, t.type, t.rank, t.dim, &t, &data));
    for (int a = 0; a < axis; a++)
        outer *= t.dim[a];
    for (int64_t i = 0; i < outer; i++)
        for (int k = 0; k < n->nin; k++) {
            CTT_TRY(ctt_fold_in(o, n, k, &x));
            inner = x->count / outer * ctt_onnx_size(x->type);
            if (inner)
                memcpy(data, x->data + i * inner, (size_t)inner);
            data += inner;
        }
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}
