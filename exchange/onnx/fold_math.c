/* SPDX-License-Identifier: Apache-2.0
 * fold_math.c: arithmetic of constants.  Whole numbers are computed in 64 bits
 * modulo 2^64, others in doubles, rounded to their type. */
#include "exchange/onnx/fold.h"

#include <math.h>
#include <string.h>

/* ---- of two ---- */

enum { ADD, SUB, MUL, DIV, POW, MAX, MIN, MOD, EQUAL, LESS, LESS_EQUAL,
       GREATER, GREATER_EQUAL, AND, OR };

static const char *const binaries[] = {
    [ADD] = "Add", [SUB] = "Sub", [MUL] = "Mul", [DIV] = "Div", [POW] = "Pow",
    [MAX] = "Max", [MIN] = "Min", [MOD] = "Mod", [EQUAL] = "Equal",
    [LESS] = "Less", [LESS_EQUAL] = "LessOrEqual", [GREATER] = "Greater",
    [GREATER_EQUAL] = "GreaterOrEqual", [AND] = "And", [OR] = "Or" };

static int64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? (int64_t)-(uint64_t)a : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b)
{
    int64_t r = b == 0 || b == -1 ? 0 : a % b;

    return r && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t whole(int op, int64_t a, int64_t b)
{
    switch (op) {
    case ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case DIV: return quotient(a, b);
    case MOD: return remainder_of(a, b);
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case EQUAL: return a == b;
    case LESS: return a < b;
    case LESS_EQUAL: return a <= b;
    case GREATER: return a > b;
    case GREATER_EQUAL: return a >= b;
    case AND: return a && b;
    default: return a || b;
    }
}

static double real(int op, double a, double b)
{
    switch (op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case DIV: return a / b;
    case POW: return pow(a, b);
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case MOD: return fmod(a, b);
    case EQUAL: return a == b;
    case LESS: return a < b;
    case LESS_EQUAL: return a <= b;
    case GREATER: return a > b;
    default: return a >= b;
    }
}

/* The elements of x as they stand where it is broadcast. */
static int spread(struct ctt_onnx *o, const struct ctt_onnx_tensor *x, int rank,
                  const int64_t *dim, struct ctt_onnx_tensor *out)
{
    int64_t stride[CTT_ONNX_RANK];
    int rc, same = x->rank == rank;

    for (int a = 0; a < rank && same; a++)
        same = x->dim[a] == dim[a];
    *out = *x;
    if (same)
        return 0;
    CTT_TRY(ctt_fold_strides(x, rank, dim, stride));
    CTT_TRY(ctt_fold_copy(o, x, rank, dim, stride, 0, out));
out:
    return rc;
}

int ctt_fold_binary(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x, *y;
    struct ctt_onnx_tensor a, b, t;
    int64_t dim[CTT_ONNX_RANK];
    int op = 0, rank, rc, type;
    uint8_t *data;

    CTT_CHECK(n->nin == 2, CTT_EUNSUP, "constants other than two");
    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_fold_in(o, n, 1, &y));
    while (strcmp(binaries[op], n->op) != 0)
        op++;
    CTT_TRY(ctt_fold_broadcast(x, y, &rank, dim));
    CTT_TRY(spread(o, x, rank, dim, &a));
    CTT_TRY(spread(o, y, rank, dim, &b));
    type = op >= EQUAL ? CTT_ONNX_BOOL : x->type;
    CTT_TRY(ctt_onnx_new(o, type, rank, dim, &t, &data));
    for (int64_t i = 0; i < t.count; i++)
        if (ctt_onnx_is_whole(x->type) && op != POW)
            ctt_onnx_put_whole(type, data, i, whole(op, ctt_onnx_whole(&a, i),
                                                    ctt_onnx_whole(&b, i)));
        else
            ctt_onnx_put(type, data, i, real(op, ctt_onnx_number(&a, i),
                                             ctt_onnx_number(&b, i)));
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_where(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *c, *x, *y;
    struct ctt_onnx_tensor flat = { .rank = 0 }, p, a, b, t;
    size_t size;
    uint8_t *data;
    int rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &c));
    CTT_TRY(ctt_fold_in(o, n, 1, &x));
    CTT_TRY(ctt_fold_in(o, n, 2, &y));
    CTT_TRY(ctt_fold_broadcast(c, x, &flat.rank, flat.dim));
    CTT_TRY(ctt_fold_broadcast(&flat, y, &flat.rank, flat.dim));
    CTT_TRY(spread(o, c, flat.rank, flat.dim, &p));
    CTT_TRY(spread(o, x, flat.rank, flat.dim, &a));
    CTT_TRY(spread(o, y, flat.rank, flat.dim, &b));
    CTT_CHECK(x->type == y->type, CTT_EUNSUP, "values of different types");
    CTT_TRY(ctt_onnx_new(o, x->type, flat.rank, flat.dim, &t, &data));
    size = (size_t)ctt_onnx_size(x->type);
    for (size_t i = 0; i < (size_t)t.count; i++)
        memcpy(data + i * size, (ctt_onnx_whole(&p, (int64_t)i) ? a.data :
                                 b.data) + i * size, size);
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

/* ---- of one ---- */

static double negative(double x) { return -x; }
static double inverse(double x) { return 1 / x; }
static double not_it(double x) { return x == 0; }

static const struct { const char *op; double (*f)(double x); } unaries[] = {
    { "Abs", fabs }, { "Ceil", ceil }, { "Erf", erf }, { "Exp", exp },
    { "Floor", floor }, { "Log", log }, { "Neg", negative }, { "Not", not_it },
    { "Reciprocal", inverse }, { "Sqrt", sqrt } };

int ctt_fold_unary(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x;
    struct ctt_onnx_tensor t;
    uint8_t *data;
    int k = 0, rc;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    while (strcmp(unaries[k].op, n->op) != 0)
        k++;
    CTT_TRY(ctt_onnx_new(o, x->type, x->rank, x->dim, &t, &data));
    for (int64_t i = 0; i < x->count; i++)
        ctt_onnx_put(x->type, data, i, unaries[k].f(ctt_onnx_number(x, i)));
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

/* ---- of bytes ---- */

/* (x - zero) * scale, one of both for all or for each index of an axis. */
int ctt_fold_dequantize(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x, *scale, *zero;
    struct ctt_onnx_tensor t;
    int64_t inner = 1, k;
    uint8_t *data;
    int rc, axis;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_fold_in(o, n, 1, &scale));
    zero = ctt_onnx_constant(o, n, 2);
    CTT_TRY(ctt_onnx_axis(x->rank ? ctt_onnx_int(n, "axis", 1) : 0, x->rank ?
                          x->rank : 1, &axis));
    CTT_CHECK((scale->count == 1 || (scale->rank == 1 && axis < x->rank &&
                                     scale->count == x->dim[axis])) &&
              (!zero || zero->count == scale->count), CTT_EUNSUP, "x_scale: "
              "neither one number nor one for each of the axis");
    for (int a = axis + 1; a < x->rank; a++)
        inner *= x->dim[a];
    CTT_TRY(ctt_onnx_new(o, CTT_ONNX_FLOAT, x->rank, x->dim, &t, &data));
    for (int64_t i = 0; i < x->count; i++) {
        k = scale->count == 1 ? 0 : i / inner % scale->count;
        ctt_onnx_put(CTT_ONNX_FLOAT, data, i, (double)(ctt_onnx_whole(x, i) -
                     (zero ? ctt_onnx_whole(zero, k) : 0)) *
                     ctt_onnx_number(scale, k));
    }
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

/* ---- of all along axes ---- */

/* The place of element i of x in the result, which has only the axes that are
 * not reduced. */
static int64_t place_of(const struct ctt_onnx_tensor *x, unsigned axes,
                        int64_t i)
{
    int64_t at = 0, stride = 1;

    for (int a = x->rank - 1; a >= 0; a--) {
        int64_t digit = i % x->dim[a];

        i /= x->dim[a];
        if (axes >> a & 1)
            continue;
        at += digit * stride;
        stride *= x->dim[a];
    }
    return at;
}

static int reduce_to(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     const struct ctt_onnx_tensor *x, unsigned axes, int op)
{
    int keep = (int)ctt_onnx_int(n, "keepdims", 1), rank = 0, rc;
    struct ctt_onnx_tensor t;
    int64_t dim[CTT_ONNX_RANK];
    uint8_t *data, *seen;

    for (int a = 0; a < x->rank; a++)
        if (!(axes >> a & 1) || keep)
            dim[rank++] = axes >> a & 1 ? 1 : x->dim[a];
    CTT_TRY(ctt_onnx_new(o, x->type, rank, dim, &t, &data));
    seen = ctt_arena_take(&o->arena, t.count, 1);
    CTT_TRY(seen ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t at = place_of(x, axes, i);

        if (ctt_onnx_is_whole(x->type))
            ctt_onnx_put_whole(x->type, data, at, seen[at] ?
                whole(op, ctt_onnx_whole(&t, at), ctt_onnx_whole(x, i)) :
                ctt_onnx_whole(x, i));
        else
            ctt_onnx_put(x->type, data, at, seen[at] ?
                real(op, ctt_onnx_number(&t, at), ctt_onnx_number(x, i)) :
                ctt_onnx_number(x, i));
        seen[at] = 1;
    }
    ctt_fold_set(o, n, 0, &t);
out:
    return rc;
}

int ctt_fold_reduce(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    static const struct { const char *op; int of; } ops[] = {
        { "ReduceMax", MAX }, { "ReduceMin", MIN }, { "ReduceProd", MUL },
        { "ReduceSum", ADD } };
    const struct ctt_onnx_tensor *x;
    unsigned axes;
    int rc, k = 0;

    CTT_TRY(ctt_fold_in(o, n, 0, &x));
    CTT_TRY(ctt_onnx_axes(o, n, 1, x->rank, (1u << x->rank) - 1, &axes));
    CTT_CHECK(x->count > 0, CTT_EUNSUP, "no elements");
    while (strcmp(ops[k].op, n->op) != 0)
        k++;
    CTT_TRY(reduce_to(o, n, x, axes, ops[k].of));
out:
    return rc;
}
