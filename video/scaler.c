/* SPDX-License-Identifier: Apache-2.0
 * scaler.c: frames in another size and format of pixels. */
#include "video/decode.h"
#include "base/ctt.h"

#include <libavutil/frame.h>
#include <libswscale/swscale.h>

#include <string.h>

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

static int make(struct ctt_scaler *s, const AVFrame *f, int w, int h,
                int format)
{
    const int key[CTT_SCALER_KEY] = { f->width, f->height, f->format,
        f->colorspace, f->color_range, w, h, format };

    if (s->sws && memcmp(key, s->key, sizeof(key)) == 0)
        return 0;
    sws_freeContext(s->sws);
    s->sws = sws_getContext(f->width, f->height, f->format, w, h, format,
                            SWS_BILINEAR | SWS_ACCURATE_RND | SWS_BITEXACT,
                            NULL, NULL, NULL);
    if (!s->sws)
        return ctt_error(CTT_EUNSUP, "cannot bring %dx%d to %dx%d", f->width,
                         f->height, w, h);
    set_colours(s->sws, f);
    memcpy(s->key, key, sizeof(key));
    return 0;
}

int ctt_scaler_run(struct ctt_scaler *s, const AVFrame *f, int w, int h,
                   int format, uint8_t *const rows[4], const int strides[4])
{
    int rc, n;

    CTT_TRY(make(s, f, w, h, format));
    n = sws_scale(s->sws, (const uint8_t *const *)f->data, f->linesize, 0,
                  f->height, rows, strides);
    CTT_CHECK(n == h, CTT_EFORMAT, "cannot be resized");
out:
    return rc;
}

void ctt_scaler_clear(struct ctt_scaler *s)
{
    sws_freeContext(s->sws);
    *s = (struct ctt_scaler){ NULL };
}
