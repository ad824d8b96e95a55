/* SPDX-License-Identifier: Apache-2.0
 * rotor.h: the fastest schedule of recomputation for a chain of stages within a
 * memory (Beaumont et al. 2019, "Optimal checkpointing for heterogeneous
 * chains"). */
#ifndef CTT_ROTOR_H
#define CTT_ROTOR_H

#include "base/ctt.h"

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

#endif
