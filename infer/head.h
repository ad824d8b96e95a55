/* SPDX-License-Identifier: Apache-2.0
 * head.h: fits the confidence head of early decisions. */
#ifndef CTT_HEAD_H
#define CTT_HEAD_H

#include "net/file/decision.h"

/* An answer at check k, its probability there, and whether it may be given
 * there: waiting for the end would not turn it from wrong to right. */
struct ctt_head_row {
    int   check, answer, may;
    float p;
};

/* The head of so many classes with the least loss on the rows: the sum of
 * -log of what it gives to what is so, and half the square of each weight, in
 * standard deviations of what it multiplies (ridge: le Cessie and van
 * Houwelingen 1992).  The clips of the rows must not be those that thresholds
 * are calibrated on afterwards.  CTT_ENOMEM. */
int ctt_head_fit(const struct ctt_head_row *row, int64_t rows, int classes,
                 struct ctt_head *out);

#endif
