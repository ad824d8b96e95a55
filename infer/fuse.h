/* SPDX-License-Identifier: Apache-2.0
 * fuse.h: makes of a trained model one that is only served. */
#ifndef CTT_FUSE_H
#define CTT_FUSE_H

#include "net/file.h"

/* Changes a loaded model, which no trainer may read any more: batch norms go
 * into the weights of the conv before them, and they and dropouts become names
 * of their input.  What is pruned stays so, but for biases that a norm adds to.
 * Nodes keep their numbers.  The answer differs from the
 * model's (train = 0) by rounding only. */
int ctt_fuse(struct ctt_model *m);

#endif
