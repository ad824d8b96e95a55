/* SPDX-License-Identifier: Apache-2.0
 * infer_show.h: shows predictions as a picture or a video. */
#ifndef CTT_INFER_SHOW_H
#define CTT_INFER_SHOW_H

#include "net/graph.h"

/* A clip: frames of h x w x c bytes one after the other. */
struct ctt_shown {
    uint8_t *truth;    /* seen + ahead, of which the first `known` exist */
    uint8_t *guess;    /* ahead */
    int      known;
};
struct ctt_show {
    const struct ctt_input *in;
    int                     seen, ahead, clips;
    double                  fps;     /* of a video */
    struct ctt_shown       *clip;
};

/* Frames are separated by a gray line of one pixel; missing frames are gray.
 *
 * A strip: one column per frame; for each clip the truth above the prediction.
 */
int ctt_show_strip(const char *path, const struct ctt_show *v);

/* A video: for each clip the truth left of the prediction. */
int ctt_show_video(const char *path, const struct ctt_show *v);

/* Fails if the files cannot be made for so many frames; path NULL: no file. */
int ctt_show_check(const char *strip, const char *video,
                   const struct ctt_show *v);

#endif
