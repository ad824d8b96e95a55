/* SPDX-License-Identifier: Apache-2.0
 * wilson.h: how far an accuracy that was measured on some clips can be from
 * that on all clips. */
#ifndef CTT_WILSON_H
#define CTT_WILSON_H

#include <stddef.h>
#include <stdint.h>

/* The 97.5% quantile of the normal distribution. */
#define CTT_WILSON_Z 1.959963984540054

/* The 95% confidence interval of an accuracy 0..1 measured on `of` clips
 * (Wilson 1927). */
void ctt_wilson(double share, int64_t of, double interval[2]);

/* The same in per cent as text: "71.2-83.0". */
const char *ctt_wilson_text(double share, int64_t of, char *text, size_t size);

#endif
