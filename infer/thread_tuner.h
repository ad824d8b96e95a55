/* SPDX-License-Identifier: Apache-2.0
 * thread_tuner.h: the number of threads of a session, found by timing its
 * frames. */
#ifndef CTT_THREAD_TUNER_H
#define CTT_THREAD_TUNER_H

#include <stdint.h>

/* A trial times frames with fewer and with more threads alternately: TURNS
 * turns of SKIP uncounted and COUNT counted frames. */
enum {
    CTT_THREAD_TUNER_SKIP = 2,
    CTT_THREAD_TUNER_COUNT = 6,
    CTT_THREAD_TUNER_TURNS = 4,
    CTT_THREAD_TUNER_TIMES = CTT_THREAD_TUNER_COUNT * CTT_THREAD_TUNER_TURNS / 2
};

/* Measurements of frames of one kind.  Times are in seconds. */
struct ctt_thread_tuner {
    int    most, now;        /* threads: allowed; outside trials */
    int    first;            /* frames before the first trial; -1: begun */
    double seen;             /* time of these frames without the first */
    int    down;             /* 1: the search goes to fewer threads */
    int    low, high;        /* threads of the trial; 0: no trial */
    int    at;               /* frames of the trial so far */
    int    slower;           /* long frames that more threads slowed down */
    double time[2][CTT_THREAD_TUNER_TIMES];    /* with low, with high threads */
    double lower;            /* with half the threads; 0: unknown */
    int64_t since;           /* frames since `lower` was measured */
    int64_t late;            /* number of the last late frame */
    int    slow;             /* slow frames minus fast ones */
    int    hold, left;       /* frames until a trial: initial and remaining
                                count; 0: no more trials */
};

void ctt_thread_tuner_begin(struct ctt_thread_tuner *g, int threads);

/* Threads for the next frame. */
int  ctt_thread_tuner_threads(const struct ctt_thread_tuner *g);

/* Records the time of a frame computed by that many threads.
 *
 * The first frames have all threads.  Then trials compare them with half as
 * many, which are enough unless a frame takes 1.15 times as long with them.
 * A frame that takes much longer than it would with half as many threads has
 * waited for one that lost its processor; if that happens twice in 400 frames,
 * or if most frames are slower, half as many are used.  More are tried again
 * after 32 frames; if they fail again soon, after 4 times as many, up to 4096
 * or those of two seconds.  After a trial it is 200 frames for each that had
 * more threads in vain, up to 4096, and the trial ends with the second such
 * frame if they are long.  So fewer than one frame of a hundred is late beside
 * programs that keep processors busy. */
void ctt_thread_tuner_frame(struct ctt_thread_tuner *g, double seconds);

#endif
