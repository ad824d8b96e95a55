/* SPDX-License-Identifier: Apache-2.0
 * quantise.h: a model in which convs read bytes. */
#ifndef CTT_QUANTISE_H
#define CTT_QUANTISE_H

#include "compress/compress.h"

/* The form that a node's values get where convs read them; scale 0: none is
 * needed. */
struct ctt_form_of { float scale; int zero; };

/* Marks in source[g->count] the nodes whose values must be quantised so that
 * the convs with take[i] = 1 read bytes: not what they read itself where that
 * only selects or repeats (a state, slice, reshape, window, upsample, the
 * maximum of a pool), but what that is made of.  A state of bytes is then a
 * quarter of one of floats. */
int  ctt_quantise_sources(const struct ctt_graph *g, const char *take,
                          char *source);

/* Adds a line `quant` after each source, whose form is form[i], and lets the
 * convs read what follows from it: NAME.q8 is the node NAME of quantised
 * values.  What nothing reads any more is left out.  CTT_EINVAL if a name is
 * taken or too long.  The caller frees *out. */
int  ctt_quantise(const struct ctt_model *m, const char *take,
                  const struct ctt_form_of *form, struct ctt_model **out);

/* int8_follow.c: of the conv `node` of `was`, which has a node of that name in
 * `now`: the ratio in dB of its results to the errors of those in `now`, on so
 * many clips; if it has a bias, that then makes up for the mean of the errors,
 * which the ratio does not count.  To be called in the order of execution.
 * Errors as of ctt_responses(). */
int  ctt_int8_follow(const struct ctt_model *was, struct ctt_model *now,
                     int node, const struct ctt_recipe_calls *calls, int clips,
                     double *db);

#endif
