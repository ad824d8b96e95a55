/* SPDX-License-Identifier: Apache-2.0
 * pattern.c: sets of nodes that exporters write for one function.  The last
 * node of a set becomes that function; the others are left out if nothing else
 * reads them. */
#include "exchange/onnx/onnx.h"

#include <math.h>
#include <string.h>

/* The node of that operator that makes a value, or NULL. */
static struct ctt_onnx_node *maker(const struct ctt_onnx *o, int value,
                                   const char *op)
{
    int i = value >= 0 ? o->value[value].maker : -1;

    return i >= 0 && !*o->node[i].domain && strcmp(o->node[i].op, op) == 0 &&
           o->node[i].nout > 0 && o->node[i].out[0] == value ? &o->node[i] :
           NULL;
}

/* 1 if input k of a node, or the attribute, is this number. */
static int holds_number(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     int k, const char *name, double x)
{
    const struct ctt_onnx_attr *a = name ? ctt_onnx_attr(n, name) : NULL;
    const struct ctt_onnx_tensor *t = ctt_onnx_constant(o, n, k);
    double is = a ? (double)a->f : t && t->count == 1 &&
                t->type != CTT_ONNX_STRING ? ctt_onnx_number(t, 0) : NAN;

    return fabs(is - x) <= 1e-5 * fabs(x);
}

/* The input of a sum or product with this number, in either order; -1: it is
 * none. */
static int other_than(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      double x)
{
    for (int k = 0; n && n->nin == 2 && k < 2; k++)
        if (holds_number(o, n, k, NULL, x))
            return n->in[!k];
    return -1;
}

/* The value of which the node takes a sixth; -1: it does not. */
static int sixth_of(const struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    if (strcmp(n->op, "Div") == 0)
        return n->nin == 2 && holds_number(o, n, 1, NULL, 6) ? n->in[0] : -1;
    return strcmp(n->op, "Mul") == 0 ? other_than(o, n, 1.0 / 6) : -1;
}

/* x of clip(x + 3, 0, 6); -1: it is none. */
static int clipped(const struct ctt_onnx *o, int value)
{
    const struct ctt_onnx_node *n = maker(o, value, "Clip");

    if (!n || !holds_number(o, n, 1, "min", 0) ||
        !holds_number(o, n, 2, "max", 6))
        return -1;
    return other_than(o, maker(o, n->in[0], "Add"), 3);
}

static void become(struct ctt_onnx_node *n, const char *op, int value)
{
    n->op = op;
    n->nin = 1;
    n->in[0] = value;
    n->attrs = 0;
}

/* clip(x + 3, 0, 6) / 6 */
static int hard_sigmoid(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int x = clipped(o, sixth_of(o, n)), rc = 0;
    struct ctt_onnx_attr *a;

    if (x < 0)
        return 0;
    a = ctt_arena_take(&o->arena, 1, sizeof(*a));
    CTT_TRY(a ? 0 : CTT_ENOMEM);
    *a = (struct ctt_onnx_attr){ .name = "alpha", .f = 1.0f / 6 };
    become(n, "HardSigmoid", x);
    n->attr = a;
    n->attrs = 1;
out:
    return rc;
}

/* x * clip(x + 3, 0, 6) / 6 in this order */
static int hard_swish(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_node *m = maker(o, sixth_of(o, n), "Mul");

    for (int k = 0; m && m->nin == 2 && k < 2; k++)
        if (m->in[k] >= 0 && clipped(o, m->in[!k]) == m->in[k]) {
            become(n, "HardSwish", m->in[k]);
            return 0;
        }
    return 0;
}

/* x * f(x) */
static int gated(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    if (strcmp(n->op, "Mul") != 0 || n->nin != 2)
        return 0;
    for (int k = 0; k < 2; k++) {
        const struct ctt_onnx_node *s = maker(o, n->in[!k], "Sigmoid");
        const struct ctt_onnx_node *h = maker(o, n->in[!k], "HardSigmoid");

        if (s && s->nin == 1 && s->in[0] == n->in[k]) {
            become(n, "Swish", n->in[k]);
            return 0;
        }
        if (h && h->nin == 1 && h->in[0] == n->in[k] &&
            fabsf(ctt_onnx_float(h, "alpha", 0.2f) - 1.0f / 6) < 1e-5f &&
            ctt_onnx_float(h, "beta", 0.5f) == 0.5f) {
            become(n, "HardSwish", n->in[k]);
            return 0;
        }
    }
    return 0;
}

/* 0.5 * (x * (1 + erf(x / sqrt(2)))) */
static int gelu(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_node *m = strcmp(n->op, "Mul") == 0 ?
        maker(o, other_than(o, n, 0.5), "Mul") : NULL, *e, *d;

    for (int k = 0; m && m->nin == 2 && k < 2; k++) {
        e = maker(o, other_than(o, maker(o, m->in[!k], "Add"), 1), "Erf");
        d = e && e->nin == 1 ? maker(o, e->in[0], "Div") : NULL;
        if (d && d->nin == 2 && d->in[0] >= 0 && d->in[0] == m->in[k] &&
            holds_number(o, d, 1, NULL, sqrt(2))) {
            become(n, "Gelu", m->in[k]);
            return 0;
        }
    }
    return 0;
}

int ctt_onnx_patterns(struct ctt_onnx *o)
{
    static int (*const all[])(struct ctt_onnx *o, struct ctt_onnx_node *n) = {
        hard_swish, hard_sigmoid, gated, gelu };
    int rc = 0;

    for (int i = 0; i < o->nodes; i++)
        for (size_t k = 0; k < CTT_LEN(all) && !*o->node[i].domain; k++)
            CTT_TRY(all[k](o, &o->node[i]));
out:
    return rc;
}
