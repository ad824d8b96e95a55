/* SPDX-License-Identifier: Apache-2.0
 * live_one.h: one source of convtt-infer --stream or --streams: what a model's
 * answers to its frames become. */
#ifndef CTT_LIVE_ONE_H
#define CTT_LIVE_ONE_H

#include "tools/stream/infer_live.h"
#include "tools/stream/event_out.h"
#include "tools/stream/live_places.h"
#include "tools/stream/live_watch.h"
#include "video/live/live.h"

/* What all sources of a run have in common. */
struct ctt_live_share {
    const struct ctt_live_with *with;
    struct ctt_event_out       *out;
    struct ctt_watch           *watch;
    struct ctt_places          *places;
    int                         apart;    /* a list's: lines name them */
};

/* Places of a source: two with --sliding, else one.  Both see all frames; one
 * is reset every half of its seconds, in turns, and the other one answers: it
 * has seen at least that half. */
struct ctt_live_past {
    int    first, places;
    int    answers, reset;    /* of them, from 0; reset: the last one */
    double half, next;        /* seconds */
};

struct ctt_live_one {
    const struct ctt_live_share *share;
    int                    number;      /* of all sources */
    const char            *name;
    struct ctt_live       *source;      /* NULL: it is over */
    struct ctt_live_past   past;
    struct ctt_events     *events;
    float                 *probs;
    int                   *order;
    int64_t                seen;        /* frames since it began anew */
    int                    answered;    /* the last one of them was */
    int                    decided;     /* since it began anew, too */
    int                    going;       /* the class of the event that was told
                                           last and goes on, or -1 */
    struct ctt_live_frame  frame;       /* the last one */
    int                    has, due;    /* it is of this turn; its answer is */
    int                    lost, lame;  /* the source has failed; the model has
                                           no finite answer */
};

/* number: of the source, from 0.  The source is opened after that, by the
 * caller. */
int  ctt_live_one_open(const struct ctt_live_share *share, int number,
                       const char *name, struct ctt_live_one *out);
void ctt_live_one_close(struct ctt_live_one *o);

/* A line for the user, which names the source. */
void ctt_live_one_say(const struct ctt_live_one *o, const char *line);

/* Before a frame is pushed: what the model remembers is forgotten if it is
 * fresh, and by --sliding.  After it: whether an answer is due. */
int  ctt_live_one_begin(struct ctt_live_one *o);
int  ctt_live_one_pushed(struct ctt_live_one *o);

/* With --decide: tells a decision that the model has made by this frame, once
 * until the stream begins anew. */
int  ctt_live_one_decide(struct ctt_live_one *o);

/* The place that answers. */
int  ctt_live_one_place(const struct ctt_live_one *o);

/* o->probs is the answer to the frame: its line, and its events. */
int  ctt_live_one_answer(struct ctt_live_one *o);

/* Events that go on end. */
int  ctt_live_one_finish(struct ctt_live_one *o);

#endif
