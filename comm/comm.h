/* SPDX-License-Identifier: Apache-2.0
 * comm.h: the processes, ranks, that work on one training.  A launcher (mpirun,
 * srun) starts them and an engine (MPI) moves bytes between them; nothing here
 * adds numbers.  One thread calls the functions of a comm, and all ranks call
 * allgather and alltoall in the same order. */
#ifndef CTT_COMM_H
#define CTT_COMM_H

#include "base/ctt.h"

struct ctt_comm;

struct ctt_comm_place {
    int rank, ranks;         /* 0 .. ranks - 1, and their number */
    int near, nears;         /* the same among the ranks of this machine */
    int machine, machines;   /* machines in the order of their first ranks */
};

/* 1 if a launcher has started this process, 0 if not; *rank: its rank by the
 * launcher's variables, or 0.  Nothing is loaded.  CTT_EINVAL: a variable is
 * not a number of its kind. */
int  ctt_comm_launched(int *rank);

/* The environment without the variables of a launcher: for a child process that
 * works alone.  The list has room for one more string; the caller frees the
 * list but not its strings.  NULL: no memory. */
char **ctt_comm_environment(void);

/* name: "none", one rank; "mpi", the ranks that the launcher has started, by
 * the module convtt-mpi.so; "auto", mpi if a launcher has started more than one
 * process, else none, which loads nothing.  MPI is opened once a process.
 * CTT_EINVAL: an unknown name, no launcher, a variable that is not a number, or
 * MPI opened before; CTT_EUNSUP: the module is missing or belongs to another
 * MPI than the launcher; CTT_EIO: the engine has failed. */
int  ctt_comm_open(const char *name, struct ctt_comm **out);

/* The ranks of c with the same colour (0 or more), in their order; NULL: one
 * rank.  Called by all ranks of c; to be closed before c, and the calls of both
 * are in the same order on all ranks.  CTT_EIO: the engine has failed;
 * CTT_ENOMEM: only this rank may know. */
int  ctt_comm_split(struct ctt_comm *c, int colour, struct ctt_comm **out);

/* Called by all ranks; *c becomes NULL. */
void ctt_comm_close(struct ctt_comm **c);

const struct ctt_comm_place *ctt_comm_place(const struct ctt_comm *c);

/* all[ranks][n]: the n bytes `mine` of each rank.  CTT_EIO: the engine has
 * failed. */
int ctt_comm_allgather(struct ctt_comm *c, const void *mine, int64_t n,
                       void *all);

/* from[ranks][each] and to[ranks][each] bytes, which do not overlap: to[k] of
 * rank r becomes from[r] of rank k. */
int ctt_comm_alltoall(struct ctt_comm *c, const void *from, void *to,
                      int64_t each);

/* A message of n bytes between two ranks, at most one in each direction at a
 * time; n: a multiple of CTT_COMM_UNIT.  send and recv only begin; send waits
 * until the message before to that rank has been received.  p must not change
 * until the next message has been sent there, an answer to this one has been
 * received, or the comm is closed.  wait: until one of the begun receptions has
 * ended; *from: its rank. */
enum { CTT_COMM_UNIT = 64 };
int  ctt_comm_send(struct ctt_comm *c, int to, const void *p, int64_t n);
int  ctt_comm_recv(struct ctt_comm *c, int from, void *p, int64_t n);
int  ctt_comm_wait(struct ctt_comm *c, int *from);

/* Divides the processors that this process may use among the ranks of its
 * machine that may use the same processors.  *threads: if 0, becomes the number
 * of this rank's processors, at least 1.  bind: this process may use no others
 * from now on, unless *threads are more; running threads keep theirs.  One rank
 * changes nothing.  Called by all ranks. */
int  ctt_comm_share(struct ctt_comm *c, int bind, int *threads);

/* The memory node of the processors that this process may use; -1: several
 * nodes. */
int  ctt_comm_node(void);

/* The number of begun and of ended calls of allgather, alltoall, send and wait,
 * together: odd while one of them waits.  Any thread may ask.  count: a call to
 * other ranks outside the comm, as of GPUs, begins or ends. */
int64_t ctt_comm_calls(const struct ctt_comm *c);
void    ctt_comm_count(struct ctt_comm *c);

/* Called by all ranks: CTT_EINVAL, "rank 3: not the clips of rank 0", if one
 * has another checksum than rank 0; names: of the checksums' subjects. */
int ctt_comm_same(struct ctt_comm *c, const uint32_t *mine,
                  const char *const *names, int words);

/* Ends all ranks, this one included, with that status, wherever they are.  One
 * rank: does nothing, as the caller fails by itself. */
void ctt_comm_abort(struct ctt_comm *c, int status);

#endif
