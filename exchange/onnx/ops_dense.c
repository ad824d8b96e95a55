/* SPDX-License-Identifier: Apache-2.0
 * ops_dense.c: products with a matrix of weights: convs over a whole axis,
 * whose kernel covers the pixels that lie in it. */
#include "exchange/onnx/ops.h"

#include <string.h>

/* y[..., o] = scale * sum over k of t[k * along + o * across] x[..., k] + b[o]
 * along an axis of the input. */
struct product {
    const struct ctt_onnx_tensor *t;
    int     axis;
    int64_t along, across, out;
    double  scale, *bias;
};

static int check_axis(const struct ctt_onnx *o, const struct ctt_onnx_place *p,
                      int axis, unsigned *dims)
{
    int rc = 0, whole;

    *dims = ctt_place_dims(p, axis, &whole);
    CTT_CHECK(whole, CTT_EUNSUP, "axis %d is a part of the image's", axis);
    CTT_CHECK(!(*dims & 1u << CTT_IN_N), CTT_EUNSUP, "axis %d: a sum over "
              "samples", axis);
    CTT_CHECK(*dims >> CTT_IN_C & 1 ||
              o->line[p->line].size[CTT_IN_C] == 1, CTT_EUNSUP, "axis %d: a "
              "sum over pixels, each channel by itself", axis);
out:
    return rc;
}

static int product_weight(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                          const struct product *m, unsigned dims, int line)
{
    int64_t axis[CTT_ONNX_RANK] = { 0 }, stride[CTT_PLACE_ATOMS], *at;
    struct ctt_onnx_weight w = { .t = m->t };
    int rc = 0;

    axis[m->axis] = m->along;
    ctt_place_strides(p, axis, stride);
    for (int d = CTT_IN_D; d < CTT_IN_DIMS; d++) {
        w.dim[d] = dims >> d & 1 ? o->line[p->line].size[d] : 1;
        CTT_TRY(ctt_place_offsets(o, p, stride, d, w.dim[d], &at));
        w.off[d] = at;
    }
    w.dim[0] = m->out;
    at = ctt_arena_take(&o->arena, m->out, sizeof(*at));
    CTT_TRY(at ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < m->out; i++)
        at[i] = i * m->across;
    w.off[0] = at;
    if (m->scale != 1)
        CTT_TRY(ctt_onnx_vector(o, m->out, NULL, m->scale, &w.scale));
    o->line[line].w[0] = w;
    o->line[line].nw = 1;
    if (m->bias) {
        o->line[line].w[1] = (struct ctt_onnx_weight){ .dim = { m->out },
                                                        .vec = m->bias };
        o->line[line].nw = 2;
    }
out:
    return rc;
}

static int product_line(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                        const struct product *m, unsigned dims, int *line)
{
    const int64_t *full = o->line[p->line].size;
    int64_t size[CTT_IN_DIMS], kernel[CTT_IN_DIMS];
    int rc;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++) {
        kernel[d] = dims >> d & 1 ? full[d] : 1;
        size[d] = dims >> d & 1 ? 1 : full[d];
        CTT_CHECK(kernel[d] <= 4096, CTT_EUNSUP, "a kernel of %lld pixels",
                  (long long)kernel[d]);
    }
    size[CTT_IN_N] = 1;
    size[CTT_IN_C] = m->out;
    CTT_TRY(ctt_onnx_emit(o, "conv", 1, &p->line, size, line));
    CTT_TRY(product_weight(o, p, m, dims, *line));
    CTT_TRY(ctt_onnx_keys(o, *line, " out=%lld", (long long)m->out));
    if (kernel[1] * kernel[2] * kernel[3] > 1)
        CTT_TRY(ctt_onnx_keys(o, *line, " kernel=%lld,%lld,%lld",
                              (long long)kernel[1], (long long)kernel[2],
                              (long long)kernel[3]));
out:
    return rc;
}

static int multiply(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                    const struct ctt_onnx_value *v, const struct product *m)
{
    struct ctt_onnx_place *p;
    int64_t dim[CTT_ONNX_RANK];
    unsigned dims;
    int rc, line;

    CTT_TRY(ctt_op_solid(o, v->place, &p));
    CTT_TRY(check_axis(o, p, m->axis, &dims));
    CTT_TRY(product_line(o, p, m, dims, &line));
    CTT_TRY(ctt_place_drop(o, p, dims | 1u << CTT_IN_C, line, &p));
    CTT_TRY(ctt_place_add(p, m->axis, CTT_IN_C, m->out));
    memcpy(dim, v->t.dim, sizeof(dim));
    dim[m->axis] = m->out;
    CTT_TRY(ctt_op_set(o, n, 0, v->t.rank, dim, p));
out:
    return rc;
}

/* beta * C, of one number or one for each column. */
static int gemm_bias(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     int64_t columns, double **out)
{
    double beta = (double)ctt_onnx_float(n, "beta", 1);
    const struct ctt_onnx_tensor *c;
    int rc;

    *out = NULL;
    CTT_TRY(ctt_op_constant(o, n, 2, &c));
    if (!c)
        goto out;
    CTT_CHECK(c->count == 1 || (c->count == columns && c->rank > 0 &&
                                c->dim[c->rank - 1] == columns), CTT_EUNSUP,
              "C: not one number a column");
    CTT_TRY(ctt_onnx_vector(o, columns, NULL, 0, out));
    for (int64_t i = 0; i < columns; i++)
        (*out)[i] = beta * ctt_onnx_number(c, c->count == 1 ? 0 : i);
out:
    return rc;
}

int ctt_op_gemm(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int transposed = ctt_onnx_int(n, "transB", 0) != 0, rc;
    struct product m = { .axis = 1 };
    struct ctt_onnx_value *v;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_constant(o, n, 1, &m.t));
    CTT_CHECK(!ctt_onnx_int(n, "transA", 0), CTT_EUNSUP, "transA: 1");
    CTT_CHECK(m.t && m.t->rank == 2 && v->t.rank == 2 &&
              m.t->dim[transposed] == v->t.dim[1] && m.t->count, CTT_EUNSUP,
              "B: no matrix for %lld columns", (long long)v->t.dim[1]);
    m.out = m.t->dim[!transposed];
    m.along = transposed ? 1 : m.t->dim[1];
    m.across = transposed ? m.t->dim[1] : 1;
    m.scale = (double)ctt_onnx_float(n, "alpha", 1);
    CTT_TRY(gemm_bias(o, n, m.out, &m.bias));
    CTT_TRY(multiply(o, n, v, &m));
out:
    return rc;
}

/* A matrix of weights, perhaps with axes of size 1 before it. */
static int check_matrix(const struct ctt_onnx_tensor *t)
{
    int rc = 0;

    CTT_CHECK(t->rank >= 2 && t->count, CTT_EUNSUP, "a constant that is no "
              "matrix");
    for (int a = 0; a < t->rank - 2; a++)
        CTT_CHECK(t->dim[a] == 1, CTT_EUNSUP, "a constant of several "
                  "matrices");
out:
    return rc;
}

int ctt_op_matmul(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int left = ctt_onnx_constant(o, n, 0) != NULL, rc;
    struct product m = { .scale = 1 };
    struct ctt_onnx_value *v;
    int64_t rows, columns;

    CTT_TRY(ctt_op_live(o, n, left, &v));
    CTT_CHECK(ctt_onnx_constant(o, n, !left), CTT_EUNSUP, "a product of two "
              "values (attention)");
    CTT_TRY(ctt_op_constant(o, n, !left, &m.t));
    CTT_TRY(check_matrix(m.t));
    rows = m.t->dim[m.t->rank - 2];
    columns = m.t->dim[m.t->rank - 1];
    CTT_CHECK(v->t.rank >= 2 && m.t->rank <= v->t.rank, CTT_EUNSUP, "a value "
              "with %d axes", v->t.rank);
    m.axis = v->t.rank - 1 - left;
    m.out = left ? rows : columns;
    m.along = left ? 1 : columns;
    m.across = left ? columns : 1;
    CTT_CHECK(v->t.dim[m.axis] == (left ? columns : rows), CTT_EUNSUP,
              "a matrix for %lld numbers, not %lld", (long long)(left ?
              columns : rows), (long long)v->t.dim[m.axis]);
    CTT_TRY(multiply(o, n, v, &m));
out:
    return rc;
}
