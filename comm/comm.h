/* SPDX-License-Identifier: Apache-2.0
 * comm.h: the processes, ranks, that work on one training.  A launcher (mpirun,
 * srun) starts them and an engine (MPI) moves bytes between them; nothing here
 * adds anything.  One thread calls the functions of a comm, and all ranks come
 * to tell and trade in the same order. */
#ifndef CTT_COMM_H
#define CTT_COMM_H

#include "base/ctt.h"

struct ctt_comm;

struct ctt_comm_place {
    int rank, ranks;         /* 0 .. ranks - 1, and how many there are */
    int near, nears;         /* the same among those on this machine */
    int machine, machines;   /* machines in the order of their first ranks */
};

/* 1 if a launcher has started this process, 0 if not; *rank: the one that its
 * variables say, 0 if they do not.  Nothing is loaded.  CTT_EINVAL: a variable
 * is not a number of its kind. */
int  ctt_comm_launched(int *rank);

/* The environment without the variables by which a launcher says that it has
 * started this process: for a process of its own that works alone.  The list is
 * to be freed, its strings are not, and has room for one more; NULL: no
 * memory. */
char **ctt_comm_environment(void);

/* name: "none", one rank; "mpi", what the launcher has started, by the module
 * convtt-mpi.so; "auto", mpi if a launcher has started more than one process,
 * else none, which loads nothing.  MPI is opened once a process.  CTT_EINVAL:
 * no such name, no launcher, a variable of one that is not a number, or MPI
 * opened before; CTT_EUNSUP: the module is not there or belongs to another MPI
 * than the launcher; CTT_EIO: the engine has failed. */
int  ctt_comm_open(const char *name, struct ctt_comm **out);

/* All ranks must come to it; *c becomes NULL. */
void ctt_comm_close(struct ctt_comm **c);

const struct ctt_comm_place *ctt_comm_place(const struct ctt_comm *c);

/* all[ranks][n]: the n bytes `mine` of each rank.  CTT_EIO: the engine has
 * failed. */
int ctt_comm_allgather(struct ctt_comm *c, const void *mine, int64_t n,
                       void *all);

/* from[ranks][each] and to[ranks][each], which do not overlap: rank r gets as
 * to[k] what rank k has as from[r], each of so many bytes. */
int ctt_comm_alltoall(struct ctt_comm *c, const void *from, void *to,
                      int64_t each);

/* A message of n bytes between two ranks, at most one each way at a time; n: a
 * multiple of CTT_COMM_UNIT.  Both begin it and return; send waits until the
 * message before to that rank has been taken.  p must stay as it is until the
 * next one has been sent there, something has been taken from that rank that
 * it sent after it had this, or the comm is closed.  wait: until one of those
 * that are to be taken is there; *from: of which rank. */
enum { CTT_COMM_UNIT = 64 };
int  ctt_comm_send(struct ctt_comm *c, int to, const void *p, int64_t n);
int  ctt_comm_take(struct ctt_comm *c, int from, void *p, int64_t n);
int  ctt_comm_wait(struct ctt_comm *c, int *from);

/* Divides the processors that this process may use among the ranks of its
 * machine that may use the same ones.  *threads: if it is 0, how many this rank
 * has then, at least one.  bind: it may use no others from now on, unless
 * *threads are more; threads that run already keep theirs.  With one rank it
 * does nothing.  All ranks must come to it. */
int  ctt_comm_share(struct ctt_comm *c, int bind, int *threads);

/* The node of memory that the processors which this process may use are near
 * to; -1: they are of several. */
int  ctt_comm_node(void);

/* How many calls of tell, trade, send and wait have begun and ended, together:
 * odd while one of them waits.  Any thread may ask.  count: one that goes
 * another way to the ranks, as GPUs do, begins or ends. */
int64_t ctt_comm_calls(const struct ctt_comm *c);
void    ctt_comm_count(struct ctt_comm *c);

/* All ranks come to it: CTT_EINVAL, "rank 3: not the clips of rank 0", if one
 * has another checksum than rank 0; names: of what each is. */
int ctt_comm_same(struct ctt_comm *c, const uint32_t *mine,
                  const char *const *names, int words);

/* Ends all ranks, this one included, with that status, wherever they are.  With
 * one rank it does nothing: the caller then fails by itself. */
void ctt_comm_abort(struct ctt_comm *c, int status);

#endif
