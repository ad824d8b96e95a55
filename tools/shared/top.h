/* SPDX-License-Identifier: Apache-2.0
 * top.h: the largest of many numbers, in order. */
#ifndef CTT_TOP_H
#define CTT_TOP_H

/* Writes the indices of the k largest of n numbers to order, the largest first;
 * of equal ones the smaller index first; a NaN ranks last.  k <= n. */
void ctt_top(const float *x, int n, int *order, int k);

#endif
