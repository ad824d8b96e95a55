/* SPDX-License-Identifier: Apache-2.0
 * baseline.h: predictions that need no learning, to be beaten. */
#ifndef CTT_BASELINE_H
#define CTT_BASELINE_H

/* Linear motion: all goes on as from the picture `prev` to `last`.  Each block
 * of 8x8 pixels of `last` is looked for in `prev` at most 6 pixels away (least
 * sum of absolute differences; among equals the nearest).  h x w x c floats
 * each; `last` must stay until free. */
struct ctt_motion;
int  ctt_motion_find(const float *prev, const float *last, int h, int w, int c,
                     struct ctt_motion **out);
void ctt_motion_free(struct ctt_motion **m);

/* The picture `ahead` frames after `last`: each block is moved on by `ahead`
 * times its way, the faster the later; what it leaves shows the nearest pixel
 * to the left or right that stands still. */
void ctt_motion_go_on(const struct ctt_motion *m, int ahead, float *out);

/* Both at once. */
int ctt_baseline_linear(const float *prev, const float *last, int h, int w,
                        int c, int ahead, float *out);

#endif
