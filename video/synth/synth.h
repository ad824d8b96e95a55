/* SPDX-License-Identifier: Apache-2.0
 * synth.h: the content of each generated clip, and its split. */
#ifndef CTT_SYNTH_H
#define CTT_SYNTH_H

#include "video/video.h"

/* Frames per second, and frames per clip. */
enum { CTT_SYNTH_FPS = 12, CTT_SYNTH_MIN = 24, CTT_SYNTH_MAX = 60 };

/* Content of a clip, for the lists: class, colour and shape of the object. */
struct ctt_caption { int label, colour, shape; };
int ctt_synth_make(const struct ctt_synth *s, int i, struct ctt_frames *out,
                   struct ctt_caption *c);
/* Class k of those that are made, as an index of ctt_synth_template. */
int ctt_synth_class(const struct ctt_synth *s, int k);
/* The class of clip i, without drawing it. */
int ctt_synth_label(const struct ctt_synth *s, int i);

#endif
