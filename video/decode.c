/* SPDX-License-Identifier: Apache-2.0
 * decode.c: decodes frames of any file that FFmpeg reads; the only file that
 * includes FFmpeg's libraries for reading. */
#include "video/pictures.h"
#include "video/video.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/log.h>
#include <libswscale/swscale.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A header that states a larger picture counts as damaged. */
enum { PIXELS_MAX = 1 << 26 };

struct ctt_video {
    char              *path;
    struct ctt_pictures pictures;   /* count 0: path is a file */
    AVFormatContext   *fmt;
    AVCodecContext    *dec;
    AVPacket          *pkt;
    AVFrame           *now, *ahead;
    struct SwsContext *sws;
    int                sws_key[8];  /* what sws was made for */
    int                stream, turns, drained;
    int64_t            seen;        /* frames decoded */
    double             start, last, step;    /* of ahead, in seconds */
};

static void silence(void)
{
    av_log_set_level(AV_LOG_QUIET);
}

static int broken(const struct ctt_video *v, int code, const char *what)
{
    char why[128];

    if (code == AVERROR(ENOMEM))
        return ctt_error(CTT_ENOMEM, "%s: out of memory", v->path);
    if (av_strerror(code, why, sizeof(why)) < 0)
        snprintf(why, sizeof(why), "error %d", code);
    return ctt_error(code == AVERROR(ENOENT) || code == AVERROR(EACCES) ?
                     CTT_EIO : CTT_EFORMAT, "%s: %s: %s", v->path, what, why);
}

/* Opens local files only: addresses inside a file are not followed. */
static int open_format(struct ctt_video *v)
{
    const AVInputFormat *kind = NULL;
    AVDictionary *opt = NULL;
    char *url = NULL, first[24];
    int rc = 0, e;

    e = av_dict_set(&opt, "protocol_whitelist", "file", 0);
    if (e >= 0 && v->pictures.count) {
        snprintf(first, sizeof(first), "%d", v->pictures.first);
        kind = av_find_input_format("image2");
        CTT_CHECK(kind, CTT_EUNSUP, "%s: this FFmpeg reads no folders of "
                  "pictures", v->path);
        e = av_dict_set(&opt, "start_number", first, 0);
    }
    CTT_CHECK(e >= 0, CTT_ENOMEM, "%s: out of memory", v->path);
    CTT_TRY(ctt_pictures_url(&v->pictures, v->path, &url));
    e = avformat_open_input(&v->fmt, url, kind, &opt);
    if (e < 0)
        CTT_TRY(broken(v, e, "cannot be opened as a video"));
    /* FFmpeg renders any text named .txt, .nfo ... as a video. */
    CTT_CHECK(strcmp(v->fmt->iformat->name, "tty") != 0, CTT_EFORMAT,
              "%s: a text, not a video", v->path);
    e = avformat_find_stream_info(v->fmt, NULL);
    if (e < 0)
        CTT_TRY(broken(v, e, "cannot be opened as a video"));
out:
    av_dict_free(&opt);
    ctt_free(url);
    return rc;
}

static int size_is_good(int w, int h)
{
    return w > 0 && h > 0 && w <= CTT_SIDE_MAX && h <= CTT_SIDE_MAX &&
           (int64_t)w * h <= PIXELS_MAX;
}

/* The display matrix of the stream, as counterclockwise quarter turns. */
static int quarter_turns(const AVStream *s)
{
    const uint8_t *matrix = NULL;
    size_t size = 0;
    double angle;

#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
    const AVPacketSideData *side = av_packet_side_data_get(
        s->codecpar->coded_side_data, s->codecpar->nb_coded_side_data,
        AV_PKT_DATA_DISPLAYMATRIX);
    if (side) {
        matrix = side->data;
        size = side->size;
    }
#else
    matrix = av_stream_get_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, &size);
#endif
    if (!matrix || size < 9 * sizeof(int32_t))
        return 0;
    angle = av_display_rotation_get((const int32_t *)matrix);
    return isfinite(angle) ? (int)lround(angle / 90) & 3 : 0;
}

static int open_codec(struct ctt_video *v)
{
    const AVCodec *codec = NULL;
    const AVStream *s;
    int rc = 0, e;

    v->stream = av_find_best_stream(v->fmt, AVMEDIA_TYPE_VIDEO, -1, -1,
                                    &codec, 0);
    CTT_CHECK(v->stream != AVERROR_DECODER_NOT_FOUND, CTT_EUNSUP,
              "%s: this FFmpeg has no decoder for it", v->path);
    CTT_CHECK(v->stream >= 0 && codec &&
              !(v->fmt->streams[v->stream]->disposition &
                AV_DISPOSITION_ATTACHED_PIC), CTT_EFORMAT,
              "%s: no video in it", v->path);
    s = v->fmt->streams[v->stream];
    CTT_CHECK(size_is_good(s->codecpar->width, s->codecpar->height),
              CTT_EFORMAT, "%s: frames of %dx%d", v->path,
              s->codecpar->width, s->codecpar->height);
    v->dec = avcodec_alloc_context3(codec);
    e = v->dec ? avcodec_parameters_to_context(v->dec, s->codecpar) :
        AVERROR(ENOMEM);
    if (e < 0)
        CTT_TRY(broken(v, e, "no decoder"));
    v->dec->pkt_timebase = s->time_base;
    v->dec->thread_count = 1;    /* clips are decoded in parallel */
    v->dec->max_pixels = PIXELS_MAX;
    v->dec->flags |= AV_CODEC_FLAG_BITEXACT;
    e = avcodec_open2(v->dec, codec, NULL);
    if (e < 0)
        CTT_TRY(broken(v, e, "no decoder"));
    v->turns = quarter_turns(s);
out:
    return rc;
}

/* Refuses pipes and devices, on which open() could block for ever. */
static int is_clip(const char *path)
{
    struct stat s;

    return stat(path, &s) < 0 || S_ISREG(s.st_mode) || S_ISDIR(s.st_mode);
}

int ctt_video_open(const char *path, struct ctt_video **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct ctt_video *v = ctt_calloc(1, sizeof(*v));
    int rc = v ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(is_clip(path), CTT_EIO, "%s: neither a file nor a folder", path);
    pthread_once(&once, silence);
    v->path = ctt_strdup(path);
    CTT_TRY(v->path ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_pictures_find(path, &v->pictures));
    CTT_TRY(open_format(v));
    CTT_TRY(open_codec(v));
    v->pkt = av_packet_alloc();
    v->now = av_frame_alloc();
    v->ahead = av_frame_alloc();
    CTT_CHECK(v->pkt && v->now && v->ahead, CTT_ENOMEM, "%s: out of memory",
              path);
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
    sws_freeContext((*v)->sws);
    av_frame_free(&(*v)->ahead);
    av_frame_free(&(*v)->now);
    av_packet_free(&(*v)->pkt);
    avcodec_free_context(&(*v)->dec);
    avformat_close_input(&(*v)->fmt);
    ctt_pictures_clear(&(*v)->pictures);
    ctt_free((*v)->path);
    ctt_free(*v);
    *v = NULL;
}

int ctt_video_timeless(const struct ctt_video *v)
{
    return v->pictures.count > 0;
}

float ctt_video_fps(const struct ctt_video *v)
{
    AVRational r = v->fmt->streams[v->stream]->avg_frame_rate;

    return r.num > 0 && r.den > 0 ? (float)av_q2d(r) : 0;
}

/* Sends the decoder another packet, or at the end of the file none. */
static int feed(struct ctt_video *v)
{
    int e, damaged = 0;

    do {
        av_packet_unref(v->pkt);
        e = av_read_frame(v->fmt, v->pkt);
    } while (e >= 0 && v->pkt->stream_index != v->stream);
    if (e == AVERROR_EOF && v->fmt->pb && v->fmt->pb->error < 0)
        e = v->fmt->pb->error;
    if (e < 0 && e != AVERROR_EOF)
        return broken(v, e, "damaged");
    damaged = e >= 0 && v->pkt->flags & AV_PKT_FLAG_CORRUPT;
    v->drained = e < 0;
    e = damaged ? AVERROR_INVALIDDATA :
        avcodec_send_packet(v->dec, v->drained ? NULL : v->pkt);
    av_packet_unref(v->pkt);
    return e < 0 ? broken(v, e, "damaged") : 0;
}

/* 1: the next frame is in v->ahead; 0: there are no more. */
static int receive(struct ctt_video *v)
{
    int rc = 0, e;

    if (v->pictures.count && v->seen == v->pictures.count)
        return 0;
    while ((e = avcodec_receive_frame(v->dec, v->ahead)) == AVERROR(EAGAIN)) {
        CTT_CHECK(!v->drained, CTT_EFORMAT, "%s: damaged", v->path);
        CTT_TRY(feed(v));
    }
    if (e == AVERROR_EOF)
        return 0;
    if (e < 0)
        return broken(v, e, "damaged");
    CTT_CHECK(!v->ahead->decode_error_flags &&
              !(v->ahead->flags & AV_FRAME_FLAG_CORRUPT), CTT_EFORMAT,
              "%s: damaged in frame %lld", v->path, (long long)v->seen);
    CTT_CHECK(size_is_good(v->ahead->width, v->ahead->height), CTT_EFORMAT,
              "%s: frames of %dx%d", v->path, v->ahead->width,
              v->ahead->height);
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
 * frame before, else 1 / fps. */
static double stays(const struct ctt_video *v, double unit, double before)
{
    float fps = ctt_video_fps(v);

    if (duration(v->ahead) > 0)
        return (double)duration(v->ahead) * unit;
    if (before > 0)
        return before;
    return fps > 0 ? 1 / (double)fps : 0;
}

int ctt_video_ahead(struct ctt_video *v, double *t)
{
    double unit = av_q2d(v->fmt->streams[v->stream]->time_base), at;
    int rc;

    av_frame_unref(v->ahead);
    CTT_TRY(receive(v));
    if (rc == 0) {
        CTT_CHECK(v->seen > 0, CTT_EFORMAT, "%s: contains no frame", v->path);
        *t = v->last + v->step;
        return 0;
    }
    at = v->last + v->step;    /* if the frame has no time */
    if (v->ahead->best_effort_timestamp != AV_NOPTS_VALUE) {
        at = (double)v->ahead->best_effort_timestamp * unit;
        v->start = v->seen ? v->start : at;
        at -= v->start;
    }
    at = at > v->last ? at : v->last;
    v->step = stays(v, unit, v->seen ? at - v->last : 0);
    v->last = at;
    v->seen++;
    *t = at;
out:
    return rc;
}

void ctt_video_step(struct ctt_video *v)
{
    av_frame_unref(v->now);
    av_frame_move_ref(v->now, v->ahead);
}

void ctt_video_size(const struct ctt_video *v, int *w, int *h, int *turns)
{
    *w = v->now->width;
    *h = v->now->height;
    *turns = v->turns;
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

    CTT_TRY(make_scaler(v, w, h, format[to]));
    n = sws_scale(v->sws, (const uint8_t *const *)f->data, f->linesize, 0,
                  f->height, rows, strides);
    CTT_CHECK(n == h, CTT_EFORMAT, "%s: cannot be resized", v->path);
out:
    return rc;
}
