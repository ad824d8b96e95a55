/* SPDX-License-Identifier: Apache-2.0
 * compress_budget.h: convtt-compress --budget: the mix of options that keeps a
 * model within a budget. */
#ifndef CTT_TOOL_COMPRESS_BUDGET_H
#define CTT_TOOL_COMPRESS_BUDGET_H

#include "tools/compress/compress_calls.h"

/* CTT_EINVAL if the budget cannot be read, a setting has no effect beside it,
 * clips are missing, or a file is named twice. */
int ctt_compress_check_budget(struct ctt_compress_job *j);

/* Searches, prints, and writes the model if it is accepted. */
int ctt_compress_budget(struct ctt_compress_job *j);

#endif
