/* SPDX-License-Identifier: Apache-2.0
 * span.h: spans of time, by thread, of what a program does: for --profile. */
#ifndef CTT_SPAN_H
#define CTT_SPAN_H

#include "base/clock.h"

#include <stdint.h>

/* The help text of the option --profile of every program. */
#define CTT_PROFILE_HELP \
    "time of each node and thread, as a trace for ui.perfetto.dev that " \
    "also has the table of nodes, or as NAME.csv, the table alone; the " \
    "slowest nodes are printed"

/* NODE: a kernel; PART: a further thread's share of a kernel's loop; FRAME: the
 * steps of frames in a session, with INPUT: their numbers; ANSWER: its clip
 * part and the answer; DECODE: a clip; LOAD: a clip of a batch, with
 * AUGMENT: its change, if it has one; STEP: the gradient and the update of a
 * batch, with WAIT: for its clips, COPY: of frames to the device, EXCHANGE: of
 * gradients between ranks, and UPDATE: of weights; TEST: a batch of clips that
 * are tested. */
enum ctt_span_kind {
    CTT_SPAN_NODE, CTT_SPAN_PART, CTT_SPAN_FRAME, CTT_SPAN_INPUT,
    CTT_SPAN_ANSWER, CTT_SPAN_DECODE, CTT_SPAN_LOAD, CTT_SPAN_AUGMENT,
    CTT_SPAN_STEP, CTT_SPAN_WAIT, CTT_SPAN_COPY, CTT_SPAN_EXCHANGE,
    CTT_SPAN_UPDATE, CTT_SPAN_TEST, CTT_SPAN_KINDS
};
extern const char *const ctt_span_words[CTT_SPAN_KINDS];

/* thread: from 0, in the order in which threads had their first span. */
struct ctt_span {
    double             start, end;    /* ctt_seconds() */
    const char        *name;          /* NULL: the word of its kind */
    enum ctt_span_kind kind;
    int                thread;
};

/* Spans of a kind, all of them, and their seconds. */
struct ctt_span_sum { int64_t count; double seconds; };

/* open: records from now on, up to `room` spans; later ones are only summed.
 * No other thread may record meanwhile.  stop: records no more.  close: forgets
 * all; no thread may record.  CTT_ENOMEM. */
int  ctt_spans_open(int64_t room);
void ctt_spans_stop(void);
void ctt_spans_close(void);

/* The spans and their number, in the order of their ends, and of one kind
 * count and seconds; after stop, when no other thread records. */
const struct ctt_span *ctt_spans_get(int64_t *count);
struct ctt_span_sum    ctt_spans_sum(enum ctt_span_kind kind);

/* begin: the time, 0 while nothing is recorded, which end then ignores.  add: a
 * span with both times.  name must stay until close. */
extern int ctt_spans_on;
static inline double ctt_span_begin(void)
{
    return ctt_spans_on ? ctt_seconds() : 0;
}

void ctt_span_add(enum ctt_span_kind kind, const char *name, double start,
                  double end);
static inline void ctt_span_end(enum ctt_span_kind kind, double start)
{
    if (start > 0)
        ctt_span_add(kind, NULL, start, ctt_seconds());
}

#endif
