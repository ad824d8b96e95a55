/* SPDX-License-Identifier: Apache-2.0
 * page.h: a page of HTML with tables and charts, in one file: no script, no
 * link, nothing that a browser loads.  Any text is escaped. */
#ifndef CTT_PAGE_H
#define CTT_PAGE_H

#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <stdint.h>
#include <stdio.h>

/* First bytes of the file. */
#define CTT_PAGE_BEGIN "<!DOCTYPE html>\n<!-- convtt: a report -->"

extern const struct ctt_output_kind ctt_output_page;

/* ---- page.c ---- */

/* Writes the page of --report-html at path, unless that is NULL, as print(f,
 * arg) does; where that fails the old one stays, a warning says so, the work
 * goes on, and the program ends with an error unless a later call succeeds. */
void ctt_page_write(const char *path, int (*print)(FILE *f, const void *arg),
                    const void *arg);

void ctt_page_begin(FILE *f, const char *title);
void ctt_page_end(FILE *f);

/* A heading of the second order, and a paragraph below it unless note is
 * NULL. */
void ctt_page_section(FILE *f, const char *heading, const char *note);

/* Escaped, without an element; control characters and bytes that are not UTF-8
 * become U+FFFD. */
void ctt_page_text(FILE *f, const char *words);

/* The rows of t, of which the first is the head; t stays. */
void ctt_page_table(FILE *f, const char *caption, const struct ctt_table *t);

/* The same of words, without a head: columns begin at the left. */
void ctt_page_facts(FILE *f, const char *caption, const struct ctt_table *t);

/* Begin and end a table that scrolls by itself; kind: its class. */
void ctt_page_table_begin(FILE *f, const char *kind, const char *caption);
void ctt_page_table_end(FILE *f);

/* ---- axis.c ---- */

/* A curve of n points; a y that is NAN interrupts it.  low, high: its interval,
 * or NULL.  dots: points without a line. */
struct ctt_series {
    const char   *name;
    int           n;
    const double *x, *y, *low, *high;
    int           dots;
};

/* steps: 1: a value holds until the next point.  percent: y are shares, printed
 * as %.  low, high: the range of y; NAN: that of the values.  names: of x = 0,
 * 1, .. count - 1, or NULL.  log_x, log_y: an axis in powers of ten unless its
 * numbers are close; those up to 0 are at its lower end.  limit: y of a line
 * across with a name, unless that is NULL. */
enum { CTT_CHART_SERIES = 32 };    /* more are left out */
struct ctt_chart {
    const char *title, *x, *y;
    const struct ctt_series *of;
    int    series, percent, steps;
    double low, high;
    const char *const *names;
    int    count, log_x, log_y;
    double limit;
    const char *limit_name;
};

/* Numbers 1, 2 or 5 times a power of ten, 3 to 9 of them, that cover low to
 * high: the first one and the distance; returns their count. */
int  ctt_ticks(double low, double high, double *first, double *step);

/* The place of a chart in the units of its drawing: x and y at the corners, as
 * logarithms on such axes; step: between numbers of y.  Used by chart.c. */
struct ctt_area { double x0, x1, y0, y1, step; int log_x, log_y, bottom; };
enum { CTT_CHART_W = 440, CTT_CHART_H = 250, CTT_CHART_LEFT = 58,
       CTT_CHART_RIGHT = 14, CTT_CHART_TOP = 10 };

/* find: 0: no series has a number. */
int    ctt_area_find(const struct ctt_chart *c, struct ctt_area *a);
double ctt_area_x(const struct ctt_area *a, double x);
double ctt_area_y(const struct ctt_area *a, double y);
void   ctt_page_axes(FILE *f, const struct ctt_chart *c,
                     const struct ctt_area *a);

/* A short number: "0.25", "12.5k", "3e-5"; of a share: "25%". */
enum { CTT_PAGE_NUMBER = 32 };
const char *ctt_page_number(double v, int percent,
                            char text[CTT_PAGE_NUMBER]);

/* ---- chart.c ---- */

/* A figure of the chart, its legend below, and a table of its numbers that is
 * shown on request.  Nothing if no series has a number. */
void ctt_page_chart(FILE *f, const struct ctt_chart *c);

/* ---- bars.c ---- */

/* A column of bars; form: of printf for a double, of the number above a bar. */
struct ctt_bars { const char *title, *form; };

/* A table of n named rows with bars from 0: value[n][columns]; NAN: none. */
void ctt_page_bars(FILE *f, const char *caption, const char *const *name,
                   int n, const struct ctt_bars *column, int columns,
                   const double *value);

/* ---- heat.c ---- */

/* clips[label][answer] of classes as a table whose cells are the darker the
 * larger their share of the row, and the classes that are taken for others most
 * often. */
void ctt_page_heat(FILE *f, const int64_t *clips, int classes,
                   char *const *name);

/* ---- strip.c ---- */

/* Frames of a clip, n x h x w x c bytes, c 1 or 3, under its name (any text),
 * and the chart of the answers below, unless that is NULL.  Pictures are made
 * smaller until each takes few bytes.  Returns errors of ctt_png_encode();
 * path: of the page. */
struct ctt_page_clip {
    const char    *path, *name, *note;
    const uint8_t *data;
    int            n, w, h, c;
};
int  ctt_page_strip(FILE *f, const struct ctt_page_clip *clip,
                    const struct ctt_chart *answers);

/* n bytes in base 64; the caller frees it.  NULL: out of memory. */
char *ctt_base64(const uint8_t *p, int64_t n);

#endif
