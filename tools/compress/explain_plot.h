/* SPDX-License-Identifier: Apache-2.0
 * explain_plot.h: a picture of what each part of a compression costs and
 * saves. */
#ifndef CTT_TOOL_EXPLAIN_PLOT_H
#define CTT_TOOL_EXPLAIN_PLOT_H

#include "compress/compress.h"

/* Writes an SVG: a row per weight and thing that was done to it, those that
 * cost most at the top, with a bar each for the divergence that it costs, the
 * bytes and the time that it saves. */
int ctt_explain_plot(const struct ctt_explain *e, const char *path);

#endif
