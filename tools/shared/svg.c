/* SPDX-License-Identifier: Apache-2.0
 * svg.c: the parts that pictures have in common. */
#include "tools/shared/picture.h"
#include "base/ctt.h"

#include <string.h>

static const char *const colours[] = { "#1f5fbf", "#e07b10", "#2a9d4a",
    "#c02a2a", "#7d4fc0", "#8c5a3c", "#d860b0", "#707070", "#b0a010",
    "#10a5b5" };

const char *ctt_svg_colour(int k)
{
    return colours[(size_t)k % CTT_LEN(colours)];
}

const char *ctt_svg_dash(int k)
{
    return (size_t)k < CTT_LEN(colours) ? "" : " stroke-dasharray=\"5 2\"";
}

void ctt_svg_begin(FILE *f, int width, int height)
{
    fprintf(f, CTT_SVG_BEGIN " width=\"%d\" height=\"%d\" font-family=\""
            "sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\""
            "100%%\" fill=\"#fff\"/>\n", width, height);
}

void ctt_svg_end(FILE *f)
{
    fprintf(f, "</svg>\n");
}

/* Names of classes and files may have any characters. */
static void put_escaped(FILE *f, const char *words)
{
    for (; *words; words++)
        if (strchr("<>&\"", *words))
            fprintf(f, "&#%d;", *words);
        else
            putc(*words, f);
}

void ctt_svg_text(FILE *f, double x, double y, const char *anchor,
                  const char *words)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_escaped(f, words);
    fprintf(f, "</text>\n");
}

void ctt_svg_line(FILE *f, double x0, double y0, double x1, double y1,
                  const char *style)
{
    fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n",
            x0, y0, x1, y1, style);
}
