/* SPDX-License-Identifier: Apache-2.0
 * assignment.h: an assignment: the option of each kind that each weight of a
 * model gets. */
#ifndef CTT_ASSIGNMENT_H
#define CTT_ASSIGNMENT_H

#include "compress/search/sensitivity.h"

struct ctt_recipe;

/* The options of one weight: points of a struct ctt_sensitivity, NULL: whole,
 * and values of its own; and whether it is pruned, and reads bytes. */
struct ctt_assigned {
    const struct ctt_sensitivity_point *form, *share;
    int pruned, int8;
};

/* The share of the channels that is removed first, and of the values of all
 * weights together that is pruned: the share of each is known best by its
 * values (LAMP: Lee and others 2021). */
struct ctt_assignment {
    double                   thin, prune;    /* 0: none */
    const struct ctt_ladder *pruning;        /* its form */
    int                      weights;
    struct ctt_assigned      weight[];
};

/* Nothing is done to any weight of s.  The caller frees *out. */
int ctt_assignment_new(const struct ctt_sensitivity *s,
                       struct ctt_assignment **out);

/* Whether it prunes or factorises any weight, or removes channels; and whether
 * it does anything. */
int ctt_assignment_retrains(const struct ctt_assignment *a);
int ctt_assignment_changes(const struct ctt_assignment *a);

/* As text: "thin 0.5; c1: svd 0.5, prune any 0.9; y: share 4" names the options
 * and nothing else; CTT_ASSIGNMENT_NONE if there are none. */
enum { CTT_ASSIGNMENT_TEXT = 8192 };
#define CTT_ASSIGNMENT_NONE "as given"
void ctt_assignment_print(const struct ctt_sensitivity *s,
                          const struct ctt_assignment *a, char *text,
                          size_t size);

/* Whether a weight has enough values to be pruned. */
int ctt_assignment_prunes(const struct ctt_sensitivity *s, int weight);

/* The settings of the stages for an assignment, and their lists of names. */
struct ctt_assignment_recipe;

/* given: all other settings.  An SVD of a thinned model keeps as much of the
 * rank as of the channels.  The caller frees *out. */
int ctt_assignment_recipe(const struct ctt_sensitivity *s,
                          const struct ctt_assignment *a,
                          const struct ctt_recipe *given,
                          struct ctt_assignment_recipe **out);
void ctt_assignment_recipe_free(struct ctt_assignment_recipe **r);
const struct ctt_recipe *
ctt_assignment_settings(const struct ctt_assignment_recipe *r);

#endif
