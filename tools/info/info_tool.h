/* SPDX-License-Identifier: Apache-2.0
 * info_tool.h: functions and structures shared by the files of convtt-info. */
#ifndef CTT_INFO_TOOL_H
#define CTT_INFO_TOOL_H

#include "base/limits.h"
#include "base/opt.h"
#include "net/file/file.h"
#include "video/video.h"

/* ---- info.c ---- */

struct ctt_info_cfg {
    int   ops, net, plan, compare, threads, tune;
    const char *strip, *data, *split, *classes, *device;
    struct ctt_limits limits;
};

extern const struct ctt_program ctt_info_program;    /* info_opt.c */

/* Multiplications per frame, and per answer (nodes after clip). */
void ctt_info_macs(const struct ctt_graph *g, double *frame, double *answer);

/* Prints a table with one row per model. */
int  ctt_info_compare(const struct ctt_info_cfg *cfg, char **path, int count);

/* Prints the contents of an open pack without reading clips. */
int  ctt_info_pack(const char *path, const struct ctt_pack *p);

/* Prints kernel, pass and time of each node of a model. */
int  ctt_info_plan(const struct ctt_info_cfg *cfg, const struct ctt_model *m);

#endif
