/* SPDX-License-Identifier: Apache-2.0
 * stream.h: a video that may not wait and may have no end, for live.c: its
 * damaged frames are left out, and it may be closed while it is waited for. */
#ifndef CTT_STREAM_H
#define CTT_STREAM_H

#include "base/ctt.h"

struct ctt_video;

/* Kinds of sources.  Those from CTT_STREAM_ADDRESS on may be opened again. */
enum ctt_stream_kind {
    CTT_STREAM_CLIP,       /* a path as ctt_video_open() takes it */
    CTT_STREAM_PATTERN,    /* pictures, img_%05d.png */
    CTT_STREAM_FILE,       /* a file without a container: only raw */
    CTT_STREAM_PIPE,       /* standard input or a FIFO */
    CTT_STREAM_ADDRESS,    /* an URL of a protocol that gives bytes */
    CTT_STREAM_RTSP,
    CTT_STREAM_CAMERA,     /* V4L2 */
};

/* Frames without a container. */
struct ctt_raw {
    int    w, h;           /* 0: there is a container */
    char   format[16];     /* FFmpeg's name of it: rgb24 ... */
    double fps;
};

struct ctt_stream {
    enum ctt_stream_kind kind;
    const char    *source;       /* file or address; NULL: standard input */
    const char    *name;         /* for messages: without a password */
    const char    *protocols;    /* needed by an address */
    struct ctt_raw raw;
    double         timeout;      /* seconds without a new frame, an error */
    int          (*quit)(void *arg);    /* any thread: 1 ends it, CTT_ESTOP */
    void          *arg;
};

/* Opens a stream for the functions of video.h; `how` and its texts must stay.
 * CTT_EIO: unreachable, ended or stalled; another try may help. */
int  ctt_video_stream(const char *name, const struct ctt_stream *how,
                      struct ctt_video **out);

struct ctt_stream_told {
    int     waits;      /* sends no faster than it is read */
    double  stamp;      /* of the frame that ctt_video_ahead() gave last, in
                           seconds, as it is in the stream; NAN: none */
    int64_t bytes;      /* of all packets so far */
    int64_t jumps;      /* stamps that were corrected (video/stamps.h) */
    int64_t damaged;    /* packets and frames left out, or concealed */
    int64_t unread;     /* at the end: bytes of other files joined to it */
};
void ctt_video_told(const struct ctt_video *v, struct ctt_stream_told *out);

#endif
