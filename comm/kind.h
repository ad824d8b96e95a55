/* SPDX-License-Identifier: Apache-2.0
 * kind.h: what moves the bytes: a row of the table in comm.c. */
#ifndef CTT_COMM_KIND_H
#define CTT_COMM_KIND_H

#include "comm/comm.h"

/* Bytes of a rank that travel at a time: MPI counts in int. */
enum { CTT_COMM_PIECE = 1 << 24 };

struct ctt_comm_kind {
    int  (*open)(struct ctt_comm_place *out);
    int  (*tell)(const void *mine, int64_t n, void *all);
    int  (*trade)(const void *from, void *to, int64_t each);
    int  (*send)(int to, const void *p, int64_t n);
    int  (*take)(int from, void *p, int64_t n);
    int  (*wait)(int *from);
    void (*end_all)(int status);
    void (*close)(void);
};

extern const struct ctt_comm_kind ctt_comm_none;

/* What a launcher's variables say of this process. */
struct ctt_launch {
    const char *name;     /* the variable; NULL: no launcher started it */
    int         ranks;    /* 0: not said */
    int         rank;     /* -1: not said */
};

/* CTT_EINVAL: a variable is not a number of this kind. */
int  ctt_launch_find(struct ctt_launch *out);

/* CTT_EUNSUP if what the engine says is not what the launcher says: with the
 * launcher of another MPI each process is "rank 0 of 1", and all of them would
 * write one file. */
int  ctt_launch_check(const struct ctt_launch *l,
                      const struct ctt_comm_place *p);

#endif
