/* SPDX-License-Identifier: Apache-2.0
 * live_draw.h: a video of a stream with its answers on it. */
#ifndef CTT_LIVE_DRAW_H
#define CTT_LIVE_DRAW_H

#include "base/ctt.h"

/* What is written on a picture. */
struct ctt_drawn {
    const uint8_t *picture;       /* h x w x 3 bytes */
    int            h, w;
    int64_t        skipped;       /* frames that were left out before it */
    double         time;          /* seconds */
    const char    *event;         /* of the event that goes on, or NULL */
    char *const   *name;          /* of classes */
    const float   *probs;
    const int     *order;         /* the best classes */
    int            top;           /* how many are shown, as far as a quarter of
                                     the height has room; 0: there is no answer
                                     yet */
};

struct ctt_drawer;

/* A video of `fps` frames per second; it is as large as its first picture,
 * enlarged or reduced by a whole number to 320 to 640 pixels, and grows beside
 * path as frames come, so memory does not. */
int  ctt_drawer_open(const char *path, double fps, struct ctt_drawer **out);
int  ctt_drawer_put(struct ctt_drawer *d, const struct ctt_drawn *p);
/* Gives the file its name; there is none if no picture came. */
int  ctt_drawer_finish(struct ctt_drawer **d);
void ctt_drawer_close(struct ctt_drawer **d);    /* writes nothing */

#endif
