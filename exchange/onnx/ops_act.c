/* SPDX-License-Identifier: Apache-2.0
 * ops_act.c: functions of single numbers. */
#include "exchange/onnx/ops.h"

#include <math.h>
#include <string.h>

static int act_line(struct ctt_onnx *o, struct ctt_onnx_place *p,
                    const char *kind, struct ctt_onnx_place **out)
{
    int rc;

    CTT_TRY(ctt_op_solid(o, p, &p));
    CTT_TRY(ctt_op_line(o, "act", p, out));
    CTT_TRY(ctt_onnx_keys(o, (*out)->line, " kind=%s", kind));
out:
    return rc;
}

/* scale * x + shift, the same for all channels. */
static int affine(struct ctt_onnx *o, struct ctt_onnx_place *p, double scale,
                  double shift, struct ctt_onnx_place **out)
{
    int64_t c = o->line[p->line].size[CTT_IN_C];
    double *s, *t;
    int rc;

    CTT_TRY(ctt_onnx_vector(o, c, NULL, scale, &s));
    CTT_TRY(ctt_onnx_vector(o, c, NULL, shift, &t));
    CTT_TRY(ctt_op_affine(o, p, s, shift ? t : NULL, out));
out:
    return rc;
}

int ctt_op_act(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    static const struct { const char *op, *kind; } kinds[] = {
        { "HardSwish", "hswish" }, { "Relu", "relu" },
        { "Sigmoid", "sigmoid" }, { "Swish", "silu" }, { "Tanh", "tanh" } };
    struct ctt_onnx_value *v;
    struct ctt_onnx_place *p;
    int rc, k = 0;

    while (strcmp(kinds[k].op, n->op) != 0)
        k++;
    CTT_CHECK(ctt_onnx_float(n, "alpha", 1) == 1, CTT_EUNSUP, "alpha: not 1");
    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(act_line(o, v->place, kinds[k].kind, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

int ctt_op_gelu(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const char *form = ctt_onnx_word(n, "approximate", "none");
    struct ctt_onnx_value *v;
    struct ctt_onnx_place *p;
    int rc;

    CTT_CHECK(strcmp(form, "none") == 0, CTT_EUNSUP, "approximate: %s", form);
    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(act_line(o, v->place, "gelu", &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

/* alpha x + beta, kept to 0..1; the language's has alpha 1/6 and beta 1/2. */
int ctt_op_hard_sigmoid(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    double alpha = (double)ctt_onnx_float(n, "alpha", 0.2f);
    double beta = (double)ctt_onnx_float(n, "beta", 0.5f);
    struct ctt_onnx_value *v;
    struct ctt_onnx_place *p;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    p = v->place;
    if (fabs(6 * alpha - 1) > 1e-6 || beta != 0.5)
        CTT_TRY(affine(o, p, 6 * alpha, 6 * (beta - 0.5), &p));
    CTT_TRY(act_line(o, p, "hsigmoid", &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

/* relu(x) + relu(-x) */
int ctt_op_abs(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_place *p, *a, *b;
    struct ctt_onnx_value *v;
    int rc, line, in[2];

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    o->line[p->line].shared = 1;
    CTT_TRY(act_line(o, p, "relu", &a));
    CTT_TRY(affine(o, p, -1, 0, &b));
    CTT_TRY(act_line(o, b, "relu", &b));
    in[0] = a->line;
    in[1] = b->line;
    CTT_TRY(ctt_onnx_emit(o, "add", 2, in, o->line[p->line].size, &line));
    CTT_TRY(ctt_place_drop(o, p, 0, line, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

/* ---- bounds ---- */

/* min(max(x, low), high), where a bound may be infinite. */
static int clip(struct ctt_onnx *o, struct ctt_onnx_place *p, double low,
                double high, struct ctt_onnx_place **out)
{
    double size = high - low;
    int rc = 0;

    *out = p;
    CTT_CHECK(low < high, CTT_EUNSUP, "bounds of %g and %g", low, high);
    if (isinf(low) && isinf(high))
        return 0;
    if (isinf(low)) {    /* high - relu(high - x) */
        CTT_TRY(affine(o, p, -1, high, &p));
        CTT_TRY(act_line(o, p, "relu", &p));
        return affine(o, p, -1, high, out);
    }
    if (isinf(high)) {
        CTT_TRY(affine(o, p, 1, -low, &p));
        CTT_TRY(act_line(o, p, "relu", &p));
        return affine(o, p, 1, low, out);
    }
    CTT_TRY(affine(o, p, 6 / size, -low * 6 / size, &p));
    CTT_TRY(act_line(o, p, "relu6", &p));
    CTT_TRY(affine(o, p, size / 6, low, out));
out:
    return rc;
}

static int clip_node(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     const struct ctt_onnx_value *v, double low, double high)
{
    struct ctt_onnx_place *p;
    int rc;

    low = low <= -3e38 ? -INFINITY : low;    /* the largest float: no bound */
    high = high >= 3e38 ? INFINITY : high;
    CTT_TRY(clip(o, v->place, low, high, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

int ctt_op_clip(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_value *v;
    double low, high;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_scalar(o, n, 1, "min", -INFINITY, &low));
    CTT_TRY(ctt_op_scalar(o, n, 2, "max", INFINITY, &high));
    CTT_TRY(clip_node(o, n, v, low, high));
out:
    return rc;
}

/* ---- of two values, or of one and a number ---- */

/* max(a, b) = b + relu(a - b), min(a, b) = a - relu(a - b). */
static int extreme(struct ctt_onnx *o, const struct ctt_onnx_node *n, int max)
{
    struct ctt_onnx_value *a, *b;
    struct ctt_onnx_place *p, *q, *r;
    int rc, line, in[2];

    CTT_TRY(ctt_op_live(o, n, 0, &a));
    CTT_TRY(ctt_op_live(o, n, 1, &b));
    CTT_CHECK(a->t.rank == b->t.rank &&
              memcmp(a->t.dim, b->t.dim, (size_t)a->t.rank *
                     sizeof(a->t.dim[0])) == 0 &&
              ctt_place_same(a->place, b->place), CTT_EUNSUP, "two values of "
              "different shapes");
    CTT_TRY(ctt_op_solid(o, a->place, &p));
    CTT_TRY(ctt_op_solid(o, b->place, &q));
    in[0] = p->line;
    in[1] = q->line;
    CTT_TRY(ctt_onnx_emit(o, "add", 2, in, o->line[p->line].size, &line));
    CTT_TRY(ctt_onnx_keys(o, line, " minus=1"));
    CTT_TRY(ctt_place_drop(o, p, 0, line, &r));
    CTT_TRY(act_line(o, r, "relu", &r));
    in[0] = max ? q->line : p->line;
    in[1] = r->line;
    CTT_TRY(ctt_onnx_emit(o, "add", 2, in, o->line[p->line].size, &line));
    if (!max)
        CTT_TRY(ctt_onnx_keys(o, line, " minus=1"));
    CTT_TRY(ctt_place_drop(o, p, 0, line, &r));
    CTT_TRY(ctt_op_set_like(o, n, 0, a, r));
out:
    return rc;
}

static int bound(struct ctt_onnx *o, const struct ctt_onnx_node *n, int max)
{
    int at = ctt_onnx_constant(o, n, 0) != NULL, rc;
    const struct ctt_onnx_tensor *t;
    struct ctt_onnx_value *v;
    double x;

    CTT_CHECK(n->nin == 2, CTT_EUNSUP, "%d inputs; 2 are possible", n->nin);
    t = ctt_onnx_constant(o, n, !at);
    if (!t)
        return extreme(o, n, max);
    CTT_TRY(ctt_op_live(o, n, at, &v));
    CTT_CHECK(t->count == 1 && t->rank <= v->t.rank, CTT_EUNSUP, "a constant "
              "of more than one number");
    x = ctt_onnx_number(t, 0);
    CTT_TRY(clip_node(o, n, v, max ? x : -INFINITY, max ? INFINITY : x));
out:
    return rc;
}

int ctt_op_max(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return bound(o, n, 1);
}

int ctt_op_min(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return bound(o, n, 0);
}

/* ---- slopes ---- */

static int leaky_line(struct ctt_onnx *o, struct ctt_onnx_place *p,
                      double slope, struct ctt_onnx_place **out)
{
    int rc;

    CTT_CHECK(slope >= 0 && slope <= 100, CTT_EUNSUP, "a slope of %g", slope);
    CTT_TRY(act_line(o, p, "leaky", out));
    CTT_TRY(ctt_onnx_keys(o, (*out)->line, " slope=%.9g", slope));
out:
    return rc;
}

int ctt_op_leaky(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    double slope = (double)ctt_onnx_float(n, "alpha", 0.01f);
    struct ctt_onnx_value *v;
    struct ctt_onnx_place *p;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(leaky_line(o, v->place, slope, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

/* slope x + (1 - slope) relu(x) for each channel. */
static int slopes(struct ctt_onnx *o, struct ctt_onnx_place *p,
                  const double *slope, struct ctt_onnx_place **out)
{
    int64_t c = o->line[p->line].size[CTT_IN_C];
    struct ctt_onnx_place *r;
    double *rest;
    int rc, line, in[2];

    CTT_TRY(ctt_onnx_vector(o, c, slope, 0, &rest));
    for (int64_t i = 0; i < c; i++)
        rest[i] = 1 - rest[i];
    o->line[p->line].shared = 1;
    CTT_TRY(act_line(o, p, "relu", &r));
    CTT_TRY(ctt_op_affine(o, r, rest, NULL, &r));
    CTT_TRY(ctt_op_affine(o, p, slope, NULL, &p));
    in[0] = r->line;
    in[1] = p->line;
    CTT_TRY(ctt_onnx_emit(o, "add", 2, in, o->line[p->line].size, &line));
    CTT_TRY(ctt_place_drop(o, p, 0, line, out));
out:
    return rc;
}

int ctt_op_prelu(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *t;
    struct ctt_onnx_value *v;
    struct ctt_onnx_tensor old;
    struct ctt_onnx_place *p;
    double *slope;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_constant(o, n, 1, &t));
    CTT_CHECK(t && t->count, CTT_EUNSUP, "a slope that is no constant");
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    old = *t;
    while (o->opset < 7 && t->count > 1 && old.rank < v->t.rank - 1)
        old.dim[old.rank++] = 1;    /* one for each channel */
    CTT_TRY(ctt_op_channels(o, v, &old, &slope));
    if (t->count == 1 && slope[0] >= 0 && slope[0] <= 100)
        CTT_TRY(leaky_line(o, p, slope[0], &p));
    else
        CTT_TRY(slopes(o, p, slope, &p));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}
