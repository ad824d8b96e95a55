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

void ctt_page_begin(FILE *f, const char *title);
void ctt_page_end(FILE *f);

/* A heading of the second order, and a paragraph below it unless note is
 * NULL. */
void ctt_page_section(FILE *f, const char *heading, const char *note);
void ctt_page_text(FILE *f, const char *words);    /* escaped, no element */

/* The rows of t, of which the first is the head; t stays. */
void ctt_page_table(FILE *f, const char *caption, const struct ctt_table *t);

/* The same of words, without a head: columns begin at the left. */
void ctt_page_facts(FILE *f, const char *caption, const struct ctt_table *t);

/* ---- chart.c ---- */

/* A curve of n points; a y that is NAN interrupts it.  low, high: its interval,
 * or NULL. */
struct ctt_series {
    const char   *name;
    int           n;
    const double *x, *y, *low, *high;
};

/* steps: 1: a value holds until the next point.  percent: y are shares, printed
 * as %.  low, high: the range of y; both NAN: that of the values.  names: of
 * x = 0, 1, .., or NULL. */
struct ctt_chart {
    const char *title, *x, *y;
    const struct ctt_series *of;
    int    series, percent, steps;
    double low, high;
    const char *const *names;
};

/* A figure of the chart, its legend below, and a table of its numbers that is
 * shown on request.  Nothing if no series has a number. */
void ctt_page_chart(FILE *f, const struct ctt_chart *c);

/* Numbers 1, 2 or 5 times a power of ten, 3 to 9 of them, that cover low to
 * high: the first one and the distance; returns their count. */
int  ctt_ticks(double low, double high, double *first, double *step);

/* ---- bars.c ---- */

struct ctt_bar { const char *name; double value; char label[64]; };

/* A table of n bars from 0, each with its label behind it. */
void ctt_page_bars(FILE *f, const char *caption, const struct ctt_bar *bar,
                   int n);

/* ---- heat.c ---- */

/* clips[label][answer] of classes as a table whose cells are the darker the
 * larger their share of the row. */
void ctt_page_heat(FILE *f, const int64_t *clips, int classes,
                   char *const *name);

/* ---- strip.c ---- */

/* A picture of h x w x c bytes, c 1 or 3, of so many pixels on the page.
 * Returns errors of ctt_png_encode(); path: of the page. */
int  ctt_page_picture(FILE *f, const char *path, const uint8_t *data, int w,
                      int h, int c, const char *words);

/* n bytes in base 64; the caller frees it.  NULL: out of memory. */
char *ctt_base64(const uint8_t *p, int64_t n);

#endif
