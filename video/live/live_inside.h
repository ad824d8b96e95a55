/* SPDX-License-Identifier: Apache-2.0
 * live_inside.h: a live source, for the files live*.c: what the reader thread
 * and the caller share, and what belongs to one of them. */
#ifndef CTT_LIVE_INSIDE_H
#define CTT_LIVE_INSIDE_H

#include "video/cut.h"
#include "video/live/live.h"
#include "video/pick.h"
#include "video/render.h"
#include "video/live/stream.h"
#include "base/ctt.h"

#include <pthread.h>

/* ---- the time of a live source's frames ---- */

/* Zero before the first frame. */
struct ctt_live_clock {
    int     begun;
    int     by_clock;          /* the source's times are not used any more */
    double  last, arrived;     /* of the last frame: its time, its arrival */
    double  offset;            /* time = stamp + offset */
    int     anchored;          /* offset is known */
    int64_t jumps;             /* of the stamps */
    int     windows, wrong;    /* looked at; in a row too slow (-) or fast */
    double  since, since_arrived;    /* where the current one began */
    double  speed;             /* of the last one: stamps against the clock */
};

/* The time in seconds since the first frame of one that the source says is
 * shown at stamp (NAN: it does not say) and that arrived at `arrived`; never
 * decreasing.  A stamp that goes back, or leaps ahead by 10 s more than the
 * clock, is a jump: the clock says how long it was, and stamps count from
 * there.  Stamps that run faster than 3/2 or slower than 2/3 of the clock's
 * speed for 10 s are lies, and the clock is used from then on. */
double ctt_live_clock_time(struct ctt_live_clock *c, double stamp,
                           double arrived);

/* The source was opened again: its stamps may begin anywhere. */
void ctt_live_clock_again(struct ctt_live_clock *c);

/* Besides those that wait, the caller has one and the reader fills one. */
enum { CTT_LIVE_SLOTS = CTT_LIVE_QUEUE + 2 };

/* A frame that is followed by a gap of so many seconds is not shown all that
 * time: its time is damaged (frame.c refuses such a clip). */
enum { CTT_LIVE_STILL = 60 };

/* A frame for n steps, every `every`-th from number `first` on; numbers count
 * all steps since the source was opened first, the lost ones too, and step 0
 * since the stream began anew has number `zero`. */
struct ctt_live_slot {
    uint8_t       *data, *picture;
    size_t         room;              /* of the picture */
    int            picture_h, picture_w;
    double         time, arrived, wall;
    enum ctt_fresh fresh;
    int64_t        zero, first, every, n;
    int64_t        given;             /* steps given so far */
    int            busy;              /* waits, is filled or was given */
};

/* The settings, parsed (live_set.c). */
struct ctt_live_plan {
    char             *source, *name;  /* name: for messages */
    struct ctt_stream how;
    int               again;          /* can be opened again */
};

struct ctt_live {
    struct ctt_live_set  set;
    struct ctt_live_plan plan;
    struct ctt_input     in;

    /* Under the lock.  room: a slot became free; news: a frame, or the end. */
    pthread_mutex_t      lock;
    pthread_cond_t       room, news;
    pthread_t            thread;
    int                  locks, runs;    /* made; running */
    int                  closing;
    struct ctt_live_slot slot[CTT_LIVE_SLOTS];
    struct ctt_live_slot *queue[CTT_LIVE_QUEUE];
    int                  queued;
    struct ctt_live_slot *taken;         /* the caller's */
    int64_t              all;            /* frames decoded */
    int64_t              last;           /* number of the last step given */
    int                  stride;
    double               step;           /* seconds; 0: not known */
    struct ctt_live_counts counts;
    int                  ended, rc;
    char                 why[512];

    /* The caller's: when a frame was given, and how long one keeps it busy. */
    double               gave, busy;
    int                  measured;

    /* The reader's. */
    enum ctt_behind      behind;         /* of this connection */
    int                  ahead;          /* the next frame is decoded before
                                            one is chosen, as of clips */
    int                  every, paced, came, w, h;
    int                  waits, hopeless;    /* the source; no try will help */
    double               now, interval;  /* the last frame; between two */
    int                  stated;         /* interval is known, not guessed */
    double               pace;           /* the clock at time 0 */
    double               before, leapt;  /* paced: the last time read; what is
                                            cut off of those that leap */
    int64_t              leaps;
    enum ctt_fresh       fresh;          /* what the next frame is */
    int64_t              base, zero, next;   /* numbers of steps: of pick's 0,
                                            where the stream began anew, the
                                            first that the stride allows */
    int64_t              bytes, damaged;     /* of former connections */
    int                  said_damaged, said_clock, said_quiet;
    double               since;          /* this connection was begun */
    struct ctt_live_clock clock;
    struct ctt_pick      pick;
    struct ctt_render    render;
    struct ctt_cut       cut;
    uint8_t             *stored;
};

/* live_set.c: the source's kind and settings, checked. */
int  ctt_live_plan(const struct ctt_live_set *set, struct ctt_live_plan *out);
void ctt_live_plan_clear(struct ctt_live_plan *p);

/* live_queue.c: between the two threads.  slot: one that is free, after a wait
 * for it if the source can wait; CTT_ESTOP when it is closed.  free: it is not
 * used.  put: it waits from now on, and takes the place of the oldest if there
 * are too many.  tell: calls set.news.  between: a frame was decoded that is
 * not used.  sleep: CTT_ESTOP if it was closed meanwhile. */
int  ctt_live_slot(struct ctt_live *l, struct ctt_live_slot **out);
void ctt_live_free(struct ctt_live *l, struct ctt_live_slot *s);
void ctt_live_put(struct ctt_live *l, struct ctt_live_slot *s);
void ctt_live_tell(struct ctt_live *l);
void ctt_live_between(struct ctt_live *l);
int  ctt_live_sleep(struct ctt_live *l, double until);
int  ctt_live_closing(void *live);

/* live_choose.c: the current frame of v is shown at `now`, the next one
 * at `next`, or the stream ends then. */
int  ctt_live_choose(struct ctt_live *l, struct ctt_video *v, double now,
                     double next, int ended);

/* live_read.c: what the thread runs, and what is asked all the while that it
 * waits: 1 if the source is being closed. */
void *ctt_live_read(void *live);
int   ctt_live_asked(void *live);

#endif
