/* SPDX-License-Identifier: Apache-2.0
 * run.h: where every value of a graph lies and in which order its kernels run
 * forward.  The trainer keeps all values and adds the backward pass; a session
 * runs step by step.  Both use this one schedule, so streaming equals batch. */
#ifndef CTT_RUN_H
#define CTT_RUN_H

#include "run/streams.h"

/* Values lie in two blocks: those that the backward pass reads, and those that
 * only pass.  Where a caller does not tell them apart, all are saved. */
enum ctt_block { CTT_SAVED, CTT_TRANSIENT, CTT_BLOCKS };

/* A node's values: [history + room][n][d,h,w,c] numbers of the node's type, one
 * node after the other.  History: the steps before the window that a state or a
 * window op still reads.  A node that only names memory (state, slice, reshape,
 * an act that the kernel before it applies, the sum that a conv adds its own
 * to) has no values of its own: all its fields but `delay`, `off` and `ld` are
 * those of the node it names, `alias`. */
struct ctt_slot {
    int64_t at;        /* of step 0 in its block of values, in bytes */
    int64_t size;      /* numbers a step: n * volume (clip part: asks * ...) */
    enum ctt_dtype type;
    int     history;   /* steps kept before step 0 */
    int     alias;     /* the node whose memory this is, or itself */
    int     delay;     /* steps that this name looks back */
    int64_t off, ld;   /* first number in a step, numbers from pixel to pixel */
    int     act;       /* the act node that this node's kernel applies, or -1 */
    int     skip;      /* forward has no kernel to call: fused, or a name */
    enum ctt_block block;
    int     plus_in_place;    /* conv: its plus input is a name of its
                                 result */
    int     lstm;      /* conv: the lstm of these gates, if its kernel may do
                          that too, or -1 */
    int     pair;      /* conv: the conv that makes its plus input, if its
                          kernel may do that too, or -1 */
    int     same_loop[2];     /* by feedback: the pair runs in one loop over
                                 steps */
    int     fused_into;       /* the conv that may do this node's work, or
                                 -1 */
};

enum ctt_run_cache { CTT_CACHE_FWD, CTT_CACHE_BWD, CTT_CACHE_DW, CTT_CACHES };

/* For measurements of what each gains: what is not done.  Numbers differ by
 * rounding only.  DW_EACH is of the backward pass: weight gradients of bound
 * nodes step by step, not in one call a window. */
enum { CTT_RUN_NO_LSTM = 1, CTT_RUN_NO_PAIR = 2, CTT_RUN_DW_EACH = 4 };

/* Bytes of a block for a window: fixed + steps * step + asks * ask. */
struct ctt_extent { int64_t fixed, step, ask; };

struct ctt_run {
    const struct ctt_graph *g;
    struct ctt_dev         *dev;
    struct ctt_schedule    *sched[2];    /* by feedback; [1] NULL: no mix */
    const float            *w;       /* the flat block of weights, in the
                                        device's memory; not owned */
    const void             *w16;     /* its copy of 16 bits, for convs whose
                                        result has them; not owned */
    struct ctt_weight     (*weight)[CTT_MAX_W];    /* what a call of the node
                                        is given, but for w16 */
    void                   *floats;  /* values of the weights that came in
                                        another form, or NULL */
    const enum ctt_dtype   *type;    /* of a node's values; NULL: all floats */
    uint64_t                stamp;   /* raise it when w changes */
    uint64_t                key;     /* of this window's randomness */
    int                     train;   /* batch statistics and dropout */
    int                     slides;  /* opened with train = 0 */
    int                     feedback;     /* a mix may take its second input */
    int                     recompute;    /* not the first time: running
                                             statistics stay as they are */
    unsigned                plain;   /* CTT_RUN_NO_... */
    int                     n, room, max_asks;
    int                     cursor;  /* steps of the window already run */
    int64_t                 past;    /* steps run before this window */
    int                     asks;    /* answers of the last ctt_run_clip */
    struct ctt_ask         *ask;     /* max_asks of them */
    const int              *which;   /* numbers of the asks; NULL: 0 .. */
    struct ctt_extent       extent[CTT_BLOCKS];
    int64_t                 values;  /* bytes in val */
    char                   *val;     /* its own memory, or NULL */
    char                   *base[CTT_BLOCKS];
    float                  *sink;    /* takes statistics nobody wants */
    char                   *live;    /* struct ctt_live's numbers on a device
                                        that cannot see the program's */
    char                   *live_host;    /* the program's copy of them */
    struct ctt_slot        *slot;
    void                 *(*cache)[CTT_CACHES];
    struct ctt_streams     *streams; /* memories: ctt_run_memory() */
    void                  **place;   /* slides: where a step at each cursor is
                                        recorded, by feedback; or NULL */
};

/* The number of a node's memory: its values, or the gradients of them. */
static inline int ctt_run_memory(const struct ctt_run *r, int node,
                                 int gradient)
{
    return 2 * r->slot[node].alias + gradient;
}

/* What a run is opened for.  All that is pointed at is read while the run is
 * open; what is left 0 takes the default named here.
 *
 * train = 1: every value stays for the backward pass; a window begins with the
 * clip and never slides.  r->train may then be set to 0 and 1 at will.  A bound
 * norm kind=batch is refused: it would see one step only.
 * train = 0: windows slide, and nodes whose readers have run give their memory
 * to later ones; only inputs, the answer, and what a state or a window op
 * reads can be looked at afterwards. */
struct ctt_run_spec {
    const struct ctt_graph *g;          /* sealed */
    struct ctt_dev         *dev;        /* NULL: only sizes are asked for */
    const float            *w;          /* in the device's memory; NULL: not
                                           yet, it is set before a step */
    int                     samples;    /* clips side by side, at least 1 */
    int                     steps;      /* most of a window, at least 1 */
    int                     asks;       /* most answers a window; 0 will do if
                                           the model has no clip part */
    int                     train;
    const enum ctt_dtype   *type;       /* of each node's values (of a name of
                                           other memory: of that node's); NULL:
                                           floats */
};

int  ctt_run_open(const struct ctt_run_spec *spec, struct ctt_run **out);
void ctt_run_close(struct ctt_run **r);

/* Says in which form the weights are that the run was opened with, in the order
 * of a file's index: weight[i] is that of the i-th weight.  One of floats
 * (ctt_weight_is_floats()) is read from the flat block as before, and calls see
 * what is pruned, if anything is.  One of another form has its numbers in the
 * program's memory and replaces that of the flat block: no kernel reads it, so
 * it is expanded once (ctt_weight_floats()) into memory of the run.  What keep
 * points to must stay.  At most once, before the first call. */
int  ctt_run_weights(struct ctt_run *r, const struct ctt_weight *weight);

/* A run for training whose memory the caller owns: it lays windows out with
 * ctt_run_place(), sets base, calls ctt_run_upload() and carries the history
 * over.  spec->train is not read.  saved: a flag a node, its value is read by
 * the backward pass.  windows: 1 if there are several, so that a window op
 * looks back. */
int  ctt_run_open_bare(const struct ctt_run_spec *spec, const char *saved,
                       int windows, struct ctt_run **out);

/* Lays out a window of so many steps and asks: at of each slot. */
void ctt_run_place(struct ctt_run *r, int steps, int asks);

/* Bytes of a window in a block, at least. */
static inline int64_t ctt_extent_bytes(const struct ctt_extent *e, int steps,
                                       int asks)
{
    return e->fixed + steps * e->step + asks * e->ask;
}

/* 1 if a mix stands in its step part: feedback makes another schedule. */
int  ctt_run_mixes(const struct ctt_graph *g);

/* Bytes of all histories, each from a multiple of 64 on; those of the steps
 * before the cursor written to `to`, and the histories before step 0 read from
 * `from` (NULL: zeros); all in the device's memory. */
int64_t ctt_run_history_bytes(const struct ctt_run *r);
int     ctt_run_save_history(const struct ctt_run *r, char *to);
int     ctt_run_load_history(struct ctt_run *r, const char *from);

/* CTT_ENOMEM if the program's memory, where the values lie in it, is less than
 * so many bytes. */
int  ctt_run_fits(const struct ctt_run *r, int64_t bytes);

/* What is refused where a component is bound: a batch norm. */
int  ctt_run_check_norms(const struct ctt_run *r, int feedback);

/* Forgets the past: states are zero again, the cursor is at 0. */
void ctt_run_reset(struct ctt_run *r);

/* Where the value of a node at a step (or, after clip, at ask 0) lies in the
 * device's memory, states followed back in time.  step counts from the start of
 * the window and may be negative (history). */
void *ctt_run_value(const struct ctt_run *r, int node, int step);

/* Rows (pixels) of a node's value from that of the first sample on, from and to
 * dense floats of the program; those of the samples and of the steps behind
 * follow.  After clip the step does not matter and rows are of one ask after
 * the other. */
int  ctt_run_put(const struct ctt_run *r, int node, int step,
                 const float *from, int64_t rows);
int  ctt_run_get(const struct ctt_run *r, int node, int step, int64_t rows,
                 float *to);

/* The sums of equal stretches of those rows (ctt_dev_group_sums). */
int  ctt_run_sums(const struct ctt_run *r, int node, int step, int64_t rows,
                  int64_t groups, double *sums);

/* Hands key, asks and their numbers to a device that cannot see them; without
 * own memory (bare) the caller does it before it runs a window. */
int  ctt_run_upload(struct ctt_run *r);

/* Room for `steps` more steps at the cursor: if the window is full, slides the
 * history to its front first and moves the cursor to 0.  Call it before
 * writing inputs at cursor .. cursor + steps - 1. */
int  ctt_run_make_room(struct ctt_run *r, int steps);

/* The schedule of the steps at hand, by r->feedback. */
const struct ctt_schedule *ctt_run_schedule(const struct ctt_run *r);

/* Runs the step part for the steps at the cursor and moves the cursor on. */
int  ctt_run_steps(struct ctt_run *r, int steps);

/* Runs the clip part for r->ask[0 .. asks - 1] (steps count from the start of
 * the window, the last one that may be asked is cursor - 1). */
int  ctt_run_clip(struct ctt_run *r, int asks);

/* A call of node for `steps` steps from `step` (after clip: for `steps` asks
 * from ask `step`), values and weights bound, nothing is fused into it; for
 * those that run kernels of their own choice (the backward pass, tests).
 *
 * The key of a call comes from r->key, the node, and the steps since the reset
 * (after clip the number of the ask): so a node with randomness must be called
 * for one at a time, and then its mask does not depend on how they are
 * batched. */
void ctt_run_bind(const struct ctt_run *r, int node, int step, int steps,
                  struct ctt_call *c);

/* 1 if the node is called for one step, or ask, at a time even in a free
 * component. */
int  ctt_run_single(const struct ctt_run *r, int node);

#endif
