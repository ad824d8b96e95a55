/* SPDX-License-Identifier: Apache-2.0
 * op.c: the attributes, weights and hooks that the rows of ops.def name, and
 * the table made of them. */
#include "net/op.h"
#include "net/shape.h"

#include <stdio.h>
#include <string.h>

#define FIELD(f) offsetof(union ctt_attr, f)
#define END { .name = NULL }
#define MANY CTT_MAX_SIZE

static const char *const act_kinds[] = {
#define ACT(E, word, ...) #word,
    CTT_ACTS(ACT)
#undef ACT
    NULL
};
static const char *const pool_kinds[] = { "max", "avg", NULL };
static const char *const norm_kinds[] = { "batch", "layer", NULL };
static const char *const overs[] = { "channels", "positions", NULL };
static const char *const loss_kinds[] = { "xent", "mse", "l1l2", "soft",
                                          "binary", NULL };
static const char *const fills[] = { "zero", "first", NULL };
static const char *const fits[] = { "crop", "stretch", "pad", NULL };
static const char *const colours[] = { "rgb", "bgr", "gray", NULL };
static const char *const normals[] = { "set", "clip", NULL };
static const char *const axes[] = { "rows", "channels", NULL };
static const char *const passes[] = { "forward", "backward", NULL };

static const struct ctt_opt input_attr[] = {
    { "d", CTT_INT, FIELD(input.d), "1", "depth", 1, MANY },
    { "h", CTT_INT, FIELD(input.h), "1", "height", 1, MANY },
    { "w", CTT_INT, FIELD(input.w), "1", "width", 1, MANY },
    { "c", CTT_INT, FIELD(input.c), NULL, "channels", 1, MANY },
    { "fps", CTT_FLOAT, FIELD(input.fps), "0", "frames per second; 0: the "
      "clip's own rate", 0, 1000 },
    { "mean", CTT_FLOAT3, FIELD(input.mean), "0", "subtracted from values in "
      "0..1; auto: convtt-train measures it", -1000, 1000, .word = "auto" },
    { "std", CTT_FLOAT3, FIELD(input.std), "1", "then divided by", 1e-6, 1e6,
      .word = "auto" },
    { "scale", CTT_FLOAT, FIELD(input.scale), "1", "fit=crop: size of the "
      "frame before the crop", 1, 4 },
    { "fit", CTT_CHOICE, FIELD(input.fit), "crop", "how frames of other "
      "shapes are fitted", .choices = fits },
    { "colour", CTT_CHOICE, FIELD(input.colour), "rgb", "order of channels",
      .choices = colours },
    { "normalise", CTT_CHOICE, FIELD(input.normalise), "set", "set: with mean "
      "and std; clip: with the mean and deviation of the frames seen so far",
      .choices = normals, .tags = CTT_OPT_QUIET },
    { "gamma", CTT_FLOAT, FIELD(input.gamma), "1", "power to which values in "
      "0..1 are raised first", 0.1, 10, .tags = CTT_OPT_QUIET }, END
};
static const struct ctt_opt state_attr[] = {
    { "of", CTT_STRING, FIELD(state.of), NULL, "node to delay" },
    { "like", CTT_STRING, FIELD(state.like), "", "node of the same size, if "
      "that node comes later" },
    { "c", CTT_INT, FIELD(state.c), "0", "channels, if that node comes later",
      0, MANY },
    { "delay", CTT_INT, FIELD(state.delay), "1", "steps", 1, 1000 },
    { "fill", CTT_CHOICE, FIELD(state.fill), "zero", "value of steps "
      "before the first", .choices = fills, .tags = CTT_OPT_QUIET }, END
};
static const struct ctt_opt reshape_attr[] = {
    { "d", CTT_INT, FIELD(reshape.d), "1", "depth; 0: the rest", 0, MANY },
    { "h", CTT_INT, FIELD(reshape.h), "1", "height; 0: the rest", 0,
      MANY },
    { "w", CTT_INT, FIELD(reshape.w), "1", "width; 0: the rest", 0, MANY },
    { "c", CTT_INT, FIELD(reshape.c), "0", "channels; 0: the rest", 0,
      MANY }, END
};
static const struct ctt_opt window_attr[] = {
    { "steps", CTT_INT, FIELD(window.steps), NULL, "values taken, the last "
      "one at the step asked", 1, 4096 },
    { "every", CTT_INT, FIELD(window.every), "1", "steps between them", 1,
      1000 },
    { "fill", CTT_CHOICE, FIELD(window.fill), "zero", "value of steps "
      "before the first", .choices = fills, .tags = CTT_OPT_QUIET },
    { "spread", CTT_INT, FIELD(window.spread), "0", "the values are spread "
      "over all steps so far", 0, 1, .tags = CTT_OPT_QUIET }, END
};
#define AFTER(op) \
    { "after", CTT_INT3, FIELD(op.after), "pad", "padding at the end of each " \
      "axis, less than the window; pad: as at the beginning", 0, 99, \
      .word = "pad", .tags = CTT_OPT_QUIET }
#define CONV \
    { "out", CTT_INT, FIELD(conv.out), NULL, "channels", 1, MANY }, \
    { "kernel", CTT_INT3, FIELD(conv.kernel), "1", \
      "depth,height,width of the window", 1, 4096 }, \
    { "stride", CTT_INT3, FIELD(conv.stride), "1", "stride", 1, 99 }, \
    { "pad", CTT_INT3, FIELD(conv.pad), "0", "zero padding", 0, 99 }, \
    { "bias", CTT_INT, FIELD(conv.bias), "1", "add a bias", 0, 1 }
static const struct ctt_opt conv_attr[] = {
    CONV,
    { "groups", CTT_INT, FIELD(conv.groups), "1", "parts of the channels, each "
      "convolved alone", 1, MANY, .tags = CTT_OPT_QUIET },
    AFTER(conv),
    { "dilation", CTT_INT3, FIELD(conv.dilation), "1", "pixels from tap to tap "
      "of the window", 1, 4096, .tags = CTT_OPT_QUIET }, END
};
static const struct ctt_opt deconv_attr[] = { CONV, END };
#undef CONV
static const struct ctt_opt pool_attr[] = {
    { "kind", CTT_CHOICE, FIELD(pool.kind), NULL, "function",
      .choices = pool_kinds },
    { "kernel", CTT_INT3, FIELD(pool.kernel), "0", "window; 0: the whole input",
      0, MANY },
    { "stride", CTT_INT3, FIELD(pool.stride), "0", "stride; 0: the window", 0,
      MANY },
    { "pad", CTT_INT3, FIELD(pool.pad), "0", "padding, ignored by max and "
      "avg", 0, 99 },
    AFTER(pool), END
};
#undef AFTER
static const struct ctt_opt upsample_attr[] = {
    { "by", CTT_INT3, FIELD(upsample.by), NULL, "depth,height,width of the "
      "block that a pixel becomes", 1, 99 }, END
};
static const struct ctt_opt embed_attr[] = {
    { "vocab", CTT_INT, FIELD(embed.vocab), NULL, "symbols: rows of the table",
      1, MANY },
    { "out", CTT_INT, FIELD(embed.out), NULL, "channels", 1, MANY }, END
};
static const struct ctt_opt patch_attr[] = {
    { "by", CTT_INT3, FIELD(patch.by), NULL, "depth,height,width of the block "
      "that becomes a pixel", 1, 99 },
    { "back", CTT_INT, FIELD(patch.back), "0", "1: a pixel becomes the block",
      0, 1 }, END
};
static const struct ctt_opt norm_attr[] = {
    { "kind", CTT_CHOICE, FIELD(norm.kind), NULL, "batch: per channel, over "
      "batch, time and pixels; layer: per pixel, over its channels",
      .choices = norm_kinds },
    { "eps", CTT_FLOAT, FIELD(norm.eps), "1e-5", "added to the variance",
      1e-12, 1 },
    { "momentum", CTT_FLOAT, FIELD(norm.momentum), "0.1", "of the running "
      "statistics (batch)", 0, 1 }, END
};
static const struct ctt_opt groupnorm_attr[] = {
    { "groups", CTT_INT, FIELD(groupnorm.groups), "1", "parts of the channels, "
      "each with statistics of its own", 1, MANY },
    { "eps", CTT_FLOAT, FIELD(groupnorm.eps), "1e-5", "added to the variance",
      1e-12, 1 }, END
};
static const struct ctt_opt act_attr[] = {
    { "kind", CTT_CHOICE, FIELD(act.kind), NULL, "function",
      .choices = act_kinds },
    { "slope", CTT_FLOAT, FIELD(act.slope), "0.01", "factor of negative "
      "numbers", 0, 100, .needs = "kind=leaky", .tags = CTT_OPT_QUIET }, END
};
static const struct ctt_opt softmax_attr[] = {
    { "over", CTT_CHOICE, FIELD(softmax.over), NULL, "numbers that add up to "
      "1: the channels of a pixel, or the pixels of a channel",
      .choices = overs }, END
};
static const struct ctt_opt lrn_attr[] = {
    { "size", CTT_INT, FIELD(lrn.size), NULL, "channels of a sum of squares", 1,
      MANY },
    { "alpha", CTT_FLOAT, FIELD(lrn.alpha), "0.0001", "factor of their mean "
      "square", 0, 1e6 },
    { "beta", CTT_FLOAT, FIELD(lrn.beta), "0.75", "exponent", 0, 100 },
    { "k", CTT_FLOAT, FIELD(lrn.k), "1", "added to the mean square", 1e-6,
      1e6 }, END
};
static const struct ctt_opt add_attr[] = {
    { "bias", CTT_INT, FIELD(add.bias), "0", "add a bias", 0, 1 },
    { "minus", CTT_INT, FIELD(add.minus), "0", "subtract all inputs but the "
      "first", 0, 1 }, END
};
static const struct ctt_opt slice_attr[] = {
    { "from", CTT_INT, FIELD(slice.from), "0", "first channel", 0, MANY },
    { "to", CTT_INT, FIELD(slice.to), NULL, "end channel", 1, MANY }, END
};
static const struct ctt_opt dropout_attr[] = {
    { "rate", CTT_FLOAT, FIELD(dropout.rate), "0.5", "share set to zero", 0,
      0.99 }, END
};
static const struct ctt_opt quant_attr[] = {
    { "scale", CTT_FLOAT, FIELD(quant.scale), NULL, "step between two values",
      1e-20, 1e20 },
    { "zero", CTT_INT, FIELD(quant.zero), "128", "the byte that stands for 0",
      0, 255 }, END
};
static const struct ctt_opt loss_attr[] = {
    { "kind", CTT_CHOICE, FIELD(loss.kind), NULL, "function",
      .choices = loss_kinds },
    { "smooth", CTT_FLOAT, FIELD(loss.smooth), "0", "label smoothing", 0,
      0.9 },
    { "temperature", CTT_FLOAT, FIELD(loss.temperature), "1", "of the second "
      "half of a soft or binary target", 0.01, 1000 }, END
};
static const struct ctt_opt halo_attr[] = {
    { "up", CTT_INT, FIELD(halo.up), "0", "rows of the part above that are "
      "added; negative: own rows that are left out", -MANY, MANY },
    { "down", CTT_INT, FIELD(halo.down), "0", "the same of the part below",
      -MANY, MANY },
    { "above", CTT_INT, FIELD(halo.above), "0", "rows that the part above "
      "takes of this one", 0, MANY },
    { "below", CTT_INT, FIELD(halo.below), "0", "the same of the part below",
      0, MANY }, END
};
static const struct ctt_opt collect_attr[] = {
    { "of", CTT_CHOICE, FIELD(collect.of), NULL, "the divided axis",
      .choices = axes },
    { "pass", CTT_CHOICE, FIELD(collect.pass), "forward", "forward: of parts "
      "the whole, whose gradient is divided; backward: the reverse",
      .choices = passes },
    { "part", CTT_INT, FIELD(collect.part), "0", "number of this part", 0,
      MANY },
    { "parts", CTT_INT, FIELD(collect.parts), "1", "how many there are", 1,
      MANY },
    { "all", CTT_INT, FIELD(collect.all), NULL, "rows or channels of the "
      "whole", 1, MANY }, END
};
static const struct ctt_opt total_attr[] = {
    { "pass", CTT_CHOICE, FIELD(total.pass), "forward", "the sum is of: "
      "values, or gradients", .choices = passes }, END
};
static const struct ctt_opt none[] = { END };
#define cell_attr   none
#define ahead_attr  none
#define attend_attr none
#define mul_attr    none
#define concat_attr none
#define lstm_attr   none
#define mix_attr    none

/* ---- weights ---- */

static const struct ctt_weight_traits none_weights[CTT_MAX_W];
static const struct ctt_weight_traits conv_weights[CTT_MAX_W] = {
    { "w", CTT_ROLE_KERNEL, CTT_START_SCALED },
    { "b", CTT_ROLE_VECTOR, CTT_START_ZERO },
};
static const struct ctt_weight_traits bias_weights[CTT_MAX_W] = {
    { "b", CTT_ROLE_VECTOR, CTT_START_ZERO },
};
static const struct ctt_weight_traits table_weights[CTT_MAX_W] = {
    { "table", CTT_ROLE_VECTOR, CTT_START_NORMAL },
};
static const struct ctt_weight_traits affine_weights[CTT_MAX_W] = {
    { "gamma", CTT_ROLE_VECTOR, CTT_START_ONE },
    { "beta", CTT_ROLE_VECTOR, CTT_START_ZERO },
};
static const struct ctt_weight_traits norm_weights[CTT_MAX_W] = {
    { "gamma", CTT_ROLE_VECTOR, CTT_START_ONE },
    { "beta", CTT_ROLE_VECTOR, CTT_START_ZERO },
    { "mean", CTT_ROLE_STATISTIC, CTT_START_ZERO },
    { "var", CTT_ROLE_STATISTIC, CTT_START_ONE },
};

/* ---- why a call must not be split ---- */

static enum ctt_together together_parts(const struct ctt_node *n)
{
    (void)n;
    return CTT_PARTS;
}

static enum ctt_together together_chance(const struct ctt_node *n)
{
    (void)n;
    return CTT_CHANCE;
}

static enum ctt_together together_if_batch(const struct ctt_node *n)
{
    return n->attr.norm.kind == CTT_NORM_BATCH ? CTT_BATCH : CTT_PARTS;
}

static enum ctt_together together_if_classes(const struct ctt_node *n)
{
    return n->attr.loss.kind == CTT_LOSS_XENT ? CTT_NUMBERS : CTT_PARTS;
}

/* ---- whether a kernel may work in place ---- */

static int in_place_never(const struct ctt_node *n, int backward)
{
    (void)n;
    (void)backward;
    return 0;
}

static int in_place_always(const struct ctt_node *n, int backward)
{
    (void)n;
    (void)backward;
    return 1;
}

/* A kernel reads a row before it writes it, but kind=layer reads the whole
 * gradient a second time, for the gradients of its weights. */
static int in_place_norm(const struct ctt_node *n, int backward)
{
    return !backward || n->attr.norm.kind == CTT_NORM_BATCH;
}

/* ---- values that the backward kernel reads ---- */

#define READS(name) \
    static unsigned reads_##name(const struct ctt_node *n, unsigned din, int dw)

READS(nothing) { (void)n; (void)din; (void)dw; return CTT_NOTHING; }
READS(first)   { (void)n; (void)din; (void)dw; return CTT_IN0; }
READS(third)   { (void)n; (void)din; (void)dw; return CTT_IN2; }
READS(both)    { (void)n; (void)din; (void)dw; return CTT_IN0 | CTT_IN1; }

READS(act)
{
    (void)din;
    (void)dw;
    return ctt_act_reads_input(n->attr.act.kind) ? CTT_IN0 : CTT_READS_OUT;
}
READS(all)
{
    return reads_both(n, din, dw) | CTT_IN2 | CTT_READS_OUT;
}
READS(result)  { (void)n; (void)din; (void)dw; return CTT_READS_OUT; }
READS(for_dw)  { (void)n; (void)din; return dw ? CTT_IN0 : CTT_NOTHING; }

/* For the gradient of each of two inputs, the other one. */
READS(other)
{
    (void)n;
    (void)dw;
    return (din & CTT_IN0 ? CTT_IN1 : 0) | (din & CTT_IN1 ? CTT_IN0 : 0);
}

READS(if_max)
{
    (void)din;
    (void)dw;
    return n->attr.pool.kind == CTT_POOL_MAX ? CTT_IN0 | CTT_READS_OUT
                                             : CTT_NOTHING;
}

/* ---- activations ---- */

enum { SLOPE, PLAIN };
enum { LINEAR, RECTIFIER };

static const struct { char plain, rectifies; } acts[] = {
#define ACT(E, word, of, more, like) { more, like },
    CTT_ACTS(ACT)
#undef ACT
};

int ctt_act_is_plain(const struct ctt_node *n)
{
    return acts[n->attr.act.kind].plain;
}

int ctt_act_rectifies(const struct ctt_node *n)
{
    return acts[n->attr.act.kind].rectifies;
}

/* ---- the form of the result ---- */

static enum ctt_form form_free(const struct ctt_node *n)
{
    (void)n;
    return CTT_FORM_FREE;
}

static enum ctt_form form_kept(const struct ctt_node *n)
{
    (void)n;
    return CTT_FORM_KEPT;
}

static enum ctt_form form_own(const struct ctt_node *n)
{
    (void)n;
    return CTT_FORM_OWN;
}

static enum ctt_form form_if_max(const struct ctt_node *n)
{
    return n->attr.pool.kind == CTT_POOL_MAX ? CTT_FORM_KEPT : CTT_FORM_FREE;
}

static enum ctt_form form_if_back(const struct ctt_node *n)
{
    return n->attr.total.pass == CTT_IN_BACKWARD ? CTT_FORM_KEPT
                                                 : CTT_FORM_FREE;
}

/* ---- the table ---- */

const struct ctt_op ctt_ops[CTT_NOPS] = {
#define OP(E, s, memory, lo, hi, list, exact, reach, together, in_place, \
           reads, result, weights, macs, takes, form, ties, rows,        \
           constant, width, use)                                         \
    [CTT_OP_##E] = { #s, s##_attr, ctt_shape_##s, CTT_##memory, lo, hi,  \
                     CTT_##list, CTT_##exact, CTT_REACH_##reach,         \
                     together_##together, in_place_##in_place,           \
                     reads_##reads, CTT_RESULT_##result,                 \
                     weights##_weights, CTT_MACS_##macs,                 \
                     CTT_TAKES_##takes, form_##form, CTT_GROUPS_##ties, \
                     CTT_ROWS_##rows, CTT_CONSTANT_##constant,           \
                     CTT_WIDTH_##width, use },
#include "net/ops.def"
#undef OP
};

static void append_three(char *text, const char *key, const int v[3])
{
    size_t n = strlen(text);

    snprintf(text + n, CTT_SLIDE_TEXT - n, " %s=%d,%d,%d", key, v[0], v[1],
             v[2]);
}

void ctt_slide_text(const struct ctt_slide *s, char text[CTT_SLIDE_TEXT])
{
    text[0] = '\0';
    append_three(text, "kernel", s->kernel);
    append_three(text, "stride", s->stride);
    append_three(text, "pad", s->pad);
    if (memcmp(s->after, s->pad, sizeof(s->pad)) != 0)
        append_three(text, "after", s->after);
    if (s->dilation[0] * s->dilation[1] * s->dilation[2] > 1)
        append_three(text, "dilation", s->dilation);
}

int ctt_op_find(const char *word)
{
    for (int i = 0; i < CTT_NOPS; i++)
        if (strcmp(ctt_ops[i].name, word) == 0)
            return i;
    return -1;
}

int64_t ctt_node_macs(const struct ctt_graph *g, int node)
{
    const struct ctt_node *n = &g->node[node];
    enum ctt_macs per = ctt_ops[n->op].macs;

    if (per == CTT_MACS_NONE)
        return 0;
    if (per == CTT_MACS_PAIRS)
        return 2 * ctt_rows(&n->out) * ctt_volume(&g->node[n->in[1]].out);
    return ctt_rows(per == CTT_MACS_OUT ? &n->out : &g->node[n->in[0]].out) *
           n->out.c * (ctt_volume(&n->w[0]) / n->w[0].n);
}

void ctt_graph_macs(const struct ctt_graph *g, double *frame, double *answer)
{
    *frame = *answer = 0;
    for (int i = 0; i < g->count; i++)
        *(i < g->clip ? frame : answer) += (double)ctt_node_macs(g, i);
}
