/* SPDX-License-Identifier: Apache-2.0
 * infer_show.c: shows predictions as a picture or a video. */
#include "tools/infer_show.h"
#include "video/save.h"

#include <string.h>

enum { GREY = 128, PIXELS = 1 << 27 /* largest picture */ };

/* A grid of frames, one pixel apart; c: 1 gray, 3 red, green, blue. */
struct sheet {
    const struct ctt_input *in;
    int      columns, rows, w, h, c;
    uint8_t *data;
};

static int64_t side(int cells, int size)
{
    return (int64_t)cells * (size + 1) - 1;
}

static int too_large(const struct ctt_show *v, int columns, int rows)
{
    return side(columns, v->in->w) * side(rows, v->in->h) > PIXELS;
}

static int sheet_open(struct sheet *s, const struct ctt_show *v, int columns,
                      int rows, int c)
{
    *s = (struct sheet){ .in = v->in, .columns = columns, .rows = rows,
        .w = (int)side(columns, v->in->w), .h = (int)side(rows, v->in->h),
        .c = c };
    s->data = ctt_calloc((size_t)s->w * (size_t)s->h, (size_t)c);
    return s->data ? 0 : CTT_ENOMEM;
}

static void sheet_clear(struct sheet *s)
{
    memset(s->data, GREY, (size_t)s->w * (size_t)s->h * (size_t)s->c);
}

/* Copies a frame into a cell; NULL leaves it gray. */
static void sheet_put(struct sheet *s, int column, int row,
                      const uint8_t *frame)
{
    int w = s->in->w, h = s->in->h, c = s->in->c;
    int turned = s->in->colour == CTT_BGR && c == 3;

    for (int y = 0; frame && y < h; y++)
        for (int x = 0; x < w; x++) {
            const uint8_t *from = frame + ((size_t)y * w + x) * c;
            uint8_t *to = s->data + ((size_t)(row * (h + 1) + y) * s->w +
                                     (size_t)(column * (w + 1) + x)) * s->c;
            for (int k = 0; k < s->c; k++)
                to[k] = from[c == 1 ? 0 : turned ? 2 - k : k];
        }
}

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
    struct sheet s = { NULL };
    int rc = 0, frames = v->seen + v->ahead;

    CTT_TRY(sheet_open(&s, v, frames, 2 * v->clips, v->in->c));
    sheet_clear(&s);
    for (int i = 0; i < v->clips; i++)
        for (int t = 0; t < frames; t++) {
            sheet_put(&s, t, 2 * i, truth(v, i, t));
            sheet_put(&s, t, 2 * i + 1, guess(v, i, t));
        }
    CTT_TRY(ctt_save_png(path, s.data, s.w, s.h, s.c));
out:
    ctt_free(s.data);
    return rc;
}

int ctt_show_video(const char *path, const struct ctt_show *v)
{
    struct ctt_saver *to = NULL;
    struct sheet s = { NULL };
    int rc = 0;

    CTT_TRY(sheet_open(&s, v, 2, v->clips, 3));
    CTT_TRY(ctt_saver_open(path, CTT_SAVE_FINE, s.w, s.h, v->fps, &to));
    for (int t = 0; t < v->seen + v->ahead; t++) {
        sheet_clear(&s);
        for (int i = 0; i < v->clips; i++) {
            sheet_put(&s, 0, i, truth(v, i, t));
            sheet_put(&s, 1, i, guess(v, i, t));
        }
        CTT_TRY(ctt_saver_frame(to, s.data));
    }
    CTT_TRY(ctt_saver_finish(&to));
out:
    ctt_saver_close(&to);
    ctt_free(s.data);
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
    CTT_CHECK(!strip || !too_large(v, frames, 2 * v->clips), CTT_EINVAL,
              "%s: picture too large: %d clips of %d frames", strip,
              v->clips, frames);
    CTT_CHECK(!video || !too_large(v, 2, v->clips), CTT_EINVAL,
              "%s: picture too large: %d clips", video, v->clips);
    if (video)
        CTT_TRY(ctt_saver_open(video, CTT_SAVE_FINE, (int)side(2, v->in->w),
                               (int)side(v->clips, v->in->h),
                               v->fps > 0 ? v->fps : 1, &to));
out:
    ctt_saver_close(&to);
    return rc;
}
