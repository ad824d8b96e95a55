/* SPDX-License-Identifier: Apache-2.0
 * carry.h: the states that a model has at the end of a window of a text, which
 * begin the next one: truncated backpropagation through time (Mikolov and
 * others 2010; Zaremba and others 2014). */
#ifndef CTT_CARRY_H
#define CTT_CARRY_H

#include "base/ctt.h"

struct ctt_trainer;
struct ctt_turn;

/* Of each of this rank's shards: those behind its last window, and those behind
 * the one that is being computed, which replace them once its loss is known to
 * be finite.  A step that is skipped leaves them, and the backward pass may
 * compute a window again. */
struct ctt_carry {
    char    *now, *next;     /* [shards][each] in the device's memory */
    int64_t  each;           /* bytes of a shard; 0: nothing is carried */
    int64_t *bytes;          /* the same on each rank of a group */
    int64_t  all, most;      /* their sum, the most */
    int64_t  kind;           /* CRC-32 of how they lie */
    char    *kept;           /* of a checkpoint, until it is read */
    int64_t  count, kept_kind;
};

/* open: after the step; meet: by all ranks, takes `kept`.  CTT_EFORMAT: a
 * checkpoint in an epoch without as many states; CTT_EINVAL: with those of
 * another division of the model. */
int  ctt_carry_open(struct ctt_trainer *t);
int  ctt_carry_meet(struct ctt_trainer *t);
void ctt_carry_close(struct ctt_trainer *t);

/* At the begin of an epoch states are zeros.  turn: tells the turn where those
 * of this rank's shard k are.  keep: after a step with a loss. */
int  ctt_carry_begin(struct ctt_trainer *t);
void ctt_carry_turn(const struct ctt_trainer *t, int k, struct ctt_turn *turn);
void ctt_carry_keep(struct ctt_trainer *t);

/* For a checkpoint, by all peers: bytes of all shards, whatever computes them;
 * 0: none are needed.  save: to NULL: only helps the others. */
int64_t ctt_carry_count(const struct ctt_trainer *t);
int     ctt_carry_save(struct ctt_trainer *t, char *to);

#endif
