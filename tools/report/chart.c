/* SPDX-License-Identifier: Apache-2.0
 * chart.c: curves with their intervals, as SVG inside a page. */
#include "tools/report/page.h"

#include <math.h>

/* Units of the drawing. */
enum { WIDTH = 640, HEIGHT = 280, LEFT = 56, RIGHT = 16, TOP = 16, BOTTOM = 44,
       COLOURS = 8, MOST = 400 };    /* MOST: points drawn of a curve */

/* Its place: values x0 to x1 and y0 to y1 are the corners. */
struct area { double x0, x1, y0, y1; };

static double across(const struct area *a, double x)
{
    return LEFT + (x - a->x0) / (a->x1 - a->x0) * (WIDTH - LEFT - RIGHT);
}

static double up(const struct area *a, double y)
{
    y = fmin(fmax(y, a->y0), a->y1);
    return HEIGHT - BOTTOM -
           (y - a->y0) / (a->y1 - a->y0) * (HEIGHT - TOP - BOTTOM);
}

int ctt_ticks(double low, double high, double *first, double *step)
{
    static const double parts[] = { 1, 2, 5, 10 };
    double span = fmax(high - low, 1e-12);
    double unit = pow(10, floor(log10(span / 4)));
    int k = 0;

    while (k < 3 && span / (unit * parts[k]) > 6)
        k++;
    *step = unit * parts[k];
    *first = floor(low / *step + 1e-9) * *step;
    return (int)lround(ceil((high - *first) / *step - 1e-9)) + 1;
}

/* ---- the range ---- */

static void widen(double v, double *low, double *high)
{
    if (!isfinite(v))
        return;
    *low = fmin(*low, v);
    *high = fmax(*high, v);
}

static int find_area(const struct ctt_chart *c, struct area *a)
{
    *a = (struct area){ INFINITY, -INFINITY, INFINITY, -INFINITY };
    for (int k = 0; k < c->series; k++)
        for (int i = 0; i < c->of[k].n; i++) {
            if (!isfinite(c->of[k].y[i]))
                continue;
            widen(c->of[k].x[i], &a->x0, &a->x1);
            widen(c->of[k].y[i], &a->y0, &a->y1);
        }
    if (!(a->x0 <= a->x1))
        return 0;
    a->x1 = a->x1 > a->x0 ? a->x1 : a->x0 + 1;
    a->y0 = isnan(c->low) ? a->y0 : c->low;
    a->y1 = isnan(c->high) ? a->y1 : c->high;
    a->y1 = a->y1 > a->y0 ? a->y1 : a->y0 + 1;
    return 1;
}

/* ---- axes ---- */

static void put_number(FILE *f, double v, int percent)
{
    fprintf(f, percent ? "%.3g%%" : "%.3g", percent ? 100 * v : v);
}

static void put_axis_y(FILE *f, const struct ctt_chart *c, struct area *a)
{
    double first, step;
    int n = ctt_ticks(a->y0, a->y1, &first, &step);

    a->y0 = first;
    a->y1 = first + (n - 1) * step;
    for (int k = 0; k < n; k++) {
        double v = fabs(first + k * step) < step / 1e6 ? 0 : first + k * step;

        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                "y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                LEFT, WIDTH - RIGHT, up(a, v), up(a, v), LEFT - 6,
                up(a, v) + 4);
        put_number(f, v, c->percent);
        fprintf(f, "</text>\n");
    }
    fprintf(f, "<text class=\"soft\" x=\"12\" y=\"%d\" transform=\"rotate(-90 "
            "12 %d)\" text-anchor=\"middle\">", (HEIGHT - BOTTOM) / 2,
            (HEIGHT - BOTTOM) / 2);
    ctt_page_text(f, c->y);
    fprintf(f, "</text>\n");
}

static void put_axis_x(FILE *f, const struct ctt_chart *c, const struct area *a)
{
    double first = a->x0, step = 1;
    int n = c->names ? (int)(a->x1 - a->x0) + 1
                     : ctt_ticks(a->x0, a->x1, &first, &step);

    for (int k = 0; k < n; k++) {
        double v = first + k * step;

        if (v < a->x0 - step / 1e6 || v > a->x1 + step / 1e6)
            continue;
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">",
                across(a, v), HEIGHT - BOTTOM + 16,
                c->names && k == n - 1 && n > 1 ? "end" : "middle");
        if (c->names)
            ctt_page_text(f, c->names[(int)v]);
        else
            put_number(f, v, 0);
        fprintf(f, "</text>\n");
    }
    fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
    ctt_page_text(f, c->x);
    fprintf(f, "</text>\n");
}

/* ---- curves ---- */

/* Points of a long curve that are drawn. */
static int every(const struct ctt_series *s)
{
    return (s->n + MOST - 1) / MOST;
}

static void put_interval(FILE *f, const struct ctt_series *s, int k,
                         const struct area *a)
{
    for (int i = 0; s->low && i < s->n; i += every(s))
        if (isfinite(s->y[i]) && isfinite(s->low[i]) && isfinite(s->high[i]))
            fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                    "stroke=\"var(--c%d)\" stroke-width=\"4\" "
                    "stroke-opacity=\".3\"/>\n", across(a, s->x[i]),
                    across(a, s->x[i]), up(a, s->low[i]), up(a, s->high[i]),
                    k % COLOURS);
}

/* Each second one is dashed, so that colours are not needed. */
static const char *dash(int k)
{
    static const char *const dashes[] = { "none", "7 3", "2 3", "9 3 2 3" };

    return dashes[k % 4];
}

static void put_curve(FILE *f, const struct ctt_chart *c, int k,
                      const struct area *a)
{
    const struct ctt_series *s = &c->of[k];
    int open = 0;

    fprintf(f, "<path fill=\"none\" stroke=\"var(--c%d)\" stroke-width=\"2\" "
            "stroke-dasharray=\"%s\" d=\"", k % COLOURS, dash(k));
    for (int i = 0; i < s->n; i += every(s)) {
        double x = across(a, s->x[i]);

        if (isfinite(s->y[i]) && open && c->steps)
            fprintf(f, "H%.1f", x);
        if (isfinite(s->y[i]))
            fprintf(f, "%s%.1f %.1f", open ? "L" : "M", x, up(a, s->y[i]));
        open = isfinite(s->y[i]);
    }
    fprintf(f, "\"/>\n");
    for (int i = 0; s->n <= 40 && i < s->n; i++)
        if (isfinite(s->y[i]))
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" "
                    "fill=\"var(--c%d)\"/>\n", across(a, s->x[i]),
                    up(a, s->y[i]), k % COLOURS);
}

/* ---- text ---- */

static void put_key(FILE *f, const struct ctt_chart *c, int k)
{
    fprintf(f, "<span class=\"key\"><svg style=\"width:2.2em;height:.7em\" "
            "viewBox=\"0 0 32 10\" aria-hidden=\"true\"><line x1=\"0\" "
            "x2=\"32\" y1=\"5\" y2=\"5\" stroke=\"var(--c%d)\" "
            "stroke-width=\"3\" stroke-dasharray=\"%s\"/></svg> ", k % COLOURS,
            dash(k));
    ctt_page_text(f, c->of[k].name);
    fprintf(f, "</span>\n");
}

static void put_cell(FILE *f, double v, int percent)
{
    fprintf(f, "<td>");
    if (isfinite(v))
        fprintf(f, percent ? "%.1f%%" : "%.4g", percent ? 100 * v : v);
    fprintf(f, "</td>");
}

static void put_name(FILE *f, const char *name)
{
    fprintf(f, "<td>");
    ctt_page_text(f, name);
    fprintf(f, "</td>");
}

static void put_numbers(FILE *f, const struct ctt_chart *c)
{
    fprintf(f, "<details><summary>numbers</summary><div class=\"wide\">"
            "<table>\n<tr><th scope=\"col\">curve</th><th scope=\"col\">");
    ctt_page_text(f, c->x);
    fprintf(f, "</th><th scope=\"col\">");
    ctt_page_text(f, c->y);
    fprintf(f, "</th></tr>\n");
    for (int k = 0; k < c->series; k++)
        for (int i = 0; i < c->of[k].n; i += every(&c->of[k])) {
            fprintf(f, "<tr><td>");
            ctt_page_text(f, c->of[k].name);
            fprintf(f, "</td>");
            if (c->names)
                put_name(f, c->names[(int)c->of[k].x[i]]);
            else
                put_cell(f, c->of[k].x[i], 0);
            put_cell(f, c->of[k].y[i], c->percent);
            fprintf(f, "</tr>\n");
        }
    fprintf(f, "</table></div></details>\n");
}

void ctt_page_chart(FILE *f, const struct ctt_chart *c)
{
    struct area a;

    if (!find_area(c, &a))
        return;
    fprintf(f, "<figure>\n<figcaption>");
    ctt_page_text(f, c->title);
    fprintf(f, "</figcaption>\n<svg class=\"plot\" viewBox=\"0 0 %d %d\" "
            "role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    ctt_page_text(f, c->title);
    fprintf(f, "\">\n");
    put_axis_y(f, c, &a);
    put_axis_x(f, c, &a);
    for (int k = 0; k < c->series; k++)
        put_interval(f, &c->of[k], k, &a);
    for (int k = 0; k < c->series; k++)
        put_curve(f, c, k, &a);
    fprintf(f, "</svg>\n<div>");
    for (int k = 0; k < c->series; k++)
        put_key(f, c, k);
    fprintf(f, "</div>\n");
    put_numbers(f, c);
    fprintf(f, "</figure>\n");
}
