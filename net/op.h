/* SPDX-License-Identifier: Apache-2.0
 * op.h: what varies by op: one row of traits per op, made from ops.def.  Traits
 * are facts about the op itself; what follows from them for memory, kernels,
 * training or files is decided where they are read. */
#ifndef CTT_OP_H
#define CTT_OP_H

#include "net/graph.h"

/* Where the result comes from.  COMPUTED: kernels write it into memory of its
 * own.  VIEW: no kernel; it is another name for the memory of ctt_viewed(n).
 * GIVEN: memory that somebody else writes: the caller (input), or the kernel of
 * the input (cell). */
enum ctt_op_memory { CTT_COMPUTED, CTT_VIEW, CTT_GIVEN };

/* The lists of mixed precision.  WHITE: computed in 16 bits: matrix products,
 * which gain by it, and the gates that they make.  BLACK: in 32 unless the
 * user says otherwise: cell states, which are sums over all steps.  GREY: in
 * the type of what comes in.  STATISTICS: as GREY, but its statistics are
 * floats (as all sums inside kernels are).  FLOATS: always in 32: losses, whose
 * gradient is where the loss scale comes in. */
enum ctt_amp_list { CTT_WHITE, CTT_BLACK, CTT_GREY, CTT_STATISTICS,
                    CTT_FLOATS };

/* Sets of a node's values: its inputs, its result. */
enum { CTT_NOTHING = 0, CTT_IN0 = 1, CTT_IN1 = 2, CTT_IN2 = 4,
       CTT_READS_OUT = 1 << 8 };

/* What of its inputs a row (the channels of a pixel) of the result depends on:
 * the same rows; rows of the same sample and step; other steps as well. */
enum ctt_reach { CTT_REACH_ROW, CTT_REACH_SAMPLE, CTT_REACH_STEPS };

/* Why a call must not be cut into several calls, each with some of its rows (or
 * samples, if a row depends on its whole sample).  PARTS: it may be cut.
 * CHANCE: in training it draws random numbers, counted from the first row.
 * BATCH: in training it takes statistics of all rows, and updates running ones.
 * NUMBERS: its error message gives the number of a row. */
enum ctt_together { CTT_PARTS, CTT_CHANCE, CTT_BATCH, CTT_NUMBERS };

/* What may be done to the result where it lies.  STAYS: nothing.  SUM: a conv
 * that has it as its plus input may add its own result to it, since the
 * backward kernel does not read it.  ACT: as SUM, and the forward kernel
 * applies an act to it if the call says so. */
enum ctt_result_use { CTT_RESULT_STAYS, CTT_RESULT_SUM, CTT_RESULT_ACT };

/* KERNEL: the matrix of a product, of shape (out, kd, kh, kw, in): weight decay
 * and compression apply to it, and results of 16 bits are computed with a copy
 * of 16 bits.  VECTOR: one number per channel.  STATISTIC: as VECTOR, but
 * updated by the forward kernel, not by gradients. */
enum ctt_weight_role { CTT_ROLE_KERNEL, CTT_ROLE_VECTOR, CTT_ROLE_STATISTIC };

/* First values.  SCALED: normal, with a deviation by the size of the kernel and
 * by what reads the result (enum ctt_takes). */
enum ctt_weight_start { CTT_START_ZERO, CTT_START_ONE, CTT_START_SCALED };

/* name: as in files; never change one.  NULL: there is no such weight. */
struct ctt_weight_traits {
    const char           *name;
    enum ctt_weight_role  role;
    enum ctt_weight_start start;
};

/* Multiplications: none that count; each element of the kernel w[0] once per
 * pixel of the result, or of the input. */
enum ctt_macs { CTT_MACS_NONE, CTT_MACS_OUT, CTT_MACS_IN };

/* What initial weights must know of the reader of their result.  PASSED: ask
 * the reader's own readers, its values are much like those it reads.  ACT: the
 * kind of act.  GATES: the gates of an LSTM.  ANY: nothing. */
enum ctt_takes { CTT_TAKES_ANY, CTT_TAKES_PASSED, CTT_TAKES_ACT,
                 CTT_TAKES_GATES };

/* A row.  Hooks get a node of this op:
 *   shape     (net/shape.h) sets out, w and nw; an error names the node;
 *   together  as above, by the kind of the node;
 *   in_place  1 if a kernel may write its result over its first input
 *             (backward: the gradient of that over the gradient of the result);
 *   reads     the values that the backward kernel reads, if bit k of din says
 *             that the gradient of input k is wanted, and dw that of w[0];
 *             others need not be there. */
struct ctt_op {
    const char           *name;
    const struct ctt_opt *attr;
    int                   (*shape)(const struct ctt_graph *g,
                                   struct ctt_node *n);
    enum ctt_op_memory    memory;
    int                   min_in, max_in;
    enum ctt_amp_list     list;
    unsigned              exact;
    enum ctt_reach        reach;
    enum ctt_together     (*together)(const struct ctt_node *n);
    int                   (*in_place)(const struct ctt_node *n, int backward);
    unsigned              (*reads)(const struct ctt_node *n, unsigned din,
                                   int dw);
    enum ctt_result_use   result;
    const struct ctt_weight_traits *weight;    /* CTT_MAX_W of them */
    enum ctt_macs         macs;
    enum ctt_takes        takes;
};

extern const struct ctt_op ctt_ops[CTT_NOPS];

/* The index of the op with that word, or -1. */
int ctt_op_find(const char *word);

/* The node whose memory a VIEW is a name for. */
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

/* 1 if it keeps running statistics, and those of a call are of all its rows. */
static inline int ctt_is_batch_norm(const struct ctt_node *n)
{
    return ctt_ops[n->op].together(n) == CTT_BATCH;
}

/* 1 if input k is read only in feedback steps: the second of a mix. */
static inline int ctt_is_feedback(const struct ctt_node *n, int k)
{
    return n->op == CTT_OP_MIX && k == 1;
}

#endif
