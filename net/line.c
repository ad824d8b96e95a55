/* SPDX-License-Identifier: Apache-2.0
 * line.c: reading one line of a model: its words become a node, or the nodes of
 * a cell. */
#include "net/append.h"
#include "net/op.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_WORDS = 32 };

/* ---- the words of a primitive ---- */

/* Names become names of datasets and options, so few characters are legal. */
static int check_name(const struct ctt_graph *g, const char *s)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    int rc = 0;

    CTT_CHECK(strlen(s) < CTT_NAME, CTT_EFORMAT, "'%s': name too long", s);
    CTT_CHECK(s[strspn(s, legal)] == '\0' && s[0] != '.' && s[0] != '-',
              CTT_EFORMAT, "'%s' is no name (letters, digits, _ . -)", s);
    CTT_CHECK(ctt_graph_find(g, s) < 0, CTT_EFORMAT, "'%s' is defined twice",
              s);
out:
    return rc;
}

static int add_input(const struct ctt_graph *g, struct ctt_node *n,
                     const char *name)
{
    int i = ctt_graph_find(g, name), rc = 0;

    CTT_CHECK(n->nin < CTT_MAX_IN, CTT_EFORMAT, "%s: more than %d inputs",
              n->name, CTT_MAX_IN);
    CTT_CHECK(i >= 0, CTT_EFORMAT, "%s: no node '%s' before it", n->name,
              name);
    CTT_CHECK(g->clip < 0 || i >= g->clip || n->op == CTT_OP_WINDOW,
              CTT_EFORMAT, "%s: '%s' runs every step; after 'clip' only a "
              "window reads it", n->name, name);
    n->in[n->nin++] = i;
out:
    return rc;
}

static int set_inputs(const struct ctt_graph *g, struct ctt_node *n, char *list)
{
    char *save = NULL;
    int rc = 0;

    for (char *s = strtok_r(list, ",", &save); s;
         s = strtok_r(NULL, ",", &save))
        CTT_TRY(add_input(g, n, s));
out:
    return rc;
}

/* in= and plus= name nodes; every other word is a row of the op's table. */
static int set_word(const struct ctt_graph *g, struct ctt_node *n, char *word,
                    struct ctt_opt_seen *seen)
{
    int rc = 0;

    if (strncmp(word, "in=", 3) == 0) {
        CTT_CHECK(n->nin == 0, CTT_EFORMAT, "%s: in= must come once and "
                  "before plus=", n->name);
        return set_inputs(g, n, word + 3);
    }
    if (strncmp(word, "plus=", 5) == 0 && n->op == CTT_OP_CONV) {
        CTT_CHECK(n->nin == 1 && !n->plus, CTT_EFORMAT,
                  "%s: plus= must come once and after in=", n->name);
        n->plus = 1;
        return add_input(g, n, word + 5);
    }
    rc = ctt_opt_word(ctt_ops[n->op].attr, &n->attr, word, seen);
    if (rc < 0)
        rc = ctt_error(rc, "%s: %s", n->name, ctt_errmsg());
out:
    return rc;
}

static int set_attrs(const struct ctt_graph *g, struct ctt_node *n, int argc,
                     char **argv)
{
    const struct ctt_op *op = &ctt_ops[n->op];
    struct ctt_opt_seen seen = { { 0 } };
    int rc = 0;

    CTT_TRY(ctt_opt_defaults(op->attr, &n->attr));
    for (int i = 0; i < argc; i++)
        CTT_TRY(set_word(g, n, argv[i], &seen));
    rc = ctt_opt_missing(op->attr, &seen);
    if (rc == 0)
        rc = ctt_opt_check(op->attr, &n->attr);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", n->name, ctt_errmsg()));
    CTT_CHECK(n->nin >= op->min_in && n->nin <= op->max_in, CTT_EFORMAT,
              "%s: %s takes %d to %d inputs, not %d", n->name, op->name,
              op->min_in, op->max_in, n->nin);
out:
    return rc;
}

static void fix_statistics(struct ctt_node *n)
{
    for (int k = 0; k < n->nw; k++)
        if (ctt_ops[n->op].weight[k].role == CTT_ROLE_STATISTIC)
            n->fixed |= 1u << k;
}

/* Takes ownership of text, into which the words point. */
static int add_primitive(struct ctt_graph *g, char *text, int argc, char **argv)
{
    struct ctt_node n = { .source = -1, .cell = -1, .text = text };
    int rc = 0, op = ctt_op_find(argv[0]);

    CTT_CHECK(op >= 0, CTT_EFORMAT, "unknown operation '%s'", argv[0]);
    CTT_TRY(check_name(g, argv[1]));
    n.op = (enum ctt_opcode)op;
    strcpy(n.name, argv[1]);
    CTT_TRY(set_attrs(g, &n, argc - 2, argv + 2));
    CTT_TRY(ctt_ops[op].shape(g, &n));
    fix_statistics(&n);
    CTT_TRY(ctt_graph_put(g, &n));
    return 0;
out:
    ctt_free(text);
    return rc;
}

/* ---- lines ---- */

/* `lstm` is a primitive with gates as input and a cell with hidden=. */
static int is_cell(int argc, char **argv)
{
    if (!ctt_cell_known(argv[0]))
        return 0;
    if (ctt_op_find(argv[0]) < 0)
        return 1;
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "hidden=", 7) == 0)
            return 1;
    return 0;
}

static int add_line(struct ctt_graph *g, const char *line);

/* Adds the lines that a cell expands to, all of them primitives. */
static int add_cell(struct ctt_graph *g, int argc, char **argv)
{
    char *lines = NULL, *save = NULL;
    int rc = 0;

    CTT_TRY(ctt_cell_expand(g, argv[0], argv[1], argc - 2, argv + 2, &lines));
    for (char *s = strtok_r(lines, "\n", &save); s;
         s = strtok_r(NULL, "\n", &save))
        CTT_TRY(add_line(g, s));
out:
    ctt_free(lines);
    return rc;
}

static int split_words(char *text, char *argv[MAX_WORDS])
{
    char *save = NULL;
    int argc = 0, rc = 0;

    for (char *s = strtok_r(text, " \t", &save); s;
         s = strtok_r(NULL, " \t", &save)) {
        CTT_CHECK(argc < MAX_WORDS, CTT_EFORMAT, "too many words");
        argv[argc++] = s;
    }
    CTT_CHECK(argc > 0, CTT_EFORMAT, "an empty line");
    rc = argc;
out:
    return rc;
}

static int add_line(struct ctt_graph *g, const char *line)
{
    char *argv[MAX_WORDS], *text = ctt_strdup(line);
    int argc, rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(argc = split_words(text, argv));
    if (argc == 1 && strcmp(argv[0], "clip") == 0) {
        CTT_CHECK(g->clip < 0, CTT_EFORMAT, "'clip' stands twice");
        g->clip = g->count;
        rc = 0;
        goto out;
    }
    CTT_CHECK(!g->several, CTT_EFORMAT, "'several' stands last, nothing "
              "follows it");
    if (argc == 1 && strcmp(argv[0], "several") == 0) {
        g->several = 1;
        rc = 0;
        goto out;
    }
    CTT_CHECK(argc >= 2, CTT_EFORMAT, "'%s' needs a name", argv[0]);
    if (!is_cell(argc, argv))
        return add_primitive(g, text, argc, argv);
    rc = add_cell(g, argc, argv);
out:
    ctt_free(text);
    return rc;
}

int ctt_graph_add(struct ctt_graph *g, const char *fmt, ...)
{
    char line[CTT_MAX_LINE];
    va_list ap;
    int rc = 0;

    CTT_CHECK(!g->sealed, CTT_EINVAL, "the graph is sealed");
    va_start(ap, fmt);
    rc = ctt_print_line(line, fmt, ap);
    va_end(ap);
    CTT_TRY(rc);
    rc = add_line(g, line);
out:
    return rc;
}
