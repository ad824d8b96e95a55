/* SPDX-License-Identifier: Apache-2.0
 * lanes.h: which calls may run side by side: those that do not touch what
 * another one writes.  With one lane all of it does nothing. */
#ifndef CTT_LANES_H
#define CTT_LANES_H

#include "device/memory.h"

enum { CTT_LANES_MOST = 8, CTT_TOUCHES = 24 };

/* What a call touches: numbers of memories, read or written. */
struct ctt_touch { int count; struct { int memory, writes; } at[CTT_TOUCHES]; };

static inline void ctt_touch(struct ctt_touch *t, int memory, int writes)
{
    t->at[t->count].memory = memory;
    t->at[t->count++].writes = writes;
}

/* Calls so far: of a lane, and what each lane has already waited for. */
struct ctt_lanes {
    int  lanes, memories;
    long ticket;                        /* of the last call */
    long last[CTT_LANES_MOST];          /* of the lane's last call */
    long seen[CTT_LANES_MOST][CTT_LANES_MOST];
    struct ctt_lanes_memory *memory;
};

int  ctt_lanes_new(int memories, struct ctt_lanes **out);
void ctt_lanes_free(struct ctt_lanes **l);

/* A stretch of calls begins: all lanes wait for what lane 0 was given. */
int  ctt_lanes_begin(struct ctt_lanes *l, struct ctt_dev *d);

/* The next call of the device belongs to the lane that suits it best, and that
 * lane waits for whom it must. */
int  ctt_lanes_call(struct ctt_lanes *l, struct ctt_dev *d,
                    const struct ctt_touch *t);

/* The stretch ends, after a failure too: lane 0 waits for all.  Passes rc
 * on. */
int  ctt_lanes_end(struct ctt_lanes *l, struct ctt_dev *d, int rc);

#endif
