/* SPDX-License-Identifier: Apache-2.0
 * page.c: the frame of a page, its text and its tables. */
#include "tools/report/page.h"
#include "base/newfile.h"
#include "base/visible.h"

#include <ctype.h>
#include <string.h>

const struct ctt_output_kind ctt_output_page = {
    .name = "report", .begin = CTT_PAGE_BEGIN };

_Static_assert(sizeof(CTT_PAGE_BEGIN) <= CTT_OUTPUT_BEGIN, "longest");

/* Light and dark by the reader's setting; the colours of curves are those of
 * Okabe and Ito 2008, which all readers can tell apart, the light ones darker
 * on white. */
static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--soft:#595959;"
    "--rule:#ddd;--c0:#0072b2;--c1:#d55e00;--c2:#008a64;--c3:#b85c93;"
    "--c4:#a87400;--c5:#2889b8;--c6:#8c5a3c;--c7:#666}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#161616;"
    "--soft:#a8a8a8;--rule:#3a3a3a;--c0:#4aa8e8;--c1:#f08040;--c2:#20b890;"
    "--c3:#dd90bb;--c4:#e69f00;--c5:#7cc8f0;--c6:#c8987a;--c7:#b0b0b0}}\n"
    "@media print{:root{--ink:#000;--paper:#fff;--soft:#444;--rule:#bbb;"
    "--c0:#0072b2;--c1:#d55e00;--c2:#008a64;--c3:#b85c93;--c4:#a87400;"
    "--c5:#2889b8;--c6:#8c5a3c;--c7:#666}details{display:none}"
    "figure,tr{break-inside:avoid}h2,h3{break-after:avoid}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper);max-width:63rem;margin:0 auto;padding:1rem;"
    "overflow-wrap:anywhere;print-color-adjust:exact}\n"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;"
    "border-bottom:1px solid var(--rule)}h3{font-size:1rem;margin:1.2rem 0 0}"
    "\nh1,h3,td,th,.key{unicode-bidi:isolate}"
    "p,caption{color:var(--soft);text-align:left}"
    "figcaption{font-weight:600}\n"
    "figure{display:inline-block;width:min(100%,30.5rem);vertical-align:top;"
    "margin:1rem .6rem 1rem 0}.wide{margin:1rem 0;overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.15rem .7rem .15rem 0;text-align:right;"
    "border-bottom:1px solid var(--rule)}\n"
    "td{white-space:nowrap;vertical-align:top}"
    "th{font-weight:600;overflow-wrap:normal;"
    "vertical-align:bottom}th.w,td.w{text-align:left}td.w{white-space:normal;"
    "min-width:5rem}th[scope=row]{font-weight:normal;"
    "vertical-align:top}"
    "th:first-child,td:first-child{text-align:left}"
    ".numbers th{min-width:3rem}\n"
    ".heat td{min-width:1.6rem;text-align:center;padding:.2rem}\n"
    ".heat th{font-weight:normal;text-align:left;white-space:nowrap}\n"
    ".heat .col{display:inline-block;writing-mode:vertical-rl;"
    "max-height:22rem;overflow:hidden;text-overflow:ellipsis}"
    "@media(max-width:40rem){.heat th[scope=row]{max-width:8rem;"
    "overflow:hidden;text-overflow:ellipsis}}"
    ".heat thead th{vertical-align:bottom}\n"
    ".facts td,.bars td,.bars th{text-align:left;vertical-align:top;"
    "white-space:normal}.bars{width:100%}.bars td{min-width:4.5rem}"
    ".bars span{display:block;height:.6em;background:var(--c0)}"
    ".bars .less{background:var(--c1)}\n"
    "svg.plot{width:100%;height:auto;font-size:12px}\n"
    "svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}\n"
    "svg .grid{stroke:var(--rule)}"
    ".limit{stroke:var(--ink);stroke-dasharray:4 3}\n"
    ".key{display:inline-block;margin-right:1.2rem}"
    ".key svg{width:2.2em;height:.7em}\n"
    ".strip{display:flex;gap:2px;flex-wrap:wrap}\n"
    ".strip img{width:6rem;height:6rem;object-fit:contain;"
    "image-rendering:pixelated}\n"
    "summary{color:var(--soft);cursor:pointer}\n";

void ctt_page_write(const char *path, int (*print)(FILE *f, const void *arg),
                    const void *arg)
{
    int failed = path && ctt_file_print(path, print, arg) < 0;

    if (failed)
        ctt_tool_warn("--report-html: %s; the page stays as it was",
                      ctt_errmsg());
    ctt_tool_lacks(failed ? "the page of --report-html was not written" : NULL);
}

void ctt_page_text(FILE *f, const char *words)
{
    while (*words) {
        int n = ctt_utf8_length(words);

        if (strchr("<>&\"'", *words))
            fprintf(f, "&#%d;", *words);
        else if (n > 0 && (*words == '\n' || !ctt_utf8_is_control(words, n)))
            fprintf(f, "%.*s", n, words);
        else
            fputs("\xef\xbf\xbd", f);
        words += n > 0 ? n : 1;
    }
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

/* The cell of a row; "" behind the last one. */
static const char *cell(const char *row, int column)
{
    for (; column > 0; column--) {
        row += strcspn(row, "\t");
        row += *row != '\0';
    }
    return row;
}

/* 1 if a column has words below its head. */
static int has_words(const struct ctt_table *t, int column)
{
    for (int r = 1; r < t->rows; r++) {
        const char *s = cell(t->row[r], column);

        if (isalpha((unsigned char)*s) && strncmp(s, "busy", 4) != 0)
            return 1;
    }
    return 0;
}

/* A row of cells; the first one names it. */
static void put_row(FILE *f, const struct ctt_table *t, int row, int head)
{
    const char *s = t->row[row];
    char text[1024];

    fprintf(f, "<tr>");
    for (int k = 0; ; s++, k++) {
        size_t n = strcspn(s, "\t");
        int is_head = head || k == 0;

        snprintf(text, sizeof(text), "%.*s", (int)n, s);
        fprintf(f, "<%s%s>", !is_head ? "td" : head ? "th scope=\"col\""
                                                    : "th scope=\"row\"",
                has_words(t, k) ? " class=\"w\"" : "");
        ctt_page_text(f, text);
        fprintf(f, is_head ? "</th>" : "</td>");
        s += n;
        if (!*s)
            break;
    }
    fprintf(f, "</tr>\n");
}

void ctt_page_table_begin(FILE *f, const char *kind, const char *caption)
{
    fprintf(f, "<div class=\"wide\" role=\"region\" tabindex=\"0\" "
            "aria-label=\"");
    ctt_page_text(f, caption);
    fprintf(f, "\"><table class=\"%s\">\n<caption>", kind);
    ctt_page_text(f, caption);
    fprintf(f, "</caption>\n");
}

void ctt_page_table_end(FILE *f)
{
    fprintf(f, "</table></div>\n");
}

static void put_table(FILE *f, const char *kind, const char *caption,
                      const struct ctt_table *t, int head)
{
    ctt_page_table_begin(f, kind, caption);
    for (int r = 0; r < t->rows; r++)
        put_row(f, t, r, head && !r);
    ctt_page_table_end(f);
}

void ctt_page_table(FILE *f, const char *caption, const struct ctt_table *t)
{
    put_table(f, "numbers", caption, t, 1);
}

void ctt_page_facts(FILE *f, const char *caption, const struct ctt_table *t)
{
    put_table(f, "facts", caption, t, 0);
}
