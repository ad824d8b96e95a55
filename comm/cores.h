/* SPDX-License-Identifier: Apache-2.0
 * cores.h: processors of a machine, as ranks divide them. */
#ifndef CTT_COMM_CORES_H
#define CTT_COMM_CORES_H

/* cpu: its number; node: of memory, that it is near to; core: the lowest number
 * of those that share its core. */
struct ctt_core { int cpu, node, core; };

/* Puts n of them in an order in which neighbours share the most, and returns
 * which of them belong to part k of so many: *first and how many; 0 if there
 * are more parts. */
int ctt_cores_cut(struct ctt_core *core, int n, int k, int parts, int *first);

#endif
