/* SPDX-License-Identifier: Apache-2.0
 * ops.c: each op of the model language in operators of ONNX: a table of op and
 * function.  Values have channels first: 1, c, [d,] h, w. */
#include "exchange/write/past.h"
#include "net/op.h"

#include <stdio.h>

/* The node to write, its place and the name of its result. */
struct job {
    const struct ctt_node *n;
    int                    i;
    const char            *out;
};

static struct ctt_emit_name in(const struct ctt_emit *x, const struct job *j,
                               int k)
{
    return ctt_emit_value(x, j->n->in[k]);
}

static void pass_on(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_op(x, "Identity", j->out, in(x, j, 0).s, NULL);
}

/* ---- windows over pixels ---- */

static void axes(struct ctt_emit *x, const struct job *j, const char *name,
                 const int *v)
{
    int deep = ctt_emit_deep(x, j->i);

    ctt_emit_ints(x, name, (int64_t[]){ v[!deep], v[1 + !deep], v[2] },
                  2 + deep);
}

/* The attributes of a window that slides. */
static void slides(struct ctt_emit *x, const struct job *j)
{
    struct ctt_slide s = ctt_slide_of(j->n);
    int n = 2 + ctt_emit_deep(x, j->i);
    int64_t pads[6];

    for (int i = 0; i < n; i++) {
        pads[i] = s.pad[3 - n + i];
        pads[n + i] = s.after[3 - n + i];
    }
    axes(x, j, "kernel_shape", s.kernel);
    axes(x, j, "strides", s.stride);
    ctt_emit_ints(x, "pads", pads, 2 * n);
    if (ctt_is_conv(j->n) && ctt_is_dilated(j->n))
        axes(x, j, "dilations", s.dilation);
}

static void conv_op(struct ctt_emit *x, const struct job *j, const char *kind,
                    const char *out)
{
    const struct ctt_node *n = j->n;
    struct ctt_emit_name w = ctt_emit_kernel(x, j->i), b = { "" };

    if (n->attr.conv.bias)
        b = ctt_emit_vector(x, j->i, 1, 0);
    ctt_emit_op(x, kind, out, in(x, j, 0).s, w.s, b.s[0] ? b.s : NULL, NULL);
    slides(x, j);
    if (n->attr.conv.groups > 1)
        ctt_emit_int(x, "group", n->attr.conv.groups);
}

static int put_conv(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name sum;

    if (!j->n->plus) {
        conv_op(x, j, "Conv", j->out);
        return 0;
    }
    sum = ctt_emit_temp(x);
    conv_op(x, j, "Conv", sum.s);
    ctt_emit_op(x, "Add", j->out, sum.s, in(x, j, 1).s, NULL);
    return 0;
}

static int deconv(struct ctt_emit *x, const struct job *j)
{
    conv_op(x, j, "ConvTranspose", j->out);
    return 0;
}

/* A pool of the whole image, too: OpenVINO computes wrong maxima of quantised
 * values by GlobalMaxPool. */
static int pool(struct ctt_emit *x, const struct job *j)
{
    static const char *const kinds[] = { [CTT_POOL_MAX] = "MaxPool",
                                         [CTT_POOL_AVG] = "AveragePool" };

    ctt_emit_op(x, kinds[j->n->attr.pool.kind], j->out, in(x, j, 0).s, NULL);
    slides(x, j);
    return 0;
}

static int upsample(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name none = { "" }, size;
    int64_t dim[CTT_EMIT_RANK];

    size = ctt_emit_const(x, dim, ctt_emit_shape(x, j->i, 1, dim));
    ctt_emit_op(x, "Resize", j->out, in(x, j, 0).s, none.s, none.s, size.s,
                NULL);
    ctt_emit_word(x, "mode", "nearest");
    ctt_emit_word(x, "nearest_mode", "floor");
    ctt_emit_word(x, "coordinate_transformation_mode", "asymmetric");
    return 0;
}

/* ---- numbers of a pixel ---- */

/* Channels last, or first again. */
static void transposed(struct ctt_emit *x, const char *v, int rank, int last,
                       const char *out)
{
    int64_t perm[CTT_EMIT_RANK] = { 0 };

    for (int i = 1; i < rank; i++)
        perm[i] = last ? (i == rank - 1 ? 1 : i + 1) :
                  (i == 1 ? rank - 1 : i - 1);
    ctt_emit_op(x, "Transpose", out, v, NULL);
    ctt_emit_ints(x, "perm", perm, rank);
}

static int norm_batch(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name w[4];

    for (int k = 0; k < 4; k++)
        w[k] = ctt_emit_vector(x, j->i, k, 0);
    ctt_emit_op(x, "BatchNormalization", j->out, in(x, j, 0).s, w[0].s, w[1].s,
                w[2].s, w[3].s, NULL);
    ctt_emit_real(x, "epsilon", j->n->attr.norm.eps);
    return 0;
}

static int norm(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name a, b, gamma, beta;
    int rank = 4 + ctt_emit_deep(x, j->i);

    if (j->n->attr.norm.kind == CTT_NORM_BATCH)
        return norm_batch(x, j);
    a = ctt_emit_temp(x);
    b = ctt_emit_temp(x);
    gamma = ctt_emit_vector(x, j->i, 0, 0);
    beta = ctt_emit_vector(x, j->i, 1, 0);
    transposed(x, in(x, j, 0).s, rank, 1, a.s);
    ctt_emit_op(x, "LayerNormalization", b.s, a.s, gamma.s, beta.s, NULL);
    ctt_emit_int(x, "axis", -1);
    ctt_emit_real(x, "epsilon", j->n->attr.norm.eps);
    transposed(x, b.s, rank, 0, j->out);
    return 0;
}

/* Acts by the one operator of that name, or by a function. */

static void relu6(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name low = ctt_emit_scalar(x, CTT_EMIT_FLOAT, 0);
    struct ctt_emit_name high = ctt_emit_scalar(x, CTT_EMIT_FLOAT, 6);

    ctt_emit_op(x, "Clip", j->out, in(x, j, 0).s, low.s, high.s, NULL);
}

static void hsigmoid(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_op(x, "HardSigmoid", j->out, in(x, j, 0).s, NULL);
    ctt_emit_real(x, "alpha", 1.0f / 6);
    ctt_emit_real(x, "beta", 0.5f);
}

static void silu(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name gate = ctt_emit_temp(x);

    ctt_emit_op(x, "Sigmoid", gate.s, in(x, j, 0).s, NULL);
    ctt_emit_op(x, "Mul", j->out, in(x, j, 0).s, gate.s, NULL);
}

/* x (1 + erf(x / sqrt(2))) / 2 as PyTorch writes it, which runtimes know; an
 * operator of its own from opset 20 on. */
static void gelu(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name root = ctt_emit_scalar(x, CTT_EMIT_FLOAT, 1.41421356f);
    struct ctt_emit_name one = ctt_emit_scalar(x, CTT_EMIT_FLOAT, 1);
    struct ctt_emit_name half = ctt_emit_scalar(x, CTT_EMIT_FLOAT, 0.5f);
    struct ctt_emit_name a = ctt_emit_temp(x), b = ctt_emit_temp(x);
    struct ctt_emit_name c = ctt_emit_temp(x), d = ctt_emit_temp(x);

    ctt_emit_op(x, "Div", a.s, in(x, j, 0).s, root.s, NULL);
    ctt_emit_op(x, "Erf", b.s, a.s, NULL);
    ctt_emit_op(x, "Add", c.s, b.s, one.s, NULL);
    ctt_emit_op(x, "Mul", d.s, in(x, j, 0).s, c.s, NULL);
    ctt_emit_op(x, "Mul", j->out, d.s, half.s, NULL);
}

static void leaky(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_op(x, "LeakyRelu", j->out, in(x, j, 0).s, NULL);
    ctt_emit_real(x, "alpha", j->n->attr.act.slope);
}

/* 1 / x, but 0 of 0. */
static void inverse(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name none = ctt_emit_scalar(x, CTT_EMIT_FLOAT, 0);
    struct ctt_emit_name zero = ctt_emit_temp(x), made = ctt_emit_temp(x);

    ctt_emit_op(x, "Equal", zero.s, in(x, j, 0).s, none.s, NULL);
    ctt_emit_op(x, "Reciprocal", made.s, in(x, j, 0).s, NULL);
    ctt_emit_op(x, "Where", j->out, zero.s, none.s, made.s, NULL);
}

static int act(struct ctt_emit *x, const struct job *j)
{
    static const struct {
        const char *word;
        void      (*put)(struct ctt_emit *x, const struct job *j);
    } kinds[CTT_ACT_KINDS] = {
        [CTT_ACT_RELU] = { "Relu", NULL },
        [CTT_ACT_SIGMOID] = { "Sigmoid", NULL },
        [CTT_ACT_TANH] = { "Tanh", NULL },
        [CTT_ACT_HSWISH] = { "HardSwish", NULL },
        [CTT_ACT_RELU6] = { NULL, relu6 },
        [CTT_ACT_HSIGMOID] = { NULL, hsigmoid },
        [CTT_ACT_SILU] = { NULL, silu },
        [CTT_ACT_GELU] = { NULL, gelu },
        [CTT_ACT_LEAKY] = { NULL, leaky },
        [CTT_ACT_ABS] = { "Abs", NULL },
        [CTT_ACT_INVERSE] = { NULL, inverse },
    };
    int kind = j->n->attr.act.kind, rc = 0;

    CTT_CHECK(kinds[kind].word || kinds[kind].put, CTT_EUNSUP, "%s: this kind "
              "of act is not written as ONNX", j->n->name);
    if (kinds[kind].put)
        kinds[kind].put(x, j);
    else
        ctt_emit_op(x, kinds[kind].word, j->out, in(x, j, 0).s, NULL);
out:
    return rc;
}

/* Over the channels, or over the pixels as one axis. */
static int softmax(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name row = in(x, j, 0), made = { "" };
    int over = j->n->attr.softmax.over == CTT_OVER_POSITIONS;
    int64_t dim[CTT_EMIT_RANK];
    int rank = ctt_emit_shape(x, j->i, 1, dim);

    if (over) {
        row = ctt_emit_temp(x);
        made = ctt_emit_temp(x);
        ctt_emit_reshape(x, in(x, j, 0).s,
                         (int64_t[]){ 1, j->n->out.c, -1 }, 3, row.s);
    }
    ctt_emit_op(x, "Softmax", over ? made.s : j->out, row.s, NULL);
    ctt_emit_int(x, "axis", over ? 2 : 1);
    if (over)
        ctt_emit_reshape(x, made.s, dim, rank, j->out);
    return 0;
}

static int lrn(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_op(x, "LRN", j->out, in(x, j, 0).s, NULL);
    ctt_emit_int(x, "size", j->n->attr.lrn.size);
    ctt_emit_real(x, "alpha", j->n->attr.lrn.alpha);
    ctt_emit_real(x, "beta", j->n->attr.lrn.beta);
    ctt_emit_real(x, "bias", j->n->attr.lrn.k);
    return 0;
}

static int add(struct ctt_emit *x, const struct job *j)
{
    const struct ctt_node *n = j->n;
    const char *kind = n->attr.add.minus ? "Sub" : "Add";
    int terms = n->nin + (n->attr.add.bias != 0);
    struct ctt_emit_name sum = in(x, j, 0);

    for (int k = 1; k < terms; k++) {
        struct ctt_emit_name next = ctt_emit_temp(x);
        struct ctt_emit_name term = k < n->nin ? in(x, j, k) :
                                    ctt_emit_vector(x, j->i, 0, 1);

        ctt_emit_op(x, k < n->nin ? kind : "Add",
                    k == terms - 1 ? j->out : next.s, sum.s, term.s, NULL);
        sum = next;
    }
    if (terms == 1)
        pass_on(x, j);
    return 0;
}

static int mul(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_op(x, "Mul", j->out, in(x, j, 0).s, in(x, j, 1).s, NULL);
    return 0;
}

static int lstm(struct ctt_emit *x, const struct job *j)
{
    enum { GATE_I, GATE_F, GATE_O, GATE_G, GATES };
    struct ctt_emit_name z[GATES], a[GATES], kept = ctt_emit_temp(x);
    struct ctt_emit_name made = ctt_emit_temp(x), shown = ctt_emit_temp(x);
    struct ctt_emit_name cell = { "" };

    for (int k = 0; k < GATES; k++)
        z[k] = ctt_emit_temp(x);
    ctt_emit_op(x, "Split", z[GATE_I].s, in(x, j, 0).s, NULL);
    for (int k = GATE_F; k < GATES; k++)
        ctt_emit_out(x, z[k].s);
    ctt_emit_int(x, "axis", 1);
    for (int k = 0; k < GATES; k++) {
        a[k] = ctt_emit_temp(x);
        ctt_emit_op(x, k == GATE_G ? "Tanh" : "Sigmoid", a[k].s, z[k].s, NULL);
    }
    snprintf(cell.s, sizeof(cell.s), "%s/cell", j->n->name);
    ctt_emit_op(x, "Mul", kept.s, a[GATE_F].s, in(x, j, 1).s, NULL);
    ctt_emit_op(x, "Mul", made.s, a[GATE_I].s, a[GATE_G].s, NULL);
    ctt_emit_op(x, "Add", cell.s, kept.s, made.s, NULL);
    ctt_emit_op(x, "Tanh", shown.s, cell.s, NULL);
    ctt_emit_op(x, "Mul", j->out, a[GATE_O].s, shown.s, NULL);
    return 0;
}

static int cell(struct ctt_emit *x, const struct job *j)
{
    struct ctt_emit_name from;

    snprintf(from.s, sizeof(from.s), "%s/cell",
             x->m->g->node[j->n->in[0]].name);
    ctt_emit_op(x, "Identity", j->out, from.s, NULL);
    return 0;
}

static int quant(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_round(x, &j->n->out, in(x, j, 0).s, j->out);
    return 0;
}

/* ---- values as they are, elsewhere ---- */

static int identity(struct ctt_emit *x, const struct job *j)
{
    pass_on(x, j);
    return 0;
}

static int slice(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_slice(x, in(x, j, 0).s, 1, j->n->attr.slice.from,
                   j->n->attr.slice.to, 1, j->out);
    return 0;
}

static int concat(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_op(x, "Concat", j->out, in(x, j, 0).s, NULL);
    for (int k = 1; k < j->n->nin; k++)
        ctt_emit_in(x, in(x, j, k).s);
    ctt_emit_int(x, "axis", 1);
    return 0;
}

/* The numbers in the order of the model, channels last, in which one pixel has
 * the same order as channels first. */
static int reshape(struct ctt_emit *x, const struct job *j)
{
    const struct ctt_tensor *t = &x->m->g->node[j->n->in[0]].out;
    const struct ctt_tensor *o = &j->n->out;
    int deep = ctt_emit_deep(x, j->i), rank = 4 + deep;
    struct ctt_emit_name last = in(x, j, 0), shaped = ctt_emit_temp(x);
    int64_t dim[CTT_EMIT_RANK] = { 1, o->d, o->h, o->w, o->c };

    if (ctt_rows(t) > 1) {
        last = ctt_emit_temp(x);
        transposed(x, in(x, j, 0).s, rank, 1, last.s);
    }
    if (ctt_rows(o) == 1) {
        ctt_emit_reshape(x, last.s, dim, ctt_emit_shape_of(o, deep, 1, dim),
                         j->out);
        return 0;
    }
    dim[!deep] = 1;
    ctt_emit_reshape(x, last.s, dim + !deep, rank, shaped.s);
    transposed(x, shaped.s, rank, 0, j->out);
    return 0;
}

/* ---- time ---- */

static int state(struct ctt_emit *x, const struct job *j)
{
    ctt_emit_delayed(x, j->n->source, j->n->attr.state.delay, j->out);
    return 0;
}

/* The packed values of a node as a depth, from the first that is shown on. */
static struct ctt_emit_name window_past(struct ctt_emit *x,
                                        const struct job *j)
{
    const struct ctt_window_attr *w = &j->n->attr.window;
    const struct ctt_tensor *t = &x->m->g->node[j->n->in[0]].out;
    int64_t depth = x->past[j->n->in[0]].depth;
    int64_t from = depth - (w->steps - 1) * (int64_t)w->every;
    struct ctt_emit_name a = ctt_emit_temp(x), b = ctt_emit_temp(x), c = b;

    ctt_emit_reshape(x, ctt_emit_packed(x, j->n->in[0]).s,
                     (int64_t[]){ 1, depth, t->c, t->h, t->w }, 5, a.s);
    ctt_emit_op(x, "Transpose", b.s, a.s, NULL);
    ctt_emit_ints(x, "perm", (int64_t[]){ 0, 2, 1, 3, 4 }, 5);
    if (from > 0 || w->every > 1) {
        c = ctt_emit_temp(x);
        ctt_emit_slice(x, b.s, 2, from, depth, w->every, c.s);
    }
    return c;
}

static int window(struct ctt_emit *x, const struct job *j)
{
    const struct ctt_tensor *t = &x->m->g->node[j->n->in[0]].out;
    int last = j->n->attr.window.steps == 1;
    struct ctt_emit_name now = ctt_emit_temp(x), past;
    int64_t dim[CTT_EMIT_RANK];

    ctt_emit_reshape(x, in(x, j, 0).s, dim,
                     ctt_emit_shape_of(t, ctt_emit_deep(x, j->i), 1, dim),
                     last ? j->out : now.s);
    if (last)
        return 0;
    past = window_past(x, j);
    ctt_emit_op(x, "Concat", j->out, past.s, now.s, NULL);
    ctt_emit_int(x, "axis", 2);
    return 0;
}

/* ---- all ---- */

/* Ops without a function are those of a trainer, of parts of a model, or of an
 * E3D-LSTM. */
static int (*const put[CTT_NOPS])(struct ctt_emit *x, const struct job *j) = {
    [CTT_OP_STATE] = state,       [CTT_OP_CELL] = cell,
    [CTT_OP_SLICE] = slice,       [CTT_OP_RESHAPE] = reshape,
    [CTT_OP_WINDOW] = window,     [CTT_OP_CONV] = put_conv,
    [CTT_OP_DECONV] = deconv,     [CTT_OP_POOL] = pool,
    [CTT_OP_UPSAMPLE] = upsample, [CTT_OP_NORM] = norm,
    [CTT_OP_ACT] = act,           [CTT_OP_ADD] = add,
    [CTT_OP_MUL] = mul,           [CTT_OP_CONCAT] = concat,
    [CTT_OP_LSTM] = lstm,         [CTT_OP_DROPOUT] = identity,
    [CTT_OP_QUANT] = quant,       [CTT_OP_SOFTMAX] = softmax,
    [CTT_OP_LRN] = lrn,
};

/* Quantised values that an op passes on are rounded again behind it, which
 * changes none: runtimes look for such pairs around each operator. */
int ctt_emit_node(struct ctt_emit *x, int node)
{
    const struct ctt_node *n = &x->m->g->node[node];
    int again = n->out.scale > 0 && n->op != CTT_OP_QUANT;
    struct ctt_emit_name out = ctt_emit_value(x, node);
    struct ctt_emit_name made = again ? ctt_emit_temp(x) : out;
    int rc = 0;

    CTT_CHECK(put[n->op], CTT_EUNSUP, "%s: the operation %s is not written "
              "as ONNX", n->name, ctt_ops[n->op].name);
    CTT_TRY(put[n->op](x, &(struct job){ n, node, made.s }));
    if (again)
        ctt_emit_round(x, &n->out, made.s, out.s);
out:
    return rc;
}
