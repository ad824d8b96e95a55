/* SPDX-License-Identifier: Apache-2.0
 * simplify.h: makes of a trained model one that is only served. */
#ifndef CTT_SIMPLIFY_H
#define CTT_SIMPLIFY_H

#include "net/file.h"

/* Replaces a loaded model by one that gives the answers of train = 0, up to
 * rounding: batch norms go into the weights of the conv before them; they and
 * dropouts become names of their input.  What is pruned stays so, but for
 * biases that a norm adds to.  Nodes keep their numbers and names.
 * On failure *m is as it was. */
int ctt_simplify(struct ctt_model **m);

#endif
