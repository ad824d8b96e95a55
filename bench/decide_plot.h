/* SPDX-License-Identifier: Apache-2.0
 * decide_plot.h: a picture of gaps against shares of frames seen. */
#ifndef CTT_BENCH_DECIDE_PLOT_H
#define CTT_BENCH_DECIDE_PLOT_H

struct decide_point { double seen, gap; };
struct decide_curve { const struct decide_point *point; int points; };

/* Writes a PNG: from left to right 0 to 100% of the frames seen, a line per
 * 10%; from below 0 to 30% of the clips lost, a line per 5%.  The curves are
 * blue, orange and gray. */
int decide_plot(const char *path, const struct decide_curve *curve, int curves);

#endif
