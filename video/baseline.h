/* SPDX-License-Identifier: Apache-2.0
 * baseline.h: predictions without learning, to compare a model with. */
#ifndef CTT_BASELINE_H
#define CTT_BASELINE_H

/* Linear motion: the motion from picture `prev` to `last` continues.  Each
 * block of 8x8 pixels of `last` is searched in `prev` up to 6 pixels away
 * (least sum of absolute differences; among equals the nearest).  Pictures are
 * h x w x c floats; `last` must stay valid until free. */
struct ctt_motion;
int  ctt_motion_find(const float *prev, const float *last, int h, int w, int c,
                     struct ctt_motion **out);
void ctt_motion_free(struct ctt_motion **m);

/* The picture `ahead` frames after `last`: each block moves by `ahead` times
 * its step; fast blocks are painted over slow ones.  Pixels that a block leaves
 * show the nearest pixel to the left or right in a block that does not move. */
void ctt_motion_go_on(const struct ctt_motion *m, int ahead, float *out);

/* Both at once. */
int ctt_baseline_linear(const float *prev, const float *last, int h, int w,
                        int c, int ahead, float *out);

#endif
