/* SPDX-License-Identifier: Apache-2.0
 * small.h: small models with numbers, for the tests of compression. */
#ifndef CTT_SMALL_H
#define CTT_SMALL_H

#include "net/model.h"

/* A model with each kind of node whose weights can be pruned: convs before and
 * after a convlstm. */
extern const char small_net[];

/* Weights that a trained model could have, from key. */
struct ctt_model *small_model(const char *text, uint64_t key);

/* Makes each conv weight a sum of `rank` products of vectors. */
void small_rank(struct ctt_model *m, int rank);

/* Both models get the same frames on the plain C device and must answer the
 * same. */
void small_compare(const struct ctt_model *a, const struct ctt_model *b,
                   int steps, double tol);

/* Count of pruned numbers of the node's first weight; each must be 0. */
int64_t small_pruned(const struct ctt_model *m, const struct ctt_node *n);

/* Sums over the prunable weights; all other numbers must be kept. */
void small_count(const struct ctt_model *m, int64_t *all, int64_t *pruned);

/* For struct ctt_recipe_calls: runs m, which has no part after clip, on
 * SMALL_FRAMES frames and calls take with every place.  arg: NULL, or the
 * number of clips (int) that must be asked for. */
enum { SMALL_FRAMES = 6 };
int small_sample(void *arg, const struct ctt_model *m, int clips,
                 const int *node, int nodes, enum ctt_sampled what,
                 void (*take)(void *to, int k, const float *row), void *to);

/* small_sample() with any arg. */
int small_sample_any(void *arg, const struct ctt_model *m, int clips,
                     const int *node, int nodes, enum ctt_sampled what,
                     void (*take)(void *to, int k, const float *row),
                     void *to);

/* On these frames: the mean of |y - y'|^2 of the outputs over the places, and
 * *bias: the largest mean difference of a channel; the sum of the variances of
 * the output's channels. */
double small_loss(const struct ctt_model *m, const struct ctt_model *c,
                  double *bias);
double small_variance(const struct ctt_model *m);

#endif
