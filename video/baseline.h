/* SPDX-License-Identifier: Apache-2.0
 * baseline.h: predictions that need no learning, to be beaten. */
#ifndef CTT_BASELINE_H
#define CTT_BASELINE_H

/* Linear motion: the picture `ahead` frames after `last` if all goes on as from
 * `prev` to `last`.  Each block of 8x8 pixels of `last` is looked for in `prev`
 * at most 6 pixels away (least sum of absolute differences; among equals the
 * nearest), and moved on by `ahead` times that way, the faster the later; what
 * it leaves shows the nearest pixel to the left or right that stands still.
 * h x w x c floats each. */
int ctt_baseline_linear(const float *prev, const float *last, int h, int w,
                        int c, int ahead, float *out);

#endif
