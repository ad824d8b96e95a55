/* SPDX-License-Identifier: Apache-2.0
 * light.h: how bright frames are, and the change of that in augmentation. */
#ifndef CTT_LIGHT_H
#define CTT_LIGHT_H

#include "device/render.h"
#include "video/video.h"

/* Histogram of the values 0 ... 255 of each channel. */
struct ctt_light { uint64_t n[3][256]; };

/* Adds the part of the frames that a model with this input sees if it is cut
 * at x, y; of more than `most` frames that many, evenly spread; most 0: all. */
void ctt_light_add(struct ctt_light *l, const struct ctt_input *in, int x,
                   int y, const struct ctt_frames *f, int most);

/* Adds another histogram. */
void ctt_light_join(struct ctt_light *l, const struct ctt_light *other);

/* Mean and standard deviation, in 0..1 after gamma, of channels from .. to - 1;
 * 0 of nothing.  The sums are of integers, so they do not depend on the order.
 */
void ctt_light_mean(const struct ctt_light *l, const struct ctt_pixels *p,
                    int from, int to, double *mean, double *dev);

/* The share, 0..1, of values from .. to of all channels. */
double ctt_light_share(const struct ctt_light *l, int from, int to);

/* A change of a clip's colours.  gain: of the contrast; shift: in deviations of
 * the clip; bend: exponent of the values between the clip's own darkest and
 * brightest (0 and 1).  None: 1, 0, 1. */
struct ctt_tint { float gain, shift, bend; };

/* The new values of a clip, in 0..1 after gamma: bent, then set back to their
 * mean and deviation, then spread about the mean by gain and moved by shift
 * deviations.  All frames and channels of the clip count as one, so colours do
 * not turn.  Nothing is rounded or clipped. */
void ctt_tint_values(const struct ctt_light *clip, const struct ctt_pixels *p,
                     const struct ctt_tint *k, double value[256]);

/* Sets the table of `paint` to the same, normalised as p does the frame at
 * hand.  With normalise=clip p measures the unchanged frame: gain and shift
 * would cancel otherwise. */
void ctt_tint_table(const double value[256], const struct ctt_pixels *p,
                    struct ctt_paint *paint);

/* The mean of the clip's values of each channel after ctt_tint_values(). */
void ctt_light_fill(const struct ctt_light *clip, const double value[256],
                    double mean[3]);

/* Sets mixed, of and add of p, which move the channels of a normalised pixel
 * from their mean by this factor (saturation; 0: grey, 1: not mixed).  One
 * channel is not mixed. */
void ctt_colour_mix(const struct ctt_input *in, float factor,
                    struct ctt_paint *p);

#endif
