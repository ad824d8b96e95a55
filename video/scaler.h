/* SPDX-License-Identifier: Apache-2.0
 * scaler.h: frames in another size and format of pixels, by FFmpeg. */
#ifndef CTT_SCALER_H
#define CTT_SCALER_H

#include <stdint.h>

struct AVFrame;
struct SwsContext;

/* key: what sws was made for. */
enum { CTT_SCALER_KEY = 8 };
struct ctt_scaler { struct SwsContext *sws; int key[CTT_SCALER_KEY]; };

/* Writes the frame in w x h pixels of a format (enum AVPixelFormat) to rows of
 * these strides.  CTT_EUNSUP, CTT_EFORMAT: it cannot be, without its name. */
int  ctt_scaler_run(struct ctt_scaler *s, const struct AVFrame *f, int w,
                    int h, int format, uint8_t *const rows[4],
                    const int strides[4]);
void ctt_scaler_clear(struct ctt_scaler *s);

#endif
