/* SPDX-License-Identifier: Apache-2.0
 * head.h: fits the confidence head of early decisions. */
#ifndef CTT_HEAD_H
#define CTT_HEAD_H

#include "net/file/decision.h"

/* Training row: an answer at a check, its probability p, and may: 1 if the
 * answer is right or also wrong at the end of the clip. */
struct ctt_head_row {
    int   check, answer, may;
    float p;
};

/* Fits a head of `classes` classes by penalised logistic regression of `may` on
 * the rows (ridge: le Cessie and van Houwelingen 1992): log loss plus half the
 * square of each weight, with terms in standard deviations.  The clips of the
 * rows must not be those that thresholds are calibrated on afterwards.
 * CTT_ENOMEM. */
int ctt_head_fit(const struct ctt_head_row *row, int64_t rows, int classes,
                 struct ctt_head *out);

#endif
