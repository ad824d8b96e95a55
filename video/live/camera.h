/* SPDX-License-Identifier: Apache-2.0
 * camera.h: frames of a camera by the kernel's interface V4L2 (Linux).  FFmpeg
 * can do this too, with libavdevice, which brings 81 further libraries on
 * Debian 12: sound, windows, fonts. */
#ifndef CTT_CAMERA_H
#define CTT_CAMERA_H

#include "video/meter.h"

struct ctt_camera;

struct ctt_camera_form {
    int         w, h;
    const char *pixels;    /* FFmpeg's name of their format; NULL: JPEG */
    double      fps;       /* 0: not stated */
};

/* Size, rate and format are what the device is set to, as by v4l2-ctl; if its
 * format is not one of ours, it is set to the first that is.  CTT_EUNSUP: it
 * has none, or takes no pictures; CTT_EIO: it cannot be opened, or is in use.
 */
int  ctt_camera_open(const char *path, struct ctt_meter *m,
                     struct ctt_camera **out, struct ctt_camera_form *form);
void ctt_camera_close(struct ctt_camera **c);

/* Waits for a frame: its bytes, and when it was taken in seconds of a clock
 * that never goes back.  Frames that the device calls damaged are left out and
 * added to *damaged.  CTT_EIO: the device is gone. */
int  ctt_camera_wait(struct ctt_camera *c, int64_t *size, double *stamp,
                     int64_t *damaged);
/* Copies that frame and gives its memory back to the device. */
int  ctt_camera_take(struct ctt_camera *c, uint8_t *to);

#endif
