/* SPDX-License-Identifier: Apache-2.0
 * clip.c: small videos, written by the tests that read them. */
#define _XOPEN_SOURCE 700    /* nftw */
#include "tests/lib/clip.h"
#include "tests/lib/check.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/opt.h>

#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct writer {
    AVFormatContext *fmt;
    AVCodecContext  *enc;
    AVStream        *stream;
    AVFrame         *frame;
    AVPacket        *pkt;
    int              packets;
};

static int64_t tick(const struct clip *c, int i)
{
    return c->time ? llround(c->time[i] * 12000) : i;
}

/* Duration of packet i: until the next one; the last one lasts as long as the
 * one before it.  Some containers drop a frame of duration 0. */
static int64_t lasts(const struct clip *c, int i)
{
    if (c->frames < 2)
        return 1;
    if (i > c->frames - 2)
        i = c->frames - 2;
    return tick(c, i + 1) - tick(c, i);
}

int clip_can(const char *codec)
{
    return avcodec_find_encoder_by_name(codec) != NULL;
}

unsigned clip_grey(int i)
{
    return 0x010101u * (unsigned)(16 + i % 56 * 4);
}

int clip_number(unsigned grey)
{
    return (int)(grey - 16 + 2) / 4;
}

static uint8_t byte(double x)
{
    return (uint8_t)lround(x < 0 ? 0 : x > 255 ? 255 : x);
}

/* BT.601, with luma in 16..235 or in 0..255. */
static void set_pixel(AVFrame *f, int x, int y, unsigned rgb)
{
    double r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;
    double luma = 0.299 * r + 0.587 * g + 0.114 * b;
    int full = f->format == AV_PIX_FMT_YUVJ420P;
    double chroma = full ? 1 : 224.0 / 255;

    f->data[0][y * f->linesize[0] + x] =
        byte(full ? luma : 16 + luma * 219 / 255);
    if (x % 2 || y % 2)
        return;
    f->data[1][y / 2 * f->linesize[1] + x / 2] =
        byte(128 + chroma * (b - luma) / 1.772);
    f->data[2][y / 2 * f->linesize[2] + x / 2] =
        byte(128 + chroma * (r - luma) / 1.402);
}

static void draw_frame(const struct clip *c, int i, AVFrame *f)
{
    for (int y = 0; y < c->h; y++)
        for (int x = 0; x < c->w; x++)
            set_pixel(f, x, y, c->draw ? c->draw(i, x, y) : clip_grey(i));
}

static int open_encoder(struct writer *w, const struct clip *c)
{
    const AVCodec *codec = avcodec_find_encoder_by_name(c->codec);

    w->enc = codec ? avcodec_alloc_context3(codec) : NULL;
    if (!w->enc)
        return AVERROR(EINVAL);
    w->enc->width = c->w;
    w->enc->height = c->h;
    w->enc->pix_fmt = strcmp(c->codec, "mjpeg") == 0 ? AV_PIX_FMT_YUVJ420P :
                      AV_PIX_FMT_YUV420P;
    if (c->fps > 0)
        w->enc->framerate = av_d2q(c->fps, 1001000);
    w->enc->time_base = c->time ? (AVRational){ 1, 12000 } :
                        av_inv_q(w->enc->framerate);
    w->enc->sample_aspect_ratio = (AVRational){ c->pixel[0], c->pixel[1] };
    w->enc->gop_size = c->key ? c->key : 12;
    w->enc->bit_rate = 2000000;
    w->enc->thread_count = 1;
    if (w->fmt->oformat->flags & AVFMT_GLOBALHEADER)
        w->enc->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    av_opt_set(w->enc->priv_data, "deadline", "realtime", 0);
    av_opt_set(w->enc->priv_data, "cpu-used", "8", 0);
    return avcodec_open2(w->enc, codec, NULL);
}

static int open_stream(struct writer *w, const struct clip *c)
{
    uint8_t *matrix;
    int e;

    w->stream = avformat_new_stream(w->fmt, NULL);
    if (!w->stream)
        return AVERROR(ENOMEM);
    w->stream->time_base = w->enc->time_base;
    w->stream->avg_frame_rate = w->enc->framerate;
    w->stream->sample_aspect_ratio = w->enc->sample_aspect_ratio;
    e = avcodec_parameters_from_context(w->stream->codecpar, w->enc);
    if (e < 0 || !c->turn)
        return e;
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
    AVPacketSideData *side = av_packet_side_data_new(
        &w->stream->codecpar->coded_side_data,
        &w->stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX,
        9 * sizeof(int32_t), 0);
    matrix = side ? side->data : NULL;
#else
    matrix = av_stream_new_side_data(w->stream, AV_PKT_DATA_DISPLAYMATRIX,
                                     9 * sizeof(int32_t));
#endif
    if (!matrix)
        return AVERROR(ENOMEM);
    av_display_rotation_set((int32_t *)matrix, -c->turn);
    return 0;
}

/* ---- sound ---- */

enum { RATE = 8000, PIECE = RATE / 10 };    /* samples */

static int open_sound(struct writer *w)
{
    AVStream *s = avformat_new_stream(w->fmt, NULL);

    if (!s)
        return AVERROR(ENOMEM);
    s->time_base = (AVRational){ 1, RATE };
    s->codecpar->codec_type = AVMEDIA_TYPE_AUDIO;
    s->codecpar->codec_id = AV_CODEC_ID_PCM_S16LE;
    s->codecpar->format = AV_SAMPLE_FMT_S16;
    s->codecpar->sample_rate = RATE;
    s->codecpar->bits_per_coded_sample = 16;
    s->codecpar->block_align = 2;
    s->codecpar->bit_rate = 16 * RATE;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(59, 24, 100)
    av_channel_layout_default(&s->codecpar->ch_layout, 1);
#else
    s->codecpar->channels = 1;
#endif
    return 0;
}

static int write_sound(struct writer *w, double seconds)
{
    AVPacket *pkt = av_packet_alloc();
    int e = pkt ? 0 : AVERROR(ENOMEM);

    for (int64_t t = 0; e >= 0 && t < llround(seconds * RATE); t += PIECE) {
        e = av_new_packet(pkt, 2 * PIECE);
        if (e < 0)
            break;
        memset(pkt->data, 0, 2 * PIECE);
        pkt->stream_index = 1;
        pkt->pts = pkt->dts = t;
        pkt->duration = PIECE;
        av_packet_rescale_ts(pkt, (AVRational){ 1, RATE },
                             w->fmt->streams[1]->time_base);
        e = av_interleaved_write_frame(w->fmt, pkt);
    }
    av_packet_free(&pkt);
    return e;
}

/* ---- the file ---- */

static int drain(struct writer *w, const struct clip *c, const AVFrame *f)
{
    int e = avcodec_send_frame(w->enc, f);

    while (e >= 0 && (e = avcodec_receive_packet(w->enc, w->pkt)) >= 0) {
        w->pkt->duration = lasts(c, w->packets++);
        av_packet_rescale_ts(w->pkt, w->enc->time_base,
                             w->stream->time_base);
        w->pkt->stream_index = 0;
        e = av_interleaved_write_frame(w->fmt, w->pkt);
    }
    return e == AVERROR(EAGAIN) || e == AVERROR_EOF ? 0 : e;
}

static int write_frames(struct writer *w, const struct clip *c)
{
    int e = 0;

    w->frame = av_frame_alloc();
    w->pkt = av_packet_alloc();
    if (!w->frame || !w->pkt)
        return AVERROR(ENOMEM);
    w->frame->width = c->w;
    w->frame->height = c->h;
    w->frame->format = w->enc->pix_fmt;
    e = av_frame_get_buffer(w->frame, 0);
    for (int i = 0; i < c->frames && e >= 0; i++) {
        e = av_frame_make_writable(w->frame);
        if (e < 0)
            break;
        draw_frame(c, i, w->frame);
        w->frame->pts = tick(c, i);
        e = drain(w, c, w->frame);
    }
    return e < 0 ? e : drain(w, c, NULL);
}

int clip_write(const struct clip *c, const char *path)
{
    struct writer w = { 0 };
    AVDictionary *how = NULL;
    int e;

    av_log_set_level(AV_LOG_QUIET);
    e = avformat_alloc_output_context2(&w.fmt, NULL, NULL, path);
    if (e >= 0)
        e = open_encoder(&w, c);
    if (e >= 0)
        e = open_stream(&w, c);
    if (e >= 0 && c->sound > 0)
        e = open_sound(&w);
    if (e >= 0 && c->how)
        e = av_dict_parse_string(&how, c->how, "=", ":", 0);
    if (e >= 0 && !(w.fmt->oformat->flags & AVFMT_NOFILE))
        e = avio_open(&w.fmt->pb, path, AVIO_FLAG_WRITE);
    if (e >= 0)
        e = avformat_write_header(w.fmt, &how);
    av_dict_free(&how);
    if (e >= 0)
        e = write_frames(&w, c);
    if (e >= 0 && c->sound > 0)
        e = write_sound(&w, c->sound);
    if (e >= 0)
        e = av_write_trailer(w.fmt);
    av_frame_free(&w.frame);
    av_packet_free(&w.pkt);
    avcodec_free_context(&w.enc);
    if (w.fmt && !(w.fmt->oformat->flags & AVFMT_NOFILE))
        avio_closep(&w.fmt->pb);
    avformat_free_context(w.fmt);
    return e < 0 ? ctt_error(CTT_EIO, "%s: cannot be written", path) : 0;
}

/* The folder of clips is alone in another one: lists search beside their own
 * folder, and the contents of /tmp must not matter. */
static char alone[256], folder[264];

const char *clip_path(const char *fmt, ...)
{
    static char path[64][512];
    static int turn;
    char name[200];
    va_list ap;

    if (!*folder) {
        const char *tmp = getenv("TMPDIR");
        snprintf(alone, sizeof(alone), "%s/convtt-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(alone))
            exit(99);
        snprintf(folder, sizeof(folder), "%s/clips", alone);
        if (mkdir(folder, 0700) != 0)
            exit(99);
    }
    va_start(ap, fmt);
    vsnprintf(name, sizeof(name), fmt, ap);
    va_end(ap);
    turn = (turn + 1) % 64;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

void clip_folder(const char *name)
{
    if (mkdir(clip_path("%s", name), 0700) != 0)
        exit(99);
}

void clip_file(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(clip_path("%s", name), "wb");

    if (!f || (n && fwrite(data, 1, n, f) != n) || fclose(f) != 0)
        exit(99);
}

void clip_text(const char *name, const char *text)
{
    clip_file(name, text, strlen(text));
}

uint8_t *clip_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *p;
    struct stat st;

    if (!f || fstat(fileno(f), &st) != 0)
        exit(99);
    *n = (size_t)st.st_size;
    p = ctt_calloc(*n + 1, 1);
    if (!p || fread(p, 1, *n, f) != *n)
        exit(99);
    fclose(f);
    return p;
}

static int remove_entry(const char *path, const struct stat *st, int flag,
                        struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

struct ctt_input clip_input(int w, int h, float fps)
{
    return (struct ctt_input){ .d = 1, .h = h, .w = w, .c = 3, .fps = fps,
        .std = { 1, 1, 1 }, .scale = 1, .fit = CTT_FIT_CROP,
        .colour = CTT_RGB };
}

const char *clip_steady(const char *name, int frames, double fps)
{
    const char *path = clip_path("%s", name);

    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = frames,
                        .codec = "ffv1", .fps = fps }, path));
    return path;
}

void clip_clean(void)
{
    if (*folder)
        nftw(alone, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    *folder = 0;
}
