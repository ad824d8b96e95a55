/* SPDX-License-Identifier: Apache-2.0
 * split_in.h: the functions shared by the ways to divide a graph; private to
 * split.c, bands.c and filters.c. */
#ifndef CTT_SPLIT_IN_H
#define CTT_SPLIT_IN_H

#include "net/rewrite/edit.h"
#include "net/rewrite/split.h"

/* An empty split with room for the nodes of g. */
int  ctt_split_new(const struct ctt_graph *g, struct ctt_split **out);

/* CTT_EUNSUP if a node of g passes values already: g has been divided. */
int  ctt_split_check(const struct ctt_graph *g);

/* Counts the nodes that are partial and their share of the multiplications. */
void ctt_split_describe(const struct ctt_graph *g, struct ctt_split *s);

/* Adds to s the place of weight k of node `node` of g in the node of s->g with
 * the given name, if that has such a weight: `count` runs of `run` floats from
 * `first` on that are `apart`, one after the other in the part.  whole: all of
 * it. */
int  ctt_split_piece(struct ctt_split *s, const struct ctt_graph *g, int node,
                     int k, const char *name, struct ctt_piece p);
int  ctt_split_whole(struct ctt_split *s, const struct ctt_graph *g, int node,
                     int k);

/* With s->partial set: adds each weight by `add`, names the first conv that is
 * whole, and describes s. */
int  ctt_split_finish(struct ctt_split *s, const struct ctt_graph *g,
                      int (*add)(const void *arg, struct ctt_split *s,
                                 int node, int k), const void *arg);

#endif
