/* SPDX-License-Identifier: Apache-2.0
 * decide_plot.c: a picture of gaps against shares of frames seen. */
#include "bench/decide_plot.h"
#include "video/save.h"

#include <math.h>
#include <string.h>

enum { W = 520, H = 320, EDGE = 10, COLOURS = 3 };

static const double most = 0.3;    /* gap at the upper edge */

struct picture { uint8_t rgb[H][W][3]; };

static const uint8_t colours[COLOURS][3] = { { 0x1f, 0x5f, 0xbf },
    { 0xe0, 0x7b, 0x10 }, { 0x88, 0x88, 0x88 } };
static const uint8_t grid[3] = { 0xe4, 0xe4, 0xe4 }, axis[3] = { 0, 0, 0 };

static double plot_x(double seen)
{
    return EDGE + seen * (W - 2 * EDGE);
}

static double plot_y(double gap)
{
    return H - EDGE - gap / most * (H - 2 * EDGE);
}

/* A square of 2 * r + 1 pixels. */
static void draw_dot(struct picture *p, double x, double y, int r,
                     const uint8_t *c)
{
    for (int i = (int)lround(y) - r; i <= (int)lround(y) + r; i++)
        for (int j = (int)lround(x) - r; j <= (int)lround(x) + r; j++)
            if (i >= 0 && i < H && j >= 0 && j < W)
                memcpy(p->rgb[i][j], c, 3);
}

static void line(struct picture *p, double x0, double y0, double x1, double y1,
                 int r, const uint8_t *c)
{
    int n = (int)(fabs(x1 - x0) + fabs(y1 - y0)) + 1;

    for (int i = 0; i <= n; i++)
        draw_dot(p, x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n, r, c);
}

static void draw_grid(struct picture *p)
{
    memset(p, 0xff, sizeof(*p));
    for (int i = 0; i <= 10; i++)
        line(p, plot_x(0.1 * i), plot_y(0), plot_x(0.1 * i), plot_y(most), 0,
             grid);
    for (double gap = 0; gap < most + 0.01; gap += 0.05)
        line(p, plot_x(0), plot_y(gap), plot_x(1), plot_y(gap), 0, grid);
    line(p, plot_x(0), plot_y(0), plot_x(1), plot_y(0), 0, axis);
    line(p, plot_x(0), plot_y(0), plot_x(0), plot_y(most), 0, axis);
}

static void draw_curve(struct picture *p, const struct decide_curve *c,
                       const uint8_t *colour)
{
    for (int i = 0; i < c->points; i++) {
        double x = plot_x(c->point[i].seen), y = plot_y(c->point[i].gap);
        if (y < EDGE)
            continue;
        draw_dot(p, x, y, 3, colour);
        if (i && plot_y(c->point[i - 1].gap) >= EDGE)
            line(p, plot_x(c->point[i - 1].seen), plot_y(c->point[i - 1].gap),
                 x, y, 0, colour);
    }
}

int decide_plot(const char *path, const struct decide_curve *curve, int curves)
{
    static struct picture p;

    draw_grid(&p);
    for (int i = curves - 1; i >= 0; i--)
        draw_curve(&p, &curve[i], colours[i % COLOURS]);
    return ctt_save_png(path, &p.rgb[0][0][0], W, H, 3);
}
