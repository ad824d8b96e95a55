/* SPDX-License-Identifier: Apache-2.0
 * replica.h: the ranks of a training have the same weights; what they tell each
 * other when one of them fails, and whether they are alike. */
#ifndef CTT_REPLICA_H
#define CTT_REPLICA_H

#include "comm/comm.h"

struct ctt_trainer;

/* Bytes of a message that ranks tell each other. */
enum { CTT_ROW_TEXT = 512 };

/* ctt_error() with what a rank has said; rank 0 is not named. */
int  ctt_rank_error(int rc, int rank, const char *why);

/* At the start, when rc is what opening has come to: an error of one rank is
 * the result on all, with its message.  CTT_EINVAL if they are not alike: names
 * the rank and what differs. */
int  ctt_replicas_meet(struct ctt_trainer *t, int rc);

/* At the end of an epoch.  CTT_EINVAL if the weights of the ranks are not the
 * same. */
int  ctt_replicas_same(struct ctt_trainer *t);

#endif
