/* SPDX-License-Identifier: Apache-2.0
 * save.c: saves pictures and videos with FFmpeg. */
#include "video/save.h"
#include "base/limits.h"
#include "base/newfile.h"
#include "video/disk.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <string.h>

/* RATE_MAX: largest term of the frame rate as a fraction; MPEG-4 has 16
 * bits. */
enum { GROUP = 60, RATE_MAX = 65535, SETTINGS = 4, BUFFER = 1 << 16 };

#define CTT_AV(expr, path)                                              \
    do {                                                                \
        int av_ = (expr);                                               \
        CTT_CHECK(av_ >= 0, CTT_EIO, "%s: cannot write it: %s", path,   \
                  av_err2str(av_));                                     \
    } while (0)

/* ---- encoders ---- */

struct setting { const char *name, *value; };

/* The first row with the extension of the path and an available encoder is
 * used. bits: per second; 0: as many as the quality requires. */
static const struct how {
    const char    *ending, *format, *encoder;
    int64_t        bits;
    struct setting set[2][SETTINGS];    /* fine, quick */
} hows[] = {
    { ".webm", "webm", "libvpx-vp9", 0,
      { { { "deadline", "good" }, { "cpu-used", "4" },
          { "lag-in-frames", "0" }, { "crf", "12" } },
        { { "deadline", "realtime" }, { "cpu-used", "8" },
          { "lag-in-frames", "0" }, { "crf", "24" } } } },
    { ".mp4", "mp4", "libx264", 0,
      { { { "preset", "medium" }, { "crf", "14" } },
        { { "preset", "ultrafast" }, { "crf", "24" } } } },
    { ".mp4", "mp4", "mpeg4", 8000000, { { { NULL, NULL } } } },
};

/* NULL: none; *known: 1 if a row has the extension. */
static const struct how *find_how(const char *path, int *known)
{
    const char *ending = ctt_path_ending(path);

    *known = 0;
    for (size_t i = 0; i < CTT_LEN(hows); i++) {
        if (strcmp(ending, hows[i].ending) != 0)
            continue;
        *known = 1;
        if (avcodec_find_encoder_by_name(hows[i].encoder))
            return &hows[i];
    }
    return NULL;
}

int ctt_saver_can(const char *path)
{
    int known;

    return find_how(path, &known) != NULL;
}

/* ---- a video ---- */

struct ctt_saver {
    char             *path;
    const struct how *how;
    int64_t           at;       /* where the next frame is shown */
    int64_t           count, packets;    /* frames in, packets out */
    int               w, h;
    struct ctt_newfile *file;   /* of a long video */
    int               rc;       /* of the first write to it that failed */
    char              why[512];
    AVFormatContext  *mux;      /* into memory */
    AVCodecContext   *enc;
    AVFrame          *frame;
    AVPacket         *packet;
};

static int set_codec(struct ctt_saver *s, enum ctt_save_kind kind, double fps)
{
    const struct setting *set = s->how->set[kind != CTT_SAVE_FINE];
    AVCodecContext *e = s->enc;
    int rc = 0;

    e->width = s->w + s->w % 2;
    e->height = s->h + s->h % 2;
    e->pix_fmt = AV_PIX_FMT_YUV420P;
    e->colorspace = AVCOL_SPC_SMPTE170M;
    e->color_range = AVCOL_RANGE_MPEG;
    e->framerate = av_d2q(fps, RATE_MAX);
    CTT_CHECK(e->framerate.num > 0 && e->framerate.den > 0, CTT_EINVAL,
              "%s: a video at %g frames per second", s->path, fps);
    e->time_base = av_inv_q(e->framerate);
    e->thread_count = 1;
    e->gop_size = GROUP;
    e->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (kind == CTT_SAVE_FINE)
        e->bit_rate = s->how->bits;
    for (int i = 0; i < SETTINGS && set[i].name; i++)
        CTT_AV(av_opt_set(e->priv_data, set[i].name, set[i].value, 0),
               s->path);
out:
    return rc;
}

/* libvpx calls memory that is out a wrong argument, or bad data.  As measured
 * (1.12, VP9) an encoder needs 14 MB and 143 bytes per pixel; other threads, of
 * which malloc takes 128 MB each for a moment, may have given theirs back
 * meanwhile.  Sizes and settings are right, so a failure with less than this to
 * spare is one of memory. */
enum { ENCODER_SPARE = 256 << 20, ENCODER_PIXEL = 160 };

static int check_codec(const struct ctt_saver *s, int av)
{
    size_t pixels = (size_t)s->w * (size_t)s->h;
    int rc = 0;

    if (av == AVERROR(EINVAL) || av == AVERROR_INVALIDDATA)
        CTT_CHECK(ctt_memory_spare(ENCODER_SPARE + ENCODER_PIXEL * pixels) >= 0,
                  CTT_ENOMEM, "%s: out of memory for the encoder", s->path);
    CTT_AV(av, s->path);
out:
    return rc;
}

static int open_codec(struct ctt_saver *s, enum ctt_save_kind kind, double fps)
{
    const AVCodec *codec = avcodec_find_encoder_by_name(s->how->encoder);
    int rc = 0;

    s->enc = avcodec_alloc_context3(codec);
    s->frame = av_frame_alloc();
    s->packet = av_packet_alloc();
    CTT_CHECK(s->enc && s->frame && s->packet, CTT_ENOMEM, "%s: out of memory",
              s->path);
    CTT_TRY(set_codec(s, kind, fps));
    CTT_TRY(check_codec(s, avcodec_open2(s->enc, codec, NULL)));
    s->frame->width = s->enc->width;
    s->frame->height = s->enc->height;
    s->frame->format = s->enc->pix_fmt;
    CTT_AV(av_frame_get_buffer(s->frame, 0), s->path);
out:
    return rc;
}

#if LIBAVFORMAT_VERSION_MAJOR >= 61
static int write_bytes(void *arg, const uint8_t *p, int n)
#else
static int write_bytes(void *arg, uint8_t *p, int n)
#endif
{
    struct ctt_saver *s = arg;

    if (s->rc == 0)
        s->rc = ctt_newfile_write(s->file, p, n);
    if (s->rc < 0 && !*s->why)
        snprintf(s->why, sizeof(s->why), "%s", ctt_errmsg());
    return s->rc < 0 ? AVERROR(EIO) : n;
}

/* A result of the container, which only knows that a write failed, not why. */
static int check_written(const struct ctt_saver *s, int av)
{
    int rc = 0;

    CTT_CHECK(av >= 0 || s->rc == 0, s->rc, "%s", s->why);
    CTT_AV(av, s->path);
out:
    return rc;
}

/* A file that only grows: in fragments, an MP4 needs no table at its begin. */
static int open_output(struct ctt_saver *s)
{
    uint8_t *buffer = av_malloc(BUFFER);
    int rc = 0;

    CTT_CHECK(buffer, CTT_ENOMEM, "%s: out of memory", s->path);
    s->mux->pb = avio_alloc_context(buffer, BUFFER, 1, s, NULL, write_bytes,
                                    NULL);
    CTT_CHECK(s->mux->pb, CTT_ENOMEM, "%s: out of memory", s->path);
    buffer = NULL;
    if (strcmp(s->how->format, "mp4") == 0)
        CTT_AV(av_opt_set(s->mux->priv_data, "movflags",
                          "frag_keyframe+empty_moov+default_base_moof", 0),
               s->path);
    CTT_TRY(ctt_newfile_open(s->path, &s->file));
out:
    av_free(buffer);
    return rc;
}

static int open_mux(struct ctt_saver *s, enum ctt_save_kind kind)
{
    AVStream *to;
    int rc = 0;

    CTT_AV(avformat_alloc_output_context2(&s->mux, NULL, s->how->format, NULL),
           s->path);
    s->mux->flags |= AVFMT_FLAG_BITEXACT;
    to = avformat_new_stream(s->mux, NULL);
    CTT_CHECK(to, CTT_ENOMEM, "%s: out of memory", s->path);
    to->time_base = s->enc->time_base;
    to->avg_frame_rate = s->enc->framerate;
    CTT_AV(avcodec_parameters_from_context(to->codecpar, s->enc), s->path);
    if (kind == CTT_SAVE_LONG)
        CTT_TRY(open_output(s));
    else
        CTT_AV(avio_open_dyn_buf(&s->mux->pb), s->path);
    CTT_TRY(check_written(s, avformat_write_header(s->mux, NULL)));
out:
    return rc;
}

int ctt_saver_open(const char *path, enum ctt_save_kind kind, int w, int h,
                   double fps, struct ctt_saver **out)
{
    struct ctt_saver *s = ctt_calloc(1, sizeof(*s));
    int rc = s ? 0 : CTT_ENOMEM, known;

    CTT_TRY(rc);
    av_log_set_level(AV_LOG_QUIET);    /* error codes are reported instead */
    s->path = ctt_strdup(path);
    CTT_TRY(s->path ? 0 : CTT_ENOMEM);
    s->how = find_how(path, &known);
    CTT_CHECK(known, CTT_EINVAL, "%s: a video's name ends in .webm or .mp4",
              path);
    CTT_CHECK(s->how, CTT_EUNSUP, "%s: this FFmpeg has no encoder for it",
              path);
    CTT_CHECK(w > 0 && h > 0 && fps > 0, CTT_EINVAL,
              "%s: a video of %dx%d at %g frames per second", path, w, h, fps);
    s->w = w;
    s->h = h;
    CTT_TRY(open_codec(s, kind, fps));
    CTT_TRY(open_mux(s, kind));
    *out = s;
    s = NULL;
out:
    ctt_saver_close(&s);
    return rc;
}

void ctt_saver_close(struct ctt_saver **saver)
{
    struct ctt_saver *s = *saver;
    uint8_t *data = NULL;

    if (!s)
        return;
    if (s->mux && s->mux->pb && s->mux->pb->write_packet == write_bytes) {
        av_free(s->mux->pb->buffer);
        avio_context_free(&s->mux->pb);
    } else if (s->mux && s->mux->pb) {
        avio_close_dyn_buf(s->mux->pb, &data);
        av_free(data);
    }
    ctt_newfile_drop(&s->file);
    avformat_free_context(s->mux);
    avcodec_free_context(&s->enc);
    av_frame_free(&s->frame);
    av_packet_free(&s->packet);
    ctt_free(s->path);
    ctt_free(s);
    *saver = NULL;
}

/* ITU-R BT.601 with 8 bits; chroma is the mean of four pixels.  An odd side is
 * extended by repeating its last pixel. */
static void to_yuv(const uint8_t *rgb, int w, int h, AVFrame *f)
{
    for (int y = 0; y < f->height; y++)
        for (int x = 0; x < f->width; x++) {
            const uint8_t *p = rgb + 3 * ((y < h ? y : h - 1) * w +
                                          (x < w ? x : w - 1));
            f->data[0][y * f->linesize[0] + x] = (uint8_t)
                ((66 * p[0] + 129 * p[1] + 25 * p[2] + 128 + 4096) >> 8);
        }
    for (int y = 0; y < f->height; y += 2)
        for (int x = 0; x < f->width; x += 2) {
            const uint8_t *p = rgb + 3 * (y * w + x);
            int row = y + 1 < h ? 3 * w : 0, next = x + 1 < w ? 3 : 0, m[3];
            int at = y / 2 * f->linesize[1] + x / 2;
            for (int k = 0; k < 3; k++)
                m[k] = p[k] + p[k + next] + p[k + row] + p[k + row + next];
            f->data[1][at] = (uint8_t)((-38 * m[0] - 74 * m[1] + 112 * m[2] +
                                        (128 << 10) + 512) >> 10);
            f->data[2][at] = (uint8_t)((112 * m[0] - 94 * m[1] - 18 * m[2] +
                                        (128 << 10) + 512) >> 10);
        }
}

/* Sends the encoder a frame, or NULL at the end, and writes its packets. */
static int send(struct ctt_saver *s, const AVFrame *f)
{
    int rc = 0, got;

    CTT_TRY(check_codec(s, avcodec_send_frame(s->enc, f)));
    while ((got = avcodec_receive_packet(s->enc, s->packet)) >= 0) {
        s->packet->stream_index = 0;
        s->packet->duration = 1;
        av_packet_rescale_ts(s->packet, s->enc->time_base,
                             s->mux->streams[0]->time_base);
        CTT_TRY(check_written(s, av_interleaved_write_frame(s->mux,
                                                            s->packet)));
        s->packets++;
    }
    if (got != AVERROR(EAGAIN) && got != AVERROR_EOF)
        CTT_AV(got, s->path);
out:
    return rc;
}

int ctt_saver_frame(struct ctt_saver *s, const uint8_t *rgb)
{
    int rc = 0;

    CTT_AV(av_frame_make_writable(s->frame), s->path);
    to_yuv(rgb, s->w, s->h, s->frame);
    s->frame->pts = s->at++;
    s->count++;
    CTT_TRY(send(s, s->frame));
out:
    return rc;
}

int ctt_saver_hold(struct ctt_saver *s, int frames)
{
    int rc = 0;

    CTT_CHECK(s->count > 0 && frames >= 0, CTT_EINVAL,
              "%s: no frame to hold for %d frames", s->path, frames);
    s->at += frames;
out:
    return rc;
}

/* Writes the buffered bytes to the file. */
static int finish_file(struct ctt_saver *s)
{
    int rc = 0;

    avio_flush(s->mux->pb);
    CTT_TRY(check_written(s, s->mux->pb->error));
    CTT_TRY(ctt_newfile_finish(&s->file));
out:
    return rc;
}

static int finish_memory(struct ctt_saver *s)
{
    uint8_t *data = NULL;
    int size = avio_close_dyn_buf(s->mux->pb, &data), rc = 0;

    s->mux->pb = NULL;
    CTT_CHECK(size > 0 && data, CTT_ENOMEM, "%s: out of memory", s->path);
    CTT_TRY(ctt_file_replace(s->path, data, size));
out:
    av_free(data);
    return rc;
}

int ctt_saver_finish(struct ctt_saver **saver)
{
    struct ctt_saver *s = *saver;
    int rc = 0;

    CTT_CHECK(s->count > 0, CTT_EINVAL, "%s: a video of no frames", s->path);
    CTT_TRY(send(s, NULL));
    /* libvpx keeps to itself that it had no memory for a packet */
    CTT_CHECK(s->packets >= s->count, CTT_ENOMEM, "%s: out of memory: the "
              "encoder lost %d of %d frames", s->path,
              (int)(s->count - s->packets), (int)s->count);
    CTT_TRY(check_written(s, av_write_trailer(s->mux)));
    CTT_TRY(s->file ? finish_file(s) : finish_memory(s));
out:
    ctt_saver_close(saver);
    return rc;
}

/* ---- a picture ---- */

static int open_png(const char *path, AVFrame *f, AVCodecContext **out)
{
    const AVCodec *png = avcodec_find_encoder(AV_CODEC_ID_PNG);
    int rc = 0;

    CTT_CHECK(png, CTT_EUNSUP, "%s: this FFmpeg has no encoder for PNG", path);
    *out = avcodec_alloc_context3(png);
    CTT_CHECK(*out, CTT_ENOMEM, "%s: out of memory", path);
    (*out)->width = f->width;
    (*out)->height = f->height;
    (*out)->pix_fmt = f->format;
    (*out)->time_base = (AVRational){ 1, 1 };
    (*out)->thread_count = 1;
    CTT_AV(avcodec_open2(*out, png, NULL), path);
    CTT_AV(av_frame_get_buffer(f, 0), path);
out:
    return rc;
}

static int encode_png(const char *path, AVCodecContext *enc, const AVFrame *f,
                      AVPacket *packet, uint8_t **png, int64_t *size)
{
    int rc = 0;

    CTT_AV(avcodec_send_frame(enc, f), path);
    CTT_AV(avcodec_send_frame(enc, NULL), path);
    CTT_AV(avcodec_receive_packet(enc, packet), path);
    *png = ctt_calloc((size_t)packet->size, 1);
    CTT_CHECK(*png, CTT_ENOMEM, "%s: out of memory", path);
    memcpy(*png, packet->data, (size_t)packet->size);
    *size = packet->size;
out:
    return rc;
}

int ctt_png_encode(const char *path, const uint8_t *data, int w, int h, int c,
                   uint8_t **png, int64_t *size)
{
    AVFrame *f = av_frame_alloc();
    AVPacket *packet = av_packet_alloc();
    AVCodecContext *enc = NULL;
    int rc = 0;

    av_log_set_level(AV_LOG_QUIET);
    CTT_CHECK(f && packet, CTT_ENOMEM, "%s: out of memory", path);
    CTT_CHECK(w > 0 && h > 0 && (c == 1 || c == 3), CTT_EINVAL,
              "%s: a picture of %dx%dx%d", path, w, h, c);
    f->width = w;
    f->height = h;
    f->format = c == 1 ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_RGB24;
    CTT_TRY(open_png(path, f, &enc));
    for (int y = 0; y < h; y++)
        memcpy(f->data[0] + (ptrdiff_t)y * f->linesize[0],
               data + (size_t)y * (size_t)(w * c), (size_t)(w * c));
    CTT_TRY(encode_png(path, enc, f, packet, png, size));
out:
    avcodec_free_context(&enc);
    av_frame_free(&f);
    av_packet_free(&packet);
    return rc;
}
