/* SPDX-License-Identifier: Apache-2.0
 * undo.h: undoing the compression of weights of a model, given the dense model
 * that it was made of. */
#ifndef CTT_UNDO_H
#define CTT_UNDO_H

#include "compress/report.h"
#include "net/op.h"

/* ---- the convs that replace a weight of the dense model ---- */

/* The nodes NAME.t1, NAME.t2 .. NAME in order; one of them: not factorised. */
struct ctt_parts {
    int node[CTT_MAX_CORES], count;
};

/* The parts in `small` of the conv or deconv `node` of the graph `dense`, of
 * which NAME.t1 is no node.  count 0: there is no such conv. */
void ctt_parts_find(const struct ctt_graph *dense, int node,
                    const struct ctt_graph *small, struct ctt_parts *out);

/* Whether numbers of the kernel of node i share values; are pruned. */
int  ctt_kernel_shares(const struct ctt_model *m, int i);
int  ctt_kernel_pruned(const struct ctt_model *m, int i);

/* The window of all parts together.  0: no single conv does, as two of them
 * have a kernel along one axis. */
int  ctt_parts_together(const struct ctt_graph *g, const struct ctt_parts *p,
                        struct ctt_slide *out);

/* The model with the conv NAME in place of its parts: their product, which
 * answers the same up to rounding; quantised values between them go.  It has
 * no mask and no codes there.  CTT_EUNSUP if no conv computes what they do, or
 * if another node reads one but the last.  The caller frees *out. */
int  ctt_parts_multiply(const struct ctt_model *m, const struct ctt_parts *p,
                        struct ctt_model **out);

/* Changes of a weight: a bit each in a set.  CHANNELS: some of its channels
 * were removed, by thinning or as dead ones. */
enum ctt_done { CTT_DONE_CHANNELS, CTT_DONE_FACTORS, CTT_DONE_PRUNING,
                CTT_DONE_SHARING, CTT_DONE_INT8, CTT_DONE_ROUNDING,
                CTT_DONE_KINDS };
#define CTT_DONE(k) (1u << (k))

/* Their words for tables and files, in that order, and NULL. */
extern const char *const ctt_done_words[];

/* Both models, of which `dense` has its batch norms folded if `small` has
 * none. */
struct ctt_lineage {
    const struct ctt_model *small, *dense;
    int bits;         /* significant ones that kernels of `small` have: what
                         --round made them; 24: all */
    int bias_bits;    /* 8: so are its biases; 0: they are not */
};

/* CTT_EINVAL unless `small` can have been made of `dense`: the same input and
 * labels, and each conv of one is, by its name and kernel, of one of the other;
 * and unless the weights have something in common. */
int ctt_lineage_of(const struct ctt_model *small, const struct ctt_model *dense,
                   struct ctt_lineage *out);

/* A copy of `dense` in which batch norms are folded if `small` has none; the
 * caller frees *out. */
int ctt_lineage_fold(const struct ctt_model *small,
                     const struct ctt_model *dense, struct ctt_model **out);

/* Changes of the weight of node i of the dense model: a set.  Folding of norms,
 * which changes no answer, is no part of it. */
unsigned ctt_done_to(const struct ctt_lineage *o, int i);

/* Reason why values of the dense model cannot replace the changed ones, if
 * `undo` of node i is undone; NULL: they can. */
const char *ctt_undo_why(const struct ctt_lineage *o, int i, unsigned undo);

/* A copy of the compressed model in which undo[i], a set, of node i of the
 * dense model is undone, and all else stays.
 *
 * back: with values of the dense model, where ctt_undo_why() lets them:
 * pruned numbers, or those that shared values, or all of a weight that was
 * factorised or of which everything is undone, with its bias, rounded as the
 * rest is; a pruned number of a weight that shares values gets the nearest of
 * these.  If everything is undone of all weights, norms and biases are those of
 * the dense model, too.
 *
 * Else without a change of the answers, but for INT8: pruned numbers may be
 * trained, from 0; each shared number has a value of its own, from that which
 * it shared; a conv has the product of its cores.
 *
 * A conv of which INT8 is undone reads floats; its weights stay as they are.
 * The caller frees *out. */
int ctt_undo(const struct ctt_lineage *o, const unsigned *undo, int back,
             struct ctt_model **out);

/* After training of such a model, or of the compressed one (undo all 0), whose
 * weights with train[i] = 1 it was of: rounds them as `small` is, unless
 * rounding is undone. */
void ctt_undo_round(const struct ctt_lineage *o, const unsigned *undo,
                    const char *train, struct ctt_model *m);

/* Gives pruned numbers of weights that share values, where only pruning is
 * undone, the nearest of the shared values: so a file holds them. */
void ctt_undo_share(const struct ctt_lineage *o, const unsigned *undo,
                    struct ctt_model *m);

#endif
