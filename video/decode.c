/* SPDX-License-Identifier: Apache-2.0
 * decode.c: decodes the frames of clips: of a file, or of a folder of pictures.
 */
#include "video/decode.h"
#include "base/limits.h"

#include <libavcodec/avcodec.h>
#include <libavutil/log.h>

#include <math.h>
#include <pthread.h>

/* PIXEL_SHAPE_MAX: a pixel that is so many times as wide as high, or the
 * reverse, is one that a damaged file states.  PADDING: pixels of a row. */
enum { PIXEL_SHAPE_MAX = 16, PADDING = 64 };

static void silence(void)
{
    av_log_set_level(AV_LOG_QUIET);
}

/* Opens the file, or the first picture, which says how all are coded. */
static int open_format(struct ctt_video *v)
{
    char *first = NULL;
    int rc;

    if (v->how && v->how->kind > CTT_STREAM_PATTERN)
        return ctt_demux_open_live(v->how, &v->meter, &v->demux);
    if (v->pictures.count)
        CTT_TRY(ctt_pictures_name(&v->pictures, 0, &first));
    CTT_TRY(ctt_demux_open(first ? first : v->file, &v->meter, &v->demux));
    if (v->how)
        ctt_demux_go_on(v->demux, v->how);
out:
    ctt_free(first);
    return rc;
}

static int check_size(const struct ctt_video *v, int w, int h)
{
    int64_t most = ctt_limits()->frame_pixels;
    int rc = 0;

    CTT_CHECK(w > 0 && h > 0 && w <= CTT_SIDE_MAX && h <= CTT_SIDE_MAX,
              CTT_EFORMAT, "%s: frames of %dx%d", v->path, w, h);
    CTT_CHECK((int64_t)w * h <= most, CTT_EFORMAT, "%s: frames of %dx%d, over "
              "%lld pixels (--frame-pixels)", v->path, w, h, (long long)most);
out:
    return rc;
}

static int open_codec(struct ctt_video *v)
{
    const AVCodec *codec = ctt_demux_decoder(v->demux);
    const AVCodecParameters *p = ctt_demux_codec(v->demux);
    int rc = 0, e;

    if (!v->how || p->width || p->height)    /* else the first frame says it */
        CTT_TRY(check_size(v, p->width, p->height));
    v->dec = avcodec_alloc_context3(codec);
    e = v->dec ? avcodec_parameters_to_context(v->dec, p) : AVERROR(ENOMEM);
    if (e < 0)
        CTT_TRY(ctt_av_error(&v->meter, e, "no decoder"));
    if (!v->pictures.count)
        v->dec->pkt_timebase = av_d2q(ctt_demux_unit(v->demux), INT_MAX);
    v->dec->thread_count = 1;    /* clips are decoded in parallel */
    /* For FFmpeg it is that of rows with their padding; check_size() is the
     * exact limit. */
    v->dec->max_pixels = ctt_limits()->frame_pixels + PADDING * CTT_SIDE_MAX;
    v->dec->flags |= AV_CODEC_FLAG_BITEXACT;
    if (v->how && !ctt_demux_waits(v->demux))
        v->dec->flags |= AV_CODEC_FLAG_LOW_DELAY;
    e = avcodec_open2(v->dec, codec, NULL);
    if (e < 0)
        CTT_TRY(ctt_av_error(&v->meter, e, "no decoder"));
out:
    return rc;
}

/* Checks the part against the file.  A part of pictures, which were counted, or
 * one of about the video's length becomes the whole. */
static int fit_part(struct ctt_video *v)
{
    struct ctt_part *p = &v->part;
    double length = ctt_demux_length(v->demux);
    int rc = 0;

    CTT_CHECK(p->fps <= 0 || v->pictures.count, CTT_EFORMAT, "%s: only a "
              "folder of pictures is given a rate", v->path);
    CTT_CHECK(p->kind == CTT_PART_ALL || v->pictures.count ||
              !ctt_demux_is_picture(v->demux), CTT_EFORMAT, "%s: a picture has "
              "no parts", v->path);
    if ((v->pictures.count && p->kind == CTT_PART_FRAMES) ||
        (p->or_all && length > 0 &&
         (length <= p->end - p->start + 1 || length < p->end - 1)))
        p->kind = CTT_PART_ALL;
out:
    return rc;
}

/* Resolves the path: the file and the part of it, or the pictures. */
static int find_parts(struct ctt_video *v)
{
    enum ctt_stream_kind kind = v->how ? v->how->kind : CTT_STREAM_CLIP;
    int rc = 0;

    if (kind == CTT_STREAM_PATTERN)
        CTT_TRY(ctt_pictures_pattern(v->path, &v->pictures, &v->part.fps));
    else if (kind == CTT_STREAM_CLIP) {
        CTT_TRY(ctt_part_of(v->path, &v->file, &v->part));
        CTT_TRY(ctt_pictures_find(v->path, &v->pictures));
    }
out:
    return rc;
}

static int open_parts(struct ctt_video *v)
{
    int rc;

    CTT_TRY(find_parts(v));
    CTT_TRY(open_format(v));
    CTT_TRY(open_codec(v));
    CTT_TRY(fit_part(v));
    v->pkt = av_packet_alloc();
    v->now = av_frame_alloc();
    v->ahead = av_frame_alloc();
    v->held = av_frame_alloc();
    CTT_CHECK(v->pkt && v->now && v->ahead && v->held, CTT_ENOMEM,
              "%s: out of memory", v->path);
out:
    return rc;
}

int ctt_video_open(const char *path, struct ctt_video **out)
{
    return ctt_video_stream(path, NULL, out);
}

int ctt_video_stream(const char *path, const struct ctt_stream *how,
                     struct ctt_video **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct ctt_video *v = ctt_calloc(1, sizeof(*v));
    int rc = v ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    pthread_once(&once, silence);
    v->path = ctt_strdup(path);
    CTT_TRY(v->path ? 0 : CTT_ENOMEM);
    v->meter.path = v->path;
    v->how = how;
    v->meter.timeout = how ? how->timeout : 0;
    v->meter.quit = how ? how->quit : NULL;
    v->meter.arg = how ? how->arg : NULL;
    ctt_meter_start(&v->meter);
    CTT_TRY(open_parts(v));
    ctt_meter_stop(&v->meter);
    *out = v;
    v = NULL;
out:
    ctt_video_close(&v);
    return rc;
}

void ctt_video_close(struct ctt_video **v)
{
    if (!*v)
        return;
    ctt_scaler_clear(&(*v)->scaler);
    av_frame_free(&(*v)->held);
    av_frame_free(&(*v)->ahead);
    av_frame_free(&(*v)->now);
    av_packet_free(&(*v)->pkt);
    avcodec_free_context(&(*v)->dec);
    ctt_demux_close(&(*v)->demux);
    ctt_pictures_clear(&(*v)->pictures);
    ctt_free((*v)->file);
    ctt_free((*v)->path);
    ctt_free(*v);
    *v = NULL;
}

int ctt_video_timeless(const struct ctt_video *v)
{
    return v->part.fps <= 0 &&
           (v->pictures.count > 0 || ctt_demux_is_picture(v->demux));
}

float ctt_video_fps(const struct ctt_video *v)
{
    return v->part.fps > 0 ? (float)v->part.fps : ctt_demux_fps(v->demux);
}

/* 1 and the next packet, or 0. */
static int next_packet(struct ctt_video *v)
{
    char *name = NULL;
    int rc = 0;

    if (!v->pictures.count)
        return ctt_demux_next(v->demux, v->pkt);
    if (v->sent == v->pictures.count)
        return 0;
    CTT_TRY(ctt_pictures_name(&v->pictures, v->sent, &name));
    CTT_TRY(ctt_packet_read(name, &v->meter, v->pkt));
    v->sent++;
    rc = 1;
out:
    ctt_free(name);
    return rc;
}

/* 1 if a frame is shown before the key frame of a seek but stored after it: its
 * references were not read. */
static int is_before(const struct ctt_video *v, int64_t time)
{
    return v->sought && time != AV_NOPTS_VALUE &&
           (double)time * ctt_demux_unit(v->demux) < v->entry;
}

/* A packet that is not decoded, or a frame with errors: a stream goes on; so
 * does a clip that ends here, as where it was cut, and only then. */
static int damaged(struct ctt_video *v, int e)
{
    int rc = 1;
    double t;

    v->damaged++;
    if (e == AVERROR(ENOMEM))
        return ctt_av_error(&v->meter, e, "damaged");
    if (v->how)
        return 0;
    if (v->t.seen > 0 && !v->pictures.count)
        CTT_TRY(ctt_demux_peek(v->demux, &t));
    v->cut = rc == 0;
    if (!v->cut)
        rc = e < 0 ? ctt_av_error(&v->meter, e, "damaged") :
             ctt_error(CTT_EFORMAT, "%s: damaged in frame %lld", v->path,
                       (long long)v->t.seen);
out:
    return rc;
}

/* Sends the decoder another packet, or at the end of the file none. */
static int feed(struct ctt_video *v)
{
    int rc, e, needed;

    CTT_TRY(next_packet(v));
    v->drained = rc == 0;
    if (v->drained && !v->pictures.count) {
        v->unread = ctt_demux_unread(v->demux);
        v->t.jumps += ctt_demux_joined(v->demux);
    }
    needed = v->drained || !is_before(v, v->pkt->pts);
    e = avcodec_send_packet(v->dec, v->drained ? NULL : v->pkt);
    av_packet_unref(v->pkt);
    rc = e < 0 && needed ? damaged(v, e) : 0;
out:
    return rc;
}

/* 1 if the frame in v->ahead is one to show.  Errors that a decoder conceals
 * are shown in a stream. */
static int is_shown(struct ctt_video *v)
{
    int rc = !is_before(v, v->ahead->best_effort_timestamp);

    if (rc && (v->ahead->decode_error_flags ||
               v->ahead->flags & AV_FRAME_FLAG_CORRUPT)) {
        CTT_TRY(damaged(v, 0));
        rc = v->how != NULL;
    }
out:
    return rc;
}

/* The decoder gave no frame but e: sends it more. */
static int refill(struct ctt_video *v, int e)
{
    int rc = 0;

    if (e != AVERROR(EAGAIN))
        CTT_TRY(damaged(v, e));
    CTT_CHECK(!v->drained || ((v->how || v->cut) && e != AVERROR(EAGAIN)),
              CTT_EFORMAT, "%s: damaged", v->path);
    CTT_TRY(v->drained ? ctt_meter_check(&v->meter) : feed(v));
out:
    return rc;
}

/* 1: the next frame is in v->ahead; 0: there are no more. */
static int receive(struct ctt_video *v)
{
    int rc = 0, e;

    while (rc == 0) {    /* the next call drops a frame that is not shown */
        e = avcodec_receive_frame(v->dec, v->ahead);
        if (e == AVERROR_EOF)
            return 0;
        if (e >= 0)
            CTT_TRY(is_shown(v));
        else
            CTT_TRY(refill(v, e));
    }
    CTT_TRY(check_size(v, v->ahead->width, v->ahead->height));
    CTT_TRY(ctt_meter_frame(&v->meter));
    rc = 1;
out:
    return rc;
}

static int64_t duration(const AVFrame *f)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
    return f->duration;
#else
    return f->pkt_duration;
#endif
}

/* Duration of the next frame in seconds: as the file states, else that of the
 * frame before, else 1 / fps.  AVI states half of it for H.264. */
static double stays(const struct ctt_video *v, double unit, double before)
{
    float fps = ctt_video_fps(v);

    if (v->ahead->pts == AV_NOPTS_VALUE && ctt_demux_step(v->demux) > 0)
        return ctt_demux_step(v->demux);
    if (duration(v->ahead) > 0)
        return (double)duration(v->ahead) * unit;
    if (before > 0)
        return before;
    return fps > 0 ? 1 / (double)fps : 0;
}

/* Sets the times of the frame in v->ahead. */
static int set_time(struct ctt_video *v)
{
    double unit = ctt_demux_unit(v->demux), before = v->t.last, later = NAN;
    int64_t seen = v->t.seen, stamp = v->ahead->best_effort_timestamp;
    int rc = 0;

    v->stamp = stamp == AV_NOPTS_VALUE ? NAN : (double)stamp * unit;
    if (v->part.fps > 0) {
        v->t.last = (double)v->t.seen++ / v->part.fps;
    } else {
        if (!v->pictures.count && ctt_stamp_doubt(&v->t, v->stamp) &&
            (!v->how || ctt_demux_waits(v->demux)))
            CTT_TRY(ctt_demux_peek(v->demux, &later));
        ctt_stamp_time(&v->t, v->stamp, later, ctt_demux_restarts(v->demux));
    }
    if (seen && v->t.last - before > v->gap)
        v->gap = v->t.last - before;
    v->t.step = stays(v, unit, seen ? v->t.last - before : 0);
    rc = 0;
out:
    return rc;
}

int ctt_decode_next(struct ctt_video *v)
{
    int rc, more;

    av_frame_unref(v->ahead);
    CTT_TRY(receive(v));
    more = rc;
    if (more)
        CTT_TRY(set_time(v));
    rc = more;
out:
    return rc;
}

/* Skips to a picture by its number, and decodes one before it, as a decoder may
 * be late. */
static int enter_pictures(struct ctt_video *v, double time)
{
    int to = (int)(time * v->part.fps) - 1;

    if (to <= v->sent || to >= v->pictures.count)
        return 0;
    avcodec_flush_buffers(v->dec);
    v->sent = to;
    v->t.seen = to;
    return ctt_decode_next(v);
}

/* From the first packet on again: the file is opened once more, as some formats
 * cannot go back. */
static int reopen(struct ctt_video *v)
{
    int rc;

    avcodec_free_context(&v->dec);
    ctt_demux_close(&v->demux);
    CTT_TRY(open_format(v));
    CTT_TRY(open_codec(v));
    v->drained = 0;
    v->t = (struct ctt_stamps){ 0 };
    v->gap = 0;
    CTT_TRY(ctt_decode_next(v));
out:
    return rc;
}

int ctt_decode_enter(struct ctt_video *v, double time)
{
    int rc, tried = 0;

    if (v->pictures.count)
        return enter_pictures(v, time);
    CTT_TRY(ctt_demux_seek(v->demux, v->t.start + time, &v->entry, &tried));
    if (rc == 0) {
        if (tried)
            CTT_TRY(reopen(v));
        return 0;
    }
    avcodec_flush_buffers(v->dec);
    v->drained = 0;
    v->sought = 1;
    v->t.last = v->entry - v->t.start;
    CTT_TRY(ctt_decode_next(v));
    CTT_CHECK(rc, CTT_EFORMAT, "%s: no frame at %.3f seconds", v->path, time);
out:
    return rc;
}

void ctt_video_told(const struct ctt_video *v, struct ctt_stream_told *out)
{
    *out = (struct ctt_stream_told){
        .waits = ctt_demux_waits(v->demux),
        .stamp = ctt_demux_timeless(v->demux) ? (double)NAN : v->stamp,
        .bytes = ctt_demux_bytes(v->demux),
        .jumps = v->t.jumps,
        .damaged = v->damaged + ctt_demux_damaged(v->demux),
        .unread = v->unread,
    };
}

void ctt_video_step(struct ctt_video *v)
{
    av_frame_unref(v->now);
    av_frame_move_ref(v->now, v->ahead);
}

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

int ctt_video_scale(struct ctt_video *v, int w, int h, enum ctt_colour to,
                    uint8_t *data, int stride)
{
    static const enum AVPixelFormat format[] = {
        [CTT_RGB] = AV_PIX_FMT_RGB24, [CTT_BGR] = AV_PIX_FMT_BGR24,
        [CTT_GRAY] = AV_PIX_FMT_GRAY8,
    };
    uint8_t *const rows[4] = { data };
    const int strides[4] = { stride };
    int rc;

    ctt_meter_start(&v->meter);
    rc = ctt_scaler_run(&v->scaler, v->now, w, h, format[to], rows, strides);
    if (rc < 0)
        rc = ctt_error(rc, "%s: %s", v->path, ctt_errmsg());
    ctt_meter_stop(&v->meter);
    return rc;
}
