/* SPDX-License-Identifier: Apache-2.0
 * augment.h: random changes of clips in training: the presets of --augment,
 * and the change of one clip. */
#ifndef CTT_AUGMENT_H
#define CTT_AUGMENT_H

#include "libtrain/data/light.h"
#include "libtrain/train.h"
#include "device/render.h"
#include "video/video.h"

/* ---- a part of a stored frame, resized to that of the model ---- */

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

struct ctt_data;

/* The settings of the same names; of each the value that changes nothing, or
 * 0, is off.  key: of an epoch; 0: nothing is changed. */
struct ctt_augment {
    int      jitter, flip;
    float    crop_area, crop_aspect, speed, start;
    float    brightness, contrast, random_gamma, saturation, grey;
    float    erase, mixup, cutmix;
    int      draws;         /* changes of each clip, out of `open` */
    unsigned open, drawn;   /* bits of augment.c's rows; drawn: of one clip,
                               whose values are no ranges but magnitudes */
    float    magnitude;     /* of --magnitude */
    float    erase_area;    /* above 0: of the erased part, as a share */
    uint64_t key;
};

/* The augmentation of the settings: given values, and values of the preset for
 * the others; for prediction only given values. */
struct ctt_augment ctt_augment_of(const struct ctt_train_cfg *cfg,
                                  uint64_t key);

/* The same for a clip that the epoch has had `turn` times before, which is then
 * changed in another way. */
struct ctt_augment ctt_augment_again(const struct ctt_augment *a, int turn);

/* Sets cfg to no augmentation. */
void ctt_augment_none(struct ctt_train_cfg *cfg);

/* 1 if clips of a batch are mixed, with their labels. */
int  ctt_augment_mixes(const struct ctt_train_cfg *cfg);

/* Writes the values of all that changes, "crop-area=0.8 speed=1.15", to line.
 * Returns 0 if nothing does. */
int  ctt_augment_tell(const struct ctt_train_cfg *cfg, char *line, size_t size);

/* The change of a clip: its crop; frames `first` and on, of which `count` are
 * shown, evenly spread; mirrored or not; colours (colour: factor of the
 * saturation); an erased part of the frame (w 0: none). */
struct ctt_look {
    struct ctt_area crop;
    int             resized;    /* 0: crop has the size of the model's frame and
                                   begins at whole pixels */
    int             first, count, flip;
    struct ctt_tint tint;
    float           colour;
    struct ctt_box { int x, y, w, h; } erased;
};

/* Chooses the change of clip i, which is to have at most `most` frames.
 * Crop: Szegedy and others 2015, with an area about that of the model's frame;
 * erased: Zhong and others 2020. */
void ctt_look_choose(const struct ctt_data *d, int i,
                     const struct ctt_augment *a, int most,
                     struct ctt_look *out);

/* The frame to show as the t-th of a clip with so many frames. */
int  ctt_look_frame(const struct ctt_look *k, int frames, int t);

/* Frames of clip i in training: from 1, or --min-frames, to the frames of the
 * longest clip. */
int  ctt_look_length(const struct ctt_data *d, int i,
                     const struct ctt_augment *a);

/* The key of further random numbers of clip i. */
enum ctt_look_use { CTT_LOOK_SHAPE = 7, CTT_LOOK_PAIR, CTT_LOOK_DRAW };
uint64_t ctt_look_key(const struct ctt_data *d, int i,
                      const struct ctt_augment *a, enum ctt_look_use use);

#endif
