/* SPDX-License-Identifier: Apache-2.0
 * kind.h: engines that move the bytes, each a row of the table in comm.c. */
#ifndef CTT_COMM_KIND_H
#define CTT_COMM_KIND_H

#include "comm/comm.h"

/* Bytes of a rank that travel at a time: MPI counts in int. */
enum { CTT_COMM_PIECE = 1 << 24 };

/* on: the engine's own for a comm, which open or split has set.  split: the
 * ranks of `on` with the same colour.  end_all ends also those that are in no
 * comm of this one; close: that of open is closed last. */
struct ctt_comm_kind {
    int  (*open)(void **on, struct ctt_comm_place *out);
    int  (*split)(void *on, int colour, void **part,
                  struct ctt_comm_place *out);
    int  (*allgather)(void *on, const void *mine, int64_t n, void *all);
    int  (*alltoall)(void *on, const void *from, void *to, int64_t each);
    int  (*send)(void *on, int to, const void *p, int64_t n);
    int  (*recv)(void *on, int from, void *p, int64_t n);
    int  (*wait)(void *on, int *from);
    void (*end_all)(int status);
    void (*close)(void *on);
};

extern const struct ctt_comm_kind ctt_comm_none;

/* This process in the variables of a launcher. */
struct ctt_launch {
    const char *name;     /* the variable; NULL: no launcher started it */
    int         ranks;    /* 0: unknown */
    int         rank;     /* -1: unknown */
};

/* CTT_EINVAL: a variable is not a number of this kind. */
int  ctt_launch_find(struct ctt_launch *out);

/* CTT_EUNSUP if engine and launcher disagree: with the launcher of another MPI
 * each process is "rank 0 of 1", and all of them would write one file. */
int  ctt_launch_check(const struct ctt_launch *l,
                      const struct ctt_comm_place *p);

#endif
