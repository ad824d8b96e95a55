/* SPDX-License-Identifier: Apache-2.0
 * groups.h: groups of ranks: those of a group compute the same shards together
 * (--bands, --filters, --stages), and groups share the shards of a batch as
 * single ranks do.  Without these options each rank is a group. */
#ifndef CTT_GROUPS_H
#define CTT_GROUPS_H

#include "libtrain/trainer.h"

/* Divides the ranks into groups of `of` neighbours.  CTT_EINVAL: their number
 * is not `of` times a power of two; option: that asks for it, with its
 * value. */
int  ctt_groups_share(const char *option, int of,
                      const struct ctt_comm_place *p, struct ctt_share *out);

/* Opens t->share, group, across, lock and norms.  CTT_EINVAL on all ranks: the
 * settings do not suit; another error only on this one. */
int  ctt_groups_open(struct ctt_trainer *t);
void ctt_groups_close(struct ctt_trainer *t);

/* After this rank has loaded a shard, with that result: all of t->lock learn
 * of a failure before one waits for another's values, and the ranks of a group
 * must have read the same clips. */
int  ctt_groups_meet(struct ctt_trainer *t, const struct ctt_batch *b,
                     int loaded);

/* 1 if the error rc is known to this rank alone while others wait for its
 * values: it must end them all. */
int  ctt_groups_apart(const struct ctt_trainer *t, int rc);

/* Fills the row of a shard that has failed. */
void ctt_groups_blame(int rc, struct ctt_row *row);

/* Computes a loaded shard: with --sync-norm the backward pass only if all ranks
 * have a finite loss. */
int  ctt_groups_run(struct ctt_trainer *t, struct ctt_turn *turn,
                    struct ctt_row *row);

/* After the last shard of a batch, on all peers: adds the rows of all groups,
 * of the last rank of each, in order of the shards, as ctt_trainer_rows(). */
int  ctt_groups_rows(struct ctt_trainer *t, struct ctt_sums *sums);

#endif
