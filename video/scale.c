/* SPDX-License-Identifier: Apache-2.0
 * scale.c: the shape of a decoded frame, and the frame in another size and in
 * RGB. */
#include "video/decode.h"

#include <libavcodec/avcodec.h>
#include <libswscale/swscale.h>

#include <string.h>

/* A pixel that is so many times as wide as high, or the reverse, is one that a
 * damaged file states. */
enum { PIXEL_SHAPE_MAX = 16 };

void ctt_video_size(const struct ctt_video *v, int *w, int *h, int *turns)
{
    int num, den;

    *w = v->now->width;
    *h = v->now->height;
    *turns = ctt_demux_turns(v->demux);
    ctt_demux_pixel(v->demux, v->now, &num, &den);
    if (num / den >= PIXEL_SHAPE_MAX || den / num >= PIXEL_SHAPE_MAX)
        return;
    if (num > den)
        *w = (int)(((int64_t)*w * num + den / 2) / den);
    else
        *h = (int)(((int64_t)*h * den + num / 2) / num);
}

/* Sets the colour matrix and range that the frame states; swscale knows the
 * range of formats that imply one. */
static void set_colours(struct SwsContext *sws, const AVFrame *f)
{
    int *from, *into, range, full, a, b, c;

    if (sws_getColorspaceDetails(sws, &from, &range, &into, &full, &a, &b,
                                 &c) < 0)
        return;    /* no colours to convert */
    range |= f->color_range == AVCOL_RANGE_JPEG;
    sws_setColorspaceDetails(sws, sws_getCoefficients(f->colorspace), range,
                             into, full, a, b, c);
}

static int make_scaler(struct ctt_video *v, int w, int h, int format)
{
    const AVFrame *f = v->now;
    const int key[8] = { f->width, f->height, f->format, f->colorspace,
                         f->color_range, w, h, format };

    if (v->sws && memcmp(key, v->sws_key, sizeof(key)) == 0)
        return 0;
    sws_freeContext(v->sws);
    v->sws = sws_getContext(f->width, f->height, f->format, w, h, format,
                            SWS_BILINEAR | SWS_ACCURATE_RND | SWS_BITEXACT,
                            NULL, NULL, NULL);
    if (!v->sws)
        return ctt_error(CTT_EUNSUP, "%s: cannot bring %dx%d to %dx%d",
                         v->path, f->width, f->height, w, h);
    set_colours(v->sws, f);
    memcpy(v->sws_key, key, sizeof(key));
    return 0;
}

int ctt_video_scale(struct ctt_video *v, int w, int h, enum ctt_colour to,
                    uint8_t *data, int stride)
{
    static const enum AVPixelFormat format[] = {
        [CTT_RGB] = AV_PIX_FMT_RGB24, [CTT_BGR] = AV_PIX_FMT_BGR24,
        [CTT_GRAY] = AV_PIX_FMT_GRAY8,
    };
    uint8_t *const rows[4] = { data };
    const int strides[4] = { stride };
    const AVFrame *f = v->now;
    int rc, n;

    ctt_meter_start(&v->meter);
    CTT_TRY(make_scaler(v, w, h, format[to]));
    n = sws_scale(v->sws, (const uint8_t *const *)f->data, f->linesize, 0,
                  f->height, rows, strides);
    CTT_CHECK(n == h, CTT_EFORMAT, "%s: cannot be resized", v->path);
out:
    ctt_meter_stop(&v->meter);
    return rc;
}
