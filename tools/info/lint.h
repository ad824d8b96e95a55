/* SPDX-License-Identifier: Apache-2.0
 * lint.h: findings of convtt-info --lint in a model: facts that follow from its
 * text and masks, and variants whose gain is measured. */
#ifndef CTT_LINT_H
#define CTT_LINT_H

#include "net/field.h"
#include "net/model.h"
#include "tools/bench/bench_tool.h"

/* ---- lint_costs.c ---- */

/* Of a node, a frame or (after clip) an answer.  kept: without pruned weights;
 * a product with one costs nothing.  moved: numbers of its inputs and of its
 * result.  values: those of its result that have memory of their own; past: as
 * many of earlier steps. */
struct ctt_layer_cost {
    double macs, kept_macs, weights, kept_weights, moved, values, past;
    int    int8;    /* reads bytes */
};

/* The costs of all nodes; the caller frees *out.  CTT_ENOMEM. */
int ctt_lint_costs(const struct ctt_model *m, struct ctt_layer_cost **out);

/* Bytes of a node: weights and values at run time as it is; weight, gradient
 * and two moments, and value and gradient of a step of a clip, in training in
 * fp32. */
double ctt_lint_run_bytes(const struct ctt_layer_cost *c);
double ctt_lint_weight_bytes(const struct ctt_layer_cost *c);
double ctt_lint_train_bytes(const struct ctt_layer_cost *c);

/* Energy in picojoules at 45 nm (Horowitz 2014: Computing's energy problem,
 * ISSCC), as if all were of one type; AS_IS: without pruned weights, convs that
 * read bytes in bytes, all else in fp32.  A product is a multiplication and an
 * addition; a number that is read or written comes from the least of the
 * table's memories (caches of 8 KB, 32 KB and 1 MB, DRAM at its lower figure)
 * that holds all weights and values of the model. */
enum ctt_lint_type { CTT_LINT_FP32, CTT_LINT_FP16, CTT_LINT_INT8,
                     CTT_LINT_AS_IS, CTT_LINT_TYPES };
double ctt_lint_energy(const struct ctt_layer_cost *all, int count, int i,
                       enum ctt_lint_type type);

/* ---- lint_variants.c ---- */

/* A graph in which another line would be better, for timing: the channels of
 * conv i, and those that are tied to them, size[0] of them, become size[1], the
 * next multiple of 8 or, from one of 8, of 16.  1: *out, which the caller
 * frees; 0: they are, or other nodes need their number. */
int ctt_lint_pad(const struct ctt_graph *g, int i, int64_t size[2],
                 struct ctt_graph **out);

/* ---- lint_time.c ---- */

/* Times of two graphs, in turns, with random weights and one frame and answer
 * at a time; on one thread of the time that it computes. */
int ctt_lint_time(const struct ctt_graph *g, const struct ctt_graph *other,
                  const char *device, int threads,
                  struct ctt_paired_timing *out);

#endif
