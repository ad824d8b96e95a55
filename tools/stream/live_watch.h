/* SPDX-License-Identifier: Apache-2.0
 * live_watch.h: counts and times of streams, printed every few seconds, also
 * while no frame comes, and at the end. */
#ifndef CTT_LIVE_WATCH_H
#define CTT_LIVE_WATCH_H

#include "base/ctt.h"

struct ctt_live;
struct ctt_watch;

/* `every` seconds a line is printed: to standard error, or with json an object
 * to standard output; 0: none.  look(arg) is called about ten times a second,
 * or NULL; it and the lines come from a thread of the watch. */
struct ctt_watch_set {
    int                    streams;
    const char *const     *name;     /* of each, the caller's */
    int                    apart;    /* each has a line, and all together */
    int64_t                bytes;    /* of one, in the model */
    double                 every;
    int                    json;
    void                 (*look)(void *arg);
    void                  *arg;
};
int  ctt_watch_open(const struct ctt_watch_set *set, struct ctt_watch **out);
void ctt_watch_close(struct ctt_watch **w);

/* What happened, from one thread: a stream was opened, whose counts are looked
 * at from now on; frames were pushed, which took so long; of a stream, a frame
 * was among them; an answer was there so long after its frame; it went through
 * a reset of --sliding; an event was told; it is over, in a state of one word
 * that stays the caller's, and its live source is not looked at any more.
 * Nothing is allocated. */
void ctt_watch_source(struct ctt_watch *w, int stream, struct ctt_live *live);
void ctt_watch_step(struct ctt_watch *w, double ms);
void ctt_watch_frame(struct ctt_watch *w, int stream);
void ctt_watch_answer(struct ctt_watch *w, int stream, double ms);
void ctt_watch_slide(struct ctt_watch *w, int stream);
void ctt_watch_event(struct ctt_watch *w, int stream);
void ctt_watch_over(struct ctt_watch *w, int stream, const char *state);

/* Frames decoded of all streams until now. */
int64_t ctt_watch_decoded(struct ctt_watch *w);

/* Ends the thread: no more lines, and no more calls of look. */
void ctt_watch_stop(struct ctt_watch *w);

/* Stops, and prints all counts and times to standard output.  missed, failed:
 * of --exec. */
int  ctt_watch_total(struct ctt_watch *w, int64_t missed, int64_t failed);

#endif
