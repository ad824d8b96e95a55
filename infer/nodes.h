/* SPDX-License-Identifier: Apache-2.0
 * nodes.h: the time of each node of a session. */
#ifndef CTT_INFER_NODES_H
#define CTT_INFER_NODES_H

#include "infer/infer.h"
#include "run/run.h"

/* Sums of each node by pass; sum NULL until nodes are timed first. */
struct ctt_node_sums { struct ctt_profile (*sum)[CTT_PASSES]; };

/* on: starts timing of nodes, from 0; else stops it.  CTT_ENOMEM. */
int  ctt_nodes_time(struct ctt_run *r, int on, struct ctt_node_sums *s);

/* Name, op, kernel and time of node i of the run, which must exist. */
void ctt_nodes_get(const struct ctt_run *r, const struct ctt_node_sums *s,
                   int i, struct ctt_infer_node *out);

#endif
