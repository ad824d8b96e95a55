/* SPDX-License-Identifier: Apache-2.0
 * way.h: what the parts of the way back share: which values it reads, the plan
 * of its memory, the windows of the batch at hand. */
#ifndef CTT_WAY_H
#define CTT_WAY_H

#include "run/back/exec.h"

struct ctt_way {
    char  *need;       /* of a node: its gradient leads to a weight */
    char  *sole;       /* of a node with memory: exactly one reader, and it may
                          overwrite the gradient */
    char  *kept;       /* of a node: the way back reads its value */
    int    mixes;      /* windows begin at the first fed step too */
    const char *norm;  /* one that takes the statistics of a whole clip, or
                          NULL */
    int    room, asks;    /* at most */
    struct ctt_memory_plan plan;

    struct ctt_part *part;     /* windows of the batch at hand */
    int             *which;    /* its asks in the order of its windows */
    int              parts, dropped, hand;
    int              seeding;    /* the caller writes gradients */
    int              soles;      /* times that sole changed */
    int64_t         *at;       /* of a window's kept values */

    int64_t past;      /* bytes of all histories */
    int64_t stores;    /* histories that there is room for */
    int64_t history, values, passing, grads;    /* sizes in bytes */
    char   *value;     /* kept values of windows, one after the other */
    char   *pass;      /* the others of the window at hand */
    char   *grad;      /* of its values: those kept, then the others */
    char   *store;     /* histories at the start of the dropped windows but the
                          first, and of the window at hand */
    char   *carry;     /* gradients that reach the window before */
    struct ctt_replays *replays;    /* exec.c's */
};

/* need.c: fills need, sole and kept.  sole knows names, so it needs the run;
 * the others only the graph. */
void ctt_way_needs(const struct ctt_graph *g, char *need);
void ctt_way_kept(const struct ctt_graph *g, const char *need, char *kept);
int  ctt_way_soles(const struct ctt_run *r, char *sole);

/* Whether the way back has anything to do for a node: bits. */
enum { CTT_WANT_DIN = 1, CTT_WANT_DW = 2 };
int  ctt_way_wants(const struct ctt_graph *g, const char *need, int node);

/* keep.c: fills plan and the sizes from what the run says of its windows.
 * CTT_ENOMEM: the budget is too small for any. */
int  ctt_way_plan(struct ctt_way *y, const struct ctt_run *r,
                  const struct ctt_memory *m);

/* Cuts a batch into windows and says which ones are dropped. */
int  ctt_way_cut(struct ctt_way *y, const struct ctt_run *r,
                 const struct ctt_job *job);

/* back.c: the way back through the window at hand, whose values and whose
 * gradients from outside are there.  carry_in: what comes from the window
 * behind it; carry_out: to the one before. */
int  ctt_way_clear(struct ctt_exec *x);
int  ctt_way_carry_in(struct ctt_exec *x);
int  ctt_way_carry_out(struct ctt_exec *x);
int  ctt_way_back(struct ctt_exec *x);

/* replay.c: work on the window at hand, done by fn or started again as it was
 * recorded when a window of the same place and form was worked on before. */
struct ctt_replays;
enum ctt_phase { CTT_PHASE_FORWARD, CTT_PHASE_CLEAR, CTT_PHASE_BACK };
int  ctt_way_replay(struct ctt_exec *x, enum ctt_phase phase,
                    int (*fn)(struct ctt_exec *x));
int  ctt_way_replays_new(struct ctt_exec *x);
void ctt_way_replays_free(struct ctt_exec *x);

#endif
