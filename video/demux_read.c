/* SPDX-License-Identifier: Apache-2.0
 * demux_read.c: the packets of a file, in turn or from a time on. */
#include "video/demux_file.h"
#include "base/newfile.h"
#include "video/formats.h"

#include <math.h>
#include <unistd.h>

/* ---- packets ---- */

/* The least distance counts: packets may be missing. */
static void note_step(struct ctt_demux *d, const AVPacket *pkt, double unit)
{
    /* a file may state any times, whose difference has no 64 bits */
    double step = ((double)pkt->dts - (double)d->dts) * unit;

    if (pkt->pts != AV_NOPTS_VALUE || pkt->dts == AV_NOPTS_VALUE)
        return;
    if (d->dts != AV_NOPTS_VALUE && step > 0 &&
        !(d->step > 0 && d->step < step))
        d->step = step;
    d->dts = pkt->dts;
}

void ctt_demux_note(struct ctt_demux *d, const AVPacket *pkt)
{
    double unit = av_q2d(d->fmt->streams[pkt->stream_index]->time_base), end;
    int64_t t = pkt->pts != AV_NOPTS_VALUE ? pkt->pts : pkt->dts;

    d->last = pkt->pos >= d->last ? pkt->pos + 1 : d->last;
    if (pkt->stream_index == d->stream->index)
        note_step(d, pkt, unit);
    if (t == AV_NOPTS_VALUE)
        return;
    end = ((double)t + (double)pkt->duration) * unit;
    d->ends = end > d->ends ? end : d->ends;
    if (pkt->stream_index == d->stream->index && end > d->end)
        d->end = end;
}

/* FFmpeg's next packet of the video, or its error. */
static int next_of_video(struct ctt_demux *d, AVPacket *pkt)
{
    int e;

    do {
        av_packet_unref(pkt);
        if (ctt_meter_check(d->m) < 0)
            return AVERROR_EXIT;
        e = av_read_frame(d->fmt, pkt);
        if (e >= 0 && !(pkt->flags & AV_PKT_FLAG_CORRUPT))
            ctt_demux_note(d, pkt);
    } while (e >= 0 && pkt->stream_index != d->stream->index);
    return e == AVERROR_EOF && d->io->error < 0 ? d->io->error : e;
}

/* Where a packet is damaged: 0 if the file ends with it, as one that was cut
 * does, after others. */
static int end_or_damage(struct ctt_demux *d, AVPacket *pkt, int e)
{
    int rc;

    d->part = d->got > 0 && (e >= 0 || e == AVERROR_INVALIDDATA) &&
              next_of_video(d, pkt) == AVERROR_EOF;
    CTT_TRY(d->m->rc);
    if (d->part)
        return 0;
    rc = e < 0 ? ctt_av_error(d->m, e, "damaged") :
         ctt_error(CTT_EFORMAT, "%s: damaged: a packet is incomplete",
                   d->m->path);
out:
    return rc;
}

/* MPEG-TS has marks of breaks, too, as where files were joined: whether the
 * packet is whole is said by its decoder. */
static int next_of_file(struct ctt_demux *d, AVPacket *pkt)
{
    int e = d->part ? AVERROR_EOF : next_of_video(d, pkt), bad, rc = 0;

    CTT_TRY(d->m->rc);
    if (e == AVERROR_EOF)
        return 0;
    bad = e >= 0 && pkt->flags & AV_PKT_FLAG_CORRUPT;
    if (e < 0 || (bad && !ctt_demux_restarts(d)))
        return end_or_damage(d, pkt, e);
    d->damaged += bad;
    d->got++;
    rc = 1;
out:
    return rc;
}

int ctt_demux_next(struct ctt_demux *d, AVPacket *pkt)
{
    int rc;

    if (d->entered) {
        av_packet_unref(pkt);
        av_packet_move_ref(pkt, d->entry);
        d->entered = 0;
        return 1;
    }
    CTT_TRY(d->how ? ctt_demux_next_live(d, pkt) : next_of_file(d, pkt));
    CTT_CHECK(rc == 0 || !av_packet_get_side_data(pkt,
              AV_PKT_DATA_ENCRYPTION_INFO, NULL), CTT_EFORMAT, "%s: is "
              "encrypted (DRM): only a decrypted copy can be read",
              d->m->path);
out:
    return rc;
}

int ctt_demux_peek(struct ctt_demux *d, double *time)
{
    int rc = 1;

    d->entry = d->entry ? d->entry : av_packet_alloc();
    CTT_TRY(d->entry ? 1 : CTT_ENOMEM);
    if (!d->entered)
        CTT_TRY(ctt_demux_next(d, d->entry));
    d->entered = rc > 0;
    *time = rc == 0 || d->entry->pts == AV_NOPTS_VALUE ? (double)NAN :
            (double)d->entry->pts * ctt_demux_unit(d);
out:
    return rc;
}

int ctt_packet_read(const char *path, struct ctt_meter *m, AVPacket *pkt)
{
    int fd = -1, rc, e;
    int64_t size;

    CTT_TRY(ctt_meter_check(m));
    CTT_TRY(ctt_file_open(path, &fd, &size));
    m->bytes += size;
    CTT_TRY(ctt_meter_check(m));
    CTT_CHECK(size > 0 && size < INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE,
              CTT_EFORMAT, "%s: a picture of %lld bytes", path,
              (long long)size);
    av_packet_unref(pkt);
    e = av_new_packet(pkt, (int)size);
    if (e < 0)
        CTT_TRY(ctt_av_error(m, e, "cannot be read"));
    CTT_TRY(ctt_file_read_at(path, fd, 0, pkt->data, size));
    pkt->flags |= AV_PKT_FLAG_KEY;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- parts of a file ---- */

/* One try: a key frame at t or before it, and only then. */
static int seek_key_frame(struct ctt_demux *d, double t, double by,
                          double *entry)
{
    double unit = ctt_demux_unit(d);
    int64_t at = llround((t - by) / unit);
    int rc = 0;

    d->entered = 0;
    if (av_seek_frame(d->fmt, d->stream->index, at, AVSEEK_FLAG_BACKWARD) < 0)
        return d->m->rc;
    CTT_TRY(ctt_demux_next(d, d->entry));
    if (!rc || !(d->entry->flags & AV_PKT_FLAG_KEY) ||
        d->entry->pts == AV_NOPTS_VALUE)
        return 0;
    *entry = (double)d->entry->pts * unit;
    d->entered = *entry <= t;
    rc = d->entered;
out:
    return rc;
}

/* An index may have the times of decoding, which are earlier: a key frame that
 * it names may be shown after t. */
int ctt_demux_seek(struct ctt_demux *d, double t, double *entry, int *moved)
{
    static const double by[] = { 0, 1, 5, 30 };
    int rc = 0;

    *moved = ctt_format_enters(d->fmt->iformat->name);
    if (!*moved)
        return 0;
    d->entry = d->entry ? d->entry : av_packet_alloc();
    CTT_TRY(d->entry ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < CTT_LEN(by) && rc == 0; i++)
        CTT_TRY(seek_key_frame(d, t, by[i], entry));
out:
    return rc;
}

/* MP4 has the times of all frames, of which the mean is made; elsewhere both
 * rates may only be what the writer stated. */
double ctt_demux_steady(const struct ctt_demux *d, int64_t n)
{
    double mean = av_q2d(d->stream->avg_frame_rate);
    double base = av_q2d(d->stream->r_frame_rate);

    return d->index && mean > 0 && base > 0 && isfinite(mean) &&
           isfinite(base) && fabs(mean - base) * (double)n < 0.2 * base ?
           base : 0;
}

double ctt_demux_length(const struct ctt_demux *d)
{
    return d->fmt->duration > 0 ? (double)d->fmt->duration / AV_TIME_BASE : 0;
}
