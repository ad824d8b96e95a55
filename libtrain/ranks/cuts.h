/* SPDX-License-Identifier: Apache-2.0
 * cuts.h: where a training graph can be cut into sections
 * (net/rewrite/section.h) that come to the same bits, and where --stages cuts
 * it. */
#ifndef CTT_CUTS_H
#define CTT_CUTS_H

#include "net/graph.h"

/* Sets number[i], the section of node i, of so many sections of the sealed
 * graph g.  text: "auto", sections whose estimated time is as equal as cuts
 * allow, or the names of the first nodes of all sections but the first.
 * windows: 1 if clips are cut into windows of steps.  CTT_EUNSUP: g reads its
 * own answer; CTT_EINVAL: it cannot be cut into so many, or not there, and
 * why. */
int ctt_cuts_find(const struct ctt_graph *g, const char *text, int sections,
                  int windows, int *number);

#endif
