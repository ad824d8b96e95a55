/* SPDX-License-Identifier: Apache-2.0
 * demux_cut.c: how many frames a file lacks at its end, as one that was cut
 * short does. */
#include "video/demux_file.h"
#include "video/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Seconds in a tag of Matroska, "00:00:01.666000000"; 0: there is none. */
static double tagged(const AVStream *s)
{
    const AVDictionaryEntry *e = av_dict_get(s->metadata, "DURATION", NULL, 0);
    int h, m;
    double t;

    if (!e || sscanf(e->value, "%d:%d:%lf", &h, &m, &t) != 3 || h < 0 ||
        m < 0 || !(t >= 0 && t < 60))
        return 0;
    return 3600.0 * h + 60.0 * m + t;
}

/* A number of EBML (RFC 8794) at p, of at most 8 bytes: its value, *n: its
 * bytes; -1 if it is no number, or all ones, which means unknown.  keep: with
 * the bit that marks its length, as in the identifier of an element. */
static int64_t ebml(const uint8_t *p, int keep, int *n)
{
    int bytes = 1, mask, ones;
    int64_t v;

    while (bytes <= 8 && !(p[0] & 0x100 >> bytes))
        bytes++;
    if (bytes > 8)
        return -1;
    mask = (0x100 >> bytes) - 1;
    v = keep ? p[0] : p[0] & mask;
    ones = (p[0] & mask) == mask;
    for (int i = 1; i < bytes; i++) {
        v = v << 8 | p[i];
        ones &= p[i] == 0xff;
    }
    *n = bytes;
    return ones && !keep ? -1 : v;
}

/* Where the Segment of Matroska ends, in bytes; 0: not stated. */
static int64_t segment_end(const struct ctt_demux *d)
{
    enum { SEGMENT = 0x18538067, ELEMENTS = 8 };
    uint8_t p[24];
    int64_t at = 0;

    for (int i = 0; i < ELEMENTS; i++) {
        int n, m;
        int64_t id, size;

        if (pread(d->fd, p, sizeof(p), at) != (ssize_t)sizeof(p))
            return 0;
        id = ebml(p, 1, &n);
        size = id < 0 ? -1 : ebml(p + n, 0, &m);
        if (size < 0 || size > INT64_MAX - at - n - m)
            return 0;
        at += n + m + size;
        if (id == SEGMENT)
            return at;
    }
    return 0;
}

/* The same for the first RIFF chunk of AVI. */
static int64_t riff_end(const struct ctt_demux *d)
{
    uint8_t p[8];

    if (pread(d->fd, p, sizeof(p), 0) != (ssize_t)sizeof(p))
        return 0;
    return 8 + ((int64_t)p[4] | (int64_t)p[5] << 8 | (int64_t)p[6] << 16 |
                (int64_t)p[7] << 24);
}

/* 1 if the file ends before the size that it states itself. */
static int is_cut(const struct ctt_demux *d)
{
    const char *name = d->fmt->iformat->name;

    return (strcmp(name, "avi") == 0 && riff_end(d) > d->size) ||
           (strncmp(name, "matroska", 8) == 0 && segment_end(d) > d->size);
}

/* 1 if a file of MPEG-TS is no whole number of packets, of any of its sizes. */
static int ends_in_packet(const struct ctt_demux *d)
{
    return strcmp(d->fmt->iformat->name, "mpegts") == 0 && d->size > 0 &&
           d->size % 188 && d->size % 192 && d->size % 204;
}

/* Seconds that the container states beyond the last packet: AVI counts the
 * frames of the video, Matroska may state how long the video is.  The length of
 * the whole file may be that of a sound which is longer than the video, so it
 * is compared with all streams. */
static double short_of(const struct ctt_demux *d)
{
    double all = d->fmt->duration_estimation_method ==
                 AVFMT_DURATION_FROM_STREAM && d->fmt->duration > 0 ?
                 (double)d->fmt->duration / AV_TIME_BASE : 0;
    double tag = tagged(d->stream);

    if (!ctt_format_is_timed(d->fmt->iformat->name))
        return 0;
    if (strcmp(d->fmt->iformat->name, "avi") == 0)
        return (double)d->stream->nb_frames * ctt_demux_unit(d) - d->end;
    if (tag > 0 && (all <= 0 || tag <= all))
        return tag - d->end;
    return all > 0 ? all - d->ends : 0;
}

int64_t ctt_demux_missing(const struct ctt_demux *d, double gap)
{
    double fps = (double)ctt_demux_fps(d), lacks = short_of(d);
    int64_t n = d->index - d->got;

    if (d->part && d->how)
        return 1;
    if (d->index)
        return n > 0 ? n : -d->part;
    if (gap <= 0)
        return 0;
    fps = fps > 0 ? fps : 1 / gap;
    if (lacks > (is_cut(d) ? 0.5 : 1.5) * gap)
        return llround(lacks * fps);
    return -(d->part || ends_in_packet(d));
}
