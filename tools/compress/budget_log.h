/* SPDX-License-Identifier: Apache-2.0
 * budget_log.h: results of --budget as lines of the log of sensitivity. */
#ifndef CTT_TOOL_BUDGET_LOG_H
#define CTT_TOOL_BUDGET_LOG_H

#include "compress/search/search.h"
#include "tools/compress/sensitivity_log.h"

/* Takes lines of a log; arg: a struct ctt_budget_rows. */
int  ctt_budget_row_read(void *arg, const char *line);

/* Adds a row to the log. */
int ctt_budget_row_log(struct ctt_sensitivity_log *log,
                       const struct ctt_budget_row *row);

#endif
