/* SPDX-License-Identifier: Apache-2.0
 * int8_recipe.h: recipes with the stage INT8 on a small model, for its
 * tests. */
#ifndef CTT_INT8_RECIPE_H
#define CTT_INT8_RECIPE_H

#include "compress/compress.h"

/* Predicts frames; four of its convs can read bytes when norms are folded. */
extern const char int8_net[];

/* small_sample() for struct ctt_recipe_calls: the request must be for all, or
 * for values. */
int int8_sample(void *arg, const struct ctt_model *m, int clips,
                const int *node, int nodes, enum ctt_sampled what,
                void (*take)(void *to, int k, const float *row), void *to);

/* Runs the recipe on a model of that text and writes saved_path: the model, and
 * of the second the report as well. */
struct ctt_model  *int8_recipe(const struct ctt_recipe *o,
                               const struct ctt_recipe_calls *calls,
                               const char *text);
struct ctt_report *int8_report(const struct ctt_recipe *o,
                               const struct ctt_recipe_calls *calls,
                               const char *text, struct ctt_model **m);

/* How many convs read bytes. */
int int8_convs(const struct ctt_graph *g);

#endif
