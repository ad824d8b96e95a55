/* SPDX-License-Identifier: Apache-2.0
 * infer_show.h: predictions to be looked at: one picture, or a video. */
#ifndef CTT_INFER_SHOW_H
#define CTT_INFER_SHOW_H

#include "net/graph.h"

/* A clip: frames of h x w x c bytes one after the other. */
struct ctt_shown {
    uint8_t *truth;    /* seen + ahead, of which there are `known` */
    uint8_t *guess;    /* ahead */
    int      known;
};
struct ctt_show {
    const struct ctt_input *in;
    int                     seen, ahead, clips;
    double                  fps;     /* of a video */
    struct ctt_shown       *clip;
};

/* Frames lie a pixel of grey apart, and where there is none it is grey too.
 *
 * A strip: a column a frame; of each clip the truth above the prediction. */
int ctt_show_strip(const char *path, const struct ctt_show *v);

/* A video: of each clip the truth left of the prediction. */
int ctt_show_video(const char *path, const struct ctt_show *v);

/* Fails if these cannot be made for so many frames; path NULL: not wanted. */
int ctt_show_check(const char *strip, const char *video,
                   const struct ctt_show *v);

#endif
