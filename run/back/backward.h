/* SPDX-License-Identifier: Apache-2.0
 * backward.h: what the parts of the backward pass share: which values it reads,
 * the plan of its memory, the windows of the batch at hand. */
#ifndef CTT_BACKWARD_H
#define CTT_BACKWARD_H

#include "run/back/exec.h"

struct ctt_back {
    char  *need;       /* of a node: its gradient leads to a weight */
    char  *overwrite;  /* of a node with memory: it has exactly one reader,
                          which may overwrite the gradient and need not add */
    char  *saved;      /* of a node: the backward pass reads its value */
    int    mixes;      /* windows begin at the first feedback step too */
    const char *norm;  /* one that takes the statistics of a whole clip, or
                          NULL */
    int    room, asks;    /* at most */
    struct ctt_memory_plan plan;

    struct ctt_window *part;     /* windows of the batch at hand */
    int             *which;    /* its asks in the order of its windows */
    int              parts, dropped, hand;
    int              seeding;    /* the caller writes gradients */
    int              overwrites; /* times that overwrite changed */
    int64_t         *at;       /* of a window's saved values */

    int64_t past;      /* bytes of all histories */
    int64_t stores;    /* histories that there is room for */
    int64_t history, values, transient, grads;    /* sizes in bytes */
    char   *value;     /* saved values of windows, one after the other */
    char   *transient_at;    /* the others of the window at hand */
    char   *grad;      /* of its values: those saved, then the others */
    char   *store;     /* histories at the start of the dropped windows but the
                          first, and of the window at hand */
    char   *carry;     /* gradients that reach the window before */
    struct ctt_replays *replays;    /* replay.c's */
};

/* need.c: fills need, overwrite and saved.  overwrite depends on names, so it
 * needs the run; the others only the graph. */
void ctt_back_needs(const struct ctt_graph *g, char *need);
void ctt_back_saved(const struct ctt_graph *g, const char *need, char *saved);
int  ctt_back_overwrites(const struct ctt_run *r, char *overwrite);

/* Whether the backward pass has anything to do for a node: bits. */
enum { CTT_WANT_DIN = 1, CTT_WANT_DW = 2 };
int  ctt_back_wants(const struct ctt_graph *g, const char *need, int node);

/* recompute.c: fills plan and the sizes from what the run says of its windows.
 * CTT_ENOMEM: the budget is too small for any. */
int  ctt_back_plan(struct ctt_back *y, const struct ctt_run *r,
                   const struct ctt_memory *m);

/* Cuts a batch into windows and says which ones are dropped. */
int  ctt_back_cut(struct ctt_back *y, const struct ctt_run *r,
                  const struct ctt_job *job);

/* backward.c: the backward pass through the window at hand, whose values and
 * whose gradients from outside are there.  carry_in: what comes from the window
 * behind it; carry_out: to the one before. */
int  ctt_back_clear(struct ctt_exec *x);
int  ctt_back_carry_in(struct ctt_exec *x);
int  ctt_back_carry_out(struct ctt_exec *x);
int  ctt_back_window(struct ctt_exec *x);

/* replay.c: work on the window at hand, done by fn or started again as it was
 * recorded when a window of the same place and form was worked on before. */
struct ctt_replays;
enum ctt_phase { CTT_PHASE_FORWARD, CTT_PHASE_CLEAR, CTT_PHASE_BACK };
int  ctt_back_replay(struct ctt_exec *x, enum ctt_phase phase,
                     int (*fn)(struct ctt_exec *x));
int  ctt_back_replays_new(struct ctt_exec *x);
void ctt_back_replays_free(struct ctt_exec *x);

#endif
