/* SPDX-License-Identifier: Apache-2.0
 * op.h: one row of traits per op, made from ops.def.  Traits are facts about
 * the op itself; their readers decide the consequences for memory, kernels,
 * training or files. */
#ifndef CTT_OP_H
#define CTT_OP_H

#include "net/graph.h"

#include <string.h>

/* The origin of the result.  COMPUTED: kernels write it into memory of its
 * own.  VIEW: no kernel; it is (part of) the memory of ctt_viewed(n).  GIVEN:
 * memory that the caller (input) or the input's kernel (cell) writes. */
enum ctt_op_memory { CTT_COMPUTED, CTT_VIEW, CTT_GIVEN };

/* The lists of mixed precision.  WHITE: computed in 16 bits: matrix products,
 * which become faster, and the gates computed from them.  BLACK: in 32 bits
 * unless the user says otherwise: cell states, which are sums over all steps.
 * GREY: in the type of the inputs.  STATISTICS: as GREY, but its statistics are
 * floats (as are all sums inside kernels).  FLOATS: always in 32 bits: losses,
 * whose gradient is multiplied by the loss scale. */
enum ctt_amp_list { CTT_WHITE, CTT_BLACK, CTT_GREY, CTT_STATISTICS,
                    CTT_FLOATS };

/* Sets of a node's values: its inputs, its result. */
enum { CTT_NOTHING = 0, CTT_IN0 = 1, CTT_IN1 = 2, CTT_IN2 = 4,
       CTT_READS_OUT = 1 << 8 };

/* Rows (the channels of a pixel) of the inputs on which a row of the result
 * depends: the same row; rows of the same sample and step; other steps as
 * well. */
enum ctt_reach { CTT_REACH_ROW, CTT_REACH_SAMPLE, CTT_REACH_STEPS };

/* Reasons not to split a call into several, each with some of its rows (or
 * samples, if a row depends on its whole sample).  PARTS: it may be split.
 * CHANCE: in training it draws random numbers, counted from the first row.
 * BATCH: in training it computes statistics of all rows and updates running
 * ones.  NUMBERS: its error message contains the index of a row. */
enum ctt_together { CTT_PARTS, CTT_CHANCE, CTT_BATCH, CTT_NUMBERS };

/* Operations on the result in place.  STAYS: none.  SUM: a conv that
 * has it as its plus input may add its own result to it, since the backward
 * kernel does not read it.  ACT: as SUM, and the forward kernel can apply an
 * act to it (operator fusion). */
enum ctt_result_use { CTT_RESULT_STAYS, CTT_RESULT_SUM, CTT_RESULT_ACT };

/* KERNEL: the matrix of a product, of shape (out, kd, kh, kw, in): weight decay
 * and compression apply to it, and results of 16 bits are computed with a copy
 * of 16 bits.  VECTOR: one number per channel, or a row of them per symbol.
 * STATISTIC: as VECTOR, but updated by the forward kernel, not by gradients. */
enum ctt_weight_role { CTT_ROLE_KERNEL, CTT_ROLE_VECTOR, CTT_ROLE_STATISTIC };

/* First values.  SCALED: normal, with a deviation by the size of the kernel and
 * by the reader of the result (enum ctt_takes).  NORMAL: with deviation 1, as
 * the readers of a result expect. */
enum ctt_weight_start { CTT_START_ZERO, CTT_START_ONE, CTT_START_SCALED,
                        CTT_START_NORMAL };

/* name: as in files; never change one.  NULL: there is no such weight. */
struct ctt_weight_traits {
    const char           *name;
    enum ctt_weight_role  role;
    enum ctt_weight_start start;
};

/* Multiplications: none that count; each element of the kernel w[0] once per
 * pixel of the result, or of the input; each number of the second input twice
 * per pixel of the first. */
enum ctt_macs { CTT_MACS_NONE, CTT_MACS_OUT, CTT_MACS_IN, CTT_MACS_PAIRS };

/* Dependence of a conv's initial weights on the op that reads its result.  ANY:
 * nothing.  ACT: the kind of act.  GATES: the gates of an LSTM. PASSED: the
 * readers of that op, as its output is distributed much like its input. */
enum ctt_takes { CTT_TAKES_ANY, CTT_TAKES_PASSED, CTT_TAKES_ACT,
                 CTT_TAKES_GATES };

/* The values that the result can have.  FREE: any.  OWN: those given by the
 * node's attributes.  KEPT: those of its inputs, as the op only selects or
 * repeats them; if the inputs have one form, the result has it. */
enum ctt_form { CTT_FORM_FREE, CTT_FORM_OWN, CTT_FORM_KEPT };

/* Channels of the inputs and of the result that can only be removed together
 * (net/rewrite/channel_groups.h).  WHOLE: none can be.  ALONE:
 * channel j of each input and of the result.  NORM: likewise, but a norm over
 * the channels is WHOLE.  SLICE, RESHAPE, CONCAT: those that hold the same
 * numbers.  CONV: those of the result and of plus=; with groups also those that
 * it reads.  LSTM: channel j of the states, and gates i, f, o, g of channel j.
 * */
enum ctt_channel_groups_rule {
    CTT_GROUPS_WHOLE,
    CTT_GROUPS_ALONE,
    CTT_GROUPS_NORM,
    CTT_GROUPS_SLICE,
    CTT_GROUPS_RESHAPE,
    CTT_GROUPS_CONCAT,
    CTT_GROUPS_CONV,
    CTT_GROUPS_LSTM,
    CTT_GROUPS_RULES
};

/* Rows of the inputs' images that a row of the result's image needs, for a
 * graph divided into bands of rows (net/rewrite/bands.c).  WHOLE: every row, or
 * unknown.  SAME: the row at the same place.  SLIDES: the rows under a kernel.
 * COPIES: the one row of which it is a copy. */
enum ctt_rows_rule { CTT_ROWS_WHOLE, CTT_ROWS_SAME, CTT_ROWS_SLIDES,
                     CTT_ROWS_COPIES };

/* The result for an input channel that holds one number everywhere
 * (net/rewrite/edit.h).  UNKNOWN: not computed, or the op mixes
 * channels.  SAME: that number.  ACT, WINDOW, NORM: the formula of that op. */
enum ctt_constant_rule { CTT_CONSTANT_UNKNOWN, CTT_CONSTANT_SAME,
                         CTT_CONSTANT_ACT, CTT_CONSTANT_WINDOW,
                         CTT_CONSTANT_NORM, CTT_CONSTANT_RULES };

/* The attributes of a line that give the number of channels of its result, for
 * edits that remove channels (net/rewrite/edit_thin.c).  INPUTS: none that can
 * change.  OUT: out=, and groups= of a depthwise conv.  LIKE: c=, which only
 * stands beside like=.  RANGE: from= and to=.  C: c=. */
enum ctt_width_rule { CTT_WIDTH_INPUTS, CTT_WIDTH_OUT, CTT_WIDTH_LIKE,
                      CTT_WIDTH_RANGE, CTT_WIDTH_C, CTT_WIDTH_RULES };

/* A row of traits.  Its hooks get a node of this op:
 *   shape     (net/shape.h) sets out, w and nw; an error names the node;
 *   together  enum ctt_together, which may depend on the attributes;
 *   in_place  1 if a kernel may write its result over its first input
 *             (backward: the gradient of the input over that of the result);
 *   form      enum ctt_form;
 *   reads     the values that the backward kernel reads if it computes the
 *             gradient of input k (bit k of din) and of w[0] (dw): IN0, IN1,
 *             IN2, READS_OUT; other values need not be available. */
struct ctt_op {
    const char           *name;
    const struct ctt_opt *attr;
    int                   (*shape)(const struct ctt_graph *g,
                                   struct ctt_node *n);
    enum ctt_op_memory    memory;
    int                   min_in, max_in;    /* inputs */
    enum ctt_amp_list     list;
    unsigned              exact;    /* inputs never rounded to 16 bits */
    enum ctt_reach        reach;
    enum ctt_together     (*together)(const struct ctt_node *n);
    int                   (*in_place)(const struct ctt_node *n, int backward);
    unsigned              (*reads)(const struct ctt_node *n, unsigned din,
                                   int dw);
    enum ctt_result_use   result;
    const struct ctt_weight_traits *weight;    /* CTT_MAX_W of them */
    enum ctt_macs         macs;
    enum ctt_takes        takes;
    enum ctt_form         (*form)(const struct ctt_node *n);
    enum ctt_channel_groups_rule ties;
    enum ctt_rows_rule    rows;
    enum ctt_constant_rule constant;
    enum ctt_width_rule   width;
    const char           *use;    /* one line */
};

extern const struct ctt_op ctt_ops[CTT_NOPS];

/* The index of the op with that word, or -1. */
int ctt_op_find(const char *word);

/* The window of a conv, deconv or pool along depth, rows and columns: taps,
 * pixels from window to window, padding before and after the axis, and pixels
 * from tap to tap. */
struct ctt_slide { int kernel[3], stride[3], pad[3], after[3], dilation[3]; };

static inline struct ctt_slide ctt_slide_of(const struct ctt_node *n)
{
    struct ctt_slide s = { .dilation = { 1, 1, 1 } };
    int pool = n->op == CTT_OP_POOL;
    const int *after = pool ? n->attr.pool.after : n->attr.conv.after;

    memcpy(s.kernel, pool ? n->attr.pool.kernel : n->attr.conv.kernel,
           sizeof(s.kernel));
    memcpy(s.stride, pool ? n->attr.pool.stride : n->attr.conv.stride,
           sizeof(s.stride));
    memcpy(s.pad, pool ? n->attr.pool.pad : n->attr.conv.pad, sizeof(s.pad));
    for (int i = 0; i < 3; i++)
        s.after[i] = after[i] == CTT_OPT_WORD ? s.pad[i] : after[i];
    if (!pool)
        memcpy(s.dilation, n->attr.conv.dilation, sizeof(s.dilation));
    return s;
}

/* The same as keys of a line: " kernel=1,3,3 stride=..."; those that have their
 * defaults are left out from after= on. */
enum { CTT_SLIDE_TEXT = 256 };
void ctt_slide_text(const struct ctt_slide *s, char text[CTT_SLIDE_TEXT]);

/* Pixels from the first to the last tap, both included. */
static inline int64_t ctt_slide_span(const struct ctt_slide *s, int axis)
{
    return (int64_t)(s->kernel[axis] - 1) * s->dilation[axis] + 1;
}

/* The node whose memory a VIEW shows. */
static inline int ctt_viewed(const struct ctt_node *n)
{
    return n->source >= 0 ? n->source : n->in[0];
}

/* 1 if w[k] is the kernel of a matrix product. */
static inline int ctt_is_kernel(const struct ctt_node *n, int k)
{
    const struct ctt_weight_traits *w = &ctt_ops[n->op].weight[k];

    return w->name && w->role == CTT_ROLE_KERNEL;
}

/* 1 if the node multiplies by a kernel w[0]: conv, deconv. */
static inline int ctt_is_conv(const struct ctt_node *n)
{
    return ctt_is_kernel(n, 0);
}

/* 1 if the node keeps running statistics and its forward kernel computes those
 * of all rows of a call. */
static inline int ctt_is_batch_norm(const struct ctt_node *n)
{
    return ctt_ops[n->op].together(n) == CTT_BATCH;
}

/* 1 if kernels of other ops apply this act: they know no attribute but kind. */
int ctt_act_is_plain(const struct ctt_node *n);

/* 1 if the act's result is, on the whole, its input or about 0, as of a relu,
 * for the scale of the weights before it. */
int ctt_act_rectifies(const struct ctt_node *n);

/* 1 if the node is an act that makes every negative number 0. */
static inline int ctt_is_relu(const struct ctt_node *n)
{
    return n->op == CTT_OP_ACT && (n->attr.act.kind == CTT_ACT_RELU ||
                                   n->attr.act.kind == CTT_ACT_RELU6);
}

/* 1 if the node is a conv of which each result reads some of the channels. */
static inline int ctt_is_grouped(const struct ctt_node *n)
{
    return n->op == CTT_OP_CONV && n->attr.conv.groups > 1;
}

/* 1 if the node only passes values between the processes that share a graph. */
static inline int ctt_is_exchange(const struct ctt_node *n)
{
    return n->op == CTT_OP_HALO || n->op == CTT_OP_COLLECT ||
           n->op == CTT_OP_TOTAL;
}

/* The nodes that a node's values are made of, k = 0 ..: its inputs; of a state
 * the node that it delays. */
static inline int ctt_node_inputs(const struct ctt_node *n)
{
    return n->source >= 0 ? 1 : n->nin;
}

static inline int ctt_node_input(const struct ctt_node *n, int k)
{
    return n->source >= 0 ? n->source : n->in[k];
}

/* The number of inputs of other nodes, states included, that are this node. */
static inline int ctt_node_readers(const struct ctt_graph *g, int node)
{
    int readers = 0;

    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < ctt_node_inputs(&g->node[i]); k++)
            readers += ctt_node_input(&g->node[i], k) == node;
    return readers;
}

/* 1 if input k is read only in feedback steps: the second of a mix. */
static inline int ctt_is_feedback(const struct ctt_node *n, int k)
{
    return n->op == CTT_OP_MIX && k == 1;
}

#endif
