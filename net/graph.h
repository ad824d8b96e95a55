/* SPDX-License-Identifier: Apache-2.0
 * graph.h: what a model is: nodes in execution order, each with its op, its
 * attributes, its inputs, and the shapes that follow from them.  No numbers,
 * no device, no batch: shapes have n = 1, the caller says how many. */
#ifndef CTT_GRAPH_H
#define CTT_GRAPH_H

#include "net/opt.h"

enum ctt_opcode {
#define OP(E, ...) CTT_OP_##E,
#include "net/ops.def"
#undef OP
    CTT_NOPS
};

enum { CTT_MAX_IN = 8, CTT_MAX_W = 4, CTT_NAME = 48 };
enum { CTT_MAX_NODES = 1 << 16, CTT_MAX_LINE = 2048 };
enum { CTT_MAX_SIZE = 1 << 20 };    /* of any axis of a value */
#define CTT_MAX_VOLUME (INT64_C(1) << 40)    /* of a tensor, a block */

/* Values of choice attributes; the words stand in op.c. */
enum ctt_act_kind  { CTT_ACT_RELU, CTT_ACT_SIGMOID, CTT_ACT_TANH };
enum ctt_pool_kind { CTT_POOL_MAX, CTT_POOL_AVG };
enum ctt_norm_kind { CTT_NORM_BATCH, CTT_NORM_LAYER };
enum ctt_loss_kind { CTT_LOSS_XENT, CTT_LOSS_MSE, CTT_LOSS_L1L2 };
enum ctt_fit       { CTT_FIT_CROP, CTT_FIT_STRETCH, CTT_FIT_PAD };
enum ctt_colour    { CTT_RGB, CTT_BGR, CTT_GRAY };

/* What a model wants of its frames; video/ makes them so. */
struct ctt_input {
    int   d, h, w, c;
    float fps;           /* frames a second it is resampled to; 0: as is */
    float mean[3], std[3];    /* of a channel, for values in 0..1 */
    float scale;         /* fit=crop: the frame covers scale * (w, h) first */
    int   fit, colour;
};

union ctt_attr {
    struct ctt_input input;
    struct { const char *of, *like; int delay, c; } state;
    struct { int d, h, w, c; } reshape;
    struct { int steps, every; } window;
    struct { int out, kernel[3], stride[3], pad[3], bias; } conv; /* deconv */
    struct { int kind, kernel[3], stride[3], pad[3]; } pool;
    struct { int by[3]; } upsample;
    struct { int kind; float eps, momentum; } norm;
    struct { int kind; } act;
    struct { int bias, minus; } add;    /* a number a channel is added as
                                           well; in[1..] are subtracted */
    struct { int from, to; } slice;
    struct { float rate; } dropout;
    struct { int kind; float smooth; } loss;
};

struct ctt_node {
    enum ctt_opcode   op;
    char              name[CTT_NAME];
    char             *text;     /* its line; attribute strings point in */
    int               nin, in[CTT_MAX_IN];
    int               plus;     /* conv: 1 if in[1] is added to the result */
    int               source;   /* state: the node it delays */
    int               cell;     /* lstm: the cell node that names its second
                                   result, or -1 */
    int               nw;
    unsigned          fixed;    /* bit k: w[k] is not trained by gradients */
    union ctt_attr    attr;
    struct ctt_tensor out, w[CTT_MAX_W];    /* shapes, n = 1; data is NULL */
    int64_t           at[CTT_MAX_W];        /* of w[k] in the flat block */
};

/* Nodes before clip run once a time step, the others once a clip.  All weights
 * lie in one flat block of `weights` floats; each starts at a multiple of 16,
 * the gaps are zero. */
struct ctt_graph {
    struct ctt_node *node;
    int              count, room;
    int              clip;      /* index of the first clip node; count: none;
                                   -1: not sealed and no 'clip' so far */
    int              sealed;
    int64_t          weights;
};

int  ctt_graph_new(struct ctt_graph **out);
void ctt_graph_free(struct ctt_graph **g);

/* The index of the node of that name, or -1. */
int  ctt_graph_find(const struct ctt_graph *g, const char *name);

/* Adds "op name key=value ..." (a primitive or a cell, or "clip"). */
int  ctt_graph_add(struct ctt_graph *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Resolves the state nodes and lays out the weights; nothing may be added
 * after it.  A model that has no input or no other node is an error. */
int  ctt_graph_seal(struct ctt_graph *g);

/* The first input node, which takes the frames, and the last node, which
 * gives the answer. */
int  ctt_graph_input(const struct ctt_graph *g);
int  ctt_graph_output(const struct ctt_graph *g);

/* Multiplications of one node for one frame (or one clip, after clip). */
int64_t ctt_node_macs(const struct ctt_graph *g, int node);

/* Parameters: the numbers a file must hold for this node's weights. */
int64_t ctt_node_params(const struct ctt_node *n);

/* text.c: the text form.  print of a parsed text parses to the same graph.
 * ctt_net_print gives a string that the caller frees with ctt_free. */
int   ctt_net_parse(const char *text, struct ctt_graph **out);
char *ctt_net_print(const struct ctt_graph *g);

/* Reads a whole text file of at most 1 MiB; the caller frees it. */
int   ctt_net_read(const char *path, char **text);

/* cell.c: composite words that expand to primitive lines. */
int   ctt_cell_expand(struct ctt_graph *g, const char *word, const char *name,
                      int argc, char **argv);
int   ctt_cell_known(const char *word);

/* The i-th cell word and its settings, or NULL behind the last: for help. */
const char *ctt_cell_word(int i, const struct ctt_opt **opts);

/* schedule.c.  The strongly connected components of the step part, state edges
 * included, in an order in which each needs only earlier ones.  A free
 * component runs once for all steps of a window; a bound one step by step.
 * The nodes of component k are order[first[k]] .. order[first[k + 1] - 1], in
 * execution order.  (Tarjan 1972.)  Nodes after `clip` are not in it.
 *
 * feedback = 0: for steps in which no mix takes its second input, so that edge
 * is not followed: a model that feeds its answers back is one bound component
 * while it predicts, and free and bound as ever while it observes. */
struct ctt_schedule {
    int  comps;
    int *order, *first, *bound;
};
int  ctt_schedule_new(const struct ctt_graph *g, int feedback,
                      struct ctt_schedule **out);
void ctt_schedule_free(struct ctt_schedule **s);

#endif
