/* SPDX-License-Identifier: Apache-2.0
 * decided.h: models with thresholds for early decisions. */
#ifndef CTT_TEST_DECIDED_H
#define CTT_TEST_DECIDED_H

#include "tests/lib/stream.h"
#include "net/file/decision.h"

/* A decision with the same threshold at the first `checks` checks. */
struct ctt_decision decided_all(float threshold, int checks, double smooth);

/* decided_path: the file of a text's model, some weights and these thresholds;
 * opened on "ref". */
extern char decided_path[256];
void decided_write(const char *text, struct ctt_decision d);
struct ctt_infer *decided_open(void);

/* Calls try, which opens and closes something of a model that decides, with
 * each of its allocations failing in turn: CTT_ENOMEM until none fails, and no
 * leak. */
void decided_allocations_fail(int (*try)(const struct ctt_infer *m));

#endif
