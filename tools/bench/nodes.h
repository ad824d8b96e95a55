/* SPDX-License-Identifier: Apache-2.0
 * nodes.h: which kernel computes each node of a run, and its time. */
#ifndef CTT_NODES_H
#define CTT_NODES_H

#include "run/run.h"

/* The sums of a run's nodes by pass. */
struct ctt_nodes {
    struct ctt_run      *run;
    struct ctt_profile (*sum)[CTT_PASSES];
};

/* From now on until stop the forward calls of the run are timed.  close also
 * stops, and frees. */
int  ctt_nodes_open(struct ctt_run *r, struct ctt_nodes *out);
void ctt_nodes_stop(struct ctt_nodes *n);
void ctt_nodes_close(struct ctt_nodes *n);

/* A node that was called; its time is that of all its calls. */
struct ctt_node_time {
    const char *name, *word;
    const char *when;      /* "clip"; "loop": step by step; "free" */
    const char *kernel;    /* which code computed it; valid until the next
                              row */
    double      ms;
};

/* 0: the node was not called: it only names memory, or another one's kernel
 * computes it too. */
int    ctt_nodes_row(const struct ctt_nodes *n, int node,
                     struct ctt_node_time *out);
double ctt_nodes_ms(const struct ctt_nodes *n);    /* of all nodes */

#endif
