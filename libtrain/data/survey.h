/* SPDX-License-Identifier: Apache-2.0
 * survey.h: statistics of the clips of a set, counted while they are read. */
#ifndef CTT_SURVEY_H
#define CTT_SURVEY_H

#include "libtrain/data/light.h"

/* Of each clip 16 frames at most count, evenly spread, and of these the part
 * that a model sees without augmentation. */
struct ctt_tally {
    struct ctt_light light;
    int              clips, flat;     /* flat: clips with one value only */
    int64_t          pairs, equal;    /* of these frames and the next ones */
    float            fps_least, fps_most;
    float            file_least, file_most;    /* rates of the files */
    int64_t          mean, squares;   /* sums of the clips' means, in steps of
                                         1/65536, and of the squares of those */
    int64_t          within;          /* sum of the variances in the clips, in
                                         steps of 1/65536 squared */
};

void ctt_tally_add(struct ctt_tally *t, const struct ctt_input *in,
                   const struct ctt_frames *f);
void ctt_tally_join(struct ctt_tally *t, const struct ctt_tally *other);

#endif
