/* SPDX-License-Identifier: Apache-2.0
 * explain_say.h: what --explain found: tables and CSV. */
#ifndef CTT_TOOL_EXPLAIN_SAY_H
#define CTT_TOOL_EXPLAIN_SAY_H

#include "compress/compress.h"

/* Prints what each part costs and saves, most costly first; the same of all
 * weights and of everything together; and what could not be measured.  steps:
 * of training; 0: none. */
int ctt_explain_say(const struct ctt_explain *e, int steps);

/* Writes a row per point; what was not measured is empty. */
int ctt_explain_csv(const struct ctt_explain *e, const char *path);

/* How the file begins. */
#define CTT_EXPLAIN_CSV_BEGIN "weight,what,trained_kl25,"

#endif
