/* SPDX-License-Identifier: Apache-2.0
 * infer_clips.h: the clips that an operand of convtt-infer names, frame by
 * frame or whole, as the model wants them stored. */
#ifndef CTT_INFER_CLIPS_H
#define CTT_INFER_CLIPS_H

#include "video/video.h"

/* Which clips.  label: the model's classes; labels CTT_LABELS_ANY: it has none
 * and asks for none. */
struct ctt_clips_cfg {
    const char  *split, *classes;
    char *const *label;
    int          labels;
    int          sequences, digits, seed;    /* of mnist:; sequences 0: none */
};

/* path: what ctt_list_open() reads, a pack, or mnist:DIR.  No clip is opened
 * yet.  The list's labels are the model's. */
struct ctt_clips;
int  ctt_clips_open(const char *path, const struct ctt_clips_cfg *c,
                    const struct ctt_input *in, struct ctt_clips **out);
void ctt_clips_close(struct ctt_clips **c);
const struct ctt_list *ctt_clips_list(const struct ctt_clips *c);

/* At most max frames of clip i (0: all; mnist: as many as asked for). */
int  ctt_clips_load(const struct ctt_clips *c, int i, int max,
                    struct ctt_frames *out);

/* Frame by frame: 1 and a frame in data, or 0 at the end. */
struct ctt_feed;
int  ctt_feed_open(const struct ctt_clips *c, int i, struct ctt_feed **out);
int  ctt_feed_next(struct ctt_feed *f, uint8_t *data);
void ctt_feed_close(struct ctt_feed **f);

#endif
