/* SPDX-License-Identifier: Apache-2.0
 * svg.h: the parts that pictures have in common. */
#ifndef CTT_TOOL_SVG_H
#define CTT_TOOL_SVG_H

#include <stdio.h>

/* How the file begins. */
#define CTT_SVG_BEGIN "<svg xmlns=\"http://www.w3.org/2000/svg\" " \
    "data-by=\"convtt\""

/* The first lines of a picture of that size, on white; its last one. */
void ctt_svg_begin(FILE *f, int width, int height);
void ctt_svg_end(FILE *f);

/* anchor: start, middle or end. */
void ctt_svg_text(FILE *f, double x, double y, const char *anchor,
                  const char *words);

/* style: attributes, such as "stroke=\"#ddd\"". */
void ctt_svg_line(FILE *f, double x0, double y0, double x1, double y1,
                  const char *style);

/* The colour of curve k, and its dashes once colours begin anew. */
const char *ctt_svg_colour(int k);
const char *ctt_svg_dash(int k);

#endif
