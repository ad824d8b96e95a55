/* SPDX-License-Identifier: Apache-2.0
 * decode.h: a video while it is decoded, for decode.c and segment.c. */
#ifndef CTT_VIDEO_DECODE_H
#define CTT_VIDEO_DECODE_H

#include "video/demux.h"
#include "video/part.h"
#include "video/pictures.h"
#include "video/stamps.h"
#include "video/video.h"

#include <stdint.h>

/* ---- frames in another size and format of pixels ---- */

struct AVFrame;
struct SwsContext;

/* key: what sws was made for. */
enum { CTT_SCALER_KEY = 8 };
struct ctt_scaler { struct SwsContext *sws; int key[CTT_SCALER_KEY]; };

/* Writes the frame in w x h pixels of a format (enum AVPixelFormat) to rows of
 * these strides.  CTT_EUNSUP, CTT_EFORMAT: it cannot be, without its name. */
int  ctt_scaler_run(struct ctt_scaler *s, const struct AVFrame *f, int w,
                    int h, int format, uint8_t *const rows[4],
                    const int strides[4]);
void ctt_scaler_clear(struct ctt_scaler *s);

struct AVCodecContext;

struct ctt_video {
    char              *path, *file; /* as given; without the part */
    struct ctt_part    part;
    struct ctt_meter   meter;
    struct ctt_pictures pictures;   /* count 0: path is a file */
    struct ctt_demux  *demux;       /* of the file, or of the first picture */
    struct AVCodecContext *dec;
    struct AVPacket   *pkt;
    struct AVFrame    *now, *ahead;
    struct AVFrame    *held;        /* behind ahead, if there is a `later` */
    struct ctt_scaler  scaler;
    int                sent;        /* pictures sent to the decoder */
    int                drained;
    int64_t            unread;      /* bytes behind what was drained */
    int                cut;         /* in a packet, which is left out */
    struct ctt_stamps   t;           /* of ahead; seen: frames decoded, or
                                       passed over */
    double             gap;         /* the longest between two frames */
    double             entry;       /* after a seek: frames before this time
                                       of the file cannot be decoded */
    int                sought;

    /* Of a part: whether its begin was found, and its frames given so far;
     * times of the video: of frame 0 of the part, and of the held frame. */
    int                begun, ended, later;
    int64_t            given;
    double             zero, after;

    /* Of a stream: */
    const struct ctt_stream *how;   /* NULL: a clip */
    double             stamp;       /* of ahead as the stream has it, or NAN */
    int64_t            damaged;     /* left out, or with errors */
};

/* Decodes the next frame of the file, which becomes `ahead`: 1, or 0 at the
 * end; `t.last` is its time. */
int ctt_decode_next(struct ctt_video *v);

/* Goes to a key frame at `time` of the video or before it, so that the next
 * frame is not later than `time`; 0: stays where it is, or at the start.  The
 * first frame must have been decoded. */
int ctt_decode_enter(struct ctt_video *v, double time);

#endif
