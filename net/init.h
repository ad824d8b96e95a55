/* SPDX-License-Identifier: Apache-2.0
 * init.h: initial weights of a model. */
#ifndef CTT_INIT_H
#define CTT_INIT_H

#include "net/model.h"

/* The random numbers of initial weights are those of ctt_key(seed,
 * CTT_KEY_INIT). */
enum { CTT_KEY_INIT = 1 };

/* Sets the initial weights: He and others 2015 before a relu, Glorot and Bengio
 * 2010 elsewhere; the bias of forget gates is 1, norms are the identity. */
void ctt_init_weights(struct ctt_model *m, uint64_t seed);

#endif
