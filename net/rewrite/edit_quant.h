/* SPDX-License-Identifier: Apache-2.0
 * edit_quant.h: a model in which convs read bytes. */
#ifndef CTT_EDIT_QUANT_H
#define CTT_EDIT_QUANT_H

#include "net/model.h"

/* The form that a node's values get where convs read them; scale 0: none is
 * needed. */
struct ctt_form_of { float scale; int zero; };

/* 1 if the form follows from the node: the bytes of frames, whose step is the
 * same in each channel; and an LSTM's state, which is in -1..1. */
int  ctt_quantise_known(const struct ctt_node *n, struct ctt_form_of *form);

/* The reason why node i cannot read bytes, in a few words; NULL: it can.  A
 * conv that reads the model's answer cannot: bytes would become the answer. */
const char *ctt_quantise_cannot(const struct ctt_graph *g, int i);

/* 0 if conv i is no faster with bytes, by measurements (doc/bench/int8.md): 5x5
 * with stride 1, for which floats have Winograd, unless most blocks of its
 * weights are pruned; or one of which most rows are pruned. */
int  ctt_quantise_pays(const struct ctt_model *m, int i);

/* Marks in source[g->count] the nodes whose values must be quantised so that
 * the convs with take[i] = 1, all of which can, read bytes.  Where the input of
 * a conv only selects or repeats values (a state, slice, reshape, window,
 * upsample, the maximum of a pool), its own input is marked instead, so that a
 * state of bytes takes a quarter of the memory. */
int  ctt_quantise_sources(const struct ctt_graph *g, const char *take,
                          char *source);

/* Adds a line `quant` after each source, whose form is form[i], and lets the
 * convs read the quantised values, as plus input too: NAME.q8 is the node NAME
 * of quantised values.  Nodes that nothing reads any more are left out.
 * CTT_EINVAL if a name is taken or too long.  The caller frees *out. */
int  ctt_quantise(const struct ctt_model *m, const char *take,
                  const struct ctt_form_of *form, struct ctt_model **out);

/* The reverse: the convs with take[i] = 1, which read bytes, read the floats
 * from which the bytes were made, as plus input too; where there is only a copy
 * of bytes, NAME.f32 is a copy of floats.  Nodes that nothing reads any more
 * are left out.  Weights, and biases that correct rounding, stay as they are.
 * CTT_EINVAL as above, CTT_EUNSUP for bytes that several values were made of.
 * The caller frees *out. */
int  ctt_dequantise(const struct ctt_model *m, const char *take,
                    struct ctt_model **out);

/* As ctt_quantise(), with an arbitrary range for each source, to measure time:
 * the model runs as fast as with the right ranges; its answers mean nothing. */
int  ctt_quantise_some(const struct ctt_model *m, const char *take,
                       struct ctt_model **out);

#endif
