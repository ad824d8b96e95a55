/* SPDX-License-Identifier: Apache-2.0
 * ops_math.c: sums and products of values, and of values and constants. */
#include "exchange/onnx/ops.h"
#include "exchange/onnx/fold.h"

#include <string.h>

/* ---- with a constant ---- */

/* v with as many axes as the result: more of size 1 in front. */
static int more_axes(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                     int rank, struct ctt_onnx_value *out)
{
    int more = rank - v->t.rank, rc = 0;

    *out = *v;
    if (more <= 0)
        return 0;
    CTT_CHECK(rank <= CTT_ONNX_RANK, CTT_EUNSUP, "more than %d axes",
              CTT_ONNX_RANK);
    out->t.rank = rank;
    for (int a = 0; a < rank; a++)
        out->t.dim[a] = a < more ? 1 : v->t.dim[a - more];
    CTT_TRY(ctt_place_reshape(o, v->place, rank, out->t.dim, &out->place));
out:
    return rc;
}

/* Operators of version 6 say from which axis on the second input's axes are;
 * later ones count from the last. */
static int old_axes(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                    int rank, struct ctt_onnx_tensor *t)
{
    int64_t axis = ctt_onnx_int(n, "axis", -1);
    int rc = 0;

    if (o->opset > 6 || axis < 0)
        return 0;
    CTT_CHECK(axis + t->rank <= rank, CTT_EUNSUP, "axis: %lld",
              (long long)axis);
    while (axis + t->rank < rank)
        t->dim[t->rank++] = 1;
out:
    return rc;
}

/* The value and the numbers for each channel of the constant, if the result has
 * the value's shape; k: the input that is the value. */
static int channels_of(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                       int k, struct ctt_onnx_value *v, double **x)
{
    const struct ctt_onnx_tensor *t;
    struct ctt_onnx_value *live;
    struct ctt_onnx_tensor spread;
    int rc;

    CTT_TRY(ctt_op_live(o, n, k, &live));
    CTT_TRY(ctt_op_constant(o, n, !k, &t));
    spread = *t;
    CTT_TRY(old_axes(o, n, live->t.rank, &spread));
    CTT_TRY(more_axes(o, live, spread.rank, v));
    CTT_TRY(ctt_op_solid(o, v->place, &v->place));
    CTT_TRY(ctt_op_channels(o, v, &spread, x));
out:
    return rc;
}

static int set_affine(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      const struct ctt_onnx_value *v, const double *scale,
                      const double *shift)
{
    struct ctt_onnx_place *p;
    int rc;

    CTT_TRY(ctt_op_affine(o, v->place, scale, shift, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

/* The input that is a constant: 0 or 1; -1: none. */
static int constant_input(const struct ctt_onnx *o,
                          const struct ctt_onnx_node *n)
{
    return ctt_onnx_constant(o, n, 0) ? 0 : ctt_onnx_constant(o, n, 1) ? 1 :
           -1;
}

/* ---- two values of one shape, or one that is broadcast ---- */

/* 1 if b has a number for each of these dimensions of a, where the others are
 * 1, and they lie in the same order. */
static int matches(struct ctt_onnx *o, const struct ctt_onnx_value *a,
                   const struct ctt_onnx_value *b, unsigned drop)
{
    struct ctt_onnx_place *p;

    if (ctt_place_drop(o, a->place, drop, a->place->line, &p) < 0 ||
        !ctt_place_same(p, b->place))
        return 0;
    for (int i = 0; i < a->t.rank; i++) {
        int64_t size = 1;
        int first = ctt_place_first(p, i);

        for (int k = first; k < first + p->cut[i]; k++)
            size *= p->atom[p->order[k]].size;
        if (size != b->t.dim[i])
            return 0;
    }
    return 1;
}

/* Channels in their order, so that two values whose channels lie differently
 * fit. */
static int straighten(struct ctt_onnx *o, struct ctt_onnx_value *v)
{
    struct ctt_op_image m;
    int rc;

    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(ctt_op_straight(o, &m));
    v->place = m.p;
out:
    return rc;
}

enum { PIXELS = 1u << CTT_IN_D | 1u << CTT_IN_H | 1u << CTT_IN_W,
       CHANNELS = 1u << CTT_IN_C };

/* One channel for all: a conv that copies it. */
static int copy_channel(struct ctt_onnx *o, const struct ctt_onnx_value *a,
                        struct ctt_onnx_value *b)
{
    static const double one = 1;
    int64_t size[CTT_IN_DIMS], c = o->line[a->place->line].size[CTT_IN_C];
    struct ctt_onnx_weight *w;
    int rc, line;

    memcpy(size, o->line[b->place->line].size, sizeof(size));
    CTT_TRY(ctt_op_depthwise(o, b->place->line, &one, size, &line));
    w = o->line[line].w;
    w[0].dim[0] = o->line[line].size[CTT_IN_C] = c;
    w[0].scale = NULL;
    o->line[line].keys[0] = '\0';
    CTT_TRY(ctt_onnx_keys(o, line, " out=%lld", (long long)c));
    CTT_TRY(ctt_place_drop(o, a->place, 0, line, &b->place));
    memcpy(b->t.dim, a->t.dim, sizeof(a->t.dim));
out:
    return rc;
}

/* One pixel for all: copies of it. */
static int copy_pixel(struct ctt_onnx *o, const struct ctt_onnx_value *a,
                      struct ctt_onnx_value *b)
{
    const int64_t *size = o->line[a->place->line].size;
    int rc = 0, line;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        CTT_CHECK(size[d] <= 99, CTT_EUNSUP, "one pixel for %lld: 99 are "
                  "possible", (long long)size[d]);
    CTT_CHECK(size[CTT_IN_D] == 1 || size[CTT_IN_H] != size[CTT_IN_D] ||
              size[CTT_IN_W] != size[CTT_IN_D], CTT_EUNSUP, "one pixel for a "
              "cube");
    CTT_TRY(ctt_onnx_emit(o, "upsample", 1, &b->place->line, size, &line));
    CTT_TRY(ctt_onnx_keys(o, line, " by=%lld,%lld,%lld", (long long)size[1],
                          (long long)size[2], (long long)size[3]));
    CTT_TRY(ctt_place_drop(o, a->place, 0, line, &b->place));
    memcpy(b->t.dim, a->t.dim, sizeof(a->t.dim));
out:
    return rc;
}

static int equal_sizes(const struct ctt_onnx_value *a,
                      const struct ctt_onnx_value *b)
{
    return memcmp(a->t.dim, b->t.dim, (size_t)a->t.rank *
                  sizeof(a->t.dim[0])) == 0;
}

/* Makes b fit a, whose shape the result has.  mul multiplies by one pixel
 * itself. */
static int fit(struct ctt_onnx *o, const char *word, struct ctt_onnx_value *a,
               struct ctt_onnx_value *b)
{
    int rc = 0;

    if (equal_sizes(a, b)) {
        if (!ctt_place_same(a->place, b->place)) {
            CTT_TRY(straighten(o, a));
            CTT_TRY(straighten(o, b));
        }
        CTT_CHECK(ctt_place_same(a->place, b->place), CTT_EUNSUP, "two values "
                  "that lie in different order");
        goto out;
    }
    if (matches(o, a, b, CHANNELS))
        return copy_channel(o, a, b);
    CTT_CHECK(matches(o, a, b, PIXELS), CTT_EUNSUP, "values of shapes that "
              "differ by more than one pixel or one channel for all");
    if (strcmp(word, "mul") != 0)
        CTT_TRY(copy_pixel(o, a, b));
out:
    return rc;
}

/* Input k with the axes of the result. */
static int operand(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                   int rank, struct ctt_onnx_value *out)
{
    struct ctt_onnx_value *v;
    int rc;

    CTT_TRY(ctt_op_live(o, n, k, &v));
    CTT_TRY(more_axes(o, v, rank, out));
    CTT_TRY(ctt_op_solid(o, out->place, &out->place));
out:
    return rc;
}

static int combine(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   const char *word, const char *keys)
{
    struct ctt_onnx_value *x, *y, a, b, *big = &a, *small = &b;
    int64_t dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    int rank, rc, line, in[2];

    CTT_TRY(ctt_op_live(o, n, 0, &x));
    CTT_TRY(ctt_op_live(o, n, 1, &y));
    CTT_CHECK(o->opset > 6 || !ctt_onnx_attr(n, "axis"), CTT_EUNSUP, "axis: "
              "of two values");
    CTT_TRY(ctt_fold_broadcast(&x->t, &y->t, &rank, dim));
    CTT_TRY(operand(o, n, 0, rank, &a));
    CTT_TRY(operand(o, n, 1, rank, &b));
    if (memcmp(dim, a.t.dim, (size_t)rank * sizeof(*dim)) != 0) {
        big = &b;
        small = &a;
    }
    CTT_CHECK(memcmp(dim, big->t.dim, (size_t)rank * sizeof(*dim)) == 0,
              CTT_EUNSUP, "two values that are both broadcast");
    CTT_TRY(fit(o, word, big, small));
    in[0] = strcmp(word, "mul") == 0 ? big->place->line : a.place->line;
    in[1] = strcmp(word, "mul") == 0 ? small->place->line : b.place->line;
    CTT_TRY(ctt_onnx_emit(o, word, 2, in, o->line[big->place->line].size,
                          &line));
    CTT_TRY(ctt_onnx_keys(o, line, "%s", keys));
    CTT_TRY(ctt_place_drop(o, big->place, 0, line, &p));
    CTT_TRY(ctt_op_set(o, n, 0, rank, dim, p));
out:
    return rc;
}

/* More than two values of one shape. */
static int sum(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    struct ctt_onnx_value *first, *v;
    struct ctt_onnx_place *p;
    int in[CTT_MAX_IN], rc = 0, line;

    CTT_CHECK(n->nin <= CTT_MAX_IN, CTT_EUNSUP, "more than %d inputs",
              CTT_MAX_IN);
    CTT_TRY(ctt_op_live(o, n, 0, &first));
    for (int k = 0; k < n->nin; k++) {
        CTT_TRY(ctt_op_live(o, n, k, &v));
        CTT_CHECK(v->t.rank == first->t.rank && equal_sizes(v, first) &&
                  ctt_place_same(v->place, first->place), CTT_EUNSUP,
                  "values of different shapes");
        CTT_TRY(ctt_op_solid(o, v->place, &p));
        in[k] = p->line;
    }
    CTT_TRY(ctt_onnx_emit(o, "add", n->nin, in, o->line[in[0]].size, &line));
    CTT_TRY(ctt_place_drop(o, first->place, 0, line, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, first, p));
out:
    return rc;
}

/* ---- operators ---- */

int ctt_op_add(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int k = constant_input(o, n), rc;
    struct ctt_onnx_value v;
    double *x;

    if (n->nin != 2)
        return sum(o, n);
    if (k < 0)
        return combine(o, n, "add", "");
    CTT_TRY(channels_of(o, n, !k, &v, &x));
    CTT_TRY(set_affine(o, n, &v, NULL, x));
out:
    return rc;
}

int ctt_op_sub(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int k = constant_input(o, n), rc;
    struct ctt_onnx_value v;
    double *x, *minus;
    int64_t c;

    if (k < 0)
        return combine(o, n, "add", " minus=1");
    CTT_TRY(channels_of(o, n, !k, &v, &x));
    c = o->line[v.place->line].size[CTT_IN_C];
    CTT_TRY(ctt_onnx_vector(o, c, NULL, -1, &minus));
    for (int64_t i = 0; i < c && k == 1; i++)
        x[i] = -x[i];
    CTT_TRY(set_affine(o, n, &v, k == 0 ? minus : NULL, x));
out:
    return rc;
}

int ctt_op_mul(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int k = constant_input(o, n), rc;
    struct ctt_onnx_value v;
    double *x;

    if (k < 0)
        return combine(o, n, "mul", "");
    CTT_TRY(channels_of(o, n, !k, &v, &x));
    CTT_TRY(set_affine(o, n, &v, x, NULL));
out:
    return rc;
}

int ctt_op_div(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_value v;
    int64_t c;
    double *x;
    int rc = 0;

    CTT_CHECK(constant_input(o, n) == 1, CTT_EUNSUP, "a division by a value");
    CTT_TRY(channels_of(o, n, 0, &v, &x));
    c = o->line[v.place->line].size[CTT_IN_C];
    for (int64_t i = 0; i < c; i++) {
        CTT_CHECK(x[i] != 0, CTT_EUNSUP, "a division by 0");
        x[i] = 1 / x[i];
    }
    CTT_TRY(set_affine(o, n, &v, x, NULL));
out:
    return rc;
}

int ctt_op_neg(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_value *v;
    struct ctt_onnx_place *p;
    double *minus;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    CTT_TRY(ctt_onnx_vector(o, o->line[p->line].size[CTT_IN_C], NULL, -1,
                            &minus));
    CTT_TRY(ctt_op_affine(o, p, minus, NULL, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}
