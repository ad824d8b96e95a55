/* SPDX-License-Identifier: Apache-2.0
 * simplify.h: simplifies a trained model for inference. */
#ifndef CTT_SIMPLIFY_H
#define CTT_SIMPLIFY_H

#include "net/file/file.h"

/* Replaces a loaded model by a faster one with the same inference results up to
 * rounding: a batch norm is folded into the weights of the conv before it;
 * folded norms and dropouts become views of their input.  Pruned weights stay
 * pruned, except biases that a norm adds to.  Nodes keep their indices and
 * names.
 * On failure (CTT_ENOMEM) *m is unchanged. */
int ctt_simplify(struct ctt_model **m);

#endif
