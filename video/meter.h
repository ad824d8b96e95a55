/* SPDX-License-Identifier: Apache-2.0
 * meter.h: the cost of decoding one clip, against the limits. */
#ifndef CTT_METER_H
#define CTT_METER_H

#include "base/ctt.h"

/* rc: the first error of ctt_meter_check(), or of a callback of FFmpeg, which
 * cannot return our errors. */
struct ctt_meter {
    const char *path;            /* of the clip, for messages */
    double      spent, since;    /* seconds without a new frame: of the thread's
                                    CPU time, of a stream of the clock; since:
                                    when this call began */
    int64_t     bytes, frames;   /* read, decoded */
    int         rc;

    /* Of a stream, which may have no end: seconds without a new frame; bytes
     * and frames have no limit.  quit: 1 if its caller wants it to end.  0: a
     * clip. */
    double      timeout;
    int       (*quit)(void *arg);
    void       *arg;
};

/* Around each call for the clip, in one thread: the time between calls does not
 * count. */
void ctt_meter_start(struct ctt_meter *m);
void ctt_meter_stop(struct ctt_meter *m);

/* CTT_ESTOP if the user asked to stop; CTT_EFORMAT if the clip exceeds
 * clip_seconds, clip_bytes or clip_frames of struct ctt_limits; CTT_EIO if a
 * stream has stalled. */
int  ctt_meter_check(struct ctt_meter *m);

/* Counts a new frame and checks the limits; the time begins anew. */
int  ctt_meter_frame(struct ctt_meter *m);

#endif
