/* SPDX-License-Identifier: Apache-2.0
 * cuts.h: cuts of a training graph into sections (net/rewrite/section.h) that
 * keep the bits of the result; the choice of --stages. */
#ifndef CTT_CUTS_H
#define CTT_CUTS_H

#include "net/graph.h"

/* Sets number[i], the section of node i, of so many sections of the sealed
 * graph g.  text: "auto" or their number, sections whose estimated times are as
 * equal as cuts allow, or the names of the first nodes of all sections but the
 * first.  windows: 1 if clips are cut into windows of steps.  CTT_EUNSUP: g
 * reads its own answer; CTT_EINVAL: why g has no such cuts. */
int ctt_cuts_find(const struct ctt_graph *g, const char *text, int sections,
                  int windows, int *number);

/* How many sections the text asks for; auto: one for each rank. */
int ctt_cuts_count(const char *text, int ranks);

#endif
