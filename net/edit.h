/* SPDX-License-Identifier: Apache-2.0
 * edit.h: changing a model: lines of its text are added, removed and set, and
 * the text is parsed again, so an edited model keeps every rule that a written
 * one must keep. */
#ifndef CTT_EDIT_H
#define CTT_EDIT_H

#include "net/file.h"

/* An edit of graph g, which must stay as it is until the edit is freed.  Nodes
 * are named by their index in g, whatever was added or removed before. */
struct ctt_edit;
int  ctt_edit_begin(const struct ctt_graph *g, struct ctt_edit **out);
void ctt_edit_free(struct ctt_edit **e);

/* Adds a line before that of a node, behind those that were added there
 * before; node = g->count: at the end.  Before the first node behind 'clip',
 * it stands behind 'clip' as well.  To replace a node: add, then remove it. */
int  ctt_edit_add(struct ctt_edit *e, int node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes the line of a node out.  Whoever reads the node must find another one
 * of that name. */
void ctt_edit_remove(struct ctt_edit *e, int node);

/* Gives an attribute (key=value) of a node's line another value.  A key that
 * the line does not have is an error. */
int  ctt_edit_set(struct ctt_edit *e, int node, const char *key,
                  const char *value);

/* Makes a node that has one input of its own shape a mere name of this input,
 * by a reshape or a slice.  A state that delays the node delays what it names
 * from now on.  Names before the node must have been made so before.  Returns 0
 * and changes nothing if a state could not delay what the node would name, else
 * 1. */
int  ctt_edit_bypass(struct ctt_edit *e, int node);

/* The edited graph, sealed. */
int  ctt_edit_graph(const struct ctt_edit *e, struct ctt_graph **out);

/* The edited model of m, whose graph is that of the edit: the labels and
 * history of m, weights and masks moved, other weights zero and not pruned, no
 * training state. */
int  ctt_edit_model(const struct ctt_edit *e, const struct ctt_model *m,
                    struct ctt_model **out);

/* Copies each weight that has the same name ("conv1.w") and shape in both
 * models, and what is pruned of it.  Returns how many were copied. */
int  ctt_model_move(const struct ctt_model *from, struct ctt_model *to);

/* edit_norm.c: batch norms become part of the conv or deconv before them:
 * gamma (conv + bias - mean) / sqrt(var + eps) + beta is a conv with other
 * weights.  A conv takes a norm in if nothing else reads it and if it adds no
 * second input (plus=).
 *
 * In the text of g, which is that of the edit: each such conv gets a bias, the
 * norm becomes its name. */
int  ctt_edit_norms(struct ctt_edit *e, const struct ctt_graph *g);

/* In the numbers: `to` is the model `from` after ctt_edit_norms; the weights of
 * its convs, which are still those of `from`, take the norms in. */
void ctt_fold_norms(const struct ctt_model *from, struct ctt_model *to);

#endif
