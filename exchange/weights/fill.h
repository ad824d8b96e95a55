/* SPDX-License-Identifier: Apache-2.0
 * fill.h: the weights of a model from named tensors. */
#ifndef CTT_WEIGHTS_FILL_H
#define CTT_WEIGHTS_FILL_H

#include "exchange/weights/tensors.h"
#include "net/model.h"

/* Sets the weights of m from the tensors; map and errors as for
 * ctt_import_weights(). */
int  ctt_tensors_fill(const struct ctt_tensors *t, const char *map,
                      struct ctt_model *m);

/* The shape of a weight in torch, in full: out, in, kd, kh, kw of a conv, of
 * a deconv in, out, ..; else c.  Returns its rank. */
int  ctt_torch_shape(const struct ctt_node *n, int k, int64_t dim[5]);

#endif
