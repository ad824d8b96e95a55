/* SPDX-License-Identifier: Apache-2.0
 * small.h: small models with numbers, for the tests of compression. */
#ifndef CTT_SMALL_H
#define CTT_SMALL_H

#include "net/file.h"

/* Weights that a trained model could have, from key. */
struct ctt_model *small_model(const char *text, uint64_t key);

/* Makes each conv weight a sum of `rank` products of vectors. */
void small_rank(struct ctt_model *m, int rank);

/* Both models get the same frames on the plain C device and must answer the
 * same. */
void small_compare(const struct ctt_model *a, const struct ctt_model *b,
                   int steps, double tol);

#endif
