/* SPDX-License-Identifier: Apache-2.0
 * fault.h: messages between the driver of fault tests (sweep) and the library
 * that it preloads into a program (shim).
 *
 * The preloaded library stops the program before main() and then forks a copy
 * of it for each order, so that loading and linking is done once. */
#ifndef CTT_FAULT_H
#define CTT_FAULT_H

#include <stdint.h>

/* Two descriptors, for orders and answers: "FD,FD". */
#define FAULT_ENV "CTT_FAULT_FDS"

/* Without them: the number of the allocation that fails in a program that
 * somebody else starts, where the file "struck" appears then. */
#define FAULT_ENV_ALLOC "CTT_FAULT_ALLOC"

enum { FAULT_PATH = 512, FAULT_WHERE = 4096 };

/* The fault at the k-th event.  Events are allocations of any library for the
 * first two kinds, else system calls that change files. */
enum fault {
    FAULT_NONE,
    FAULT_ALLOC,       /* this allocation fails */
    FAULT_ALLOC_ON,    /* this and all later ones fail */
    FAULT_ERROR,       /* the call fails: ENOSPC, or EIO of fsync and close */
    FAULT_SHORT,       /* a write writes half of its bytes */
    FAULT_FULL,        /* the same, and later ones have no space */
    FAULT_STDOUT,      /* writes to standard output have no space */
    FAULT_KILL,        /* SIGKILL before the call */
    FAULT_KILL_AFTER,  /* SIGKILL after the call, or after half of a write */
    FAULT_TERM,        /* SIGTERM before the call */
    FAULT_KILL_TIME,   /* SIGKILL after k microseconds */
    FAULT_TERM_TIME,   /* SIGTERM after them */
    FAULT_COUNT,
    FAULT_STACKS = FAULT_COUNT    /* no fault: the file DIR.stacks gets a number
                                     of 64 bits for each allocation: equal ones
                                     were asked for by the same calls */
};

static inline int fault_is_timed(int kind)
{
    return kind == FAULT_KILL_TIME || kind == FAULT_TERM_TIME;
}

static inline int fault_of_allocs(int kind)
{
    return kind == FAULT_ALLOC || kind == FAULT_ALLOC_ON ||
           kind == FAULT_STACKS;
}

struct fault_order {
    int32_t kind;
    int64_t at;                /* the event, from 1 */
    char    dir[FAULT_PATH];   /* where to run; its standard output and error
                                  become DIR.out and DIR.err */
};

struct fault_answer {
    int32_t status;            /* as of waitpid() */
    int32_t hit;               /* whether the fault took place */
    int64_t allocs, calls;     /* events that took place */
    char    where[FAULT_WHERE];/* caller of the failed allocation, or name of
                                  the failed call; and the place of a crash */
};

#endif
