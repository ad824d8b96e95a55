/* SPDX-License-Identifier: Apache-2.0
 * synth.h: the content of each generated clip, and its split. */
#ifndef CTT_SYNTH_H
#define CTT_SYNTH_H

#include "video/video.h"

/* Frames per second, and frames per clip. */
enum { CTT_SYNTH_FPS = 12, CTT_SYNTH_MIN = 24, CTT_SYNTH_MAX = 60 };

/* Signs of motion, growth and rotation. */
struct ctt_move { float x, y, grow, turn; };

/* Actions: an object is moved; or it is pulled or poked and then, late in the
 * clip, tears or falls (late = 1) or does not; or it is moved twice (ordered).
 */
enum ctt_prep { CTT_PREP_NONE, CTT_PREP_PULL, CTT_PREP_POKE };
struct ctt_action {
    struct ctt_move leg[2];
    enum ctt_prep   prep;
    int             late, ordered;
};
void ctt_synth_action(int label, struct ctt_action *a);
/* Any movement, at random. */
struct ctt_rng;
struct ctt_move ctt_synth_any(struct ctt_rng *r);
/* The name of a class in text, with [something] for the object. */
const char *ctt_synth_template(int label, char *text, size_t n);

/* Content of a clip, for the lists: class, colour and shape of the object. */
struct ctt_caption { int label, colour, shape; };
int ctt_synth_make(const struct ctt_synth *s, int i, struct ctt_frames *out,
                   struct ctt_caption *c);
/* Class k of those that are made, among all: 0 to 11 are in pairs, and
 * those in an order follow. */
int ctt_synth_class(const struct ctt_synth *s, int k);
/* The class of clip i, without drawing it. */
int ctt_synth_label(const struct ctt_synth *s, int i);

#endif
