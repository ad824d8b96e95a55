/* SPDX-License-Identifier: Apache-2.0
 * ways.h: the ways to store each weight, with harm and costs, and the choice of
 * one for each weight under limits. */
#ifndef CTT_WAYS_H
#define CTT_WAYS_H

#include "compress/search/assignment.h"
#include "compress/search/budget.h"

/* A way to store a weight: its options, harm to the answers in nats, and
 * costs. */
struct ctt_way {
    struct ctt_assigned is;
    double harm, cost[CTT_COSTS];
};

/* The ways of weight i are way[first[i]] to way[first[i + 1] - 1].  rest: costs
 * of everything else. */
struct ctt_ways {
    int             weights;
    int            *first;
    struct ctt_way *way;
    double          rest[CTT_COSTS];
};

/* ---- ways.c ---- */

/* Ways to choose from. */
struct ctt_style {
    double thin;         /* share of the channels that is removed first */
    int    whole;        /* 1: no factors */
    int    uniform;      /* 1: all large weights get the same factors */
    const char *why;     /* a reason for a candidate of this style */
};

/* Whether a weight has a quarter of the values of the largest one: factors of
 * small ones harm much and save little. */
int  ctt_is_large(const struct ctt_sensitivity *s, int weight);

/* A pruning of all weights that can be pruned: a share of their values, of this
 * form (NULL: none); and the factors of all large weights in a uniform style,
 * or NULL. */
struct ctt_common {
    const struct ctt_ladder *pruning;
    double prune;
    const struct ctt_ladder *form;
    int    value;
};

/* Lists the ways of each weight of s: every set of one value or none of SVD or
 * tensor trains, of pruning as `all` says (factors may be left unpruned), of
 * shared values and of INT8.  Harm is the sum of that of the options alone, by
 * the fits of s.  Bytes are estimated by those of the options alone and the
 * entropy of what is pruned; times and memory by the savings of each alone.
 * given: costs of the original.  The caller frees *out. */
int  ctt_ways_new(const struct ctt_sensitivity *s,
                  const struct ctt_costs *given,
                  const struct ctt_style *style, const struct ctt_common *all,
                  struct ctt_ways **out);
void ctt_ways_free(struct ctt_ways **w);

/* The harm of one weight's options. */
double ctt_assigned_harm(const struct ctt_sensitivity *s, int weight,
                         const struct ctt_assigned *w,
                         const struct ctt_ladder *pruning, double prune);

/* ---- allocate.c ---- */

/* An objective: the sum of `price` times cost, and of harm with price `harm`;
 * and limits, INFINITY: none. */
struct ctt_aim_at {
    double harm, price[CTT_COSTS];
    double most_harm, most[CTT_COSTS];
};

/* The sum over the ways that are picked, by index from the first of each
 * weight. */
struct ctt_way ctt_ways_sum(const struct ctt_ways *m, const int *pick);

/* How far the limits are exceeded, as the largest ratio; 1: they hold. */
double ctt_aim_excess(const struct ctt_aim_at *a, const struct ctt_way *sum);

/* Whether the sum x is better than y: nearer to the limits, or smaller within
 * them. */
int  ctt_aim_better(const struct ctt_aim_at *a, const struct ctt_way *x,
                    const struct ctt_way *y);

/* Picks a way for each weight with a small objective under the limits: begins
 * with the best of each weight and makes the change that costs least for what
 * it takes off the limits that are exceeded (marginal analysis; Fox 1966)
 * until they hold, then single changes that gain.  Returns 0; 1 if no choice
 * was found that holds: pick then exceeds the limits by little. */
int ctt_allocate(const struct ctt_ways *m, const struct ctt_aim_at *a,
                 int *pick);

#endif
