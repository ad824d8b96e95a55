/* SPDX-License-Identifier: Apache-2.0
 * show.h: the frames of a clip as a change makes them, as floats or as bytes
 * for a device that makes the floats. */
#ifndef CTT_SHOW_H
#define CTT_SHOW_H

#include "libtrain/data/augment.h"
#include "libtrain/data/data.h"

/* Clips, and the memory of a thread that shows them. */
struct ctt_show {
    const struct ctt_data *d;
    struct ctt_crop       *crop;
};

/* Writes `steps` frames, `apart` floats from each other; padding repeats the
 * last one. */
void ctt_show_floats(const struct ctt_show *w, const struct ctt_look *k,
                     const struct ctt_frames *f, int steps, int64_t apart,
                     float *x);

/* A batch of n clips as bytes, for which ctt_dev_render() makes the same
 * floats; its block is the caller's.  Not with normalise=clip. */
struct ctt_shots ctt_shots_of(const struct ctt_show *w, int n, int steps);

/* Writes clip j of a batch, or that there is none. */
void ctt_show_bytes(const struct ctt_show *w, const struct ctt_look *k,
                    const struct ctt_frames *f, const struct ctt_shots *s,
                    int j);
void ctt_show_none(const struct ctt_shots *s, int j);

#endif
