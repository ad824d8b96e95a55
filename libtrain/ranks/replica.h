/* SPDX-License-Identifier: Apache-2.0
 * replica.h: replicas of one training: errors of a rank that all report, and
 * comparisons of settings, clips and weights. */
#ifndef CTT_REPLICA_H
#define CTT_REPLICA_H

#include "comm/comm.h"

struct ctt_trainer;

/* Bytes of an error message between ranks. */
enum { CTT_ROW_TEXT = 512 };

/* ctt_error() with the message of a rank; rank 0 is not named. */
int  ctt_rank_error(int rc, int rank, const char *why);

/* At the start; rc: the result of opening this rank.  An error of one rank
 * becomes the result of all, with its message.  CTT_EINVAL: the ranks differ;
 * names the rank and the difference. */
int  ctt_replicas_meet(struct ctt_trainer *t, int rc);

/* At the end of an epoch.  CTT_EINVAL: the weights of the ranks differ. */
int  ctt_replicas_same(struct ctt_trainer *t);

#endif
