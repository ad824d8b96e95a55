/* SPDX-License-Identifier: Apache-2.0
 * fold_shape.c: constants: where they come from, their shapes and types. */
#include "exchange/onnx/fold.h"

#include <string.h>

/* ---- sources ---- */

static int numbers(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   const struct ctt_onnx_attr *a, int type, int rank,
                   int64_t count)
{
    struct ctt_onnx_tensor t;
    uint8_t *data;
    int rc;

    CTT_TRY(ctt_onnx_new(o, type, rank, &count, &t, &data));
    for (int64_t i = 0; i < count; i++)
        if (type == CTT_ONNX_FLOAT)
            ctt_onnx_put(type, data, i, rank ? a->fs[i] : a->f);
        else
            ctt_onnx_put_whole(type, data, i, rank ? a->is[i] : a->i);
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_constant(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_attr *a;

    if ((a = ctt_onnx_attr(n, "value")) != NULL && a->t) {
        ctt_fold_set(o, n, 0, a->t);
        return 0;
    }
    if ((a = ctt_onnx_attr(n, "value_float")) != NULL)
        return numbers(o, n, a, CTT_ONNX_FLOAT, 0, 1);
    if ((a = ctt_onnx_attr(n, "value_int")) != NULL)
        return numbers(o, n, a, CTT_ONNX_INT64, 0, 1);
    if ((a = ctt_onnx_attr(n, "value_floats")) != NULL)
        return numbers(o, n, a, CTT_ONNX_FLOAT, 1, a->floats);
    if ((a = ctt_onnx_attr(n, "value_ints")) != NULL)
        return numbers(o, n, a, CTT_ONNX_INT64, 1, a->ints);
    return ctt_error(CTT_EUNSUP, "a constant that is no number");
}

/* The shape that a constant of whole numbers says. */
static int shape_said(const struct ctt_onnx_tensor *s, int *rank, int64_t *dim)
{
    int rc = 0;

    CTT_CHECK(s->rank <= 1 && s->count <= CTT_ONNX_RANK &&
              ctt_onnx_is_whole(s->type), CTT_EUNSUP, "a shape of more than "
              "%d axes", CTT_ONNX_RANK);
    *rank = (int)s->count;
    for (int i = 0; i < *rank; i++)
        dim[i] = ctt_onnx_whole(s, i);
out:
    return rc;
}

int ctt_fold_fill(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    static const float zero;
    static const struct ctt_onnx_tensor none = { .type = CTT_ONNX_FLOAT,
        .count = 1, .data = (const uint8_t *)&zero };
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, "value");
    const struct ctt_onnx_tensor *s, *x = a && a->t ? a->t : &none;
    struct ctt_onnx_tensor t;
    int64_t dim[CTT_ONNX_RANK], stride[CTT_ONNX_RANK] = { 0 };
    int rank = 0, rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &s));
    CTT_TRY(shape_said(s, &rank, dim));
    CTT_CHECK(x->count == 1 && ctt_onnx_size(x->type), CTT_EUNSUP,
              "value: not one number");
    CTT_TRY(ctt_fold_copy(o, x, rank, dim, stride, 0, &t));
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_shape(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    int64_t from = ctt_onnx_int(n, "start", 0), to, count;
    uint8_t *data;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    to = ctt_onnx_int(n, "end", x->rank);
    from += from < 0 ? x->rank : 0;
    to += to < 0 ? x->rank : 0;
    from = from < 0 ? 0 : from;
    to = to > x->rank ? x->rank : to;
    count = to > from ? to - from : 0;
    CTT_TRY(ctt_onnx_new(o, CTT_ONNX_INT64, 1, &count, &t, &data));
    for (int64_t i = 0; i < count; i++)
        ctt_onnx_put_whole(CTT_ONNX_INT64, data, i, x->dim[from + i]);
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_size(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    uint8_t *data;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_onnx_new(o, CTT_ONNX_INT64, 0, NULL, &t, &data));
    ctt_onnx_put_whole(CTT_ONNX_INT64, data, 0, x->count);
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_range_of(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *a, *b, *c;
    struct ctt_onnx_tensor t;
    double from, step, steps;
    int64_t count;
    uint8_t *data;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &a));
    CTT_TRY(ctt_fold_in(o, n, 1, &b));
    CTT_TRY(ctt_fold_in(o, n, 2, &c));
    from = ctt_onnx_number(a, 0);
    step = ctt_onnx_number(c, 0);
    steps = (ctt_onnx_number(b, 0) - from) / step;
    CTT_CHECK(steps <= (double)CTT_ONNX_COUNT_MOST, CTT_EUNSUP, "a range "
              "without an end");
    count = steps > 0 ? (int64_t)steps + ((double)(int64_t)steps < steps) : 0;
    CTT_TRY(ctt_onnx_new(o, a->type, 1, &count, &t, &data));
    for (int64_t i = 0; i < count; i++)
        ctt_onnx_put(a->type, data, i, from + (double)i * step);
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

/* ---- the same elements ---- */

int ctt_fold_same(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    ctt_fold_set(o, n, 0, x);
out:
    return rc;
}

int ctt_fold_cast(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    int type = (int)ctt_onnx_int(n, "to", 0), rc;
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    uint8_t *data;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    if (x->type == type)
        return ctt_fold_same(o, n);
    CTT_TRY(ctt_onnx_new(o, type, x->rank, x->dim, &t, &data));
    for (int64_t i = 0; i < x->count; i++)
        if (ctt_onnx_is_whole(x->type) && ctt_onnx_is_whole(type))
            ctt_onnx_put_whole(type, data, i, ctt_onnx_whole(x, i));
        else
            ctt_onnx_put(type, data, i, ctt_onnx_number(x, i));
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

/* ---- other shapes of the same elements ---- */

static int reshape_of(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      const struct ctt_onnx_tensor *x, int *rank, int64_t *dim)
{
    const struct ctt_onnx_tensor *s = ctt_onnx_constant(o, n, 1);
    int64_t rest = -1, known = 1;
    int rc = 0;

    CTT_CHECK(s, CTT_EUNSUP, "shape: no constant");
    CTT_TRY(shape_said(s, rank, dim));
    for (int i = 0; i < *rank; i++) {
        if (dim[i] == 0 && !ctt_onnx_int(n, "allowzero", 0)) {
            CTT_CHECK(i < x->rank, CTT_EUNSUP, "shape: a 0 without an axis");
            dim[i] = x->dim[i];
        }
        CTT_CHECK(dim[i] >= 0 || (dim[i] == -1 && rest < 0), CTT_EUNSUP,
                  "shape: more than one size is not said");
        if (dim[i] < 0)
            rest = i;
        CTT_CHECK(dim[i] <= CTT_ONNX_COUNT_MOST / known, CTT_EUNSUP,
                  "shape: too large");
        known *= dim[i] > 0 ? dim[i] : 1;
    }
    if (rest >= 0)
        dim[rest] = x->count / known;
out:
    return rc;
}

static int flatten_of(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      const struct ctt_onnx_tensor *x, int *rank, int64_t *dim)
{
    int64_t axis = ctt_onnx_int(n, "axis", 1);

    (void)o;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis > x->rank)
        return ctt_error(CTT_EUNSUP, "axis %lld of %d", (long long)axis,
                         x->rank);
    *rank = 2;
    dim[0] = dim[1] = 1;
    for (int i = 0; i < x->rank; i++)
        dim[i >= axis] *= x->dim[i];
    return 0;
}

static int squeeze_of(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      const struct ctt_onnx_tensor *x, int *rank, int64_t *dim)
{
    unsigned axes, ones = 0;
    int rc;

    for (int i = 0; i < x->rank; i++)
        ones |= (unsigned)(x->dim[i] == 1) << i;
    CTT_TRY(ctt_onnx_axes(o, n, 1, x->rank, ones, &axes));
    CTT_CHECK((axes & ~ones) == 0, CTT_EUNSUP, "axes: one of another size "
              "than 1");
    *rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!(axes >> i & 1))
            dim[(*rank)++] = x->dim[i];
out:
    return rc;
}

static int unsqueeze_of(const struct ctt_onnx *o,
                        const struct ctt_onnx_node *n,
                        const struct ctt_onnx_tensor *x, int *rank,
                        int64_t *dim)
{
    const struct ctt_onnx_tensor *t = ctt_onnx_constant(o, n, 1);
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, "axes");
    int64_t more = t ? t->count : a ? a->ints : 0;
    unsigned axes;
    int rc = 0, from = 0;

    CTT_CHECK(more <= CTT_ONNX_RANK - x->rank, CTT_EUNSUP, "more than %d axes",
              CTT_ONNX_RANK);
    *rank = x->rank + (int)more;
    CTT_TRY(ctt_onnx_axes(o, n, 1, *rank, 0, &axes));
    for (int i = 0; i < *rank; i++) {
        CTT_CHECK(axes >> i & 1 || from < x->rank, CTT_EUNSUP, "axes: one is "
                  "there twice");
        dim[i] = axes >> i & 1 ? 1 : x->dim[from++];
    }
out:
    return rc;
}

int ctt_fold_new_shape(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                       const struct ctt_onnx_tensor *x, int *rank,
                       int64_t *dim)
{
    static const struct {
        const char *op;
        int (*f)(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                 const struct ctt_onnx_tensor *x, int *rank, int64_t *dim);
    } rules[] = { { "Reshape", reshape_of }, { "Flatten", flatten_of },
                  { "Squeeze", squeeze_of }, { "Unsqueeze", unsqueeze_of } };
    int64_t count;
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(rules); i++)
        if (strcmp(rules[i].op, n->op) == 0)
            CTT_TRY(rules[i].f(o, n, x, rank, dim));
    rc = ctt_onnx_count("a shape", *rank, dim, &count);
    CTT_CHECK(rc >= 0 && count == x->count, CTT_EUNSUP, "its %lld elements do "
              "not fit the new shape", (long long)x->count);
out:
    return rc;
}

int ctt_fold_reshape(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    t = *x;
    CTT_TRY(ctt_fold_new_shape(o, n, x, &t.rank, t.dim));
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}
