/* SPDX-License-Identifier: Apache-2.0
 * shim.h: common part of the two files of the preloaded library. */
#ifndef CTT_FAULT_SHIM_H
#define CTT_FAULT_SHIM_H

#include "tests/fault/fault.h"

#include <stdatomic.h>

enum { FRAMES = 32, SKIP = 2,      /* SKIP: shim.c's own frames */
       STACKS = 1 << 22 };         /* of which numbers are kept */

/* Shared by the server and the copy that runs. */
struct shared {
    atomic_long allocs, calls;
    atomic_int  hit;
    const char *call;          /* name of the call that failed */
    int         frames, crash_frames;
    void       *frame[FRAMES], *crash[FRAMES];
};

/* Not to be found by the program. */
#pragma GCC visibility push(hidden)
extern struct shared *fault_now;
extern struct fault_order fault_order;    /* kind FAULT_NONE outside of a run */

/* From here on system calls may fail as fault_order says.  0, or -1. */
int fault_catch_calls(void);
#pragma GCC visibility pop

#endif
