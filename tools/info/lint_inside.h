/* SPDX-License-Identifier: Apache-2.0
 * lint_inside.h: declarations that the files of --lint share. */
#ifndef CTT_LINT_INSIDE_H
#define CTT_LINT_INSIDE_H

#include "tools/info/info_tool.h"
#include "tools/info/lint.h"

struct lint {
    const struct ctt_info_cfg *cfg;
    const char                *path;
    struct ctt_model          *m;
    char                      *text;     /* of the model, in lines */
    struct ctt_receptive          *field;
    struct ctt_layer_cost     *cost;
    struct ctt_plan            plan;
    double                     kept;     /* bytes of earlier frames */
    double                     ms;       /* of a frame; 0: not measured */
    int                        steady;   /* times of frames agree */
    int                        warnings;
};

/* lint_line.c: the number of the line that makes node i, its own or that of its
 * cell, and where it begins in the text; 0 and "": there is none. */
int ctt_lint_line(const struct lint *l, int i, const char **start);

/* Prints the table of nodes. */
int ctt_lint_say_costs(const struct lint *l);

#endif
