/* SPDX-License-Identifier: Apache-2.0
 * choose.h: choices of a recipe before it trains: the pattern of pruning, the
 * type of the convs, and the weights that become tensor trains. */
#ifndef CTT_CHOOSE_H
#define CTT_CHOOSE_H

#include "compress/stage/chain.h"
#include "compress/stage.h"

/* Called once, with the model *k->m as it is when the first stage with a
 * `choice` begins.  Replaces CTT_PRUNE_AUTO and CTT_INT8_AUTO in o, which k->o
 * is, marks the weights that stay whole in the rows of k->r, adds rows of
 * choice to it, and sets k->line: for the history, or "" if there was nothing
 * to choose.
 *
 * A candidate is a trial (trial.h), made of the weights as they are: time and
 * size hardly depend on their values.  It is taken if what o->aim counts is at
 * most CTT_CHOICE_GAIN of that of those before; as blocks cost accuracy that no
 * trial shows (doc/bench/compression.md), they must be at most
 * CTT_CHOICE_BLOCK_GAIN of single values.  Without k->calls->compare nothing
 * is timed, and unless only bytes count, rules decide.
 *
 *   pattern: any; if the model is retrained, also blocks.  Rule: blocks where
 *       convs read bytes and no tensor trains are asked for, but not with
 *       k->calls->slow_bytes.
 *   type: floats; where training clips give ranges and validation clips a test,
 *       and the model is thinned, factorised or pruned and not to be rounded to
 *       half precision, also bytes.  Rule: bytes, but floats with slow_bytes.
 *   tensor trains: the user asked for them, so a weight stays whole only if its
 *       chain stores more bytes and is slower; or only one of that, if only
 *       that counts.  Rule: chains. */
int ctt_choose(struct ctt_walk *k, struct ctt_recipe *o);

/* Below these ratios a candidate is smaller, or faster. */
#define CTT_CHOICE_GAIN 0.97
#define CTT_CHOICE_BLOCK_GAIN 0.9

/* Cost by o->aim. */
double ctt_choice_cost(const struct ctt_recipe *o, int64_t bytes, double ms);

/* Whether trials measure that cost; else rules decide. */
int ctt_choice_is_measured(const struct ctt_walk *k);

/* Replaces AUTO in o by the choices in the rows of r, and marks the weights
 * that stay whole. */
void ctt_choose_again(struct ctt_report *r, struct ctt_recipe *o);

/* ---- choose_chain.c ---- */

/* A model whose weights could be chains. */
struct ctt_choosing {
    struct ctt_walk         *k;
    const struct ctt_recipe *o;
    struct ctt_chain       **chain;    /* of *k->m, by node; NULL: no train is
                                          asked for, or nothing is measured */
    struct ctt_report       *rows;     /* of their weights */
};

/* Removes the chains of weights that stay whole from a->chain; returns their
 * number. */
int ctt_choose_chains(const struct ctt_choosing *a);

/* Marks the weights of r that its choices keep whole. */
void ctt_choose_chains_again(struct ctt_report *r);

/* ---- choose_int8.c ---- */

/* Whether chosen INT8 gains enough if only some convs of `floats` read bytes,
 * as in `bytes`: both models are measured again.  If not, it says so and gives
 * INT8 up in the rows of k->r.  1: it gains, or cannot be measured. */
int ctt_choose_int8(const struct ctt_walk *k, const struct ctt_model *floats,
                    const struct ctt_model *bytes);

/* ---- int8.c ---- */

/* Whether a recipe may choose that convs of m read bytes. */
int ctt_int8_may(const struct ctt_recipe *o, const struct ctt_model *m);

#endif
