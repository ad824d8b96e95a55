/* SPDX-License-Identifier: Apache-2.0
 * graph.h: the structure of a model: nodes in execution order, each with its
 * op, attributes, inputs, and the shapes that follow from them.  Independent of
 * weights, device and batch size: all shapes have n = 1. */
#ifndef CTT_GRAPH_H
#define CTT_GRAPH_H

#include "base/opt.h"
#include "net/window.h"

enum ctt_opcode {
#define OP(E, ...) CTT_OP_##E,
#include "net/ops.def"
#undef OP
    CTT_NOPS
};

enum {
    CTT_MAX_IN    = 8,          /* inputs per node */
    CTT_MAX_W     = 4,          /* weights per node */
    CTT_NAME      = 48,         /* bytes of a name with its 0 */
    CTT_MAX_LINE  = 2048,       /* bytes of a line with its 0 */
    CTT_MAX_SIZE  = 1 << 20,    /* elements along one axis of a value */
};
#define CTT_MAX_VOLUME (INT64_C(1) << 40)    /* elements of a tensor, and of
                                                all weights */

/* Every activation: enum; its word, which also names its formulas
 * (device/ewise.h); the value of which its derivative is a function: its
 * RESULT, so that the input need not be kept, or the INPUT; the further
 * argument of its formulas: PLAIN: none; SLOPE: slope=; the deviation of
 * initial weights before it: for a LINEAR function, or a RECTIFIER. */
#define CTT_ACTS(X)                           \
    X(RELU,     relu,     RESULT, PLAIN, RECTIFIER) \
    X(SIGMOID,  sigmoid,  RESULT, PLAIN, LINEAR)    \
    X(TANH,     tanh,     RESULT, PLAIN, LINEAR)    \
    X(RELU6,    relu6,    RESULT, PLAIN, RECTIFIER) \
    X(HSIGMOID, hsigmoid, RESULT, PLAIN, LINEAR)    \
    X(HSWISH,   hswish,   INPUT,  PLAIN, RECTIFIER) \
    X(SILU,     silu,     INPUT,  PLAIN, RECTIFIER) \
    X(GELU,     gelu,     INPUT,  PLAIN, RECTIFIER) \
    X(LEAKY,    leaky,    RESULT, SLOPE, RECTIFIER) \
    X(ABS,      abs,      INPUT,  PLAIN, LINEAR)    \
    X(INVERSE,  inverse,  RESULT, PLAIN, LINEAR)

enum ctt_act_kind {
#define ACT(E, ...) CTT_ACT_##E,
    CTT_ACTS(ACT)
#undef ACT
    CTT_ACT_KINDS
};

/* 1 if the backward kernel of an act reads its input, 0: its result. */
static inline int ctt_act_reads_input(int kind)
{
    enum { OF_RESULT, OF_INPUT };
    static const char of[] = {
#define ACT(E, word, of, ...) OF_##of,
        CTT_ACTS(ACT)
#undef ACT
    };

    return of[kind];
}

/* Values of choice attributes; op.c has their words in the same order. */
enum ctt_pool_kind { CTT_POOL_MAX, CTT_POOL_AVG };
enum ctt_norm_kind { CTT_NORM_BATCH, CTT_NORM_LAYER };
enum ctt_over      { CTT_OVER_CHANNELS, CTT_OVER_POSITIONS };
enum ctt_loss_kind { CTT_LOSS_XENT, CTT_LOSS_MSE, CTT_LOSS_L1L2,
                     CTT_LOSS_SOFT, CTT_LOSS_BINARY };
enum ctt_fit       { CTT_FIT_CROP, CTT_FIT_STRETCH, CTT_FIT_PAD };
enum ctt_colour    { CTT_RGB, CTT_BGR, CTT_GRAY };
enum ctt_axis      { CTT_AXIS_ROWS, CTT_AXIS_CHANNELS };
enum ctt_in_pass   { CTT_IN_FORWARD, CTT_IN_BACKWARD };
enum ctt_normalise { CTT_NORMALISE_SET, CTT_NORMALISE_CLIP };

/* The frames that a model expects; video/ converts videos to this form. */
struct ctt_input {
    int   d, h, w, c;
    float fps;                /* frames per second after resampling; 0: every
                                 frame of the video */
    float mean[3], std[3];    /* per channel, for values in 0..1; NAN: auto, to
                                 be measured */
    float scale;              /* CTT_FIT_CROP: frames are resized to cover
                                 scale * (w, h), then cropped */
    int   fit, colour;        /* enum ctt_fit, enum ctt_colour */
    int   normalise;          /* enum ctt_normalise; pixels.h */
    float gamma;              /* 0 is 1, too */
};

union ctt_attr {
    struct ctt_input input;
    struct { const char *of, *like; int delay, c, fill; } state;
    struct { int d, h, w, c; } reshape;
    struct ctt_window_attr window;
    struct {
        int out, kernel[3], stride[3], pad[3], bias;
        int groups;             /* of channels; of a deconv always 1 */
        int after[3];           /* padding at the ends of axes; CTT_OPT_WORD: as
                                   at the beginnings, always of a deconv */
        int dilation[3];        /* pixels from tap to tap; of a deconv 1 */
    } conv;                     /* and deconv */
    struct { int kind, kernel[3], stride[3], pad[3], after[3]; } pool;
    struct { int by[3]; } upsample;
    struct { int vocab, out; } embed;
    struct { int by[3], back; } patch;
    struct { int kind; float eps, momentum; } norm;
    struct { int groups; float eps; } groupnorm;
    struct { int kind; float slope; } act;
    struct { int over; } softmax;
    struct { int size; float alpha, beta, k; } lrn;
    struct { int bias, minus; } add;    /* bias: add a number per channel;
                                           minus: subtract in[1..] */
    struct { int from, to; } slice;
    struct { float rate; } dropout;
    struct { float scale; int zero; } quant;
    struct { int kind; float smooth, temperature; } loss;
    struct { int up, down, above, below; } halo;
    struct { int of, pass, part, parts, all; } collect;
    struct { int pass; } total;
};

struct ctt_node {
    enum ctt_opcode   op;
    char              name[CTT_NAME];
    char             *text;     /* its line, owned; attribute strings point
                                   into it */
    int               nin, in[CTT_MAX_IN];
    int               plus;     /* conv: 1 if in[1] is added to the result */
    int               source;   /* state: the node it delays; else -1 */
    int               cell;     /* lstm: the cell node that names its second
                                   result; else -1 */
    int               nw;
    int               aside;    /* 1: only the prediction of the line `ahead`
                                   depends on it, not the answer */
    int               rank;     /* its place in the order of nodes in which
                                   those that stand aside come last; key of its
                                   random numbers, order of its weights */
    unsigned          fixed;    /* bit k: w[k] is not trained by gradients */
    int               frozen;   /* none of w is; a batch norm then uses its
                                   running statistics in training too */
    union ctt_attr    attr;
    struct ctt_tensor out, w[CTT_MAX_W];    /* shapes; data is NULL */
    int64_t           at[CTT_MAX_W];        /* offset of w[k] in the flat
                                               block of weights */
};

/* 1 if the taps of a conv or deconv are not beside each other. */
static inline int ctt_is_dilated(const struct ctt_node *n)
{
    const int *d = n->attr.conv.dilation;

    return d[0] > 1 || d[1] > 1 || d[2] > 1;
}

/* Nodes before `clip` run once per time step, the others once per clip.  All
 * weights are stored in one flat block of `weights` floats; each starts at
 * a multiple of 16, and the gaps between them are zero. */
struct ctt_graph {
    struct ctt_node *node;
    int              count, room;
    int              clip;      /* index of the first clip node, or count if
                                   there is none; -1: not sealed and no 'clip'
                                   line yet */
    int              several;   /* 1: classes do not exclude each other, and the
                                   answer is a logit of each by itself: the
                                   line 'several' */
    int              sealed;    /* 1: complete, nothing can be added */
    int64_t          weights;   /* floats, set when sealed */
    int             *place;     /* a hash table of names: index + 1, 0: free */
    int              places;    /* a power of two, or 0 */
};

/* An empty graph. */
int  ctt_graph_new(struct ctt_graph **out);
void ctt_graph_free(struct ctt_graph **g);

/* The index of the node of that name, or -1. */
int  ctt_graph_find(const struct ctt_graph *g, const char *name);

/* line.c: adds the line "op name key=value ...", with a primitive op or a cell,
 * or the line "clip" or "several".  Fails with CTT_EFORMAT or CTT_EINVAL if the
 * line breaks a rule of the language; the graph can then only be freed. */
int  ctt_graph_add(struct ctt_graph *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a complete node, whose shapes are set, and takes over n->text.
 * CTT_EFORMAT if the node, or the graph with it, is too large; n->text is then
 * the caller's. */
int  ctt_graph_put(struct ctt_graph *g, const struct ctt_node *n);

/* seal.c: resolves the state nodes and places the weights in the flat block;
 * nothing can be added after it.  CTT_EFORMAT if the model has no input or
 * nothing after it, if a state does not fit the node it delays, if 'clip'
 * stands first or last, or if 'ahead' is no prediction of a frame. */
int  ctt_graph_seal(struct ctt_graph *g);

/* The index of the first input node, which takes the frames (-1: none), and of
 * the last node, which computes the output. */
int  ctt_graph_input(const struct ctt_graph *g);
int  ctt_graph_output(const struct ctt_graph *g);

/* needed.c: sets needed[i], of g->count numbers that are 0, for a node and all
 * nodes on which its value depends, in this step or an earlier one. */
void ctt_graph_needed(const struct ctt_graph *g, int node, char *needed);

/* The index of the node `ahead`, the prediction of the next frame that only
 * training computes, or -1. */
int  ctt_graph_ahead(const struct ctt_graph *g);

/* The number of input nodes. */
int  ctt_graph_inputs(const struct ctt_graph *g);

/* mean=auto or std=auto of an input line: a number for each of the three
 * channels.  set replaces the word where it stands in any input of g; known is
 * CTT_EINVAL, naming the node, where a word is left: a model that computes
 * frames must have numbers. */
void ctt_graph_set_light(struct ctt_graph *g, const float mean[3],
                         const float std[3]);
int  ctt_graph_light_known(const struct ctt_graph *g);

/* op.c: multiplications of one node per frame (after clip: per clip), and of
 * all nodes before and after clip. */
int64_t ctt_node_macs(const struct ctt_graph *g, int node);
void    ctt_graph_macs(const struct ctt_graph *g, double *frame,
                       double *answer);

/* Parameters: the number of elements of this node's weights. */
int64_t ctt_node_params(const struct ctt_node *n);

/* text.c: the text form.  parse returns a sealed graph; its errors begin with
 * the number of the line.  print returns a string that parses to the same graph
 * and that the caller frees with ctt_free; NULL: out of memory. */
int   ctt_net_parse(const char *text, struct ctt_graph **out);
char *ctt_net_print(const struct ctt_graph *g);

/* The same with values in place of those of the lines "let" (let.h): set:
 * "name=value,..." or NULL; CTT_EINVAL: a name that the text does not have. */
int   ctt_net_parse_set(const char *text, const char *set,
                        struct ctt_graph **out);

/* Reads a whole text file of at most 1 MiB, without a byte order mark; the
 * caller frees *text. */
int   ctt_net_read(const char *path, char **text);

/* cell.c.  expand: expands a cell, the line "word name argv[0] ...", to *out:
 * lines of primitives, which the caller adds to g and frees.  known: 1 if the
 * word is a cell's. */
int   ctt_cell_expand(const struct ctt_graph *g, const char *word,
                      const char *name, int argc, char **argv, char **out);
int   ctt_cell_known(const char *word);

/* The i-th cell word, the table of its settings and its use in a line, for
 * --ops; NULL after the last. */
const char *ctt_cell_word(int i, const struct ctt_opt **opts, const char **use);

/* schedule.c: the execution order of the nodes before `clip`: the strongly
 * connected components of the graph with its state edges (Tarjan 1972), each
 * after those it depends on.  A free component runs once for all steps of
 * a window, a bound one step by step.  The nodes of component k are
 * order[first[k]] .. order[first[k + 1] - 1], in execution order.
 *
 * feedback = 0: for steps in which no mix reads its second input, so that this
 * edge is ignored.  A model that feeds its outputs back has one bound component
 * while it predicts; while it observes, its other components stay free. */
struct ctt_schedule {
    int  comps;
    int *order, *first, *bound;    /* bound[k]: 1 if component k is bound */
    int *of;                       /* a node's component; of the clip part:
                                      comps, which is not bound */
};
int  ctt_schedule_new(const struct ctt_graph *g, int feedback,
                      struct ctt_schedule **out);
void ctt_schedule_free(struct ctt_schedule **s);

#endif
