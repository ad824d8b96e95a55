/* SPDX-License-Identifier: Apache-2.0
 * split.h: a graph rewritten so that several processes, its parts, compute it
 * together: each has a part of the rows of every image (Dryden and others
 * 2019a), or of the filters of every conv (2019b).  Parts (net/part.h) exchange
 * values by the ops halo, collect and total.  Nodes that are not divided are
 * computed by all. */
#ifndef CTT_SPLIT_H
#define CTT_SPLIT_H

#include "net/graph.h"

/* `count` runs of `run` floats each of a weight: their offsets in the whole and
 * in the part, and their distances there.  moved: by a forward pass, not by a
 * gradient. */
struct ctt_piece {
    int64_t whole, part, run, count, whole_apart, part_apart;
    int     moved;
};

struct ctt_split {
    struct ctt_graph *g;         /* of this part, whose nodes have the names
                                    and ranks of the whole graph */
    char             *partial;   /* per node of the whole: 1: this part
                                    computes a part of its weights' gradient,
                                    which all parts' add up to */
    struct ctt_piece *piece;     /* where the weights of the part are in those
                                    of the whole; NULL: in the same places */
    int               pieces;
    double            share;     /* of the multiplications of the whole graph:
                                    those that are divided */
    int               nodes;     /* how many are divided */
    const char       *whole;     /* the first one of the whole that is not:
                                    of bands, after one that is; of
                                    filters, that multiplies; or NULL */
};

/* Part `part` of `parts` of the sealed graph g, of bands of rows.  A conv or
 * pool with an odd kernel or stride reads rows of the bands beside its own.  A
 * batch norm of bands needs ctt_dev_join_norms().
 * CTT_EUNSUP names a node that cannot be divided, or says that none can.  The
 * caller frees *out. */
int  ctt_split_bands(const struct ctt_graph *g, int part, int parts,
                     struct ctt_split **out);

/* The same with filters: each conv and deconv computes some channels of its
 * result, an lstm some of its states.  An op that mixes channels otherwise
 * reads the whole. */
int  ctt_split_filters(const struct ctt_graph *g, int part, int parts,
                       struct ctt_split **out);

/* take: copies the weights of a part from those of the whole.  give: copies
 * gradients of a part, or with `moved` weights that a forward pass updates, to
 * the whole; the numbers of other parts stay as they are. */
void ctt_split_take(const struct ctt_split *s, const float *whole,
                    float *part);
void ctt_split_give(const struct ctt_split *s, int moved, const float *part,
                    float *whole);

void ctt_split_free(struct ctt_split **s);

#endif
