/* SPDX-License-Identifier: Apache-2.0
 * constraint.h: constraints on a model's weights: files store them, and the
 * optimizer satisfies them in every step.
 *
 * Each kind of constraint is a member of struct ctt_constraint, NULL if no
 * weight has it.  To add one, add its member here, its lines in constraint.c
 * and in ctt_model_hold(); read and write it in file_read.c and file_write.c;
 * apply it before each update in device/cpu and device/cuda
 * (ctt_dev_constrain). */
#ifndef CTT_CONSTRAINT_H
#define CTT_CONSTRAINT_H

#include "base/ctt.h"
#include "base/fn.h"

/* The constraints on a flat block of weights (struct ctt_model).  The owner
 * frees the arrays: in a model they are in host memory, in struct ctt_flat in
 * the device's. */
struct ctt_constraint {
    uint8_t *keep;    /* the mask, a byte per weight: 0 if it is pruned and must
                         stay 0; NULL: nothing is pruned */
    uint8_t *share;   /* shared values (Han et al. 2016), a code per weight: 0
                         if it has a value of its own or is pruned; the weights
                         of one tensor with the same code, 1 to 255, hold the
                         same value; NULL: nothing is shared */
};
enum { CTT_MOST_CODES = 255 };

/* The mask from weight `at` on, or NULL: nothing is pruned. */
CTT_FN const uint8_t *ctt_kept(const struct ctt_constraint *c, int64_t at)
{
    return c->keep ? c->keep + at : NULL;
}

CTT_FN int ctt_is_pruned(const struct ctt_constraint *c, int64_t at)
{
    return c->keep && !c->keep[at];
}

/* The code of a weight, 0: its value is its own. */
CTT_FN int ctt_code(const struct ctt_constraint *c, int64_t at)
{
    return c->share ? c->share[at] : 0;
}

/* Frees the constraints in host memory; c then has none. */
void ctt_constraint_free(struct ctt_constraint *c);

/* Copies the constraints on n weights; `to` must have none. */
int  ctt_constraint_copy(const struct ctt_constraint *from, int64_t n,
                         struct ctt_constraint *to);

/* Gives c a mask of n weights, none of them pruned, unless it has one. */
int  ctt_constraint_mask(struct ctt_constraint *c, int64_t n);

/* share: gives c codes of n weights, all 0, unless it has some.  shares: 1 if
 * any code is not 0. */
int  ctt_constraint_share(struct ctt_constraint *c, int64_t n);
int  ctt_constraint_shares(const struct ctt_constraint *c, int64_t n);

/* Sets the numbers of pruned weights to 0, in w[n], a number per weight. */
void ctt_constraint_clear(const struct ctt_constraint *c, int64_t n, float *w);

/* Copies constraints between models with different layouts.  match gives `to`,
 * of n weights, each member that `from` has, without constraining a weight.
 * carry then copies those of `count` weights from offset `at` to `to_at`. */
int  ctt_constraint_match(const struct ctt_constraint *from, int64_t n,
                          struct ctt_constraint *to);
void ctt_constraint_carry(const struct ctt_constraint *from, int64_t at,
                          int64_t count, struct ctt_constraint *to,
                          int64_t to_at);

/* Samples of a model's values on clips.  VALUES: the channels of a node at
 * random places.  INPUTS: all inputs that a conv reads there.  ALL: the
 * channels at all places. */
enum ctt_sampled { CTT_SAMPLE_VALUES, CTT_SAMPLE_INPUTS, CTT_SAMPLE_ALL };

/* Changes of a model's weights and constraints during training, such as pruning
 * in steps.  due: 1 if change is to be called before step `step` of
 * `steps` (from 0); it must depend on its arguments only, so that a resumed
 * training goes on in the same way.  change works on m, whose weights are
 * current, and returns an error or not. */
struct ctt_model;
struct ctt_changes {
    void *arg;
    int (*due)(const void *arg, int64_t step, int64_t steps);
    int (*change)(void *arg, struct ctt_model *m, int64_t step, int64_t steps);
    /* Then, unless NULL: writes a line for the user; returns 0 for none. */
    int (*tell)(const void *arg, int64_t step, int64_t steps, char *line,
                size_t size);
};

#endif
