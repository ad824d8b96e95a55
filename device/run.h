/* SPDX-License-Identifier: Apache-2.0
 * run.h: where every value of a graph lies and in which order its kernels run
 * forward.  The trainer keeps all values and adds the way back; a session runs
 * step by step.  Both use this one schedule, so streaming equals batch. */
#ifndef CTT_RUN_H
#define CTT_RUN_H

#include "device/device.h"

/* Values lie in two blocks: those that the way back reads, and those that only
 * pass.  What a caller does not tell apart is all kept. */
enum ctt_block { CTT_KEPT, CTT_PASSING, CTT_BLOCKS };

/* A node's values: [history + room][n][d,h,w,c] floats, node-major.  History:
 * the steps before the window that a state or a window op still reads.  A node
 * that only names memory (state, slice, reshape, an act that the kernel before
 * it applies, the sum that a conv adds its own to) has no values of its own:
 * all its fields but `delay`, `off` and `ld` are those of the node it names,
 * `alias`. */
struct ctt_slot {
    int64_t at;        /* of step 0 in its block of values */
    int64_t size;      /* floats a step: n * volume (clip part: asks * ...) */
    int     history;   /* steps kept before step 0 */
    int     alias;     /* the node whose memory this is, or itself */
    int     delay;     /* steps that this name looks back */
    int64_t off, ld;   /* first float in a step, floats from pixel to pixel */
    int     fused;     /* the act node that this node's kernel applies, or -1 */
    int     skip;      /* forward has no kernel to call: fused, or a name */
    enum ctt_block block;
    int     inside;    /* conv: its plus input is a name of its result */
    int     lstm;      /* conv: the lstm of these gates that may go along, or
                          -1 */
    int     pair;      /* conv: the conv that makes its plus input and may go
                          along, or -1 */
    int     joint[2];  /* by fed: the pair runs in the same loop over steps */
    int     with;      /* the conv that this node may go along with, or -1 */
};

enum ctt_run_cache { CTT_CACHE_FWD, CTT_CACHE_BWD, CTT_CACHE_DW, CTT_CACHES };

/* For measurements of what each gains: what is not done.  Numbers differ by
 * rounding only.  DW_EACH is of the way back: weight gradients of bound nodes
 * step by step, not in one call a window. */
enum { CTT_RUN_NO_LSTM = 1, CTT_RUN_NO_PAIR = 2, CTT_RUN_DW_EACH = 4 };

/* Floats of a block for a window: fixed + steps * step + asks * ask. */
struct ctt_extent { int64_t fixed, step, ask; };

struct ctt_run {
    const struct ctt_graph *g;
    struct ctt_dev         *dev;
    struct ctt_schedule    *sched[2];    /* by fed; [1] NULL: no mix in it */
    const float            *w;       /* the flat block of weights; not owned */
    uint64_t                stamp;   /* raise it when w changes */
    uint64_t                key;     /* of this window's randomness */
    int                     train;   /* batch statistics and dropout */
    int                     slides;  /* opened with train = 0 */
    int                     fed;     /* a mix may take its second input */
    int                     again;   /* running statistics stay as they are */
    unsigned                plain;   /* CTT_RUN_NO_... */
    int                     n, room, max_asks;
    int                     cursor;  /* steps of the window already run */
    int64_t                 past;    /* steps run before this window */
    int                     asks;    /* answers of the last ctt_run_clip */
    struct ctt_ask         *ask;     /* max_asks of them */
    const int              *which;   /* numbers of the asks; NULL: 0 .. */
    struct ctt_extent       extent[CTT_BLOCKS];
    int64_t                 values;  /* floats in val */
    float                  *val;     /* its own memory, or NULL */
    float                  *base[CTT_BLOCKS];
    float                  *sink;    /* takes statistics nobody wants */
    struct ctt_slot        *slot;
    void                 *(*cache)[CTT_CACHES];
};

/* n samples, windows of at most room steps, at most asks answers a window (the
 * model has no clip part: 0 will do).
 *
 * train = 1: every value stays for the way back; a window begins with the clip
 * and never slides.  r->train may then be set to 0 and 1 at will.  A bound
 * norm kind=batch is refused: it would see one step only.
 * train = 0: windows slide, and nodes whose readers have run give their memory
 * to later ones; only inputs, the answer, and what a state or a window op
 * reads can be looked at afterwards. */
int  ctt_run_open(const struct ctt_graph *g, struct ctt_dev *dev,
                  const float *w, int n, int room, int asks, int train,
                  struct ctt_run **out);
void ctt_run_close(struct ctt_run **r);

/* As train = 1, but the caller owns the memory: it lays windows out with
 * ctt_run_place(), sets base, and carries the history over.  kept: a flag a
 * node, its value is read by the way back.  windows: 1 if there are several, so
 * that a window op looks back. */
int  ctt_run_open_bare(const struct ctt_graph *g, struct ctt_dev *dev,
                       const float *w, int n, int room, int asks,
                       const char *kept, int windows, struct ctt_run **out);

/* Lays out a window of so many steps and asks: at of each slot. */
void ctt_run_place(struct ctt_run *r, int steps, int asks);

/* Floats of a window in a block, at least. */
static inline int64_t ctt_extent_floats(const struct ctt_extent *e, int steps,
                                        int asks)
{
    return e->fixed + steps * e->step + asks * e->ask;
}

/* 1 if a mix stands in its step part: what is fed makes another schedule. */
int  ctt_run_mixes(const struct ctt_graph *g);

/* It keeps running statistics, and those of a call are of all its rows. */
static inline int ctt_is_batch_norm(const struct ctt_node *n)
{
    return n->op == CTT_OP_NORM && n->attr.norm.kind == CTT_NORM_BATCH;
}

/* Floats of all histories; those of the steps before the cursor written to
 * `to`, and the histories before step 0 read from `from` (NULL: zeros). */
int64_t ctt_run_history(const struct ctt_run *r);
void    ctt_run_save(const struct ctt_run *r, float *to);
void    ctt_run_load(struct ctt_run *r, const float *from);

/* Floats that fit into this machine's memory. */
int64_t ctt_run_machine(void);

/* CTT_ENOMEM if this machine has less memory than so many floats. */
int  ctt_run_fits(const struct ctt_run *r, int64_t floats);

/* What is refused where a component is bound: a batch norm. */
int  ctt_run_check_norms(const struct ctt_run *r, int fed);

/* Forgets the past: states are zero again, the cursor is at 0. */
void ctt_run_reset(struct ctt_run *r);

/* Where the value of a node at a step (or, after clip, at ask 0) lies, states
 * followed back in time; the caller writes inputs there.  step counts from the
 * start of the window and may be negative (history). */
float *ctt_run_value(const struct ctt_run *r, int node, int step);

/* Room for `steps` more steps at the cursor: if the window is full, slides the
 * history to its front first and moves the cursor to 0.  Call it before
 * writing inputs at cursor .. cursor + steps - 1. */
int  ctt_run_make_room(struct ctt_run *r, int steps);

/* The schedule of the steps at hand, by r->fed. */
const struct ctt_schedule *ctt_run_schedule(const struct ctt_run *r);

/* Runs the step part for the steps at the cursor and moves the cursor on. */
int  ctt_run_steps(struct ctt_run *r, int steps);

/* Runs the clip part for r->ask[0 .. asks - 1] (steps count from the start of
 * the window, the last one that may be asked is cursor - 1). */
int  ctt_run_clip(struct ctt_run *r, int asks);

/* A call of node for `steps` steps from `step` (after clip: for `steps` asks
 * from ask `step`), values and weights bound, nothing goes along; for those
 * that run kernels of their own choice (the way back, tests).
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
