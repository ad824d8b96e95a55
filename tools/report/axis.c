/* SPDX-License-Identifier: Apache-2.0
 * axis.c: the range of a chart, its axes and their numbers. */
#include "tools/report/page.h"

#include <math.h>
#include <string.h>

/* LETTER: mean width of a letter; NAMES: of them shown at most; LONGEST: bytes
 * of a name. */
enum { LETTER = 7, NAMES = 16, LONGEST = 18, BOTTOM = 42, SLOPE = 96,
       TICKS = 12 };

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

const char *ctt_page_number(double v, int percent, char text[CTT_PAGE_NUMBER])
{
    double size = fabs(v);
    int power = size > 0 ? (int)floor(log10(size) + 1e-9) : 0;

    if (percent)
        snprintf(text, CTT_PAGE_NUMBER, "%.3g%%", 100 * v);
    else if (size >= 9999.5 && size < 999.5e9)
        snprintf(text, CTT_PAGE_NUMBER, "%.3g%c",
                 v / (size < 999.5e3 ? 1e3 : size < 999.5e6 ? 1e6 : 1e9),
                 size < 999.5e3 ? 'k' : size < 999.5e6 ? 'M' : 'G');
    else if (size > 0 && (power < -3 || power > 8))
        snprintf(text, CTT_PAGE_NUMBER, "%.2ge%d", v / pow(10, power), power);
    else
        snprintf(text, CTT_PAGE_NUMBER, "%.4g", v);
    return text;
}

/* ---- the range ---- */

/* A number as its axis has it; below an axis of powers: -INFINITY. */
static double scaled(double v, int log)
{
    return !log ? v : v > 0 ? log10(v) : -INFINITY;
}

static void widen(double v, double *low, double *high)
{
    if (!isfinite(v))
        return;
    *low = fmin(*low, v);
    *high = fmax(*high, v);
}

static void cover(const struct ctt_series *s, struct ctt_area *a)
{
    for (int i = 0; i < s->n; i++) {
        if (!isfinite(s->y[i]))
            continue;
        widen(scaled(s->x[i], a->log_x), &a->x0, &a->x1);
        widen(scaled(s->y[i], a->log_y), &a->y0, &a->y1);
        widen(s->low ? scaled(s->low[i], a->log_y) : NAN, &a->y0, &a->y1);
        widen(s->high ? scaled(s->high[i], a->log_y) : NAN, &a->y0, &a->y1);
    }
}

/* A single number gets a range around it. */
static void open_range(double *low, double *high)
{
    double half = fabs(*low) / 2;

    if (!(*low <= *high))
        *low = *high = half = 0;
    if (*high - *low <= half * 1e-9) {
        *low -= half;
        *high += half > 0 ? half : 1;
    }
}

/* Both ends of the axis of y become numbers that it shows. */
static void round_range(struct ctt_area *a)
{
    int n;

    if (a->log_y) {
        a->y0 = floor(a->y0 + 1e-9);
        a->y1 = ceil(a->y1 - 1e-9);
        return;
    }
    n = ctt_ticks(a->y0, a->y1, &a->y0, &a->step);
    a->y1 = a->y0 + (n - 1) * a->step;
}

static int longest(const struct ctt_chart *c)
{
    int most = 0;

    for (int k = 0; k < c->count; k++)
        most = (int)strlen(c->names[k]) > most ? (int)strlen(c->names[k])
                                               : most;
    return most < LONGEST ? most : LONGEST;
}

static int has_slope(const struct ctt_chart *c)
{
    return c->names && longest(c) * LETTER * c->count >
                       CTT_CHART_W - CTT_CHART_LEFT - CTT_CHART_RIGHT;
}

/* An axis of powers of ten whose numbers are close is one of numbers. */
static void choose_scale(int *log, double low, double high)
{
    *log = *log && isfinite(low) && high - low >= 0.7;
}

static void find_range(const struct ctt_chart *c, struct ctt_area *a)
{
    a->x0 = a->y0 = INFINITY;
    a->x1 = a->y1 = -INFINITY;
    for (int k = 0; k < c->series && k < CTT_CHART_SERIES; k++)
        cover(&c->of[k], a);
    if (c->limit_name)
        widen(scaled(c->limit, a->log_y), &a->y0, &a->y1);
    a->y0 = isnan(c->low) ? a->y0 : scaled(c->low, a->log_y);
    a->y1 = isnan(c->high) ? a->y1 : scaled(c->high, a->log_y);
}

static int is_empty(const struct ctt_chart *c)
{
    for (int k = 0; k < c->series; k++)
        for (int i = 0; i < c->of[k].n; i++)
            if (isfinite(c->of[k].y[i]))
                return 0;
    return 1;
}

int ctt_area_find(const struct ctt_chart *c, struct ctt_area *a)
{
    *a = (struct ctt_area){ .log_x = c->log_x, .log_y = c->log_y,
                            .bottom = has_slope(c) ? SLOPE : BOTTOM };
    if (is_empty(c))
        return 0;
    find_range(c, a);
    choose_scale(&a->log_x, a->x0, a->x1);
    choose_scale(&a->log_y, a->y0, a->y1);
    find_range(c, a);
    open_range(&a->y0, &a->y1);
    a->y1 = c->percent ? fmin(a->y1, 1) : a->y1;
    round_range(a);
    if (c->names) {
        a->x0 = -0.5;
        a->x1 = c->count - 0.5;
    }
    open_range(&a->x0, &a->x1);
    return 1;
}

static double within(double v, double low, double high)
{
    return fmin(fmax((v - low) / (high - low), 0), 1);
}

double ctt_area_x(const struct ctt_area *a, double x)
{
    return CTT_CHART_LEFT + within(scaled(x, a->log_x), a->x0, a->x1) *
           (CTT_CHART_W - CTT_CHART_LEFT - CTT_CHART_RIGHT);
}

double ctt_area_y(const struct ctt_area *a, double y)
{
    return CTT_CHART_H - a->bottom -
           within(scaled(y, a->log_y), a->y0, a->y1) *
           (CTT_CHART_H - CTT_CHART_TOP - a->bottom);
}

/* ---- axes ---- */

/* Numbers of an axis of powers of ten: these, or 1, 2 and 5 times each if they
 * are few. */
static int powers(double low, double high, double v[TICKS])
{
    static const double parts[] = { 1, 2, 5 };
    int each = (int)ceil((high - low) / 6), few = high - low < 2.5, n = 0;

    for (int p = (int)floor(low); p <= high && n < TICKS;
         p += each > 0 ? each : 1)
        for (int k = 0; k < (few ? 3 : 1) && n < TICKS; k++) {
            double at = p + log10(parts[k]);

            if (at >= low - 1e-9 && at <= high + 1e-9)
                v[n++] = pow(10, at);
        }
    return n;
}

/* 1 if all x are whole numbers. */
static int is_whole(const struct ctt_chart *c)
{
    for (int k = 0; k < c->series && k < CTT_CHART_SERIES; k++)
        for (int i = 0; i < c->of[k].n; i++)
            if (isfinite(c->of[k].y[i]) && c->of[k].x[i] != rint(c->of[k].x[i]))
                return 0;
    return 1;
}

static int numbers(double low, double high, double step, double v[TICKS])
{
    int n = 0;

    for (double k = ceil(low / step - 1e-6); k <= high / step + 1e-6 &&
                                             n < TICKS; k++)
        v[n++] = k * step + 0.0;
    return n;
}

static int numbers_x(const struct ctt_chart *c, const struct ctt_area *a,
                     double v[TICKS])
{
    double first, step;

    ctt_ticks(a->x0, a->x1, &first, &step);
    return numbers(a->x0, a->x1, is_whole(c) && step < 1 ? 1 : step, v);
}

static void put_axis_y(FILE *f, const struct ctt_chart *c,
                       const struct ctt_area *a)
{
    double v[TICKS];
    int n = a->log_y ? powers(a->y0, a->y1, v) 
                     : numbers(a->y0, a->y1, a->step, v);
    int middle = (CTT_CHART_TOP + CTT_CHART_H - a->bottom) / 2;
    char text[CTT_PAGE_NUMBER];

    for (int k = 0; k < n; k++)
        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                "y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s"
                "</text>\n", CTT_CHART_LEFT, CTT_CHART_W - CTT_CHART_RIGHT,
                ctt_area_y(a, v[k]), ctt_area_y(a, v[k]),
                CTT_CHART_LEFT - 6, ctt_area_y(a, v[k]) + 4,
                ctt_page_number(v[k], c->percent, text));
    fprintf(f, "<text class=\"soft\" x=\"12\" y=\"%d\" transform=\"rotate(-90 "
            "12 %d)\" text-anchor=\"middle\">", middle, middle);
    ctt_page_text(f, c->y);
    fprintf(f, "</text>\n");
}

/* The beginning of a name, in whole characters. */
static void cut(const char *name, char text[LONGEST + 4])
{
    size_t n = strlen(name);

    if (n > LONGEST)
        for (n = LONGEST; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80; )
            n--;
    snprintf(text, LONGEST + 4, "%.*s%s", (int)n, name, name[n] ? ".." : "");
}

static void put_names(FILE *f, const struct ctt_chart *c,
                      const struct ctt_area *a)
{
    int each = (c->count + NAMES - 1) / NAMES, y = CTT_CHART_H - a->bottom + 16;
    char text[LONGEST + 4];

    for (int k = 0; k < c->count; k += each) {
        double x = ctt_area_x(a, k);

        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\"", x, y,
                has_slope(c) ? "end" : "middle");
        if (has_slope(c))
            fprintf(f, " transform=\"rotate(-35 %.1f %d)\"", x, y);
        cut(c->names[k], text);
        fprintf(f, ">");
        ctt_page_text(f, text);
        fprintf(f, "</text>\n");
    }
}

static void put_axis_x(FILE *f, const struct ctt_chart *c,
                       const struct ctt_area *a)
{
    double v[TICKS];
    int n = c->names ? 0 : a->log_x ? powers(a->x0, a->x1, v)
                         : numbers_x(c, a, v);
    char text[CTT_PAGE_NUMBER];

    for (int k = 0; k < n; k++)
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>"
                "\n", ctt_area_x(a, v[k]), CTT_CHART_H - a->bottom + 16,
                ctt_page_number(v[k], 0, text));
    if (c->names)
        put_names(f, c, a);
    fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
            (CTT_CHART_LEFT + CTT_CHART_W - CTT_CHART_RIGHT) / 2,
            CTT_CHART_H - 6);
    ctt_page_text(f, c->x);
    fprintf(f, "</text>\n");
}

void ctt_page_axes(FILE *f, const struct ctt_chart *c,
                   const struct ctt_area *a)
{
    put_axis_y(f, c, a);
    put_axis_x(f, c, a);
}
