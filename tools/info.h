/* SPDX-License-Identifier: Apache-2.0
 * info.h: what the files of convtt-info share. */
#ifndef CTT_INFO_H
#define CTT_INFO_H

#include "net/file.h"
#include "net/opt.h"

struct ctt_info_cfg {
    int   ops, net, plan, compare, threads, max_clips;
    const char *strip, *data, *split, *device;
};

extern const struct ctt_program ctt_info_program;    /* info_opt.c */

/* Multiplications of a model for a frame, and for an answer after clip. */
void ctt_info_macs(const struct ctt_graph *g, double *frame, double *answer);

/* Prints a table with a row for each of count models. */
int  ctt_info_compare(const struct ctt_info_cfg *cfg, char **path, int count);

/* Prints which kernel runs each node of a model, when, and how long. */
int  ctt_info_plan(const struct ctt_info_cfg *cfg, const struct ctt_model *m);

#endif
