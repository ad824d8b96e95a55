/* SPDX-License-Identifier: Apache-2.0
 * cores.h: processors of a machine, as ranks divide them. */
#ifndef CTT_COMM_CORES_H
#define CTT_COMM_CORES_H

/* A processor: its number, its memory node, and the lowest number of the
 * processors of its core. */
struct ctt_core { int cpu, node, core; };

/* Sorts n processors so that neighbours share the most, and returns the number
 * of those in part k of `parts`, from *first; 0 if there are more parts than
 * processors. */
int ctt_cores_cut(struct ctt_core *core, int n, int k, int parts, int *first);

#endif
