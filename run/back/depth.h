/* SPDX-License-Identifier: Apache-2.0
 * depth.h: recomputation across the nodes of a window: the backward pass reads
 * values that were computed again after the forward pass, and all values and
 * gradients lie in one block, each only as long as it is read.
 *
 * A position is a component of the schedule, or a node after clip: it is run as
 * a whole, forward or back.  A plan is a list of such runs.  Whatever the list,
 * a value that is read lives from its last computation before, so a plan
 * decides memory and time, and never a number. */
#ifndef CTT_DEPTH_H
#define CTT_DEPTH_H

#include "run/back/backward.h"
#include "base/ctt.h"

/* ---- chains of stages ----
 *
 * The fastest schedule of recomputation for a chain within a memory (Beaumont
 * et al. 2019, "Optimal checkpointing for heterogeneous chains"). */

enum { CTT_STAGES_MOST = 48 };

/* Sizes in bytes, times in any unit.  Stage i reads what lies at cut i and
 * writes what lies at cut i + 1. */
struct ctt_rotor {
    int     stages;
    int64_t cut[CTT_STAGES_MOST + 1];     /* values there that later stages
                                             read */
    int64_t grad[CTT_STAGES_MOST + 1];    /* their gradients */
    int64_t saved[CTT_STAGES_MOST];    /* values of the stage that its backward
                                          pass and later stages read */
    int64_t thru[CTT_STAGES_MOST];     /* the most in its forward pass, if only
                                          what lies at the next cut is kept */
    int64_t full[CTT_STAGES_MOST];     /* the same, if `saved` is kept */
    int64_t back[CTT_STAGES_MOST];     /* the most in its backward pass */
    double  ahead[CTT_STAGES_MOST];    /* time of a forward pass */
    double  again[CTT_STAGES_MOST];    /* the same just before the backward
                                          pass of the stage, for `saved` */
};

/* The choice for stages first .. last, whose input is in memory.  at > first:
 * run forward to cut `at` and keep only that; then do stages at .. last, then
 * first .. at - 1.  at == first: keep all that the stage's backward pass reads,
 * then do the others, then go back through it.  -1: it does not fit. */
struct ctt_rotor_plan;
int  ctt_rotor_solve(const struct ctt_rotor *c, int64_t bytes,
                     struct ctt_rotor_plan **out);
void ctt_rotor_free(struct ctt_rotor_plan **p);

enum { CTT_ROTOR_SLOTS = 240 };

/* slots: of the CTT_ROTOR_SLOTS equal parts of `bytes`.  time: seconds
 * recomputed; the first pass, which always runs, counts as 0. */
int    ctt_rotor_choice(const struct ctt_rotor_plan *p, int first, int last,
                        int slots);
double ctt_rotor_time(const struct ctt_rotor_plan *p, int first, int last,
                      int slots);
/* Slots left for each part of a choice. */
int    ctt_rotor_right(const struct ctt_rotor_plan *p, int first, int at,
                       int slots);

/* A memory that a run reads or writes: node i's values are i, their gradients
 * count + i. */
struct ctt_use { int memory, writes; };

/* FORTH: the first pass.  AGAIN: recomputed. */
enum ctt_turn { CTT_FORTH, CTT_AGAIN, CTT_BACK, CTT_TURNS };
struct ctt_visit { int position; enum ctt_turn turn; int life, lives; };

/* From now on this memory lies at `at`. */
struct ctt_life { int memory; int64_t at; };

struct ctt_depth {
    const struct ctt_run *r;
    const char *need;
    int         count, positions;
    char       *fixed;     /* per memory: there from the beginning to the end */
    int64_t    *size;      /* per memory in bytes, 0: it has none */
    int        *writer;    /* per node: the first position that writes its
                              values, or positions */
    int        *reader;    /* the last one that reads them forward */
    int        *place;     /* per node: its position */
    int        *used[2];   /* forward, back: the uses of position k are
                              use[b][used[b][k]] .. use[b][used[b][k + 1]] */
    struct ctt_use   *use[2];
    double           *cost[2];    /* per position: time forward, back */
    int               cuts, *cut; /* stage i: positions cut[i] .. cut[i + 1] */
    struct ctt_visit *visit;      /* the plan */
    int               visits, room;
    struct ctt_life  *life;       /* those of a visit follow each other */
    int               lives;
    int64_t          *grad;       /* per node: where its gradient is now */
    int64_t           bytes;      /* of the block */
    char             *mark;       /* per node, while a plan is made */
    int               timed;      /* visits are timed: the run of a window */
    char             *redo;       /* per position, likewise */
};

/* depth_uses.c: what each position reads and writes, and the places between
 * positions at which a plan may cut, at most CTT_STAGES_MOST + 1. */
int  ctt_depth_new(const struct ctt_back *y, const struct ctt_run *r,
                   struct ctt_depth **out);
void ctt_depth_free(struct ctt_depth **d);

/* 1 if a later position reads, forward, what was computed before the cut. */
int  ctt_depth_crosses(const struct ctt_depth *d, int node, int cut);

/* Removes the cut whose two stages lose least by being one. */
void ctt_depth_merge(struct ctt_depth *d);

/* depth_plan.c.  all: nothing is recomputed.  few: the plan with the fewest
 * bytes among those that recompute each position once, with 2 * sqrt(L) values
 * of L or so (Chen et al. 2016), and those that take this share of a step's
 * time more.  within: the fastest plan by d->cost that fits into `bytes`; 1 if
 * there is none.  Each sets visit, life and bytes. */
int  ctt_depth_plan_all(struct ctt_depth *d);
int  ctt_depth_plan_few(struct ctt_depth *d, double share);
int  ctt_depth_plan_within(struct ctt_depth *d, int64_t bytes);

/* How many times the step's time without recomputation, by d->cost. */
double ctt_depth_times(const struct ctt_depth *d);

/* depth_choose.c: the plan of an exec, whose windows have been chosen: whole:
 * all; otherwise limit 0: few, else within.  Sets y->plan and the sizes of
 * blocks.  Returns 1 if y->plan.bytes is more than the limit. */
int  ctt_depth_open(struct ctt_back *y, const struct ctt_run *r, int whole,
                    int64_t limit);

/* Measures the time of each position with the plan of the fewest bytes, and
 * plans again: without a limit for 0.3 of the time of a step more. */
int  ctt_depth_choose(struct ctt_exec *x);

/* The first visits, which are the forward pass, and the others.  begin: where
 * everything lies at the start of a window. */
void ctt_depth_begin(struct ctt_exec *x);
int  ctt_depth_forward(struct ctt_exec *x);
int  ctt_depth_backward(struct ctt_exec *x);

#endif
