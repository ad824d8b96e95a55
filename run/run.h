/* SPDX-License-Identifier: Apache-2.0
 * run.h: the place of every value of a graph in memory, and the order of its
 * kernels in the forward pass.  The trainer keeps all values and adds the
 * backward pass; a session runs step by step.  Both use the same schedule, so
 * streaming gives the same numbers as a batch. */
#ifndef CTT_RUN_H
#define CTT_RUN_H

#include "run/streams.h"

/* The two blocks of values: SAVED, read by the backward pass, and TRANSIENT,
 * read by the forward pass only.  Without a choice of the caller all are saved.
 * */
enum ctt_block { CTT_SAVED, CTT_TRANSIENT, CTT_BLOCKS };

/* A node's values: [kept + history + room][n][d,h,w,c] numbers of the node's
 * type, one node after the other.  History: the steps before the window that a
 * state or a window op still reads.  Before it lie `kept` values of all earlier
 * steps, which a window op with spread=1 reads (net/window.h).
 * A node that only names memory (state, slice, reshape, an act or quant that
 * the preceding kernel applies, the plus input that a conv accumulates into)
 * has no values of its own: `at`, `size`, `type`, `history`, `kept` and `block`
 * are those of the node it names, `alias`. */
struct ctt_slot {
    int64_t at;        /* of step 0 in its block of values, in bytes */
    int64_t size;      /* numbers per step: n * volume (clip part: asks *
                          volume) */
    enum ctt_dtype type;
    int     history;   /* steps kept before step 0 */
    int     kept;      /* twice the slots of the longest window op with
                          spread=1 that reads it, or 0 */
    int     alias;     /* the node whose memory this is, or itself */
    int     delay;     /* steps that this name looks back */
    int     first;     /* 1: before step 0 it has the value of step 0: a state
                          with fill=first, or a name of one */
    int64_t off, ld;   /* offset in a step; stride from pixel to pixel, in
                          numbers */
    int     act;       /* the act node that this node's kernel applies, or -1 */
    int     quant;     /* the quant node whose bytes this node's kernel writes,
                          or -1 */
    int     lasts;     /* its last step is read after the step: by the clip
                          part or as the answer */
    int     skip;      /* forward has no kernel to call: fused, or a name */
    enum ctt_block block;
    int     plus_in_place;    /* conv: its plus input is a name of its
                                 result */
    int     lstm;      /* conv: the lstm that may be fused into its kernel, or
                          -1 */
    int     pair;      /* conv: the conv of its plus input that may be fused
                          into its kernel, or -1 */
    int     link;      /* conv: the conv before it in a chain, or -1 */
    int     chain;     /* conv that ends a chain: where its calls are in
                          `chain` of the run */
    int     same_loop[2];     /* without and with feedback: both convs of the
                                 pair run in the same loop over steps */
    int     fused_into;       /* the conv that this node may be fused into, or
                                 -1 */
    int     joint;     /* training: 1 + the joint conv that it is of, or 0 */
};

enum ctt_run_cache { CTT_CACHE_FWD, CTT_CACHE_BWD, CTT_CACHE_DW, CTT_CACHES };

/* Optimisations to switch off, to measure their gain.  Results differ only by
 * rounding.  DW_EACH: the backward pass computes the weight gradients of bound
 * nodes step by step instead of in one call per window. */
enum {
    CTT_RUN_NO_LSTM = 1, CTT_RUN_NO_PAIR = 2, CTT_RUN_DW_EACH = 4,
    CTT_RUN_NO_CHAIN = 8
};

/* Bytes of a window in a block: fixed + steps * step + asks * ask. */
struct ctt_extent { int64_t fixed, step, ask; };

/* The weight of a conv of quantised values: rows of floats, and the same
 * rounded (net/quant.h), which calls get. */
struct ctt_rounded { const float *from; float *to; int64_t rows, each; };

struct ctt_run {
    const struct ctt_graph *g;
    struct ctt_dev         *dev;
    struct ctt_schedule    *sched[2];    /* without and with feedback; [1]
                                            NULL: no mix */
    const float            *w;       /* the flat block of weights, in the
                                        device's memory; not owned */
    const void             *w16;     /* its 16-bit copy, for convs that
                                        multiply 16 bits; not owned */
    struct ctt_weight     (*weight)[CTT_MAX_W];    /* the weights of a node's
                                        calls, except for w16 */
    struct ctt_rounded     *round;   /* weights that are rounded to 8 bits
                                        when w has changed: rounds of them */
    int                     rounds;
    float                  *rounded; /* their values, or NULL */
    uint64_t                rounded_stamp;
    void                   *floats;  /* values of the weights that are not
                                        floats, or NULL */
    const enum ctt_dtype   *type;    /* of a node's values; NULL: all floats */
    enum ctt_dtype          multiply;    /* ctt_run_spec's */
    enum ctt_dtype         *mul;     /* per node: the type to which a conv's
                                        kernel may round its operands; or
                                        NULL */
    enum ctt_dtype         *own_type;    /* the run's own `type`, with mul */
    uint64_t                stamp;   /* raise it when w changes */
    int                     once;    /* steps of the only window of a clip that
                                        is run with these weights; 0: others
                                        follow */
    uint64_t                key;     /* of the random numbers of this window */
    int                     train;   /* batch statistics and dropout */
    int                     slides;  /* opened with train = 0 */
    enum ctt_dtype          bytes;   /* the type of stored quantised values; 0:
                                        floats */
    int                     firsts;  /* a state has fill=first */
    int                     feedback;     /* a mix may take its second input */
    int                     recompute;    /* the window runs again: running
                                             statistics are not updated */
    int                     shares;  /* values share memory: calls run in
                                        order */
    unsigned                plain;   /* CTT_RUN_NO_... */
    int                     n, room, max_asks;
    int                     active;  /* samples that a step is run for, the
                                        first ones; n: all.  If fewer, steps
                                        are run one by one */
    int64_t                *past_of; /* NULL: every sample has `past`; else of
                                        each its own (run/sample.h) */
    int                     cursor;  /* steps of the window already run */
    int64_t                 past;    /* steps run before this window */
    int                     asks;    /* of the last ctt_run_clip */
    struct ctt_ask         *ask;     /* max_asks of them */
    const int              *which;   /* numbers of the asks; NULL: 0 .. */
    struct ctt_extent       extent[CTT_BLOCKS];
    int64_t                 values;  /* bytes in val */
    char                   *val;     /* its own memory, or NULL */
    char                   *base[CTT_BLOCKS];
    float                  *sink;    /* takes running statistics that are
                                        discarded */
    char                   *live;    /* the numbers of struct ctt_live on a
                                        device with memory of its own */
    char                   *live_host;    /* the program's copy of them */
    struct ctt_slot        *slot;
    void                 *(*cache)[CTT_CACHES];
    struct ctt_call        *chain;   /* the calls of chains, kept from step
                                        to step; node NULL: not bound yet */
    int                     links;   /* of a run for training: how many; as
                                        many for gradients follow */
    struct ctt_joint       *joint;   /* run/joint.h; `joints` of them */
    int                     joints;
    uint64_t                joint_stamp;    /* of their kernels */
    struct ctt_streams     *streams; /* memories: ctt_run_memory() */
    struct ctt_profile    (*sum)[CTT_PASSES];    /* ctt_run_profile() */
    void                  **place;   /* slides: the recorded work of a step,
                                        [2 * cursor + feedback], and behind
                                        them of a clip part, by asks; or
                                        NULL */
    uint64_t                place_stamp; /* of the weights in it */
};

/* The number of the memory that holds a node's values, or their gradients, for
 * ctt_touch(). */
static inline int ctt_run_memory(const struct ctt_run *r, int node,
                                 int gradient)
{
    return 2 * r->slot[node].alias + gradient;
}

/* The arguments of ctt_run_open().  Memory that they point at must stay valid
 * while the run is open; a field that is 0 has the default named here.
 *
 * train = 1: every value stays for the backward pass; a window begins with the
 * clip and never slides.  r->train may then be set to 0 and 1 at any time.  A
 * bound norm kind=batch is CTT_EUNSUP: it would see one step only.
 * train = 0: windows slide, and the memory of a node is reused once its readers
 * have run; afterwards only inputs, the answer, and values that a state or a
 * window op reads are valid.  Quantised values (net/quant.h) are then bytes. */
struct ctt_run_spec {
    const struct ctt_graph *g;          /* sealed */
    struct ctt_dev         *dev;        /* NULL: to compute sizes only */
    const float            *w;          /* in the device's memory; NULL: the
                                           run is for sizes only */
    int                     samples;    /* clips side by side, at least 1 */
    int                     steps;      /* per window at most, at least 1 */
    int                     asks;       /* per window at most; 0 if the model
                                           has no clip part */
    int                     train;
    const enum ctt_dtype   *type;       /* of each node's values (a name: of
                                           the node that it names); NULL:
                                           floats */
    enum ctt_dtype          multiply;   /* a type of 16 bits, without train and
                                           type: convs that are then faster
                                           (run/half.c) may round operands to
                                           it, and values that only they read
                                           are stored in it; 0: fp32 */
    const char             *wanted;     /* ctt_exec_open(): per node, 1: the
                                           gradient of its value is wanted,
                                           though no weight depends on it; NULL:
                                           of none */
};

int  ctt_run_open(const struct ctt_run_spec *spec, struct ctt_run **out);
void ctt_run_close(struct ctt_run **r);

/* For a run that waits between tests while its weights change: frees packed
 * weights and plans, of up to 4 times the weights' bytes, which the next step
 * makes again.  A device with memory of its own keeps them, as its plans take
 * long. */
void ctt_run_rest(struct ctt_run *r);

/* Sets the coding of the weights of an open run: weight[i] describes the i-th
 * weight in the order of a file's index.  A weight of floats
 * (ctt_weight_is_floats()) is still read from the flat block, and calls also
 * get its mask `keep`, if it has one.  A weight of another coding is stored in
 * the program's memory and replaces that of the flat block: calls get it as it
 * is if the device's kernels read it (ctt_dev_takes()); if not, it is decoded
 * once (ctt_weight_floats()) into memory of the run.  Memory that the weights
 * point to must stay valid.  May be called once, before the first step. */
int  ctt_run_weights(struct ctt_run *r, const struct ctt_weight *weight);

/* A run for training whose memory the caller owns: it lays out each window with
 * ctt_run_place(), sets base, calls ctt_run_upload() and copies the history
 * from window to window.  spec->train is ignored.  saved: per node, 1 if the
 * backward pass reads its value.  windows: 1 if a clip has several, so that a
 * window op reads steps before the current one. */
int  ctt_run_open_bare(const struct ctt_run_spec *spec, const char *saved,
                       int windows, struct ctt_run **out);

/* Lays out a window of `steps` steps and `asks` asks: sets `at` of each
 * slot. */
void ctt_run_place(struct ctt_run *r, int steps, int asks);

/* Bytes of a window in a block. */
static inline int64_t ctt_extent_bytes(const struct ctt_extent *e, int steps,
                                       int asks)
{
    return e->fixed + steps * e->step + asks * e->ask;
}

/* 1 if the step part of g has a mix, so that feedback needs its own
 * schedule. */
int  ctt_run_mixes(const struct ctt_graph *g);

/* bytes: of all histories and kept values, each aligned to 64.  save: copies
 * those before the cursor to `to`.  load: sets those before step 0 from `from`
 * (NULL: zeros).  `to` and `from` are in the device's memory. */
int64_t ctt_run_history_bytes(const struct ctt_run *r);
int     ctt_run_save_history(const struct ctt_run *r, char *to);
int     ctt_run_load_history(struct ctt_run *r, const char *from);

/* CTT_ENOMEM if the device stores values in the program's memory and has less
 * than `bytes` of it. */
int  ctt_run_fits(const struct ctt_run *r, int64_t bytes);

/* CTT_EUNSUP if a bound component (one that runs step by step) contains a batch
 * norm.  feedback: 1: in the schedule with feedback. */
int  ctt_run_check_norms(const struct ctt_run *r, int feedback);

/* Starts a new clip: states are zero and the cursor is 0. */
void ctt_run_reset(struct ctt_run *r);

/* The address in the device's memory of a node's value at a step (after clip:
 * at ask 0); a state is followed to the step that it delays.  step counts from
 * the start of the window and may be negative (history). */
void *ctt_run_value(const struct ctt_run *r, int node, int step);

/* 1 if the node is a state with fill=first and the step of the window is the
 * first one of the clip, of any sample. */
int  ctt_run_is_first(const struct ctt_run *r, int node, int step);

/* Copies rows (pixels) of a node's value from and to dense floats of the
 * program, beginning at the first sample of a step; the next samples and then
 * the next steps follow.  After clip, step is ignored and rows begin at ask
 * 0. */
int  ctt_run_put(const struct ctt_run *r, int node, int step,
                 const float *from, int64_t rows);
int  ctt_run_get(const struct ctt_run *r, int node, int step, int64_t rows,
                 float *to);

/* Divides those rows into `groups` groups of equal size and writes the sum of
 * each (ctt_dev_group_sums). */
int  ctt_run_sums(const struct ctt_run *r, int node, int step, int64_t rows,
                  int64_t groups, double *sums);

/* Copies key, asks and their numbers to a device with memory of its own, and
 * rounds weights again if they have changed (r->stamp).  Of a bare run the
 * caller calls it before each window. */
int  ctt_run_upload(struct ctt_run *r);

/* Makes room for `steps` more steps at the cursor: if the window is full, moves
 * the history to its front and the cursor to 0.  Call it before writing inputs
 * at cursor .. cursor + steps - 1. */
int  ctt_run_make_room(struct ctt_run *r, int steps);

/* The schedule that r->feedback selects. */
const struct ctt_schedule *ctt_run_schedule(const struct ctt_run *r);

/* Runs the step part for `steps` steps from the cursor and advances the
 * cursor. */
int  ctt_run_steps(struct ctt_run *r, int steps);

/* Runs one component of the schedule for the first `steps` steps, or behind
 * them in number one node of the clip part for `asks` asks. */
int  ctt_run_position(struct ctt_run *r, int position, int steps, int asks);

/* Runs the clip part for r->ask[0 .. asks - 1], whose steps count from the
 * start of the window and are less than cursor. */
int  ctt_run_clip(struct ctt_run *r, int asks);

/* From now on the device's profile is of this run's nodes (ctt_dev_profile()).
 * */
void ctt_run_profile(struct ctt_run *r, struct ctt_profile (*sum)[CTT_PASSES]);

/* Finds the fastest kernels for windows of `steps` steps by timing, unless they
 * are known or the device has no table (ctt_dev_tune()): repeats the step part
 * and the clip part on the values in memory.  Then a new clip starts. */
int  ctt_run_tune(struct ctt_run *r, int steps);

/* Fills c for a call of the node for `steps` steps from `step` (after clip: for
 * `steps` asks from ask `step`): values and weights, without fused nodes.  For
 * callers that choose the kernels themselves (the backward pass, tests).
 *
 * The key of a call is derived from r->key, the node, and the steps since the
 * reset (after clip: the number of the ask).  A node that draws random numbers
 * must therefore be called for one step at a time; its mask then does not
 * depend on how steps are batched. */
void ctt_run_bind(const struct ctt_run *r, int node, int step, int steps,
                  struct ctt_call *c);

/* 1 if the node must be called for one step, or ask, at a time even in a free
 * component: it draws random numbers, or each sample has its own past. */
int  ctt_run_single(const struct ctt_run *r, int node);

#endif
