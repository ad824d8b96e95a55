/* SPDX-License-Identifier: Apache-2.0
 * demux_live.c: the packets of streams: pipes, addresses, cameras, frames
 * without a container. */
#include "base/newfile.h"
#include "video/live/camera.h"
#include "video/demux_file.h"

#include <libavutil/pixdesc.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* BAD_MAX: damaged packets in a row after which it is no video.  TICK:
 * milliseconds after which it is asked whether to stop. */
enum { BAD_MAX = 100, TICK = 50 };

static int interrupted(void *arg)
{
    return ctt_meter_check(arg) < 0;
}

static void rest(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

/* ---- pipes ---- */

/* Reads the bytes available, at least one, or the end.  A FIFO that nobody
 * writes yet has none. */
static int read_pipe(void *demux, uint8_t *to, int n)
{
    struct ctt_demux *d = demux;
    struct pollfd p = { .fd = d->fd, .events = POLLIN };
    ssize_t got;

    for (;;) {
        if (ctt_meter_check(d->m) < 0)
            return AVERROR_EXIT;
        if (poll(&p, 1, TICK) == 0)
            continue;
        got = read(d->fd, to, (size_t)n);
        if (got > 0)
            return (int)got;
        if (got == 0)
            return AVERROR_EOF;
        if (errno != EINTR && errno != EAGAIN)
            break;
    }
    d->m->rc = ctt_error(CTT_EIO, "%s: %s", d->m->path, strerror(errno));
    return AVERROR(EIO);
}

/* Above the standard streams, which it must not become. */
static int above(int fd)
{
    int high = fd < 0 || fd > STDERR_FILENO ? fd :
               fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (high != fd)
        close(fd);
    return high;
}

static int open_fd(struct ctt_demux *d)
{
    const char *path = d->how->source;
    int rc = 0;

    d->fd = path ? above(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) :
            fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    CTT_CHECK(d->fd >= 0, CTT_EIO, "%s: %s", d->m->path, strerror(errno));
out:
    return rc;
}

/* Standard input may be a file, which is read like any other. */
static int open_pipe(struct ctt_demux *d)
{
    struct stat s;
    int rc, is_file;

    CTT_TRY(open_fd(d));
    CTT_CHECK(fstat(d->fd, &s) == 0, CTT_EIO, "%s: %s", d->m->path,
              strerror(errno));
    is_file = S_ISREG(s.st_mode) && lseek(d->fd, 0, SEEK_CUR) == 0;
    d->size = is_file ? s.st_size : 0;
    CTT_TRY(ctt_demux_io(d, is_file ? ctt_demux_read : read_pipe,
                         is_file ? ctt_demux_to : NULL));
out:
    return rc;
}

static int open_regular(struct ctt_demux *d)
{
    int rc;

    CTT_TRY(ctt_file_open(d->how->source, &d->fd, &d->size));
    CTT_TRY(ctt_demux_io(d, ctt_demux_read, ctt_demux_to));
out:
    return rc;
}

/* ---- addresses ---- */

static int no_memory(const struct ctt_demux *d)
{
    return ctt_error(CTT_ENOMEM, "%s: out of memory", d->m->path);
}

/* An overrun of UDP loses packets, which is no reason to end. */
static int open_address(struct ctt_demux *d)
{
    AVIOInterruptCB cb = { interrupted, d->m };
    AVDictionary *opt = NULL;
    int rc = 0, e;

    if (av_dict_set(&opt, "protocol_whitelist", d->how->protocols, 0) < 0 ||
        av_dict_set(&opt, "overrun_nonfatal", "1", 0) < 0)
        CTT_TRY(no_memory(d));
    e = avio_open2(&d->io, d->how->source, AVIO_FLAG_READ, &cb, &opt);
    d->opened = e >= 0;
    CTT_CHECK(e != AVERROR(EIO) || strncmp(d->how->source, "http", 4) != 0,
              CTT_EIO, "%s: cannot be reached: redirected again and again, or "
              "no encrypted connection (TLS) with the server", d->m->path);
    if (e < 0)
        CTT_TRY(ctt_av_error(d->m, e, "cannot be reached"));
out:
    av_dict_free(&opt);
    return rc;
}

/* Over TCP nothing is lost, and all passes where the connection passes. */
static int open_rtsp(struct ctt_demux *d)
{
    static const char *const set[][2] = {
        { "rtsp_transport", "tcp" }, { "allowed_media_types", "video" },
    };
    const AVInputFormat *kind = av_find_input_format("rtsp");
    AVDictionary *opt = NULL;
    int rc = 0, e;

    CTT_CHECK(kind, CTT_EUNSUP, "%s: this FFmpeg has no RTSP", d->m->path);
    d->fmt = avformat_alloc_context();
    if (!d->fmt || av_dict_set(&opt, "protocol_whitelist", d->how->protocols,
                               0) < 0)
        CTT_TRY(no_memory(d));
    for (size_t i = 0; i < CTT_LEN(set); i++)
        if (av_dict_set(&opt, set[i][0], set[i][1], 0) < 0)
            CTT_TRY(no_memory(d));
    d->fmt->interrupt_callback = (AVIOInterruptCB){ interrupted, d->m };
    ctt_demux_hurry(d->fmt);
    e = avformat_open_input(&d->fmt, d->how->source, kind, &opt);
    e = e < 0 ? e : avformat_find_stream_info(d->fmt, NULL);
    CTT_TRY(d->m->rc);
    if (e < 0)
        CTT_TRY(ctt_av_error(d->m, e, "cannot be reached"));
out:
    av_dict_free(&opt);
    return rc;
}

/* ---- cameras ---- */

/* A container of one stream stands for the camera. */
static int open_camera(struct ctt_demux *d)
{
    struct ctt_camera_form form;
    AVCodecParameters *p;
    int rc;

    CTT_TRY(ctt_camera_open(d->how->source, d->m, &d->camera, &form));
    d->fmt = avformat_alloc_context();
    d->stream = d->fmt ? avformat_new_stream(d->fmt, NULL) : NULL;
    if (!d->stream)
        CTT_TRY(no_memory(d));
    p = d->stream->codecpar;
    p->codec_type = AVMEDIA_TYPE_VIDEO;
    p->width = form.w;
    p->height = form.h;
    p->codec_id = form.pixels ? AV_CODEC_ID_RAWVIDEO : AV_CODEC_ID_MJPEG;
    p->format = form.pixels ? av_get_pix_fmt(form.pixels) : AV_PIX_FMT_NONE;
    d->stream->time_base = (AVRational){ 1, AV_TIME_BASE };
    d->stream->avg_frame_rate = av_d2q(form.fps, 1 << 16);
    d->decoder = avcodec_find_decoder(p->codec_id);
    CTT_CHECK(d->decoder, CTT_EUNSUP, "%s: this FFmpeg has no decoder for it",
              d->m->path);
out:
    return rc;
}

static int next_of_camera(struct ctt_demux *d, AVPacket *pkt)
{
    double stamp;
    int64_t size;
    int rc, e;

    CTT_TRY(ctt_camera_wait(d->camera, &size, &stamp, &d->damaged));
    e = av_new_packet(pkt, (int)size);
    if (e < 0)
        CTT_TRY(ctt_av_error(d->m, e, "cannot be read"));
    CTT_TRY(ctt_camera_take(d->camera, pkt->data));
    pkt->pts = pkt->dts = (int64_t)(stamp * AV_TIME_BASE);
    pkt->flags |= AV_PKT_FLAG_KEY;
    d->bytes += size;
    rc = 1;
out:
    return rc;
}

/* ---- all kinds ---- */

static int raw_settings(struct ctt_demux *d, AVDictionary **opt)
{
    const struct ctt_raw *raw = &d->how->raw;
    char size[32], fps[32];

    snprintf(size, sizeof(size), "%dx%d", raw->w, raw->h);
    snprintf(fps, sizeof(fps), "%.6f", raw->fps);
    return av_dict_set(opt, "video_size", size, 0) < 0 ||
           av_dict_set(opt, "framerate", fps, 0) < 0 ||
           av_dict_set(opt, "pixel_format", raw->format, 0) < 0 ?
           no_memory(d) : 0;
}

static int open_bytes(struct ctt_demux *d)
{
    const AVInputFormat *kind = NULL;
    AVDictionary *opt = NULL;
    int rc = 0;

    if (d->how->raw.w) {
        kind = av_find_input_format("rawvideo");
        CTT_CHECK(kind, CTT_EUNSUP, "%s: this FFmpeg has no raw frames",
                  d->m->path);
        CTT_TRY(raw_settings(d, &opt));
    }
    CTT_TRY(ctt_demux_format(d, kind, &opt));
out:
    av_dict_free(&opt);
    return rc;
}

int ctt_demux_open_live(const struct ctt_stream *how, struct ctt_meter *m,
                        struct ctt_demux **out)
{
    static int (*const open_kind[])(struct ctt_demux *d) = {
        [CTT_STREAM_FILE] = open_regular, [CTT_STREAM_PIPE] = open_pipe,
        [CTT_STREAM_ADDRESS] = open_address, [CTT_STREAM_RTSP] = open_rtsp,
        [CTT_STREAM_CAMERA] = open_camera,
    };
    struct ctt_demux *d = ctt_calloc(1, sizeof(*d));
    int rc = d ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    d->m = m;
    d->fd = -1;
    d->how = how;
    ctt_av_limit();
    avformat_network_init();
    CTT_TRY(open_kind[how->kind](d));
    if (d->io)
        CTT_TRY(open_bytes(d));
    if (!d->camera)
        CTT_TRY(ctt_demux_video(d));
    if (how->raw.w)
        d->stream->avg_frame_rate = av_d2q(how->raw.fps, 1 << 16);
    *out = d;
    d = NULL;
out:
    ctt_demux_close(&d);
    return rc;
}

void ctt_demux_close_live(struct ctt_demux *d)
{
    ctt_camera_close(&d->camera);
    if (d->opened)
        avio_closep(&d->io);
}

void ctt_demux_go_on(struct ctt_demux *d, const struct ctt_stream *how)
{
    d->how = how;
}

/* 1: the packet is one of the video that can be decoded.  Of frames without a
 * container only the last one is incomplete. */
static int is_wanted(struct ctt_demux *d, const AVPacket *pkt)
{
    int bad = (pkt->flags & AV_PKT_FLAG_CORRUPT) != 0;

    ctt_demux_note(d, pkt);
    if (pkt->stream_index != d->stream->index)
        return 0;
    d->bad = 0;
    d->got++;
    d->bytes += pkt->size;
    d->part = bad && d->how->raw.w;
    d->damaged += bad && !d->part;
    return !bad || d->stream->codecpar->codec_id != AV_CODEC_ID_RAWVIDEO;
}

/* An MP4 whose index came after its pictures, from where nothing leads back to
 * them: no packet of it can be read. */
static int has_index_last(const struct ctt_demux *d)
{
    if (!d->io || (d->io->seekable & AVIO_SEEKABLE_NORMAL) || d->bytes ||
        strncmp(d->fmt->iformat->name, "mov,", 4) != 0)
        return 0;
    const AVIndexEntry *first = avformat_index_get_entry(d->stream, 0);
    return first && first->pos + first->size <= avio_tell(d->io);
}

static int bad_packet(const struct ctt_demux *d, int e)
{
    int rc;

    CTT_TRY(d->m->rc);
    CTT_CHECK(!has_index_last(d), CTT_EFORMAT, "%s: its index (moov) is at the "
              "end, after the pictures, and this source cannot seek: give the "
              "file by its name, or one made with ffmpeg -movflags +faststart, "
              "or Matroska", d->m->path);
    rc = ctt_av_error(d->m, e, e == AVERROR_INVALIDDATA ? "damaged" :
                               "broken off");
out:
    return rc;
}

/* An error of reading: 0 to read on. */
static int pass_error(struct ctt_demux *d, int e)
{
    if (e == AVERROR(EAGAIN)) {
        rest();
        return 0;
    }
    if (e != AVERROR_INVALIDDATA || ++d->bad > BAD_MAX)
        return e;
    d->damaged++;
    d->got++;
    return 0;
}

int ctt_demux_next_live(struct ctt_demux *d, AVPacket *pkt)
{
    int rc, e;

    av_packet_unref(pkt);
    if (d->camera)
        return next_of_camera(d, pkt);
    for (;;) {
        CTT_TRY(ctt_meter_check(d->m));
        e = av_read_frame(d->fmt, pkt);
        if (e >= 0 && is_wanted(d, pkt))
            return 1;
        CTT_TRY(d->m->rc);
        if (e == AVERROR_EOF && d->io && d->io->error < 0)
            e = d->io->error;
        if (e == AVERROR_EOF)
            return 0;
        if (e < 0 && pass_error(d, e) < 0)
            CTT_TRY(bad_packet(d, e));
        av_packet_unref(pkt);
    }
out:
    return rc;
}

int ctt_demux_waits(const struct ctt_demux *d)
{
    enum ctt_stream_kind kind = d->how ? d->how->kind : CTT_STREAM_CLIP;

    return kind == CTT_STREAM_ADDRESS ? d->io && avio_size(d->io) > 0 :
           kind != CTT_STREAM_RTSP && kind != CTT_STREAM_CAMERA;
}

/* The flag is not set for frames in parts of HTTP. */
int ctt_demux_timeless(const struct ctt_demux *d)
{
    const AVInputFormat *f = d->fmt->iformat;

    return d->how && f && !ctt_demux_waits(d) &&
           (f->flags & AVFMT_NOTIMESTAMPS || strcmp(f->name, "mpjpeg") == 0);
}

int64_t ctt_demux_damaged(const struct ctt_demux *d)
{
    return d->damaged;
}

int64_t ctt_demux_bytes(const struct ctt_demux *d)
{
    return d->bytes;
}
