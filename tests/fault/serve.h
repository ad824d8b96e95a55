/* SPDX-License-Identifier: Apache-2.0
 * serve.h: a program with the preloaded library, which runs it once per order.
 */
#ifndef CTT_FAULT_SERVE_H
#define CTT_FAULT_SERVE_H

#include "tests/fault/fault.h"

#include <sys/types.h>

struct server {
    pid_t pid;
    int   to, from;
};

/* Starts argv with the library `shim`. */
void serve_start(struct server *s, const char *shim, char **argv);
void serve_end(struct server *s);

/* Runs the program once. -1: it ran for longer than `limit` seconds and was
 * killed. */
int serve_run(struct server *s, const struct fault_order *order, int limit,
              struct fault_answer *out);

#endif
