/* SPDX-License-Identifier: Apache-2.0
 * bind.h: the arguments of a forward call. */
#ifndef CTT_BIND_H
#define CTT_BIND_H

#include "run/run.h"

/* values.c: n samples (after clip: asks) of a node's value, beginning at a step
 * (ask). */
struct ctt_tensor ctt_run_tensor(const struct ctt_run *r, int node, int step,
                                 int64_t n);

/* Copies the value of the state's node at `step`, the first step of the clip,
 * to the steps before; of samples with pasts of their own only those whose clip
 * begins there. */
int ctt_run_copy_first(const struct ctt_run *r, int state, int step);

/* Steps before which a window op looks at no step of the clip: with more of
 * them before it, its call is the same. */
int64_t ctt_run_reach(const struct ctt_node *window);

/* The byte that fills a node's memory with values of 0. */
int ctt_run_zero(const struct ctt_run *r, int node);

/* ---- bind.c ---- */

/* Bytes of r->live. */
int64_t ctt_run_live_bytes(const struct ctt_run *r);

/* 1 if the call of the conv that the node is fused into does the node's work: a
 * pair only if both convs run for one step at a time.  single: the whole run is
 * one step long. */
int  ctt_run_is_fused(const struct ctt_run *r, int node, int single);

/* After ctt_run_bind(): adds the fused nodes to the node's call of `steps`
 * steps.  A chain is valid until the next call of this function. */
void ctt_run_bind_fused(const struct ctt_run *r, int node, int step, int steps,
                        int single, struct ctt_call *c);

#endif
