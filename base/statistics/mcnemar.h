/* SPDX-License-Identifier: Apache-2.0
 * mcnemar.h: a test of two models on the same clips. */
#ifndef CTT_MCNEMAR_H
#define CTT_MCNEMAR_H

#include <stdint.h>

/* The exact test of McNemar (1947) of two models on the same clips: how
 * probable it is, if both err equally often, that at least as large a part of
 * the clips on which they differ is lost, or won.  Both sides; 1 if they do not
 * differ. */
double ctt_mcnemar(int64_t lost, int64_t won);

/* The least share of `clips` clips, 0..1, whose loss is not taken for chance:
 * with none won so many must be lost for a p below 5%. */
double ctt_mcnemar_least(int64_t clips);

#endif
