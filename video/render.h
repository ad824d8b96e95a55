/* SPDX-License-Identifier: Apache-2.0
 * render.h: the current frame of a video as a model or a person sees it. */
#ifndef CTT_RENDER_H
#define CTT_RENDER_H

#include "video/video.h"

/* Zero but for path, in, w and h, of a stored frame (ctt_frame_size()). */
struct ctt_render {
    const char      *path;        /* for messages */
    struct ctt_input in;
    int              w, h;
    uint8_t         *scaled;      /* the frame, resized */
    size_t           room;
};

/* Writes v's current frame, resized, turned and cropped: h x w x in.c bytes.
 * CTT_EFORMAT: the frame is too wide or too tall to resize. */
int  ctt_render(struct ctt_render *r, struct ctt_video *v, uint8_t *to);

/* The whole frame, upright, with square pixels: in RGB, h x w x 3 bytes in
 * *to, which has *room and grows if need be.  CTT_EFORMAT: more pixels than
 * the limit. */
int  ctt_render_picture(struct ctt_render *r, struct ctt_video *v,
                        uint8_t **to, size_t *room, int *w, int *h);

void ctt_render_clear(struct ctt_render *r);

#endif
