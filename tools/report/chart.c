/* SPDX-License-Identifier: Apache-2.0
 * chart.c: curves with their intervals, as SVG inside a page. */
#include "tools/report/page.h"

#include <math.h>

/* MOST: points drawn of a curve; ROWS: of its table; DOTS: points of a curve
 * that has dots. */
enum { COLOURS = 8, MOST = 200, ROWS = 50, DOTS = 40 };

/* ---- curves ---- */

static int shown(const struct ctt_chart *c)
{
    return c->series < CTT_CHART_SERIES ? c->series : CTT_CHART_SERIES;
}

/* The next point that is drawn of a long curve, whose last one always is. */
static int next(const struct ctt_series *s, int i, int most)
{
    int each = (s->n + most - 1) / most;

    return i + each < s->n || i == s->n - 1 ? i + each : s->n - 1;
}

/* Bars of several curves stand beside each other, in groups of four. */
static double aside_of(const struct ctt_chart *c, int k)
{
    int before = 0, all = 0;

    for (int i = 0; i < shown(c); i++) {
        before += c->of[i].low && i < k;
        all += c->of[i].low != NULL;
    }
    return c->of[k].dots ? 0 : 4 * (before % 4 - ((all < 4 ? all : 4) - 1) /
                                                 2.0);
}

static void put_interval(FILE *f, const struct ctt_chart *c,
                         const struct ctt_area *a, int k)
{
    const struct ctt_series *s = &c->of[k];
    double aside = aside_of(c, k);

    if (!s->low)
        return;
    fprintf(f, "<path stroke=\"var(--c%d)\" stroke-width=\"3\" "
            "stroke-opacity=\".4\" d=\"", k % COLOURS);
    for (int i = 0; i < s->n; i = next(s, i, MOST))
        if (isfinite(s->y[i]) && isfinite(s->low[i]) && isfinite(s->high[i]))
            fprintf(f, "M%.1f %.1fV%.1f", ctt_area_x(a, s->x[i]) + aside,
                    ctt_area_y(a, s->low[i]), ctt_area_y(a, s->high[i]));
    fprintf(f, "\"/>\n");
}

/* So that colours are not needed: no two of 32 have colour and dashes alike. */
static const char *dash(int k)
{
    static const char *const dashes[] = { "none", "7 3", "2 3", "9 3 2 3" };

    return dashes[(k + k / COLOURS) % 4];
}

/* Circles, squares and diamonds. */
static void put_dot(FILE *f, int k, double x, double y, double r)
{
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "rx=\"%.1f\" fill=\"var(--c%d)\"", x - r, y - r, 2 * r, 2 * r,
            k % 3 ? 0 : r, k % COLOURS);
    if (k % 3 == 2)
        fprintf(f, " transform=\"rotate(45 %.1f %.1f)\"", x, y);
    fprintf(f, "/>");
}

static void put_dots(FILE *f, const struct ctt_chart *c,
                     const struct ctt_area *a, int k)
{
    const struct ctt_series *s = &c->of[k];
    double r = s->dots ? 3.5 : 2.5;

    for (int i = 0; i < s->n; i = s->dots ? i + 1 : next(s, i, MOST)) {
        double x = ctt_area_x(a, s->x[i]), y = ctt_area_y(a, s->y[i]);

        if (!isfinite(s->y[i]))
            continue;
        put_dot(f, k, x, y, r);
        fprintf(f, "\n");
    }
}

static void put_curve(FILE *f, const struct ctt_chart *c,
                      const struct ctt_area *a, int k)
{
    const struct ctt_series *s = &c->of[k];
    int open = 0;

    if (!s->dots) {
        fprintf(f, "<path fill=\"none\" stroke=\"var(--c%d)\" "
                "stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"",
                k % COLOURS, dash(k));
        for (int i = 0; i < s->n; i = next(s, i, MOST)) {
            double x = ctt_area_x(a, s->x[i]);

            if (isfinite(s->y[i]) && open && c->steps)
                fprintf(f, "H%.1f", x);
            if (isfinite(s->y[i]))
                fprintf(f, "%s%.1f %.1f", open ? "L" : "M", x,
                        ctt_area_y(a, s->y[i]));
            open = isfinite(s->y[i]);
        }
        fprintf(f, "\"/>\n");
    }
    if (s->dots || s->n <= DOTS)
        put_dots(f, c, a, k);
}

static void put_limit(FILE *f, const struct ctt_chart *c,
                      const struct ctt_area *a)
{
    if (c->limit_name)
        fprintf(f, "<line class=\"limit\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                "y2=\"%.1f\"/>\n", CTT_CHART_LEFT,
                CTT_CHART_W - CTT_CHART_RIGHT, ctt_area_y(a, c->limit),
                ctt_area_y(a, c->limit));
}

/* ---- text ---- */

static void begin_key(FILE *f)
{
    fprintf(f, "<span class=\"key\"><svg viewBox=\"0 0 32 10\" "
            "aria-hidden=\"true\">");
}

static void end_key(FILE *f, const char *name)
{
    fprintf(f, "</svg> ");
    ctt_page_text(f, name);
    fprintf(f, "</span>\n");
}

static void put_key(FILE *f, const struct ctt_chart *c, int k)
{
    begin_key(f);
    if (c->of[k].dots)
        put_dot(f, k, 16, 5, 4);
    else
        fprintf(f, "<path d=\"M0 5H32\" stroke=\"var(--c%d)\" "
                "stroke-width=\"3\" stroke-dasharray=\"%s\"/>", k % COLOURS,
                dash(k));
    end_key(f, c->of[k].name);
}

static void put_legend(FILE *f, const struct ctt_chart *c)
{
    fprintf(f, "<div>");
    for (int k = 0; k < shown(c) && c->series > 1; k++)
        if (c->of[k].n)
            put_key(f, c, k);
    if (c->limit_name) {
        begin_key(f);
        fprintf(f, "<path class=\"limit\" d=\"M0 5H32\"/>");
        end_key(f, c->limit_name);
    }
    if (c->series > shown(c))
        fprintf(f, "and %d more", c->series - shown(c));
    fprintf(f, "</div>\n");
}

static void put_cell(FILE *f, const struct ctt_chart *c,
                     const struct ctt_series *s, int i)
{
    char text[CTT_PAGE_NUMBER];

    if (!isfinite(s->y[i]))
        return;
    fprintf(f, "%s", ctt_page_number(s->y[i], c->percent, text));
    if (s->low && isfinite(s->low[i]) && isfinite(s->high[i]))
        fprintf(f, " (%s", ctt_page_number(s->low[i], c->percent, text)),
        fprintf(f, " to %s)", ctt_page_number(s->high[i], c->percent, text));
}

/* The least x at the places of the curves, NAN if all have ended; the curves
 * that have it are one further, and is[] has their points, -1: none. */
static double next_x(const struct ctt_chart *c, int *at, int *is)
{
    double x = NAN;

    for (int k = 0; k < shown(c); k++)
        if (at[k] < c->of[k].n)
            x = fmin(x, c->of[k].x[at[k]]);
    for (int k = 0; k < shown(c); k++)
        is[k] = at[k] < c->of[k].n && c->of[k].x[at[k]] <= x ? at[k]++ : -1;
    return x;
}

static void put_numbers_row(FILE *f, const struct ctt_chart *c, double x,
                            const int *is)
{
    char text[CTT_PAGE_NUMBER];

    fprintf(f, "<tr><th scope=\"row\">");
    ctt_page_text(f, c->names ? c->names[(int)x] : ctt_page_number(x, 0, text));
    fprintf(f, "</th>");
    for (int k = 0; k < shown(c); k++) {
        fprintf(f, "<td>");
        if (is[k] >= 0)
            put_cell(f, c, &c->of[k], is[k]);
        fprintf(f, "</td>");
    }
    fprintf(f, "</tr>\n");
}

/* A row for each x, up to ROWS of them, the last one too. */
static void put_numbers(FILE *f, const struct ctt_chart *c)
{
    int at[2][CTT_CHART_SERIES] = { { 0 } }, is[CTT_CHART_SERIES];
    int rows = 0, each;
    double x;

    while (!isnan(next_x(c, at[0], is)))
        rows++;
    each = (rows + ROWS - 1) / ROWS;
    fprintf(f, "<details><summary>numbers</summary>");
    ctt_page_table_begin(f, "numbers", c->y);
    fprintf(f, "<tr><th scope=\"col\">");
    ctt_page_text(f, c->x);
    for (int k = 0; k < shown(c); k++) {
        fprintf(f, "</th><th scope=\"col\">");
        ctt_page_text(f, c->of[k].name);
    }
    fprintf(f, "</th></tr>\n");
    while (!isnan(x = next_x(c, at[1], is)))
        if (--rows % each == 0)
            put_numbers_row(f, c, x, is);
    ctt_page_table_end(f);
    fprintf(f, "</details>\n");
}

void ctt_page_chart(FILE *f, const struct ctt_chart *c)
{
    struct ctt_area a;

    if (!ctt_area_find(c, &a))
        return;
    fprintf(f, "<figure>\n<figcaption>");
    ctt_page_text(f, c->title);
    fprintf(f, "</figcaption>\n<svg class=\"plot\" viewBox=\"0 0 %d %d\" "
            "role=\"img\" aria-label=\"", CTT_CHART_W, CTT_CHART_H);
    ctt_page_text(f, c->title);
    fprintf(f, "; its numbers follow as a table\">\n");
    ctt_page_axes(f, c, &a);
    put_limit(f, c, &a);
    for (int k = 0; k < shown(c); k++)
        put_interval(f, c, &a, k);
    for (int k = 0; k < shown(c); k++)
        put_curve(f, c, &a, k);
    fprintf(f, "</svg>\n");
    put_legend(f, c);
    put_numbers(f, c);
    fprintf(f, "</figure>\n");
}
