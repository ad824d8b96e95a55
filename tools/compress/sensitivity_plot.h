/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_plot.h: a picture of what each weight bears. */
#ifndef CTT_TOOL_SENSITIVITY_PLOT_H
#define CTT_TOOL_SENSITIVITY_PLOT_H

#include "compress/compress.h"

/* Writes an SVG: a panel per option, with its values from left to right, the
 * mean divergence of the answers on a logarithmic scale, a curve per weight, a
 * line at `kl`, and the names of the weights beside it. */
int ctt_sensitivity_plot(const struct ctt_sensitivity *s, double kl,
                         const char *path);

#endif
