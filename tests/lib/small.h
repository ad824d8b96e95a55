/* SPDX-License-Identifier: Apache-2.0
 * small.h: small models with numbers, for the tests of compression. */
#ifndef CTT_SMALL_H
#define CTT_SMALL_H

#include "net/file.h"

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

/* How many numbers of its first weight are pruned; those must be 0. */
int64_t small_pruned(const struct ctt_model *m, const struct ctt_node *n);

/* Sums over the prunable weights; all other numbers must be kept. */
void small_count(const struct ctt_model *m, int64_t *all, int64_t *pruned);

#endif
