/* SPDX-License-Identifier: Apache-2.0
 * bind.h: the arguments of a forward call. */
#ifndef CTT_BIND_H
#define CTT_BIND_H

#include "run/run.h"

/* values.c: n samples (after clip: asks) of a node's value from a step (ask)
 * on. */
struct ctt_tensor ctt_run_tensor(const struct ctt_run *r, int node, int step,
                                 int64_t n);

/* bind.c: bytes of r->live. */
int64_t ctt_run_live_bytes(const struct ctt_run *r);

/* 1 if the node's work is done by the call of the conv that it may be fused
 * into: a pair only if both run for one step now.  single: the whole run is of
 * one step. */
int  ctt_run_is_fused(const struct ctt_run *r, int node, int single);

/* After ctt_run_bind(): what is fused into the node's call. */
void ctt_run_bind_fused(const struct ctt_run *r, int node, int step,
                        int single, struct ctt_call *c);

#endif
