/* SPDX-License-Identifier: Apache-2.0
 * bars.c: bars of a table. */
#include "tools/report/page.h"

void ctt_page_bars(FILE *f, const char *caption, const struct ctt_bar *bar,
                   int n)
{
    double most = 0;

    for (int k = 0; k < n; k++)
        most = bar[k].value > most ? bar[k].value : most;
    fprintf(f, "<div class=\"wide\"><table class=\"bars\">\n<caption>");
    ctt_page_text(f, caption);
    fprintf(f, "</caption>\n");
    for (int k = 0; k < n; k++) {
        fprintf(f, "<tr><th scope=\"row\">");
        ctt_page_text(f, bar[k].name);
        fprintf(f, "</th><td><span style=\"width:%.2frem\"></span> ",
                most > 0 ? 28 * bar[k].value / most : 0);
        ctt_page_text(f, bar[k].label);
        fprintf(f, "</td></tr>\n");
    }
    fprintf(f, "</table></div>\n");
}
