/* SPDX-License-Identifier: Apache-2.0
 * output.h: what kind of output a file is. */
#ifndef CTT_OUTPUT_H
#define CTT_OUTPUT_H

/* The kinds of outputs.  A checkpoint is a model file with a training state. */
enum ctt_tool_kind {
    CTT_TOOL_MODEL,
    CTT_TOOL_CHECKPOINT,
    CTT_TOOL_PACK,
    CTT_TOOL_LOG_CSV,
    CTT_TOOL_LOG_JSON,
    CTT_TOOL_FOLDS_CSV,
    CTT_TOOL_FOLDS_JSON,
    CTT_TOOL_REPORT,
    CTT_TOOL_SENSITIVITY_LOG,
    CTT_TOOL_SENSITIVITY_CSV,
    CTT_TOOL_PLOT,
    CTT_TOOL_BUDGET_CSV,
    CTT_TOOL_EXPLAIN_LOG,
    CTT_TOOL_EXPLAIN_CSV,
    CTT_TOOL_SEARCH_LOG,
    CTT_TOOL_SEARCH_CSV,
    CTT_TOOL_TABLE,
    CTT_TOOL_FRAMES,
    CTT_TOOL_PICTURE,
    CTT_TOOL_VIDEO,
    CTT_TOOL_EVENTS
};

/* 1 if the file at path was written as an output of this kind; of pictures and
 * videos the format is compared, which clips may have too. */
int         ctt_tool_is_kind(const char *path, enum ctt_tool_kind kind);
const char *ctt_tool_kind_name(enum ctt_tool_kind kind);

#endif
