/* SPDX-License-Identifier: Apache-2.0
 * inside.h: internals of a session for our own programs; not installed. */
#ifndef CTT_INSIDE_H
#define CTT_INSIDE_H

#include "infer/infer.h"
#include "run/run.h"
#include "net/file/file.h"

/* The run of a session, valid until the session is closed: its graph is that of
 * the simplified model, and its caches say which kernels computed it. */
struct ctt_run *ctt_session_run(const struct ctt_session *s);

/* Threads of the latest frames: fewer than allowed if more were not faster. */
int ctt_session_threads(struct ctt_session *s);

/* Sums of each node by pass; sum NULL until nodes are timed first. */
struct ctt_node_sums { struct ctt_profile (*sum)[CTT_PASSES]; };

/* on: starts timing of nodes, from 0; else stops it.  CTT_ENOMEM. */
int  ctt_nodes_time(struct ctt_run *r, int on, struct ctt_node_sums *s);

/* Name, op, kernel and time of node i of the run, which must exist. */
void ctt_nodes_get(const struct ctt_run *r, const struct ctt_node_sums *s,
                   int i, struct ctt_infer_node *out);

/* Replaces a loaded model by a faster one with the same inference results up to
 * rounding: a batch norm is folded into the weights of the conv before it;
 * folded norms and dropouts become views of their input.  Pruned weights stay
 * pruned, except biases that a norm adds to.  Nodes keep their indices and
 * names.
 * On failure (CTT_ENOMEM) *m is unchanged. */
int ctt_simplify(struct ctt_model **m);

#endif
