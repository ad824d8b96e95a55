/* SPDX-License-Identifier: Apache-2.0
 * crop.h: a part of a stored frame, resized to the model's frame. */
#ifndef CTT_CROP_H
#define CTT_CROP_H

#include "video/video.h"

/* A part of a frame, in its pixels. */
struct ctt_area { float x, y, w, h; };

/* The memory of a thread that resizes. */
struct ctt_crop;
int  ctt_crop_new(const struct ctt_input *in, struct ctt_crop **out);
void ctt_crop_free(struct ctt_crop **c);

/* Chooses the part for the next frames, inside the stored frame; mirrored if
 * flip. */
void ctt_crop_set(struct ctt_crop *c, const struct ctt_area *a, int flip);

/* Resizes that part of a stored frame, whose bytes mean table[channel][byte],
 * to in->h x in->w x in->c floats: each is the mean of its neighbours, with
 * weights that fall linearly over one pixel of the larger of both grids
 * (bilinear; where it shrinks, without aliasing). */
void ctt_crop_frame(struct ctt_crop *c, const uint8_t *data,
                    const float table[3][256], float *out);

#endif
