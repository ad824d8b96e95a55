/* SPDX-License-Identifier: Apache-2.0
 * demux.h: the compressed pictures of one file. */
#ifndef CTT_DEMUX_H
#define CTT_DEMUX_H

#include "video/meter.h"
#include "video/live/stream.h"

struct AVCodec;
struct AVCodecParameters;
struct AVFrame;
struct AVPacket;

struct ctt_demux;

/* Opens a regular file, only this one: whatever its content says, no other file
 * and no address is opened.  The format is found by the content and must be one
 * of formats.c; the name has no meaning.  m is charged for reading, and stays
 * the caller's. */
int  ctt_demux_open(const char *path, struct ctt_meter *m,
                    struct ctt_demux **out);
/* The same for a stream; how and its texts stay the caller's.  Its packets that
 * are damaged are left out and counted. */
int  ctt_demux_open_live(const struct ctt_stream *how, struct ctt_meter *m,
                         struct ctt_demux **out);
void ctt_demux_close(struct ctt_demux **d);

/* Of a file: its damaged packets are left out from now on, too. */
void ctt_demux_go_on(struct ctt_demux *d, const struct ctt_stream *how);

/* Of a stream: whether it sends no faster than it is read; whether only a
 * clock says when its frames come, as its format has no times and those that
 * FFmpeg gives them, 25 a second, are made up; packets left out (of a file:
 * breaks of MPEG-TS, as where files were joined); bytes of the packets so far.
 */
int     ctt_demux_waits(const struct ctt_demux *d);
int     ctt_demux_timeless(const struct ctt_demux *d);
int64_t ctt_demux_damaged(const struct ctt_demux *d);
int64_t ctt_demux_bytes(const struct ctt_demux *d);

/* The video stream: a decoder that is there, its parameters, the seconds in a
 * unit of time, whether it is a picture, whether times of its format may start
 * anew, as those of MPEG-TS, the average frames per second (0: not
 * stated, as for a picture, or made up), the counterclockwise quarter turns
 * that make it upright. */
const struct AVCodec           *ctt_demux_decoder(const struct ctt_demux *d);
const struct AVCodecParameters *ctt_demux_codec(const struct ctt_demux *d);
double ctt_demux_unit(const struct ctt_demux *d);
/* Seconds from packet to packet where the file has no times to show frames at,
 * as in AVI; 0: unknown. */
double ctt_demux_step(const struct ctt_demux *d);
int    ctt_demux_is_picture(const struct ctt_demux *d);
int    ctt_demux_restarts(const struct ctt_demux *d);
float  ctt_demux_fps(const struct ctt_demux *d);
int    ctt_demux_turns(const struct ctt_demux *d);

/* The width of a pixel of frame f divided by its height, as the container says
 * or else the stream: num / den, 1 / 1 if neither does. */
void   ctt_demux_pixel(const struct ctt_demux *d, struct AVFrame *f, int *num,
                       int *den);

/* The next packet of the video: 1, or 0 at the end, which that of a file is
 * where it was cut within a packet. */
int  ctt_demux_next(struct ctt_demux *d, struct AVPacket *pkt);

/* Looks at it, for the next call: 1 and its time in seconds, NAN if it has
 * none; or 0 at the end. */
int  ctt_demux_peek(struct ctt_demux *d, double *time);

/* Where the video can be entered in its middle; times are those of the file, in
 * seconds.  seek: 1 if the next packet is now a key frame that is shown at t or
 * before, entry: when; 0: there is none, or the format is not one for it;
 * moved: the next packet may then be any.  steady: frames a second if each is
 * shown equally long, up to frame n, else 0.  length: of the file in seconds, 0
 * if unknown. */
int    ctt_demux_seek(struct ctt_demux *d, double t, double *entry,
                      int *moved);
double ctt_demux_steady(const struct ctt_demux *d, int64_t n);
double ctt_demux_length(const struct ctt_demux *d);

/* After the end: how many frames the container says come after the last one;
 * 0 if it is whole or says nothing, -1: an unknown number.  gap: the longest
 * time between two frames, in seconds. */
int64_t ctt_demux_missing(const struct ctt_demux *d, double gap);

/* After the end: bytes of other files behind the one that was read (MP4,
 * Matroska, FLV, ASF, GIF); and how many files were read as one
 * though their times do not tell it (AVI). */
int64_t ctt_demux_unread(const struct ctt_demux *d);
int     ctt_demux_joined(const struct ctt_demux *d);

/* The whole file at path as one packet: a picture of a folder. */
int  ctt_packet_read(const char *path, struct ctt_meter *m,
                     struct AVPacket *pkt);

/* Blocks of FFmpeg are no larger than the limits of memory and of pictures. */
void ctt_av_limit(void);

/* The error for a result of FFmpeg; what: the failed action on path. */
int  ctt_av_error(const struct ctt_meter *m, int code, const char *what);

#endif
