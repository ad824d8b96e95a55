/* SPDX-License-Identifier: Apache-2.0
 * frame.c: converts frames to the rate, size and colours of a model. */
#include "base/limits.h"
#include "video/pick.h"
#include "video/render.h"
#include "video/live/stream.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* A frame shown for longer than this, in seconds, has a damaged time. */
#define STILL_MAX 60

/* A clip in memory: bytes, and the share of the memory limit. */
static const int64_t LOAD_MAX = (int64_t)1 << 31;
enum { SHARE = 4 };

struct ctt_reader {
    struct ctt_render as;         /* and the model's input */
    struct ctt_video *v;
    char             *path;
    int               every;      /* use every frame, ignoring times */
    int               started, ended;
    double            now, next;  /* frame times; ended: next is the end */
    int64_t           k;          /* frames returned so far */
    uint8_t          *stored;     /* the current frame */
    int               ready;      /* stored holds the current frame */
};

void ctt_frame_size(const struct ctt_input *in, int *w, int *h)
{
    double scale = in->fit == CTT_FIT_CROP && in->scale > 1 ?
                   (double)in->scale : 1;

    *w = (int)lround(scale * in->w);
    *h = (int)lround(scale * in->h);
}

int ctt_input_check(const struct ctt_input *in)
{
    int c = in->colour == CTT_GRAY ? 1 : 3, rc = 0;
    double scale = in->scale > 1 ? (double)in->scale : 1;

    CTT_CHECK(in->c == c, CTT_EINVAL, "the model's input line: c=%d, but its "
              "colour has %d", in->c, c);
    CTT_CHECK(in->w > 0 && in->h > 0 && scale * in->w <= CTT_SIDE_MAX &&
              scale * in->h <= CTT_SIDE_MAX, CTT_EINVAL,
              "the model's input line: frames of %dx%d", in->w, in->h);
    CTT_CHECK(in->fps >= 0 && in->fps <= 1000, CTT_EINVAL,
              "the model's input line: %g frames per second", (double)in->fps);
out:
    return rc;
}

int ctt_reader_open(const char *path, const struct ctt_input *in,
                    struct ctt_reader **out)
{
    struct ctt_reader *r = ctt_calloc(1, sizeof(*r));
    int rc = r ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_input_check(in));
    r->as.in = *in;
    ctt_frame_size(in, &r->as.w, &r->as.h);
    r->as.path = r->path = ctt_strdup(path);
    r->stored = ctt_calloc((size_t)r->as.w * (size_t)r->as.h, (size_t)in->c);
    CTT_TRY(r->path && r->stored ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_video_open(path, &r->v));
    r->every = in->fps <= 0 || ctt_video_timeless(r->v);
    *out = r;
    r = NULL;
out:
    ctt_reader_close(&r);
    return rc;
}

void ctt_reader_close(struct ctt_reader **r)
{
    if (!*r)
        return;
    ctt_video_close(&(*r)->v);
    ctt_render_clear(&(*r)->as);
    ctt_free((*r)->stored);
    ctt_free((*r)->path);
    ctt_free(*r);
    *r = NULL;
}

/* Makes the next frame the current one. */
static int advance(struct ctt_reader *r)
{
    int rc;

    ctt_video_step(r->v);
    r->ready = 0;
    r->now = r->next;
    CTT_TRY(ctt_video_ahead(r->v, &r->next));
    r->ended = rc == 0;
    CTT_CHECK(r->every || r->next - r->now <= STILL_MAX, CTT_EFORMAT,
              "%s: no frame for %.0f seconds after frame %lld", r->path,
              r->next - r->now, (long long)r->k);
out:
    return rc;
}

static int start_reader(struct ctt_reader *r)
{
    int rc;

    CTT_TRY(ctt_video_ahead(r->v, &r->next));
    CTT_TRY(advance(r));
    r->started = 1;
out:
    return rc;
}

/* Advances to the frame for output k: 1, or 0 if the clip has ended. */
static int seek(struct ctt_reader *r)
{
    double fps = (double)r->as.in.fps;
    double t = r->every ? 0 : (double)r->k / fps;
    int rc = 0;

    if (!r->started)
        CTT_TRY(start_reader(r));
    else if (r->every && r->ended)
        return 0;
    else if (r->every)
        CTT_TRY(advance(r));
    if (r->every)
        return 1;
    while (!r->ended && ctt_pick_later(r->now, r->next, t))
        CTT_TRY(advance(r));
    return !r->ended || r->k == 0 || ctt_pick_within(r->next, t, fps);
out:
    return rc;
}

int ctt_reader_next(struct ctt_reader *r, uint8_t *data)
{
    int rc;

    CTT_TRY(seek(r));
    if (rc == 0)
        return 0;
    if (!r->ready)
        CTT_TRY(ctt_render(&r->as, r->v, r->stored));
    r->ready = 1;
    memcpy(data, r->stored, (size_t)r->as.w * r->as.h * r->as.in.c);
    r->k++;
    rc = 1;
out:
    return rc;
}

/* Sets the counts of a clip that was read to its end. */
static void set_counts(const struct ctt_reader *r, struct ctt_frames *f)
{
    struct ctt_stream_told told;

    f->seen = ctt_video_seen(r->v);
    f->stated = r->ended ? ctt_video_stated(r->v) : f->seen;
    ctt_video_told(r->v, &told);
    f->breaks = told.jumps + told.damaged;
    f->unread = told.unread;
}

int ctt_frames_whole(const struct ctt_frames *f, const char *path)
{
    int rc = 0;

    CTT_CHECK(f->stated < INT64_MAX, CTT_EFORMAT, "%s: cut short: has %lld "
              "frames and a part of one", path, (long long)f->seen);
    CTT_CHECK(f->seen >= f->stated, CTT_EFORMAT, "%s: cut short: has %lld of "
              "%lld frames", path, (long long)f->seen, (long long)f->stated);
    CTT_CHECK(!f->unread, CTT_EFORMAT, "%s: joined files, of which only the "
              "first ones are read, and not the last %lld bytes", path,
              (long long)f->unread);
    CTT_CHECK(!f->breaks, CTT_EFORMAT, "%s: its times break at %lld place%s "
              "(joined files, or wrong time stamps); frames are taken one "
              "after the other", path, (long long)f->breaks,
              ctt_s(f->breaks));
out:
    return rc;
}

int ctt_reader_whole(const struct ctt_reader *r)
{
    struct ctt_frames f = { 0 };

    set_counts(r, &f);
    return ctt_frames_whole(&f, r->path);
}

static int64_t most_bytes(void)
{
    int64_t share = ctt_limits()->memory / SHARE;

    return share < LOAD_MAX ? share : LOAD_MAX;
}

int ctt_frames_fit(const char *path, int64_t bytes)
{
    int64_t most = most_bytes();
    int rc = 0;

    CTT_CHECK(bytes <= most, CTT_EFORMAT, "%s: its frames take more than %s; "
              "shorten it, or train and pack with --max-frames", path,
              most == LOAD_MAX ? "2 GiB" :
              "a quarter of the memory limit (--memory)");
out:
    return rc;
}

/* Room for one more frame of size bytes. */
static int reserve_frame(struct ctt_frames *f, int *room, size_t size,
                         const char *path)
{
    int64_t more = *room ? 2 * (int64_t)*room : 32, n = (int64_t)size;
    int64_t most = most_bytes() / n < INT_MAX ? most_bytes() / n : INT_MAX;
    uint8_t *data;
    int rc = 0;

    if (f->count < *room)
        return 0;
    CTT_TRY(ctt_frames_fit(path, (f->count + (int64_t)1) * n));
    more = more < most ? more : most;
    CTT_CHECK(f->count < more, CTT_EFORMAT, "%s: longer than %d frames", path,
              f->count);
    data = ctt_realloc(f->data, (size_t)more * size);
    CTT_TRY(data ? 0 : CTT_ENOMEM);
    f->data = data;
    *room = (int)more;
out:
    return rc;
}

int ctt_frames_load(const char *path, const struct ctt_input *in, int max,
                    struct ctt_frames *out)
{
    struct ctt_frames f = { 0 };
    struct ctt_reader *r = NULL;
    int rc, room = 0;
    uint8_t *less;
    size_t size;

    CTT_TRY(ctt_reader_open(path, in, &r));
    f.w = r->as.w;
    f.h = r->as.h;
    f.c = in->c;
    size = (size_t)f.w * f.h * f.c;
    do {
        CTT_TRY(reserve_frame(&f, &room, size, path));
        CTT_TRY(ctt_reader_next(r, f.data + (size_t)f.count * size));
        f.count += rc;
    } while (rc > 0 && (max <= 0 || f.count < max));
    f.file_fps = ctt_video_fps(r->v);
    f.fps = in->fps > 0 ? in->fps : f.file_fps;
    set_counts(r, &f);
    less = ctt_realloc(f.data, (size_t)f.count * size);
    f.data = less ? less : f.data;
    *out = f;
    f.data = NULL;
    rc = 0;
out:
    ctt_reader_close(&r);
    ctt_frames_free(&f);
    return rc;
}

void ctt_frames_free(struct ctt_frames *f)
{
    ctt_free(f->data);
    *f = (struct ctt_frames){ 0 };
}

/* Row r of the part of a stored frame that begins at x, y; with flip its last
 * pixel. */
static const uint8_t *frame_row(const uint8_t *data, const struct ctt_input *in,
                                int x, int y, int flip, int r)
{
    int w, h;

    ctt_frame_size(in, &w, &h);
    return data + ((size_t)(y + r) * (size_t)w +
                   (size_t)(flip ? x + in->w - 1 : x)) * (size_t)in->c;
}

void ctt_frame_next(struct ctt_pixels *p, const uint8_t *data, int x, int y)
{
    int w, h;

    ctt_frame_size(&p->in, &w, &h);
    ctt_pixels_next(p, frame_row(data, &p->in, x, y, 0, 0),
                    (size_t)w * (size_t)p->in.c);
}

void ctt_frame_float(const uint8_t *data, const struct ctt_pixels *p, int x,
                     int y, int flip, float *out)
{
    const struct ctt_input *in = &p->in;

    for (int r = 0; r < in->h; r++, out += in->w * in->c)
        ctt_pixels_float(p, frame_row(data, in, x, y, flip, r), in->w,
                         flip ? -in->c : in->c, out);
}

void ctt_frame_middle(const uint8_t *data, int w, int h,
                      const struct ctt_input *in, uint8_t *out)
{
    size_t row = (size_t)in->w * (size_t)in->c;
    size_t x = (size_t)(w - in->w) / 2, y = (size_t)(h - in->h) / 2;

    for (int r = 0; r < in->h; r++, y++, out += row)
        memcpy(out, data + (y * (size_t)w + x) * (size_t)in->c, row);
}
