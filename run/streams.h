/* SPDX-License-Identifier: Apache-2.0
 * streams.h: which calls may run side by side: those that do not touch what
 * another one writes.  With one stream all of it does nothing. */
#ifndef CTT_STREAMS_H
#define CTT_STREAMS_H

#include "device/memory.h"

enum { CTT_STREAMS_MOST = 8, CTT_TOUCHES = 24 };

/* What a call touches: numbers of memories, read or written. */
struct ctt_touch { int count; struct { int memory, writes; } at[CTT_TOUCHES]; };

static inline void ctt_touch(struct ctt_touch *t, int memory, int writes)
{
    t->at[t->count].memory = memory;
    t->at[t->count++].writes = writes;
}

/* Calls so far: of a stream, and what each stream has already waited for. */
struct ctt_streams {
    int  streams, memories;
    long ticket;                          /* of the last call */
    long last[CTT_STREAMS_MOST];          /* of the stream's last call */
    long seen[CTT_STREAMS_MOST][CTT_STREAMS_MOST];
    struct ctt_streams_memory *memory;
};

int  ctt_streams_new(int memories, struct ctt_streams **out);
void ctt_streams_free(struct ctt_streams **l);

/* A stretch of calls begins: all streams wait for what stream 0 was given. */
int  ctt_streams_begin(struct ctt_streams *l, struct ctt_dev *d);

/* The next call of the device belongs to the stream that suits it best, and
 * that stream waits for whom it must. */
int  ctt_streams_call(struct ctt_streams *l, struct ctt_dev *d,
                      const struct ctt_touch *t);

/* The stretch ends, after a failure too: stream 0 waits for all.  Passes rc
 * on. */
int  ctt_streams_end(struct ctt_streams *l, struct ctt_dev *d, int rc);

#endif
