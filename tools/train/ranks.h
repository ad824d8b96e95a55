/* SPDX-License-Identifier: Apache-2.0
 * ranks.h: convtt-train as one of several processes of a training: who speaks,
 * who ends whom. */
#ifndef CTT_RANKS_H
#define CTT_RANKS_H

#include "comm/comm.h"
#include "libtrain/train.h"

/* Before anything is said: only rank 0 of what a launcher has started speaks
 * (ctt_tool_rank()). */
void ctt_ranks_hush(void);

/* Opens cfg->comm, if a launcher has started this process; then divides the
 * processors: cfg->threads and cfg->affinity; and the GPUs.  CTT_EINVAL:
 * settings for one process only; CTT_EUNSUP: convtt-mpi.so is not there or of
 * another MPI than the launcher. */
int  ctt_ranks_open(struct ctt_train_cfg *cfg);

/* 1 if this process writes the files. */
int  ctt_ranks_writes(const struct ctt_train_cfg *cfg);

/* Between the two, all processes end if this one's calls of the comm do not go
 * on for cfg->stall seconds.  CTT_EIO: a thread cannot be started. */
int  ctt_ranks_watch(const struct ctt_train_cfg *cfg);
void ctt_ranks_unwatch(void);

/* The step, or with --search the trial, that the watch is to name. */
void ctt_ranks_step(int64_t step);

/* Prints the last error and ends all processes with status 1, or this one by
 * returning status if it is the only one.  An error that all have is that of
 * rank 0: the others wait for their end first. */
int  ctt_ranks_fail(const struct ctt_train_cfg *cfg, int status);

/* All processes come to the end of a run. */
void ctt_ranks_close(struct ctt_train_cfg *cfg);

#endif
