/* SPDX-License-Identifier: Apache-2.0
 * save.h: pictures and videos into files, by FFmpeg.  A file is written at the
 * end, whole, beside and renamed. */
#ifndef CTT_SAVE_H
#define CTT_SAVE_H

#include "net/ctt.h"

/* A PNG of h x w x c bytes: c = 1 grey, 3 red, green and blue. */
int ctt_save_png(const char *path, const uint8_t *data, int w, int h, int c);

/* How a video is coded.  fine: to be looked at, from what nobody can make
 * again; quick: fast, for many clips. */
enum ctt_save_kind { CTT_SAVE_FINE, CTT_SAVE_QUICK };

/* Whether ctt_saver_open() knows the ending of path and has an encoder. */
int ctt_saver_can(const char *path);

/* A video of w x h pixels and fps frames a second; the ending of path says how:
 * .webm is VP9, .mp4 H.264, or MPEG-4 if FFmpeg here cannot.  A side that is
 * odd gets a pixel more. */
struct ctt_saver;
int  ctt_saver_open(const char *path, enum ctt_save_kind kind, int w, int h,
                    double fps, struct ctt_saver **out);
/* The next frame: h x w x 3 bytes, red first. */
int  ctt_saver_frame(struct ctt_saver *s, const uint8_t *rgb);
/* Writes the file, and frees also on failure. */
int  ctt_saver_finish(struct ctt_saver **s);
void ctt_saver_close(struct ctt_saver **s);    /* writes nothing */

#endif
