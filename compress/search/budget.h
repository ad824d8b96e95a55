/* SPDX-License-Identifier: Apache-2.0
 * budget.h: limits of what a compressed model costs and loses, and the test
 * whether clips show that it keeps them. */
#ifndef CTT_BUDGET_H
#define CTT_BUDGET_H

#include "compress/report.h"

/* ---- budget.c ---- */

/* Costs of a model: bytes of the file, milliseconds per frame, multiplications
 * per frame by weights that are not pruned, and bytes of memory at run time:
 * the model as the runtime keeps it and one session. */
enum ctt_cost { CTT_COST_BYTES, CTT_COST_MS, CTT_COST_MACS, CTT_COST_RAM,
                CTT_COSTS };

/* Their words in that order, then NULL. */
extern const char *const ctt_cost_words[];

/* Costs of a model, and its speed relative to the original; ms, ram and
 * faster are NAN where time is not measured. */
struct ctt_costs { double cost[CTT_COSTS], faster; };

/* Limits of costs (INFINITY: none), and of top-1 after 25, 50 and 100% of the
 * clips, 0..1: the largest loss against the original, or a floor; NAN:
 * none. */
struct ctt_budget {
    double most[CTT_COSTS];
    double loss[CTT_ACCURACIES], floor[CTT_ACCURACIES];
};

/* Reads "top1=-0.5,bytes=20k,ms=0.05": top1, or top1@25 and so on, in points,
 * is a loss if it has a minus, else a floor; k, M and G are 1000, 1000^2 and
 * 1000^3.  CTT_EINVAL, naming the part, for what cannot be: a word that is
 * none, a number out of range, a word that is there twice, a comma without a
 * limit. */
int  ctt_budget_read(const char *text, struct ctt_budget *b);

/* Whether it limits a cost; whether it limits ms or ram, which are timed. */
int  ctt_budget_has_cost(const struct ctt_budget *b);
int  ctt_budget_has_time(const struct ctt_budget *b);

/* Whether costs are within limits. */
int  ctt_costs_meet(const double most[CTT_COSTS], const double cost[CTT_COSTS]);

/* "19482 bytes, 0.0481 ms, 1.2 M multiplications": costs that are known;
 * returns text. */
const char *ctt_costs_print(const double cost[CTT_COSTS], char *text,
                            size_t size);

/* ---- accept.c ---- */

/* A test of one share of the clips: how many there are, right of the model as
 * given and of the compressed one, and lost and won between them. */
struct ctt_paired { int64_t clips, was, is, lost, won; };

/* How probable so bad a result is if the budget is kept: of a loss by McNemar's
 * exact test (1947), one-sided, once the lost clips that the budget allows are
 * left out; of a floor by the tail of the binomial distribution; 1: nothing is
 * limited. */
double ctt_budget_tail(const struct ctt_budget *b, int share,
                       const struct ctt_paired *t);

/* At most so probable: clips that the search did not see refute the budget; and
 * those of the search doubt it, by about a standard error. */
#define CTT_BUDGET_REFUTED 0.05
#define CTT_BUDGET_DOUBTED 0.16

/* Whether it is kept by the number of clips alone. */
int ctt_budget_kept(const struct ctt_budget *b, int share,
                    const struct ctt_paired *t);

/* The 95% confidence interval of what top-1 gains, -1..1, by half a clip more
 * of each kind (Agresti and Min 2005). */
void ctt_paired_interval(const struct ctt_paired *t, double *low,
                         double *high);

#endif
