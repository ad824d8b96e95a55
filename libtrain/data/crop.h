/* SPDX-License-Identifier: Apache-2.0
 * crop.h: a part of a stored frame, resized to the model's frame. */
#ifndef CTT_CROP_H
#define CTT_CROP_H

#include "device/render.h"
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

/* Resizes that part of a stored frame to in->h x in->w x in->c floats, in these
 * colours: each is the mean of its neighbours, with weights that fall linearly
 * over one pixel of the larger of both grids (bilinear; where it shrinks,
 * without aliasing).  A part of whole pixels that has the size of the model's
 * frame is copied. */
void ctt_crop_frame(struct ctt_crop *c, const uint8_t *data,
                    const struct ctt_paint *paint, float *out);

/* The description of the resizing, until another part is set. */
struct ctt_render ctt_crop_render(const struct ctt_crop *c,
                                  const struct ctt_paint *paint);

#endif
