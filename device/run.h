/* SPDX-License-Identifier: Apache-2.0
 * run.h: where every value of a graph lies and in which order its kernels run
 * forward.  The trainer keeps all values and adds the way back; a session runs
 * step by step.  Both use this one schedule, so streaming equals batch. */
#ifndef CTT_RUN_H
#define CTT_RUN_H

#include "device/device.h"

/* A node's values: [history + room][n][d,h,w,c] floats, node-major.  History:
 * the steps before the window that a state or a window op still reads.  A node
 * that only names memory (state, slice, reshape, an act that the kernel before
 * it applies) has no values of its own: all its fields but `delay`, `off` and
 * `ld` are those of the node it names, `alias`. */
struct ctt_slot {
    int64_t at;        /* of step 0 in the block of values */
    int64_t size;      /* floats a step: n * volume (clip part: asks * ...) */
    int     history;   /* steps kept before step 0 */
    int     alias;     /* the node whose memory this is, or itself */
    int     delay;     /* steps that this name looks back */
    int64_t off, ld;   /* first float in a step, floats from pixel to pixel */
    int     fused;     /* the act node that this node's kernel applies, or -1 */
    int     skip;      /* forward has no kernel to call: fused, or a name */
};

enum ctt_run_cache { CTT_CACHE_FWD, CTT_CACHE_BWD, CTT_CACHE_DW, CTT_CACHES };

struct ctt_run {
    const struct ctt_graph *g;
    struct ctt_dev         *dev;
    struct ctt_schedule    *s;
    const float            *w;       /* the flat block of weights; not owned */
    uint64_t                stamp;   /* raise it when w changes */
    uint64_t                key;     /* of this window's randomness */
    int                     train;   /* batch statistics and dropout */
    int                     slides;  /* opened with train = 0 */
    int                     n, room, max_asks;
    int                     cursor;  /* steps of the window already run */
    int64_t                 past;    /* steps run before this window */
    int                     asks;    /* answers of the last ctt_run_clip */
    struct ctt_ask         *ask;     /* max_asks of them */
    int64_t                 values;  /* floats in val */
    float                  *val;
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

/* Runs the step part for the steps at the cursor and moves the cursor on. */
int  ctt_run_steps(struct ctt_run *r, int steps);

/* Runs the clip part for r->ask[0 .. asks - 1] (steps count from the start of
 * the window, the last one that may be asked is cursor - 1). */
int  ctt_run_clip(struct ctt_run *r, int asks);

/* A call of node for `steps` steps from `step` (after clip: for `steps` asks
 * from ask 0), values and weights bound, for those that run kernels of their
 * own choice (the way back, tests).
 *
 * The key of a call comes from r->key, the node, and the steps since the reset:
 * so a node with randomness must be called for one step at a time, and then
 * its mask does not depend on how steps are batched. */
void ctt_run_bind(const struct ctt_run *r, int node, int step, int steps,
                  struct ctt_call *c);

/* 1 if the node is called for one step at a time even in a free component. */
int  ctt_run_single(const struct ctt_node *n);

/* layout.c: fills r->slot and r->values from the graph and the sizes in r. */
int  ctt_run_layout(struct ctt_run *r);

#endif
