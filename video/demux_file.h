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
    AVIOContext      *io;
    AVFormatContext  *fmt;
    const AVCodec    *decoder;
    AVStream         *stream;        /* the video */
    int64_t           index, got;    /* packets of it: listed, read */
    AVPacket         *entry;         /* read by a seek, given next */
    int               entered;       /* entry holds one */
    double            end, ends;     /* in seconds: of its last packet, and of
                                        the last one of any stream */
};

#endif
