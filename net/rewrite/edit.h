/* SPDX-License-Identifier: Apache-2.0
 * edit.h: changing a model: lines of its text are added, removed or changed,
 * and the text is parsed again, so that every rule of the language is checked.
 */
#ifndef CTT_EDIT_H
#define CTT_EDIT_H

#include "net/model.h"
#include "net/rewrite/channel_groups.h"
#include "net/graph.h"

/* An edit of the sealed graph g, which must not change until the edit is freed.
 * A node is given by its index in g, whatever was added or removed before.
 * Functions that return int fail with CTT_ENOMEM or as described. */
struct ctt_edit;
int  ctt_edit_begin(const struct ctt_graph *g, struct ctt_edit **out);
void ctt_edit_free(struct ctt_edit **e);

/* A stem of names for lines to be added: `wanted`, or wanted2, wanted3 .. if a
 * node of g has it, alone or with a dot behind it. */
void ctt_edit_stem(const struct ctt_graph *g, const char *wanted, char *stem,
                   size_t room);

/* Adds a line before that of a node, after lines added there earlier; node =
 * g->count: at the end.  A line added before the first node after 'clip' is
 * placed after 'clip'.  To replace a node, add lines and remove it. */
int  ctt_edit_add(struct ctt_edit *e, int node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a line after that of a node, after lines added there earlier, and before
 * 'clip' if the node stands before it. */
int  ctt_edit_after(struct ctt_edit *e, int node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Removes the line of a node.  If other nodes read it, a line that defines its
 * name must be added. */
void ctt_edit_remove(struct ctt_edit *e, int node);

/* Changes the value of an attribute (key=value) of a node's line; CTT_EFORMAT
 * if the line has no such key. */
int  ctt_edit_set(struct ctt_edit *e, int node, const char *key,
                  const char *value);

/* Replaces a node by a view of its first input, which has the same shape:
 * a reshape, or a slice of all channels.  States that delay the node delay the
 * viewed node instead.  Bypass nodes in execution order.  Returns 1, or 0
 * without a change if a state delays the node and cannot delay its input. */
int  ctt_edit_bypass(struct ctt_edit *e, int node);

/* Removes a node whose first input has its shape, unless it is the output;
 * whatever reads it, and the states that delay it, take that input instead.
 * Lines that were added are not changed.  Unlink nodes in execution order.
 * Returns 1. */
int  ctt_edit_unlink(struct ctt_edit *e, int node);

/* Removes all nodes that the output does not depend on, but for the inputs and
 * nodes that name a size (like=).  Of a graph, before other changes. */
int  ctt_edit_sweep(struct ctt_edit *e);

/* The edited graph, sealed; the caller frees it. */
int  ctt_edit_graph(const struct ctt_edit *e, struct ctt_graph **out);

/* The edited model of m, whose graph must be that of the edit.  It has the
 * labels and history of m, the weights and masks that ctt_model_move copies
 * (all other weights are zero and not pruned) and no training state; the caller
 * frees it. */
int  ctt_edit_model(const struct ctt_edit *e, const struct ctt_model *m,
                    struct ctt_model **out);

/* The same of any sealed graph.  It takes g over; on failure g is freed. */
int  ctt_model_with(struct ctt_graph *g, const struct ctt_model *m,
                    struct ctt_model **out);

/* Copies each weight that has the same name ("conv1.w") and shape in both
 * models, with its mask.  Returns how many were copied. */
int  ctt_model_move(const struct ctt_model *from, struct ctt_model *to);

/* The number of weights of a node of another graph that have the same name and
 * shape in g, so that ctt_model_move() copies them. */
int  ctt_weights_found(const struct ctt_graph *g, const struct ctt_node *n);

/* edit_norm.c: folds batch norms into the conv or deconv before them:
 * gamma (conv + bias - mean) / sqrt(var + eps) + beta is a conv with other
 * weights.  A norm can be folded if nothing else reads the conv and the conv
 * adds no second input (plus=).
 *
 * In the text: each such conv gets a bias, and `without`, ctt_edit_bypass or
 * ctt_edit_unlink, takes the norm away; a norm that is the output is always
 * bypassed.  g: the graph of the edit. */
int  ctt_edit_norms(struct ctt_edit *e, const struct ctt_graph *g,
                    int (*without)(struct ctt_edit *e, int node));

/* The number of norms of g that can be folded. */
int  ctt_foldable_norms(const struct ctt_graph *g);

/* In the weights: `to` is the model `from` after ctt_edit_norms and
 * ctt_edit_model; folds the norms of `from` into the convs of `to`. */
int  ctt_fold_norms(const struct ctt_model *from, struct ctt_model *to);

/* Both steps: the model without the norms that can be folded (ctt_edit_unlink).
 * */
int  ctt_without_norms(const struct ctt_model *m, struct ctt_model **out);

/* edit_add.c: the model in which an add of a conv and another value, outside of
 * loops, is the plus input of that conv, with the same answers: a pass less
 * over them, and the conv's kernel applies the act behind.  Only if nothing
 * else reads the conv.  The caller frees *out. */
int  ctt_without_adds(const struct ctt_model *m, struct ctt_model **out);

/* edit_merge.c: conv i and the next one, *with, that reads the same value
 * through the same window become one conv, named i's with ".both", and two
 * slices of it; the answers are the same, up to rounding.  1: *out, which the
 * caller frees; 0: there is no such conv, a state delays one, or values are
 * shared. */
int  ctt_merge_convs(const struct ctt_model *m, int i, int *with,
                     struct ctt_model **out);

/* edit_thin.c: the model without the classes of channels
 * (net/rewrite/channel_groups.h) for which keep, a byte by class, is 0; all
 * that stays has its numbers and constraints.  CTT_EINVAL if a node would have
 * no channel, or if one goes that must stay.  It answers as m would if the
 * convs that read these channels had zeros for them.  No training state; the
 * caller frees *out. */
int ctt_thin_model(const struct ctt_model *m,
                   const struct ctt_channel_groups *t, const uint8_t *keep,
                   struct ctt_model **out);

/* edit_thin.c: the graph in which each channel of a class stands as often as
 * `copies`, a byte by class, says; classes that must stay have 1.  Errors as of
 * ctt_edit_graph().  The caller frees *out. */
int ctt_widen_graph(const struct ctt_graph *g,
                    const struct ctt_channel_groups *t, const uint8_t *copies,
                    struct ctt_graph **out);

/* edit_dead.c: drops dead channels: channels from which no path of weights
 * other than 0 leads to the output, through any number of convs; a class
 * (net/rewrite/channel_groups.h) is dead if all its channels are.  A channel of
 * a conv whose own weights are all 0 holds a constant; a conv without padding
 * takes that into its bias, if it has one, and any conv takes a 0, so that
 * nothing reads the channel any more.  Between the two may stand ops that treat
 * each channel alone: act, pool, dropout, upsample, window, batch norm, a
 * reshape that keeps the channels.  Every node keeps at least one channel.
 *
 * Of a conv that was pruned in whole blocks (net/unit.h), the channels that it
 * reads go in whole blocks too.  Weights that become 0 in a block that stays
 * are zeros that are not pruned, so that training may change them.
 *
 * If m has a mask, a bias that its pruned row leaves without effect (0 after
 * the relu that reads it) becomes a pruned 0.
 *
 * The new model, which the caller frees, answers as m does, up to rounding; it
 * has no training state. */
int  ctt_drop_dead(const struct ctt_model *m, struct ctt_model **out);

/* Replaces *m by the model without the lines that ctt_edit_sweep() removes;
 * returns their number.  If there are any, the new model has no training
 * state. */
int  ctt_drop_unread(struct ctt_model **m);

/* 1 if each channel of n's result depends on the same channel of its input
 * alone, and the result for a constant is known (column `constant` of ops.def).
 */
int ctt_is_channelwise(const struct ctt_graph *g, const struct ctt_node *n);

/* The result of such a node for a channel j that holds x everywhere; w: the
 * weights of its model.  NAN: not one number. */
double ctt_channelwise(const struct ctt_node *n, const float *w, int64_t j,
                       double x);

#endif
