/* SPDX-License-Identifier: Apache-2.0
 * streams.h: runs calls in parallel streams unless one touches memory that
 * another one writes.  With one stream these functions do nothing. */
#ifndef CTT_STREAMS_H
#define CTT_STREAMS_H

#include "device/memory.h"

enum { CTT_STREAMS_MOST = 8, CTT_TOUCHES = 320 };

/* The memories that a call reads or writes, by number (ctt_run_memory). */
struct ctt_touch { int count; struct { int memory, writes; } at[CTT_TOUCHES]; };

static inline void ctt_touch(struct ctt_touch *t, int memory, int writes)
{
    t->at[t->count].memory = memory;
    t->at[t->count++].writes = writes;
}

/* Calls have rising numbers, tickets: the last one of each stream, and the last
 * one of each other stream that a stream has waited for. */
struct ctt_streams {
    int  streams, memories;
    long ticket;                          /* of the last call */
    long last[CTT_STREAMS_MOST];          /* of each stream's last call */
    long seen[CTT_STREAMS_MOST][CTT_STREAMS_MOST];
    struct ctt_streams_memory *memory;
};

int  ctt_streams_new(int memories, struct ctt_streams **out);
void ctt_streams_free(struct ctt_streams **l);

/* Begins a sequence of calls: all streams wait for the work of stream 0. */
int  ctt_streams_begin(struct ctt_streams *l, struct ctt_dev *d);

/* Selects the stream of the device's next call and makes it wait for the calls
 * that the next one depends on. */
int  ctt_streams_call(struct ctt_streams *l, struct ctt_dev *d,
                      const struct ctt_touch *t);

/* Ends the sequence, after a failure too: stream 0 waits for all others.
 * Returns rc, or if that is no error, that of waiting. */
int  ctt_streams_end(struct ctt_streams *l, struct ctt_dev *d, int rc);

#endif
