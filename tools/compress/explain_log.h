/* SPDX-License-Identifier: Apache-2.0
 * explain_log.h: the results of --explain in a file, a JSON line each, from
 * which a run that was stopped goes on. */
#ifndef CTT_TOOL_EXPLAIN_LOG_H
#define CTT_TOOL_EXPLAIN_LOG_H

#include "compress/compress.h"
#include "tools/shared/line_log.h"
#include "tools/compress/sensitivity_log.h"

/* What results depend on, besides the weight and what was done to it. */
struct ctt_explain_key {
    struct ctt_sensitivity_key of; /* the compressed model, clips and machine */
    uint32_t             dense;    /* CRC-32 of the dense model, */
    uint32_t             how;      /* and of the settings and training clips */
};

/* Opens the log and sets the points that it has; *known: how many.  Errors as
 * of ctt_line_log_open(), CTT_EFORMAT, naming the line, if it is damaged. */
int ctt_explain_log_open(const char *path, const struct ctt_explain_key *key,
                         struct ctt_explain *e, int *known,
                         struct ctt_line_log **out);

/* Adds a point that was measured. */
int ctt_explain_log_add(struct ctt_line_log *log, const struct ctt_explain *e,
                        int point);

/* How the file begins. */
#define CTT_EXPLAIN_LOG_BEGIN "{\"explain\":1,"

#endif
