/* SPDX-License-Identifier: Apache-2.0
 * test_format.c: the tables of doc/format.md against those of the code: the
 * contents, operations, their keys, cells, codings. */
#include "net/graph.h"
#include "net/code/code.h"
#include "net/op.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 4000, COLUMNS = 5 };

static char *page, *line[LINES];
static int lines;

/* ---- the page ---- */

static int read_page(void)
{
    const char *top = getenv("srcdir");
    char path[1024];

    snprintf(path, sizeof(path), "%s/doc/format.md", top ? top : ".");
    if (ctt_net_read(path, &page) < 0)
        return 0;
    for (char *s = page; *s && lines < LINES; lines++) {
        line[lines] = s;
        s += strcspn(s, "\n");
        if (*s)
            *s++ = '\0';
    }
    return lines < LINES;
}

/* The line that begins so, from line i on; -1: none. */
static int find(int i, const char *begin)
{
    for (; i < lines; i++)
        if (strncmp(line[i], begin, strlen(begin)) == 0)
            return i;
    return -1;
}

/* The first line of a table whose head begins so, after line i and before the
 * line `end`; -1: none. */
static int table(int i, int end, const char *head)
{
    i = find(i, head);
    return i >= 0 && i < end ? i + 2 : -1;
}

/* The cells of a row of a table, without the blanks around them; returns how
 * many, 0 after the table. */
static int cells(const char *s, char cell[COLUMNS][256])
{
    int n = 0;

    while (*s == '|' && s[1] && n < COLUMNS) {
        size_t used;
        s += 1 + strspn(s + 1, " ");
        used = strcspn(s, "|");
        snprintf(cell[n], sizeof(cell[n]), "%.*s", (int)used, s);
        s += used;
        for (used = strlen(cell[n]); used && cell[n][used - 1] == ' '; )
            cell[n][--used] = '\0';
        n++;
    }
    return n;
}

static void differ(int i, const char *what, const char *want)
{
    printf("\n    format.md:%d: %s, not '%s'", i + 1, what, want);
    CU_FAIL("the page is not the code");
}

/* ---- the contents ---- */

/* As the anchors of a heading are made. */
static void anchor(const char *heading, char *to)
{
    for (; *heading; heading++) {
        if (*heading == ' ')
            *to++ = '-';
        else if (strchr("abcdefghijklmnopqrstuvwxyz0123456789", *heading))
            *to++ = *heading;
        else if (*heading >= 'A' && *heading <= 'Z')
            *to++ = (char)(*heading - 'A' + 'a');
    }
    *to = '\0';
}

static void test_contents(void)
{
    int at = find(0, "* ["), headings = 0;

    CU_ASSERT_FATAL(at > 0);
    for (int i = 0; i < lines; i++) {
        char want[512], to[256];
        if (strncmp(line[i], "## ", 3) != 0)
            continue;
        anchor(line[i] + 3, to);
        snprintf(want, sizeof(want), "* [%s](#%s)", line[i] + 3, to);
        if (strcmp(line[at], want) != 0)
            differ(at, line[at], want);
        at++;
        headings++;
    }
    CU_ASSERT_EQUAL(line[at][0], '\0');
    CU_ASSERT(headings >= 11);
}

/* ---- keys ---- */

/* "2^20", "1e-6"; 0 if the text is anything else. */
static int number(const char *s, double *x)
{
    char *end;

    *x = strtod(s, &end);
    if (*end == '^')
        *x = pow(*x, strtod(end + 1, &end));
    return end > s && *end == '\0';
}

static int same_range(const struct ctt_opt *o, const char *s)
{
    char words[256] = "", first[32];
    const char *dots = strstr(s, "..");
    double lo = 0, hi = 0;

    if (o->choices) {
        for (int i = 0; o->choices[i]; i++)
            snprintf(words + strlen(words), sizeof(words) - strlen(words),
                     "%s%s", i ? " " : "", o->choices[i]);
        return strcmp(words, s) == 0;
    }
    if (!dots)
        return !*s && o->min == 0 && o->max == 0;
    snprintf(first, sizeof(first), "%.*s", (int)(dots - s), s);
    return number(first, &lo) && number(dots + 2, &hi) && lo == o->min &&
           hi == o->max;
}

static const char *const kinds[] = {
    [CTT_INT] = "int", [CTT_INT3] = "int3", [CTT_FLOAT] = "float",
    [CTT_FLOAT3] = "float3", [CTT_STRING] = "name", [CTT_CHOICE] = "word",
};

/* A row `key, kind, default, range` of the page. */
static void check_key(int i, char cell[COLUMNS][256], const struct ctt_opt *o)
{
    const char *dflt = !o->dflt ? "" : !o->dflt[0] ? "none" : o->dflt;

    if (strcmp(cell[0], o->name) != 0)
        differ(i, cell[0], o->name);
    if (!kinds[o->type] || strcmp(cell[1], kinds[o->type]) != 0)
        differ(i, cell[1], kinds[o->type]);
    if (strcmp(cell[2], dflt) != 0)
        differ(i, cell[2], dflt);
    if (!same_range(o, cell[3]))
        differ(i, cell[3], "the range of the code");
}

/* The table in the paragraphs of an operation, in the order of the code's. */
static void check_op(const struct ctt_op *op, int end)
{
    char cell[COLUMNS][256], begin[64];
    const struct ctt_opt *o = op->attr;
    int at, next, i;

    snprintf(begin, sizeof(begin), "**%s** `NAME", op->name);
    at = find(0, begin);
    if (at < 0 || at > end) {
        differ(end, "before this line stands no", begin);
        return;
    }
    next = find(at + 1, "**");
    i = table(at, next < end ? next : end, "| key | kind | default | range |");
    if (i < 0 && o->name)
        differ(at, "there is no table of keys after", begin);
    for (; i >= 0 && cells(line[i], cell) >= 4; i++, o++) {
        if (!o->name) {
            differ(i, cell[0], "the end of the table");
            return;
        }
        check_key(i, cell, o);
    }
    if (i >= 0 && o->name)
        differ(i, "the table ends", o->name);
}

static void test_keys(void)
{
    int end = find(0, "## 3.");

    for (int i = 0; i < CTT_NOPS; i++)
        check_op(&ctt_ops[i], end);
}

/* ---- inputs and weights ---- */

static void test_operations(void)
{
    char cell[COLUMNS][256];
    int i = table(0, lines, "| operation | inputs | weights |");

    CU_ASSERT_FATAL(i > 0);
    for (int k = 0; k < CTT_NOPS; k++, i++) {
        const struct ctt_op *op = &ctt_ops[k];
        int most = op->max_in - (k == CTT_OP_CONV);    /* the other is plus= */
        char inputs[32], weights[64] = "";
        CU_ASSERT_EQUAL_FATAL(cells(line[i], cell), 3);
        snprintf(inputs, sizeof(inputs), "%d", op->min_in);
        if (most > op->min_in)
            snprintf(inputs, sizeof(inputs), "%d..%d", op->min_in, most);
        for (int w = 0; w < CTT_MAX_W && op->weight[w].name; w++)
            snprintf(weights + strlen(weights), 16, "%s%s", w ? " " : "",
                     op->weight[w].name);
        if (strcmp(cell[0], op->name) != 0)
            differ(i, cell[0], op->name);
        if (strcmp(cell[1], inputs) != 0)
            differ(i, cell[1], inputs);
        if (strcmp(cell[2], weights) != 0)
            differ(i, cell[2], weights);
    }
    CU_ASSERT_EQUAL(cells(line[i], cell), 0);
}

/* ---- cells ---- */

static int has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (; list; list = strchr(list, ' ') ? strchr(list, ' ') + 1 : NULL)
        if (strncmp(list, word, n) == 0 && (!list[n] || list[n] == ' '))
            return 1;
    return 0;
}

/* Checks the row of a cell's key; returns 1 if there is one. */
static int check_cell(int i, const char *word, const struct ctt_opt *o)
{
    char cell[COLUMNS][256];

    for (; cells(line[i], cell) == COLUMNS; i++)
        if (strcmp(cell[0], o->name) == 0 && has_word(cell[4], word)) {
            check_key(i, cell, o);
            return 1;
        }
    return 0;
}

static int words_of(int i)
{
    char cell[COLUMNS][256];
    int n = 0;

    for (; cells(line[i], cell) == COLUMNS; i++) {
        n++;
        for (const char *s = cell[4]; *s; s++)
            n += *s == ' ';
    }
    return n;
}

static void test_cells(void)
{
    int head = find(0, "## 3."), known = 0;
    int i = table(head, find(0, "## 4."),
                  "| key | kind | default | range | of |");
    const struct ctt_opt *o = NULL;
    const char *word, *use;

    CU_ASSERT_FATAL(head > 0 && i > 0);
    for (int k = 0; (word = ctt_cell_word(k, &o, &use)) != NULL; k++)
        for (; o->name; o++) {
            if (strcmp(o->name, "in") == 0)
                continue;
            if (!check_cell(i, word, o))
                differ(i, word, o->name);
            known++;
        }
    CU_ASSERT_EQUAL(words_of(i), known);
}

/* ---- codings ---- */

static void test_codings(void)
{
    static const char *const tables[] = {
        "**positions**", "**values**", "**bytes**",
    };
    char cell[COLUMNS][256];

    for (int k = 0; k < (int)CTT_LEN(tables); k++) {
        int at = find(0, tables[k]);
        int i = table(at, lines, "| word |"), row = 0;
        const char *word;
        CU_ASSERT_FATAL(at > 0 && i > 0);
        for (; (word = ctt_coding_word(k, row)) != NULL; row++, i++) {
            char want[32];
            snprintf(want, sizeof(want), "`%s`", word);
            if (cells(line[i], cell) < 2 || strcmp(cell[0], want) != 0)
                differ(i, cell[0], want);
        }
        CU_ASSERT_EQUAL(cells(line[i], cell), 0);
    }
}

static CU_TestInfo tests[] = {
    { "the contents", test_contents },
    { "operations", test_operations },
    { "keys of operations", test_keys },
    { "keys of cells", test_cells },
    { "codings", test_codings },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "format", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (!read_page()) {
        fprintf(stderr, "no doc/format.md: %s\n", ctt_errmsg());
        return 99;
    }
    rc = ctt_check_main(suites);
    ctt_free(page);
    return rc;
}
