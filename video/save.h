/* SPDX-License-Identifier: Apache-2.0
 * save.h: saves pictures and videos with FFmpeg.  A file is written at the end,
 * under a temporary name, and then renamed. */
#ifndef CTT_SAVE_H
#define CTT_SAVE_H

#include "base/ctt.h"

/* Encodes h x w x c bytes as a PNG: c = 1 gray, 3 red, green and blue.  *png is
 * to be freed; path: of the file that it is for, for messages.  CTT_EUNSUP if
 * FFmpeg has no such encoder. */
int ctt_png_encode(const char *path, const uint8_t *data, int w, int h, int c,
                   uint8_t **png, int64_t *size);

/* The same, written to path. */
int ctt_save_png(const char *path, const uint8_t *data, int w, int h, int c);

/* Encoder settings.  fine: high quality, for viewing; quick: fast, for many
 * clips; long: as quick, for hours: written to the temporary file as it grows
 * (MP4 in fragments, WebM without an index) and not kept in memory. */
enum ctt_save_kind { CTT_SAVE_FINE, CTT_SAVE_QUICK, CTT_SAVE_LONG };

/* 1 if the extension of path is known and FFmpeg has an encoder for it. */
int ctt_saver_can(const char *path);

/* A video of w x h pixels and fps frames per second.  The extension of path
 * sets the codec: .webm VP9, .mp4 H.264, or MPEG-4 if FFmpeg has no H.264
 * encoder. An odd side is extended by one pixel. */
struct ctt_saver;
int  ctt_saver_open(const char *path, enum ctt_save_kind kind, int w, int h,
                    double fps, struct ctt_saver **out);
/* The next frame: h x w x 3 bytes, red first. */
int  ctt_saver_frame(struct ctt_saver *s, const uint8_t *rgb);
/* The last frame is shown for so many frames longer. */
int  ctt_saver_hold(struct ctt_saver *s, int frames);
/* Writes the file; also frees on failure. */
int  ctt_saver_finish(struct ctt_saver **s);
void ctt_saver_close(struct ctt_saver **s);    /* writes nothing */

#endif
