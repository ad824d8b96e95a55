/* SPDX-License-Identifier: Apache-2.0
 * page.c: the frame of a page, its text and its tables. */
#include "tools/report/page.h"

#include <string.h>

const struct ctt_output_kind ctt_output_page = {
    .name = "report", .begin = CTT_PAGE_BEGIN };

/* Light and dark by the reader's setting; the colours of curves are those of
 * Okabe and Ito 2008, which all readers can tell apart. */
static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--soft:#666;"
    "--rule:#ddd;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;"
    "--c4:#e69f00;--c5:#56b4e9;--c6:#8c5a3c;--c7:#666}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#161616;"
    "--soft:#a8a8a8;--rule:#3a3a3a;--c0:#4aa8e8;--c7:#b0b0b0}}\n"
    "@media print{:root{--ink:#000;--paper:#fff;--soft:#444;--rule:#bbb}"
    "details{display:none}figure{break-inside:avoid}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper);max-width:60rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;"
    "border-bottom:1px solid var(--rule)}\n"
    "p,figcaption,caption{color:var(--soft);text-align:left}\n"
    "figure,.wide{margin:1rem 0;overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.15rem .7rem .15rem 0;text-align:right;"
    "border-bottom:1px solid var(--rule)}\n"
    "td{white-space:nowrap}th:first-child,td:first-child{text-align:left}\n"
    ".heat td{min-width:1.6rem;text-align:center;padding:.2rem}\n"
    ".heat th{font-weight:normal;text-align:left;white-space:nowrap}\n"
    ".heat .col{writing-mode:vertical-rl}.heat thead th{vertical-align:bottom}"
    ".facts td,.bars td{text-align:left}.bars th{font-weight:normal}"
    ".bars span{display:inline-block;height:.8em;background:var(--c0)}\n"
    "svg.plot{width:100%;height:auto;min-width:30rem;max-width:44rem;"
    "font-size:12px}\n"
    "svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}\n"
    "svg .grid{stroke:var(--rule)}\n"
    ".key{display:inline-block;margin-right:1.2rem;color:var(--ink)}\n"
    ".strip{display:flex;gap:2px;flex-wrap:wrap}\n"
    ".strip img{width:6rem;image-rendering:pixelated}\n"
    "summary{color:var(--soft);cursor:pointer}\n";

void ctt_page_text(FILE *f, const char *words)
{
    for (; *words; words++)
        if (strchr("<>&\"'", *words))
            fprintf(f, "&#%d;", *words);
        else if ((unsigned char)*words >= ' ' || *words == '\n')
            putc(*words, f);
}

void ctt_page_begin(FILE *f, const char *title)
{
    fprintf(f, CTT_PAGE_BEGIN "\n<html lang=\"en\">\n<head>\n"
            "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
            "content=\"width=device-width, initial-scale=1\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n<title>");
    ctt_page_text(f, title);
    fprintf(f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>",
            style);
    ctt_page_text(f, title);
    fprintf(f, "</h1>\n");
}

void ctt_page_end(FILE *f)
{
    fprintf(f, "<p>convtt " CTT_VERSION "</p>\n</main>\n</body>\n</html>\n");
}

void ctt_page_section(FILE *f, const char *heading, const char *note)
{
    fprintf(f, "<h2>");
    ctt_page_text(f, heading);
    fprintf(f, "</h2>\n");
    if (!note)
        return;
    fprintf(f, "<p>");
    ctt_page_text(f, note);
    fprintf(f, "</p>\n");
}

static void put_row(FILE *f, const char *row, const char *cell)
{
    char text[512];

    fprintf(f, "<tr>");
    for (const char *s = row; ; s++) {
        size_t n = strcspn(s, "\t");

        snprintf(text, sizeof(text), "%.*s", (int)n, s);
        fprintf(f, "<%s%s>", cell, cell[1] == 'h' ? " scope=\"col\"" : "");
        ctt_page_text(f, text);
        fprintf(f, "</%s>", cell);
        s += n;
        if (!*s)
            break;
    }
    fprintf(f, "</tr>\n");
}

static void put_table(FILE *f, const char *kind, const char *caption,
                      const struct ctt_table *t, int head)
{
    fprintf(f, "<div class=\"wide\"><table class=\"%s\">\n<caption>", kind);
    ctt_page_text(f, caption);
    fprintf(f, "</caption>\n");
    for (int r = 0; r < t->rows; r++)
        put_row(f, t->row[r], r || !head ? "td" : "th");
    fprintf(f, "</table></div>\n");
}

void ctt_page_table(FILE *f, const char *caption, const struct ctt_table *t)
{
    put_table(f, "numbers", caption, t, 1);
}

void ctt_page_facts(FILE *f, const char *caption, const struct ctt_table *t)
{
    put_table(f, "facts", caption, t, 0);
}
