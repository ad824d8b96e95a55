/* SPDX-License-Identifier: Apache-2.0
 * text.c: the text form of a model: one node per line; '#' starts a comment;
 * the line 'clip' ends the part that runs every step, the line 'several' says
 * that classes do not exclude each other, lines 'let' name values, and lines
 * between 'repeat' and 'end' are read several times. */
#include "net/kind.h"
#include "net/let.h"
#include "base/newfile.h"
#include "net/op.h"
#include "base/visible.h"

#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20 };

static int next_line(const char **p, char *line, size_t size)
{
    size_t len = strcspn(*p, "\n"), use = strcspn(*p, "#\n");

    use -= use == len && use > 0 && (*p)[use - 1] == '\r';
    if (use >= size)
        return ctt_error(CTT_EFORMAT, "line too long");
    memcpy(line, *p, use);
    line[use] = '\0';
    *p += len + ((*p)[len] == '\n');
    return 0;
}

/* The text that a file would hold, of one whose lines are repeated. */
static int check_length(const struct ctt_graph *g)
{
    char *text = ctt_net_print(g);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(strlen(text) <= MAX_TEXT, CTT_EFORMAT, "repeat: with all its "
              "turns the text is larger than 1 MiB");
out:
    ctt_free(text);
    return rc;
}

int ctt_net_parse(const char *text, struct ctt_graph **out)
{
    return ctt_net_parse_set(text, NULL, out);
}

int ctt_net_parse_set(const char *text, const char *set,
                      struct ctt_graph **out)
{
    struct ctt_graph *g = NULL;
    struct ctt_lets lets = { .set = set };
    struct ctt_repeats repeats = { .depth = 0 };
    char line[CTT_MAX_LINE];
    int rc = 0, row = 0;

    CTT_TRY(ctt_graph_new(&g));
    while (*text) {
        row++;
        CTT_TRY(next_line(&text, line, sizeof(line)));
        CTT_TRY(ctt_let_replace(&lets, line, sizeof(line)));
        CTT_TRY(ctt_repeat_line(&repeats, &lets, line, &text, &row));
        if (rc == 0)
            CTT_TRY(ctt_let_line(&lets, line));
        if (rc == 0 && strspn(line, " \t") < strlen(line))
            CTT_TRY(ctt_graph_add(g, "%s", line));
    }
    row = 0;
    CTT_TRY(ctt_repeat_check(&repeats));
    CTT_TRY(ctt_let_check(&lets));
    CTT_TRY(ctt_graph_seal(g));
    if (repeats.again)
        CTT_TRY(check_length(g));
    *out = g;
    return 0;
out:
    if (row && rc != CTT_ENOMEM)
        rc = ctt_error(rc, "line %d: %s", row, ctt_errmsg());
    ctt_graph_free(&g);
    return rc;
}

static void print_node(const struct ctt_graph *g, const struct ctt_node *n,
                       FILE *f)
{
    fprintf(f, "%s %s", ctt_ops[n->op].name, n->name);
    for (int j = 0; j < n->nin - n->plus; j++)
        fprintf(f, "%s%s", j ? "," : " in=", g->node[n->in[j]].name);
    if (n->plus)
        fprintf(f, " plus=%s", g->node[n->in[n->nin - 1]].name);
    ctt_opt_print(ctt_ops[n->op].attr, &n->attr, f);
    fprintf(f, "\n");
}

static int print_net(FILE *f, const void *graph)
{
    const struct ctt_graph *g = graph;

    for (int i = 0; i < g->count; i++) {
        if (i == g->clip)
            fprintf(f, "clip\n");
        print_node(g, &g->node[i], f);
    }
    if (g->several)
        fprintf(f, "several\n");
    return 0;
}

char *ctt_net_print(const struct ctt_graph *g)
{
    char *text = NULL;
    int rc = ctt_text_collect("the text of a model", print_net, g, &text);

    return rc < 0 ? NULL : text;
}

/* An error about a file that is no text of a model; the message names the kind
 * of file. */
static int no_text(const char *path, const char *why)
{
    enum ctt_kind kind = ctt_kind_at(path);

    if (kind == CTT_KIND_OTHER)
        return ctt_error(CTT_EFORMAT, "%s: %s", path, why);
    return ctt_error(CTT_EFORMAT, "%s: %s, not the text of a model", path,
                     ctt_kind_word(kind));
}

int ctt_net_read(const char *path, char **text)
{
    char *s = NULL;
    int64_t size;
    size_t n, mark;
    int rc, fd = -1;

    CTT_TRY(ctt_stream_open(path, &fd, &size));
    s = ctt_calloc(MAX_TEXT + 2, 1);
    CTT_TRY(s ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_stream_read(path, fd, s, MAX_TEXT + 1, &n));
    CTT_TRY(n <= MAX_TEXT ? 0 : no_text(path, "larger than 1 MiB"));
    CTT_TRY(strlen(s) == n ? 0 : no_text(path, ctt_mark_utf16(s, n)
            ? "a text in UTF-16, not UTF-8" : "not a text"));
    mark = ctt_mark_utf8(s, n);
    memmove(s, s + mark, n - mark + 1);
    *text = s;
    s = NULL;
out:
    ctt_free(s);
    if (fd >= 0)
        close(fd);
    return rc;
}
