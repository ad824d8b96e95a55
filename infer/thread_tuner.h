/* SPDX-License-Identifier: Apache-2.0
 * thread_tuner.h: how many threads a session shares its frames with, found by
 * timing these frames. */
#ifndef CTT_THREAD_TUNER_H
#define CTT_THREAD_TUNER_H

#include <stdint.h>

/* A trial: frames with fewer threads and with more, in turns of SKIP that do
 * not count and COUNT that do. */
enum {
    CTT_THREAD_TUNER_SKIP = 2,
    CTT_THREAD_TUNER_COUNT = 6,
    CTT_THREAD_TUNER_TURNS = 4,
    CTT_THREAD_TUNER_TIMES = CTT_THREAD_TUNER_COUNT * CTT_THREAD_TUNER_TURNS / 2
};

/* What is known of frames of one kind.  Times are in seconds. */
struct ctt_thread_tuner {
    int    most, now;        /* threads: at most; outside trials */
    int    first;            /* frames before the first trial; -1: it began */
    double seen;             /* the time of these frames but the first */
    int    down;             /* 1: fewer and fewer threads are tried */
    int    low, high;        /* threads of the trial; 0: there is none */
    int    at;               /* frames of the trial so far */
    int    slower;           /* long ones of them that more threads slowed */
    double time[2][CTT_THREAD_TUNER_TIMES];    /* with low, with high threads */
    double lower;            /* with half as many as now; 0: not known */
    int64_t since;           /* frames since it is known */
    int64_t late;            /* the last of these that was late */
    int    slow;             /* of these, less those that were not */
    int    hold, left;       /* frames until a trial: as set last; as are left,
                                0: there will be none */
};

void ctt_thread_tuner_begin(struct ctt_thread_tuner *g, int threads);

/* The threads for the next frame. */
int  ctt_thread_tuner_threads(const struct ctt_thread_tuner *g);

/* Takes the time of a frame that had so many.
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
