/* SPDX-License-Identifier: Apache-2.0
 * ops_norm.c: norms and softmax. */
#include "exchange/onnx/ops.h"

#include <string.h>

/* A constant of one number a channel, in the order in which channels lie. */
static int channel_vector(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                          int k, const struct ctt_op_image *m, double none,
                          struct ctt_onnx_weight *w)
{
    const struct ctt_onnx_tensor *t;
    int64_t c = m->size[CTT_IN_C];
    int rc;

    CTT_TRY(ctt_op_constant(o, n, k, &t));
    CTT_CHECK(!t || t->count == c, CTT_EUNSUP, "input %d: %lld numbers for "
              "%lld channels", k, (long long)(t ? t->count : 0), (long long)c);
    w->dim[0] = c;
    CTT_TRY(ctt_onnx_vector(o, c, NULL, none, &w->vec));
    for (int64_t i = 0; i < c && t; i++)
        w->vec[i] = ctt_onnx_number(t, m->channel ? m->channel[i] : i);
out:
    return rc;
}

static int norm_line(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     const struct ctt_op_image *m, const char *kind, int count,
                     int *line)
{
    static const double none[] = { 1, 0, 0, 1 };
    struct ctt_onnx_weight w[CTT_MAX_W] = { { .t = NULL } };
    int rc = 0;

    for (int k = 0; k < count; k++)
        CTT_TRY(channel_vector(o, n, k + 1, m, none[k], &w[k]));
    CTT_TRY(ctt_onnx_emit(o, "norm", 1, &m->p->line, m->size, line));
    memcpy(o->line[*line].w, w, sizeof(w));
    o->line[*line].nw = count;
    CTT_TRY(ctt_onnx_keys(o, *line, " kind=%s", kind));
out:
    return rc;
}

/* An eps that the language does not know goes into the variance. */
static int norm_eps(struct ctt_onnx *o, int line, double eps)
{
    struct ctt_onnx_line *l = &o->line[line];
    int rc = 0;

    if (eps < 1e-12 && l->nw == 4) {
        for (int64_t i = 0; i < l->w[3].dim[0]; i++)
            l->w[3].vec[i] = l->w[3].vec[i] + eps - 1e-12;
        eps = 1e-12;
    }
    CTT_CHECK(eps >= 1e-12 && eps <= 1, CTT_EUNSUP, "epsilon: %g; 1e-12 to 1 "
              "is possible", eps);
    CTT_TRY(ctt_onnx_keys(o, line, " eps=%.9g", eps));
out:
    return rc;
}

int ctt_op_batch_norm(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    double momentum = (double)ctt_onnx_float(n, "momentum", 0.9f);
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    struct ctt_op_image m;
    int64_t dim[CTT_ONNX_RANK];
    int rc, line;

    CTT_CHECK(!ctt_onnx_int(n, "training_mode", 0) &&
              (o->opset > 6 || ctt_onnx_int(n, "is_test", 0)) &&
              ctt_onnx_int(n, "spatial", 1), CTT_EUNSUP, "training_mode: 1, "
              "is_test: 0 or spatial: 0");
    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(ctt_op_solid(o, m.p, &m.p));
    CTT_TRY(norm_line(o, n, &m, "batch", 4, &line));
    CTT_TRY(norm_eps(o, line, (double)ctt_onnx_float(n, "epsilon", 1e-5f)));
    if (momentum >= 0 && momentum <= 1)    /* of the old value, not the new */
        CTT_TRY(ctt_onnx_keys(o, line, " momentum=%.6g", 1 - momentum));
    CTT_TRY(ctt_op_image_place(o, &m, line, m.size, 0, dim, &p));
    CTT_TRY(ctt_op_set(o, n, 0, m.rank, dim, p));
out:
    return rc;
}

/* The axis in which the channels lie, and nothing else; the image so seen. */
static int channel_axis(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                        int axis, struct ctt_op_image *m)
{
    int64_t strides[CTT_ONNX_RANK] = { 0 }, stride[CTT_PLACE_ATOMS], *at;
    int rc, whole;

    CTT_TRY(ctt_op_solid(o, v->place, &m->p));
    CTT_CHECK(ctt_place_dims(m->p, axis, &whole) == 1u << CTT_IN_C && whole,
              CTT_EUNSUP, "axis %d: not that of the channels", axis);
    memcpy(m->size, o->line[m->p->line].size, sizeof(m->size));
    strides[axis] = 1;
    ctt_place_strides(m->p, strides, stride);
    CTT_TRY(ctt_place_offsets(o, m->p, stride, CTT_IN_C, m->size[CTT_IN_C],
                              &at));
    m->channel = at;
out:
    return rc;
}

int ctt_op_layer_norm(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_op_image m = { .rank = 0 };
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    int rc, line, axis;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_onnx_axis(ctt_onnx_int(n, "axis", -1), v->t.rank, &axis));
    CTT_CHECK(axis == v->t.rank - 1, CTT_EUNSUP, "axis: %d; only the last is "
              "possible", axis);
    for (int k = 1; k < n->nout; k++)
        CTT_CHECK(n->out[k] < 0 || !o->value[n->out[k]].readers, CTT_EUNSUP,
                  "Mean or InvStdDev: as a result");
    CTT_TRY(channel_axis(o, v, axis, &m));
    CTT_TRY(norm_line(o, n, &m, "layer", 2, &line));
    CTT_TRY(norm_eps(o, line, (double)ctt_onnx_float(n, "epsilon", 1e-5f)));
    CTT_TRY(ctt_place_drop(o, m.p, 0, line, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

int ctt_op_lrn(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int64_t dim[CTT_ONNX_RANK], size = ctt_onnx_int(n, "size", 0);
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    struct ctt_op_image m;
    int rc, line;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(ctt_op_straight(o, &m));
    CTT_TRY(ctt_op_solid(o, m.p, &m.p));
    CTT_CHECK(size > 0 && size < CTT_MAX_SIZE, CTT_EUNSUP, "size: %lld",
              (long long)size);
    CTT_TRY(ctt_onnx_emit(o, "lrn", 1, &m.p->line, m.size, &line));
    CTT_TRY(ctt_onnx_keys(o, line, " size=%lld alpha=%.9g beta=%.9g k=%.9g",
                          (long long)size,
                          (double)ctt_onnx_float(n, "alpha", 1e-4f),
                          (double)ctt_onnx_float(n, "beta", 0.75f),
                          (double)ctt_onnx_float(n, "bias", 1)));
    CTT_TRY(ctt_op_image_place(o, &m, line, m.size, 1, dim, &p));
    CTT_TRY(ctt_op_set(o, n, 0, m.rank, dim, p));
out:
    return rc;
}

/* ---- softmax ---- */

/* Before version 13 the axis and all behind it were one; from then on the axis
 * alone. */
static unsigned softmax_axes(const struct ctt_onnx *o,
                             const struct ctt_onnx_node *n, int rank,
                             int *axis)
{
    int64_t a = ctt_onnx_int(n, "axis", o->opset < 13 ? 1 : -1);

    if (ctt_onnx_axis(a, rank, axis) < 0)
        return 0;
    return o->opset < 13 ? ((1u << rank) - 1) & ~((1u << *axis) - 1) :
           1u << *axis;
}

/* Over the channels of each pixel, or over the pixels of each channel. */
int ctt_op_softmax(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    unsigned axes, dims = 0, others = 0;
    struct ctt_onnx_value *v;
    struct ctt_onnx_place *p;
    int rc, axis, whole;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    axes = softmax_axes(o, n, v->t.rank, &axis);
    CTT_CHECK(axes, CTT_EUNSUP, "axis: out of range");
    for (int a = 0; a < v->t.rank; a++)
        *(axes >> a & 1 ? &dims : &others) |= ctt_place_dims(v->place, a,
                                                             &whole);
    CTT_CHECK(!(dims & others) && !(dims & 1u << CTT_IN_N) &&
              (dims == 1u << CTT_IN_C || (!(dims >> CTT_IN_C & 1) &&
               !(others & ~(1u << CTT_IN_C | 1u << CTT_IN_N)))), CTT_EUNSUP,
              "axis %d: neither over the channels nor over all pixels", axis);
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    CTT_TRY(ctt_op_line(o, strcmp(n->op, "Softmax") == 0 ? "softmax" :
                        "logsoftmax", p, &p));
    CTT_TRY(ctt_onnx_keys(o, p->line, " over=%s", dims >> CTT_IN_C & 1 ?
                          "channels" : "positions"));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}
