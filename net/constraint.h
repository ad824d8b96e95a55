/* SPDX-License-Identifier: Apache-2.0
 * constraint.h: what training must keep true of a model's weights.  The file
 * says it, the optimizer holds to it.
 *
 * Each kind of constraint is a member of struct ctt_constraint, NULL where no
 * weight is under it.  To add one, such as shared values (Han et al. 2016):
 * its member here and its lines in constraint.c, which all owners of a model
 * call; its reading and writing in file_read.c and file_write.c; its step in
 * constrain() of device/cpu/update.c and of device/cuda/update.cu. */
#ifndef CTT_CONSTRAINT_H
#define CTT_CONSTRAINT_H

#include "net/ctt.h"
#include "net/fn.h"

/* Of a flat block of weights (struct ctt_model).  The pointers are the owner's:
 * in a model to the program's memory, in struct ctt_flat to the device's. */
struct ctt_constraint {
    uint8_t *keep;    /* the mask, a byte a number: 0 where it is pruned and
                         must stay 0; NULL: nothing is pruned */
};

/* The mask from number `at` on, or NULL: nothing is pruned. */
CTT_FN const uint8_t *ctt_kept(const struct ctt_constraint *c, int64_t at)
{
    return c->keep ? c->keep + at : NULL;
}

CTT_FN int ctt_is_pruned(const struct ctt_constraint *c, int64_t at)
{
    return c->keep && !c->keep[at];
}

/* Leaves c without a constraint. */
void ctt_constraint_free(struct ctt_constraint *c);

/* Of n numbers; `to` has none before. */
int  ctt_constraint_copy(const struct ctt_constraint *from, int64_t n,
                         struct ctt_constraint *to);

/* Makes c's mask of n numbers, all kept, unless there is one. */
int  ctt_constraint_mask(struct ctt_constraint *c, int64_t n);

/* Between models whose weights lie at other places: first gives `to`, of n
 * numbers, each member that `from` has, constraining nothing; then carries over
 * what holds for `count` numbers from place `at` on. */
int  ctt_constraint_match(const struct ctt_constraint *from, int64_t n,
                          struct ctt_constraint *to);
void ctt_constraint_carry(const struct ctt_constraint *from, int64_t at,
                          int64_t count, struct ctt_constraint *to,
                          int64_t to_at);

/* Makes n weights satisfy c: pruned ones become 0. */
void ctt_constraint_hold(const struct ctt_constraint *c, int64_t n, float *w);

#endif
