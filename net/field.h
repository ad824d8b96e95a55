/* SPDX-License-Identifier: Apache-2.0
 * field.h: receptive fields of nodes. */
#ifndef CTT_FIELD_H
#define CTT_FIELD_H

#include "net/graph.h"

/* The part of the frames on which a node's values depend: rows and columns of
 * the image, at most all of it, and frames, the current one included.  ALL: all
 * frames before, since it is part of a loop over steps, or the window spreads
 * over the clip.  Zeros: of none. */
#define CTT_FIELD_ALL INT64_MAX
struct ctt_receptive { int64_t h, w, frames; };

/* The fields of all nodes; the caller frees *out.  CTT_ENOMEM. */
int ctt_receptive_fields(const struct ctt_graph *g, struct ctt_receptive **out);

#endif
