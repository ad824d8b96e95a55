/* SPDX-License-Identifier: Apache-2.0
 * sense_plot.h: a picture of what each weight bears. */
#ifndef CTT_TOOL_SENSE_PLOT_H
#define CTT_TOOL_SENSE_PLOT_H

#include "compress/compress.h"

/* Writes an SVG: a panel per option, with its values from left to right, the
 * mean divergence of the answers on a logarithmic scale, a curve per weight, a
 * line at `kl`, and the names of the weights beside it. */
int ctt_sense_plot(const struct ctt_sense *s, double kl, const char *path);

#endif
