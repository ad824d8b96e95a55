/* SPDX-License-Identifier: Apache-2.0
 * section.h: a graph cut into sections, each a graph of its own whose inputs
 * are the values that enter it from earlier ones. */
#ifndef CTT_SECTION_H
#define CTT_SECTION_H

#include "net/graph.h"

/* A value that passes from one section to the next: its nodes in the whole
 * graph and in the section, and its numbers a step and sample. */
struct ctt_section_value { int of, node; int64_t volume; };

struct ctt_section {
    struct ctt_graph   *g;
    int                *of;    /* per node: its number in the whole graph, or
                                  -1 */
    struct ctt_section_value *in, *out;    /* in the order of the whole
                                              graph */
    int                 ins, outs;
};

/* Section `at` of the sealed graph g, of which node i is in section number[i];
 * a node reads no node of a later section, and the nodes after clip are in the
 * last section.  A value that a later section reads passes through all between.
 * Names, ranks and the places of weights are those of g, whose number of
 * weights the section has.  The caller frees *out. */
int  ctt_section_new(const struct ctt_graph *g, const int *number, int at,
                     struct ctt_section **out);
void ctt_section_free(struct ctt_section **s);

#endif
