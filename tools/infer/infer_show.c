/* SPDX-License-Identifier: Apache-2.0
 * infer_show.c: shows predictions as a picture or a video. */
#include "tools/infer/infer_predict.h"
#include "tools/shared/picture.h"
#include "video/save.h"

/* Frame t of a clip, true and predicted; NULL: none. */
static const uint8_t *truth(const struct ctt_show *v, int clip, int t)
{
    size_t size = (size_t)v->in->w * (size_t)v->in->h * (size_t)v->in->c;

    return t < v->clip[clip].known ? v->clip[clip].truth + (size_t)t * size
                                   : NULL;
}

static const uint8_t *guess(const struct ctt_show *v, int clip, int t)
{
    size_t size = (size_t)v->in->w * (size_t)v->in->h * (size_t)v->in->c;

    return t < v->seen ? NULL
                       : v->clip[clip].guess + (size_t)(t - v->seen) * size;
}

int ctt_show_strip(const char *path, const struct ctt_show *v)
{
    struct ctt_sheet s = { NULL };
    int rc = 0, frames = v->seen + v->ahead;

    CTT_TRY(ctt_sheet_open(&s, v->in, frames, 2 * v->clips, v->in->c));
    ctt_sheet_clear(&s);
    for (int i = 0; i < v->clips; i++)
        for (int t = 0; t < frames; t++) {
            ctt_sheet_put(&s, t, 2 * i, truth(v, i, t));
            ctt_sheet_put(&s, t, 2 * i + 1, guess(v, i, t));
        }
    CTT_TRY(ctt_save_png(path, s.data, s.w, s.h, s.c));
out:
    ctt_sheet_close(&s);
    return rc;
}

int ctt_show_video(const char *path, const struct ctt_show *v)
{
    struct ctt_saver *to = NULL;
    struct ctt_sheet s = { NULL };
    int rc = 0;

    CTT_TRY(ctt_sheet_open(&s, v->in, 2, v->clips, 3));
    CTT_TRY(ctt_saver_open(path, CTT_SAVE_FINE, s.w, s.h, v->fps, &to));
    for (int t = 0; t < v->seen + v->ahead; t++) {
        ctt_sheet_clear(&s);
        for (int i = 0; i < v->clips; i++) {
            ctt_sheet_put(&s, 0, i, truth(v, i, t));
            ctt_sheet_put(&s, 1, i, guess(v, i, t));
        }
        CTT_TRY(ctt_saver_frame(to, s.data));
    }
    CTT_TRY(ctt_saver_finish(&to));
out:
    ctt_saver_close(&to);
    ctt_sheet_close(&s);
    return rc;
}

int ctt_show_check(const char *strip, const char *video,
                   const struct ctt_show *v)
{
    struct ctt_saver *to = NULL;
    int rc = 0, frames = v->seen + v->ahead;

    CTT_CHECK(!(strip || video) || v->in->c != 2, CTT_EUNSUP,
              "%s: frames of two channels have no colour",
              strip ? strip : video);
    CTT_CHECK(!strip || !ctt_sheet_too_large(v->in, frames, 2 * v->clips),
              CTT_EINVAL, "%s: picture too large: %d clips of %d frames", strip,
              v->clips, frames);
    CTT_CHECK(!video || !ctt_sheet_too_large(v->in, 2, v->clips), CTT_EINVAL,
              "%s: picture too large: %d clips", video, v->clips);
    if (video)
        CTT_TRY(ctt_saver_open(video, CTT_SAVE_FINE,
                               (int)ctt_sheet_side(2, v->in->w),
                               (int)ctt_sheet_side(v->clips, v->in->h),
                               v->fps > 0 ? v->fps : 1, &to));
out:
    ctt_saver_close(&to);
    return rc;
}
