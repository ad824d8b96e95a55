/* SPDX-License-Identifier: Apache-2.0
 * demux.c: reads the compressed pictures of one file. */
#include "video/demux_file.h"
#include "base/limits.h"
#include "base/newfile.h"
#include "video/formats.h"

#include <libavutil/display.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* BLOCK: bytes read at a time.  STREAMS: of a file; a broadcast has hundreds.
 */
enum { BLOCK = 1 << 16, STREAMS = 1 << 10 };

/* ---- calls by FFmpeg ---- */

int ctt_demux_read(void *arg, uint8_t *to, int n)
{
    struct ctt_demux *d = arg;
    ssize_t got;

    if (ctt_meter_check(d->m) < 0)
        return AVERROR_EXIT;
    do
        got = pread(d->fd, to, (size_t)n, d->at);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        d->m->rc = ctt_error(CTT_EIO, "%s: %s", d->m->path, strerror(errno));
        return AVERROR(EIO);
    }
    d->at += got;
    d->m->bytes += got;
    return got ? (int)got : AVERROR_EOF;
}

int64_t ctt_demux_to(void *arg, int64_t to, int whence)
{
    struct ctt_demux *d = arg;
    int64_t from = whence == SEEK_CUR ? d->at :
                   whence == SEEK_END ? d->size : 0;

    if (whence & AVSEEK_SIZE)
        return d->size;
    if (to > INT64_MAX - from || from + to < 0)
        return AVERROR(EINVAL);
    return d->at = from + to;
}

static int on_interrupt(void *arg)
{
    return ctt_meter_check(arg) < 0;
}

/* A file that a file names is never opened. */
static int refuse_open(AVFormatContext *fmt, AVIOContext **io, const char *url,
                       int flags, AVDictionary **opt)
{
    (void)fmt;
    (void)io;
    (void)url;
    (void)flags;
    (void)opt;
    return AVERROR(EPERM);
}

/* ---- opening ---- */

int ctt_demux_io(struct ctt_demux *d,
                 int (*read)(void *d, uint8_t *to, int n),
                 int64_t (*seek)(void *d, int64_t to, int whence))
{
    uint8_t *block = av_malloc(BLOCK);

    d->io = block ? avio_alloc_context(block, BLOCK, 0, d, read, NULL, seek) :
            NULL;
    if (d->io)
        return 0;
    av_free(block);
    return ctt_error(CTT_ENOMEM, "%s: out of memory", d->m->path);
}

/* Without a name FFmpeg goes by the content alone. */
static int find_format(struct ctt_demux *d, const AVInputFormat **out)
{
    int e = av_probe_input_buffer2(d->io, out, "", NULL, 0, 0), rc = 0;
    char start[512];
    ssize_t n;

    CTT_TRY(d->m->rc);
    if (d->how && e == AVERROR_INVALIDDATA && d->io->bytes_read == 0)
        e = AVERROR_EOF;
    if (d->how && e == AVERROR_INVALIDDATA)
        return ctt_error(CTT_EFORMAT, "%s: cannot be opened as a video: its "
                         "format is not known", d->m->path);
    if (!d->how && (e == AVERROR_INVALIDDATA || e == AVERROR_EOF)) {
        n = pread(d->fd, start, sizeof(start), 0);
        return ctt_format_unknown(start, n > 0 ? (size_t)n : 0, d->m->path);
    }
    if (e < 0)
        CTT_TRY(ctt_av_error(d->m, e, "cannot be opened as a video"));
    CTT_TRY(ctt_format_check((*out)->name, d->m->path));
out:
    return rc;
}

/* The white lists are for demuxers that open others by themselves. */
static int set_format(struct ctt_demux *d, const AVInputFormat *kind,
                      AVDictionary **opt)
{
    d->fmt = avformat_alloc_context();
    if (!d->fmt || av_dict_set(opt, "protocol_whitelist", "none", 0) < 0 ||
        av_dict_set(opt, "format_whitelist", kind->name, 0) < 0)
        return ctt_error(CTT_ENOMEM, "%s: out of memory", d->m->path);
    d->fmt->pb = d->io;
    d->fmt->flags |= AVFMT_FLAG_CUSTOM_IO;
    d->fmt->io_open = refuse_open;
    d->fmt->max_streams = STREAMS;
    d->fmt->interrupt_callback = (AVIOInterruptCB){ on_interrupt, d->m };
    return 0;
}

/* Limits the bytes that FFmpeg reads of a stream at its begin, since frames get
 * old meanwhile.  SECONDS, BYTES: the most.  INDEX: bytes of the list of
 * packets that FFmpeg makes for seeking, which a stream does not do. */
void ctt_demux_hurry(AVFormatContext *fmt)
{
    enum { SECONDS = 1, BYTES = 1 << 20, INDEX = 1 << 14 };

    fmt->max_analyze_duration = SECONDS * (int64_t)AV_TIME_BASE;
    fmt->probesize = BYTES;
    fmt->fps_probe_size = 0;
    fmt->max_index_size = INDEX;
}

/* A format whose beginning cannot be read: FFmpeg has one error for an end that
 * comes too early and for a disk that fails, which io knows. */
static int bad_header(const struct ctt_demux *d, const char *format, int e)
{
    int again = d->how && d->how->kind >= CTT_STREAM_ADDRESS;
    int rc = again && e == AVERROR(EIO) ? CTT_EIO : CTT_EFORMAT;

    if (d->m->rc < 0 || d->io->error < 0 ||
        (e != AVERROR(EIO) && e != AVERROR_INVALIDDATA))
        return ctt_av_error(d->m, e, "cannot be opened as a video");
    return ctt_error(rc, "%s: cannot be opened as a video: %s in its header "
                     "(%s)", d->m->path, d->io->eof_reached ? "cut short" :
                     "damaged", format);
}

int ctt_demux_format(struct ctt_demux *d, const AVInputFormat *kind,
                     AVDictionary **opt)
{
    int rc = 0, e, raw = kind != NULL;

    if (!raw)
        CTT_TRY(find_format(d, &kind));
    CTT_TRY(set_format(d, kind, opt));
    if (d->how && d->how->kind != CTT_STREAM_CLIP)
        ctt_demux_hurry(d->fmt);
    e = avformat_open_input(&d->fmt, "", kind, opt);
    e = e < 0 || raw ? e : avformat_find_stream_info(d->fmt, NULL);
    CTT_TRY(d->m->rc);
    if (e < 0)
        CTT_TRY(bad_header(d, kind->name, e));
out:
    av_dict_free(opt);
    return rc;
}

int ctt_demux_video(struct ctt_demux *d)
{
    int i = av_find_best_stream(d->fmt, AVMEDIA_TYPE_VIDEO, -1, -1,
                                &d->decoder, 0), rc = 0;

    CTT_CHECK(i != AVERROR_DECODER_NOT_FOUND, CTT_EUNSUP,
              "%s: this FFmpeg has no decoder for it", d->m->path);
    CTT_CHECK(i >= 0 && d->decoder && !(d->fmt->streams[i]->disposition &
              AV_DISPOSITION_ATTACHED_PIC), CTT_EFORMAT,
              "%s: no video in it", d->m->path);
    d->stream = d->fmt->streams[i];
    if (strncmp(d->fmt->iformat->name, "mov,", 4) == 0)
        d->index = avformat_index_get_entries_count(d->stream);
out:
    return rc;
}

/* So much one picture may take, decoded or not, beside tables of the file. */
static int64_t largest_block(void)
{
    const struct ctt_limits *l = ctt_limits();
    const int64_t tables = 64 << 20, pixel = 8;
    int64_t most = l->frame_pixels < INT_MAX / pixel
                   ? tables + pixel * l->frame_pixels : INT_MAX;

    return l->memory < most ? l->memory : most;
}

void ctt_av_limit(void)
{
    int64_t most = largest_block();

    av_max_alloc(most < INT_MAX ? (size_t)most : INT_MAX);
}

/* FFmpeg without the demuxer webp_anim decodes no frame of an animated WebP. */
static int check_webp(const struct ctt_demux *d)
{
    enum { FLAGS = 20, ANIMATION = 2 };
    uint8_t p[FLAGS + 1];
    int rc = 0;

    CTT_CHECK(strcmp(d->fmt->iformat->name, "webp_pipe") != 0 ||
              pread(d->fd, p, sizeof(p), 0) != sizeof(p) ||
              memcmp(p + 12, "VP8X", 4) != 0 || !(p[FLAGS] & ANIMATION),
              CTT_EUNSUP, "%s: an animated WebP, which this FFmpeg cannot "
              "decode: give it as GIF, AVIF or a video", d->m->path);
out:
    return rc;
}

int ctt_demux_open(const char *path, struct ctt_meter *m,
                   struct ctt_demux **out)
{
    struct ctt_demux *d = ctt_calloc(1, sizeof(*d));
    AVDictionary *opt = NULL;
    int rc = d ? 0 : CTT_ENOMEM;
    double time;

    CTT_TRY(rc);
    d->m = m;
    d->fd = -1;
    d->dts = AV_NOPTS_VALUE;
    ctt_av_limit();
    CTT_TRY(ctt_file_open(path, &d->fd, &d->size));
    CTT_TRY(ctt_demux_io(d, ctt_demux_read, ctt_demux_to));
    CTT_TRY(ctt_demux_format(d, NULL, &opt));
    CTT_TRY(check_webp(d));
    CTT_TRY(ctt_demux_video(d));
    if (d->index)    /* an encrypted one is said to be that */
        CTT_TRY(ctt_demux_peek(d, &time));
    rc = 0;
    *out = d;
    d = NULL;
out:
    ctt_demux_close(&d);
    return rc;
}

void ctt_demux_close(struct ctt_demux **demux)
{
    struct ctt_demux *d = *demux;

    if (!d)
        return;
    av_packet_free(&d->entry);
    avformat_close_input(&d->fmt);
    ctt_demux_close_live(d);
    if (d->io)
        av_freep(&d->io->buffer);
    avio_context_free(&d->io);
    if (d->fd >= 0)
        close(d->fd);
    ctt_free(d);
    *demux = NULL;
}

/* ---- properties of the file ---- */

const AVCodec *ctt_demux_decoder(const struct ctt_demux *d)
{
    return d->decoder;
}

const AVCodecParameters *ctt_demux_codec(const struct ctt_demux *d)
{
    return d->stream->codecpar;
}

double ctt_demux_unit(const struct ctt_demux *d)
{
    return av_q2d(d->stream->time_base);
}

double ctt_demux_step(const struct ctt_demux *d)
{
    return d->step;
}

int ctt_demux_is_picture(const struct ctt_demux *d)
{
    return d->fmt->iformat && ctt_format_is_picture(d->fmt->iformat->name);
}

int ctt_demux_restarts(const struct ctt_demux *d)
{
    return d->fmt->iformat && d->fmt->iformat->flags & AVFMT_TS_DISCONT;
}

float ctt_demux_fps(const struct ctt_demux *d)
{
    AVRational r = d->stream->avg_frame_rate;

    if (ctt_demux_is_picture(d) || ctt_demux_timeless(d))
        return 0;
    return r.num > 0 && r.den > 0 ? (float)av_q2d(r) : 0;
}

int ctt_demux_turns(const struct ctt_demux *d)
{
    const uint8_t *matrix = NULL;
    size_t size = 0;
    double angle;

#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
    const AVCodecParameters *p = d->stream->codecpar;
    const AVPacketSideData *side = av_packet_side_data_get(
        p->coded_side_data, p->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    if (side) {
        matrix = side->data;
        size = side->size;
    }
#else
    matrix = av_stream_get_side_data(d->stream, AV_PKT_DATA_DISPLAYMATRIX,
                                     &size);
#endif
    if (!matrix || size < 9 * sizeof(int32_t))
        return 0;
    angle = av_display_rotation_get((const int32_t *)matrix);
    return isfinite(angle) ? (int)lround(angle / 90) & 3 : 0;
}

void ctt_demux_pixel(const struct ctt_demux *d, AVFrame *f, int *num, int *den)
{
    AVRational r = av_guess_sample_aspect_ratio(d->fmt, d->stream, f);

    *num = r.num > 0 && r.den > 0 ? r.num : 1;
    *den = r.num > 0 && r.den > 0 ? r.den : 1;
}
