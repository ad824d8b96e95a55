/* SPDX-License-Identifier: Apache-2.0
 * demux_file.h: a file that demux.c reads; besides save.c the only
 * file that includes libavformat. */
#ifndef CTT_DEMUX_FILE_H
#define CTT_DEMUX_FILE_H

#include "video/demux.h"

#include <libavformat/avformat.h>

struct ctt_demux {
    struct ctt_meter *m;
    int               fd;
    int64_t           size, at;      /* bytes: of the file, and read next */
    int64_t           last;          /* behind the begin of the last packet */
    AVIOContext      *io;
    AVFormatContext  *fmt;
    const AVCodec    *decoder;
    AVStream         *stream;        /* the video */
    int64_t           index, got;    /* packets of it: listed, read */
    AVPacket         *entry;         /* read ahead, given next */
    int               entered;       /* entry holds one */
    int               part;          /* ends in a part of a packet */
    int64_t           damaged;       /* packets that are, or may be */
    int64_t           dts;           /* of the last packet of it */
    double            step;          /* ctt_demux_step() */
    double            end, ends;     /* in seconds: of its last packet, and of
                                        the last one of any stream */

    /* Of a stream (demux_live.c): */
    const struct ctt_stream *how;    /* NULL: a file */
    int               opened;        /* io is FFmpeg's own, of an address */
    struct ctt_camera *camera;
    int               bad;           /* damaged packets in a row */
    int64_t           bytes;
};

/* For demux_live.c.  io: d->io reads from d->fd by read, and seeks if that
 * is not NULL.  format: finds the format and opens it, with settings of
 * it.  video: finds the video in it.  hurry: looks at little of a stream before
 * it begins. */
int  ctt_demux_io(struct ctt_demux *d,
                  int (*read)(void *d, uint8_t *to, int n),
                  int64_t (*seek)(void *d, int64_t to, int whence));
int  ctt_demux_format(struct ctt_demux *d, const AVInputFormat *kind,
                      AVDictionary **opt);
int  ctt_demux_video(struct ctt_demux *d);
void ctt_demux_hurry(AVFormatContext *fmt);
int  ctt_demux_read(void *demux, uint8_t *to, int n);
int64_t ctt_demux_to(void *demux, int64_t to, int whence);

/* Notes when a packet ends. */
void ctt_demux_note(struct ctt_demux *d, const AVPacket *pkt);

/* demux_live.c: the next packet of a stream, damaged ones left out. */
int  ctt_demux_next_live(struct ctt_demux *d, struct AVPacket *pkt);
void ctt_demux_close_live(struct ctt_demux *d);

#endif
