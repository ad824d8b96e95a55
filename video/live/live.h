/* SPDX-License-Identifier: Apache-2.0
 * live.h: frames of sources that do not wait: cameras, addresses, pipes, and
 * long files.  A thread decodes all frames, chooses those of the model's rate
 * by their times and keeps the newest. */
#ifndef CTT_LIVE_H
#define CTT_LIVE_H

#include "net/graph.h"

/* Policy for frames that arrive while the caller is busy. */
enum ctt_behind {
    CTT_BEHIND_AUTO,      /* wait if the source waits, else drop */
    CTT_BEHIND_DROP,      /* the oldest of more than CTT_LIVE_QUEUE frames is
                             dropped, after it was decoded; a caller that is
                             always late gets the newest */
    CTT_BEHIND_WAIT,      /* the source is kept waiting: nothing is dropped */
    CTT_BEHIND_STRIDE,    /* every 2nd, 3rd ... step, as often as the caller
                             keeps up with, so that steps stay equally long;
                             what is too much all the same is dropped */
};

enum {
    CTT_LIVE_QUEUE = 2,        /* frames that wait, at most */
    CTT_LIVE_TIMEOUT = 15,     /* the default, in seconds */
    CTT_LIVE_TIMEOUT_MAX = 86400,
    CTT_LIVE_LATER = 2,        /* ctt_live_poll(): nothing yet */
};

/* Settings of a source; 0 is off or the default.  After ctt_live_open() only
 * the functions are used. */
struct ctt_live_set {
    /* One of these, by its form; a path that exists is never an address:
     *  - "-": standard input, any container that a clip may have, or raw;
     *  - rtsp://, rtsps:// (over TCP), http://, https://, tcp://, udp://;
     *  - a FIFO;
     *  - a camera: /dev/videoN of V4L2 (Linux), as it is set up;
     *  - a path as ctt_video_open() takes it: a file, a part of one, a folder
     *    of pictures; or pictures by pattern, img_%05d.png, from the lowest
     *    number there, with a rate as img_%05d.png#@25. */
    const char     *source;
    /* Frames without a container, of a file, "-", FIFO, tcp:// or http(s)://:
     * "WxHxFORMAT@RATE" with FORMAT rgb24, bgr24, gray or yuv420p, and RATE in
     * frames per second; NULL: a container. */
    const char     *raw;
    /* A source that waits (a file, a pipe, a recording over HTTP) is read no
     * faster than its times say, and does not wait any more unless behind is
     * WAIT.  Others come in real time by themselves. */
    int             realtime;
    enum ctt_behind behind;
    double          timeout;       /* seconds to connect, and without a new
                                      frame; 0: CTT_LIVE_TIMEOUT */
    /* Tries in a row to open an address or camera again that cannot be reached,
     * has ended or stalls; after 0.5 s, then twice as long each, at most 10 s.
     * A connection of over 5 s with frames ends the row.  Negative: without
     * limit.  What is refused (a password is missing, no
     * video in it) is not tried again. */
    int             reconnects;
    double          reset_after;   /* seconds without a frame after which the
                                      stream begins anew; 0: never.  At most
                                      60 in a file, or a source that is kept
                                      waiting, unless each frame is a step:
                                      as in a clip no frame is shown longer */
    double          cut;           /* a cut begins it anew: threshold of
                                      ctt_cut_next() in cut.h, 0 to 1; 0: no */
    int             want_picture;  /* frames have a picture, for drawing */
    /* Called by the reader thread with a line for the user, without a newline:
     * what was lost, each try to connect again, times that lie.  NULL: nobody
     * listens. */
    void          (*say)(void *arg, const char *line);
    /* Called by the reader thread each time a frame waits, and at the end: it
     * is of use to whoever asks several sources by ctt_live_poll().  NULL:
     * nobody does. */
    void          (*news)(void *arg);
    void           *arg;       /* of both */
};

/* Reason why a frame begins a stream: the state of the model does not belong to
 * it. */
enum ctt_fresh {
    CTT_FRESH_NO,           /* the stream continues */
    CTT_FRESH_START,        /* the source's first frame */
    CTT_FRESH_GAP,          /* after a gap of reset_after seconds */
    CTT_FRESH_CUT,          /* the scene is another one */
    CTT_FRESH_RECONNECT,    /* the source was opened again */
};

/* One step of the model: in->fps of them are a second; if it is 0, or if
 * pictures have no rate, each decoded frame is one.  A frame that is shown for
 * several steps is given for each. */
struct ctt_live_frame {
    const uint8_t *data;       /* h x w x c bytes, rows packed: the model's
                                  frame, the middle of a clip's; valid until
                                  the next call */
    int            h, w, c;
    double         time;       /* seconds since the source's first frame, by
                                  its own times; over jumps of these, over
                                  missing ones and new connections by the
                                  clock.  Never decreasing */
    double         arrived;    /* when it was decoded, in ctt_seconds() */
    double         wall;       /* the same in seconds since 1970 */
    enum ctt_fresh fresh;
    int64_t        step;       /* since the stream began anew, from 0 */
    int64_t        skipped;    /* steps lost before this one: dropped, left out
                                  by a stride, or without a frame */
    const uint8_t *picture;    /* picture_h x picture_w x 3 bytes, red first,
                                  upright, with square pixels; NULL: not
                                  wanted */
    int            picture_h, picture_w;
};

/* At any moment decoded = between + dropped + taken. */
struct ctt_live_counts {
    int64_t decoded;       /* frames whose fate is known */
    int64_t between;       /* not nearest to any step of the model's rate, or to
                              one that the stride leaves out */
    int64_t dropped;       /* superseded by newer ones before they were taken */
    int64_t taken;         /* given to the caller, for one step or several */
    int64_t waiting;       /* decoded as well, but fate not known: at most
                              CTT_LIVE_QUEUE, the one at hand and the one that
                              says how long that is shown */
    int64_t steps;         /* that ctt_live_next() gave */
    int64_t skipped;       /* steps lost: the sum of the frames' */
    int64_t late;          /* taken more than one step (at a rate of 0: one
                              frame) after they arrived */
    int64_t damaged;       /* packets or frames left out, or shown with errors
                              that the decoder conceals */
    int64_t missing;       /* frames that the source said it has, in the words
                              of ctt_video_stated(), or of which raw frames
                              end in a part, and had not at its end */
    int64_t reconnects;    /* tries to open again */
    int64_t resets;        /* fresh frames except the source's first */
    int64_t jumps;         /* times that went back or leapt ahead */
    int64_t bytes;         /* compressed, of the video */
    int     stride;        /* now: steps from one frame to the next, 1: all */
    double  fps;           /* of the source: stated, or 0 */
};

/* Writes the source's public name to `to`, at most size bytes, and returns it:
 * an address of any scheme without the user's name and password, and without
 * the query and what follows it, which often have a password or token, too; any
 * other source as it is.  What is shown, logged or sent has this name. */
const char *ctt_live_name(const char *source, char *to, size_t size);

/* 1 if source has the form of an address, of any scheme. */
int ctt_live_is_address(const char *source);

/* 1 if path has a form of a source that is no clip, which ctt_source_open()
 * does not read: "-", an address, of a scheme that is not known, too, a pattern
 * of pictures, or what is neither a regular file nor a folder.
 * The message of an error stays. */
int ctt_live_looks(const char *path);

struct ctt_live;

/* Whether ctt_live_open() would take the settings, without opening anything:
 * 0, or CTT_EINVAL or CTT_EUNSUP as it returns them. */
int  ctt_live_check(const struct ctt_live_set *set, const struct ctt_input *in);

/* Starts to read; in: the model's input settings.  It does not wait for the
 * source, so that many can be opened at once: an error of opening it is that of
 * the first ctt_live_next().  CTT_EINVAL: a setting is out of range,
 * contradicts another or names no source; CTT_EUNSUP: not in this build;
 * CTT_EIO: the system makes no thread for it. */
int  ctt_live_open(const struct ctt_live_set *set, const struct ctt_input *in,
                   struct ctt_live **out);

/* Waits for the next step: 1 and the frame; 0: the source has ended (an address
 * only if it is a recording, or no reconnects are asked for).  CTT_EIO: it
 * cannot be reached or read, or stalls, after all tries; CTT_EINVAL: a password
 * is needed, or access is forbidden; CTT_EFORMAT: its format is refused, it has
 * no video, or nothing of it can be decoded; CTT_EUNSUP: no decoder;
 * CTT_ESTOP: the user asked to stop.  After 0
 * or an error each further call returns the same.  Allocates nothing unless a
 * picture grows.  One thread may call it. */
int  ctt_live_next(struct ctt_live *l, struct ctt_live_frame *frame);

/* The same without a wait: CTT_LIVE_LATER if the next step is not there yet.
 * One that was given is over with the next call. */
int  ctt_live_poll(struct ctt_live *l, struct ctt_live_frame *frame);

/* Any thread may ask, at any time. */
void ctt_live_counts(struct ctt_live *l, struct ctt_live_counts *counts);

/* Ends the thread, within a tenth of a second unless a decoder or the search
 * for an address's name takes longer. */
void ctt_live_close(struct ctt_live **l);

/* ---- lists of sources ---- */

/* Bytes of a name as it is shown, and sources of a list, at most. */
enum { CTT_LIVE_NAME = 1024, CTT_LIVE_SOURCES = 4096 };

struct ctt_live_item {
    char *name;      /* shown with all that it says; no other has it */
    char *source;    /* as struct ctt_live_set takes it */
    int   line;      /* of the list */
};

struct ctt_live_list {
    const char           *path;    /* the caller's; NULL: of one source */
    struct ctt_live_item *item;
    int                   count, room;
};

/* One source, whose name is its public one (ctt_live_name()). */
int  ctt_live_list_one(const char *source, struct ctt_live_list *out);

/* Reads a text with a source a line, SOURCE or NAME = SOURCE with blanks around
 * the sign; lines that are empty or begin with # do not count.  Relative paths
 * are relative to the list's folder.  CTT_EINVAL names the line: half of it is
 * missing, or a name or standard input is there twice; or there is none, or
 * over CTT_LIVE_SOURCES.  CTT_EIO: it cannot be read. */
int  ctt_live_list_read(const char *path, struct ctt_live_list *out);
void ctt_live_list_free(struct ctt_live_list *s);

#endif
