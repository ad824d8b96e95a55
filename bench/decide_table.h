/* SPDX-License-Identifier: Apache-2.0
 * decide_table.h: the table of convtt-infer --calibrate --answers. */
#ifndef CTT_BENCH_DECIDE_TABLE_H
#define CTT_BENCH_DECIDE_TABLE_H

#include "tools/infer/infer_tool.h"

/* Answers of a table's clips, with frames and rows of each clip. */
struct decide_clips {
    struct ctt_trials  t;
    int               *frames;
    struct ctt_answers answers;
    int                classes;
};

/* Reads it; CTT_EFORMAT names the first line that is wrong. */
int  decide_read(const char *path, struct decide_clips *out);
void decide_free(struct decide_clips *c);

#endif
