/* SPDX-License-Identifier: Apache-2.0
 * graph.c: building a graph from lines of text. */
#include "net/op.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_WORDS = 32 };

int ctt_graph_new(struct ctt_graph **out)
{
    struct ctt_graph *g = ctt_calloc(1, sizeof(*g));

    if (!g)
        return CTT_ENOMEM;
    g->clip = -1;
    *out = g;
    return 0;
}

void ctt_graph_free(struct ctt_graph **g)
{
    if (!*g)
        return;
    for (int i = 0; i < (*g)->count; i++)
        ctt_free((*g)->node[i].text);
    ctt_free((*g)->node);
    ctt_free(*g);
    *g = NULL;
}

int ctt_graph_find(const struct ctt_graph *g, const char *name)
{
    for (int i = g->count - 1; i >= 0; i--)
        if (strcmp(g->node[i].name, name) == 0)
            return i;
    return -1;
}

int ctt_graph_input(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_INPUT)
            return i;
    return -1;
}

int ctt_graph_output(const struct ctt_graph *g)
{
    return g->count - 1;
}

static int64_t taps(const struct ctt_tensor *w)
{
    return w->d * w->h * w->w * w->c;
}

int64_t ctt_node_macs(const struct ctt_graph *g, int node)
{
    const struct ctt_node *n = &g->node[node];
    enum ctt_macs per = ctt_ops[n->op].macs;

    if (per == CTT_MACS_NONE)
        return 0;
    return ctt_rows(per == CTT_MACS_OUT ? &n->out : &g->node[n->in[0]].out) *
           n->out.c * taps(&n->w[0]);
}

int64_t ctt_node_params(const struct ctt_node *n)
{
    int64_t sum = 0;

    for (int k = 0; k < n->nw; k++)
        sum += ctt_volume(&n->w[k]);
    return sum;
}

/* ---- one line ---- */

static int grow(struct ctt_graph *g)
{
    int room = g->room ? 2 * g->room : 64;
    void *p;

    if (g->count < g->room)
        return 0;
    if (room > CTT_MAX_NODES)
        return ctt_error(CTT_EFORMAT, "more than %d nodes", CTT_MAX_NODES);
    p = ctt_realloc(g->node, (size_t)room * sizeof(*g->node));
    if (!p)
        return CTT_ENOMEM;
    g->node = p;
    g->room = room;
    return 0;
}

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
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", n->name, ctt_errmsg()));
    CTT_CHECK(n->nin >= op->min_in && n->nin <= op->max_in, CTT_EFORMAT,
              "%s: %s takes %d to %d inputs, not %d", n->name, op->name,
              op->min_in, op->max_in, n->nin);
out:
    return rc;
}

static int too_large(const struct ctt_tensor *t)
{
    return (double)t->n * (double)t->d * (double)t->h * (double)t->w *
           (double)t->c > (double)CTT_MAX_VOLUME;
}

static int check_size(const struct ctt_node *n)
{
    const struct ctt_tensor *y = &n->out;
    int large = too_large(y) || y->d > CTT_MAX_SIZE || y->h > CTT_MAX_SIZE ||
                y->w > CTT_MAX_SIZE || y->c > CTT_MAX_SIZE;

    for (int k = 0; k < n->nw; k++)
        large |= too_large(&n->w[k]);
    if (n->nw && !large)    /* multiplications must be countable as well */
        large = (double)ctt_volume(y) * (double)taps(&n->w[0]) > 0x1p60;
    if (large)
        return ctt_error(CTT_EFORMAT, "%s: too large", n->name);
    return 0;
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
    CTT_TRY(check_size(&n));
    CTT_TRY(grow(g));
    if (n.op == CTT_OP_CELL)
        g->node[n.in[0]].cell = g->count;
    g->node[g->count++] = n;
    return g->count - 1;
out:
    ctt_free(text);
    return rc;
}

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

static int add_line(struct ctt_graph *g, const char *line)
{
    char *argv[MAX_WORDS], *save = NULL, *text = ctt_strdup(line);
    int argc = 0, rc = 0;

    if (!text)
        return CTT_ENOMEM;
    for (char *s = strtok_r(text, " \t", &save); s;
         s = strtok_r(NULL, " \t", &save)) {
        CTT_CHECK(argc < MAX_WORDS, CTT_EFORMAT, "too many words");
        argv[argc++] = s;
    }
    CTT_CHECK(argc > 0, CTT_EFORMAT, "an empty line");
    if (argc == 1 && strcmp(argv[0], "clip") == 0) {
        CTT_CHECK(g->clip < 0, CTT_EFORMAT, "'clip' stands twice");
        g->clip = g->count;
        goto out;
    }
    CTT_CHECK(argc >= 2, CTT_EFORMAT, "'%s' needs a name", argv[0]);
    if (!is_cell(argc, argv))
        return add_primitive(g, text, argc, argv);
    rc = ctt_cell_expand(g, argv[0], argv[1], argc - 2, argv + 2);
out:
    ctt_free(text);
    return rc;
}

int ctt_graph_add(struct ctt_graph *g, const char *fmt, ...)
{
    char line[CTT_MAX_LINE];
    va_list ap;
    int n;

    if (g->sealed)
        return ctt_error(CTT_EINVAL, "the graph is sealed");
    va_start(ap, fmt);
    n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (n < 0 || n >= (int)sizeof(line))
        return ctt_error(CTT_EFORMAT, "line too long");
    return add_line(g, line);
}

/* ---- the whole ---- */

static int resolve(struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *a = &n->out, *b;
    int end = g->clip < 0 ? g->count : g->clip, rc = 0;

    n->source = ctt_graph_find(g, n->attr.state.of);
    CTT_CHECK(n->source >= 0, CTT_EFORMAT, "%s: no node '%s' to delay",
              n->name, n->attr.state.of);
    CTT_CHECK(n < g->node + end && n->source < end, CTT_EFORMAT,
              "%s: a state and the node it delays stand before 'clip'",
              n->name);
    CTT_CHECK(ctt_ops[g->node[n->source].op].memory != CTT_VIEW, CTT_EFORMAT,
              "%s: '%s' is a %s; delay what it is made of", n->name,
              n->attr.state.of, ctt_ops[g->node[n->source].op].name);
    b = &g->node[n->source].out;
    CTT_CHECK(a->d == b->d && a->h == b->h && a->w == b->w && a->c == b->c,
              CTT_EFORMAT, "%s: not the shape of '%s'", n->name,
              n->attr.state.of);
out:
    return rc;
}

static int lay_out(struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++) {
        struct ctt_node *n = &g->node[i];
        for (int k = 0; k < n->nw; k++) {
            n->at[k] = g->weights;
            g->weights += ctt_align(ctt_volume(&n->w[k]), 16);
        }
        if (g->weights > CTT_MAX_VOLUME)
            return ctt_error(CTT_EFORMAT, "%s: too many weights", n->name);
    }
    return 0;
}

int ctt_graph_seal(struct ctt_graph *g)
{
    int rc = 0;

    CTT_CHECK(!g->sealed, CTT_EINVAL, "the graph is sealed");
    CTT_CHECK(ctt_graph_input(g) >= 0, CTT_EFORMAT, "no input line");
    CTT_CHECK(g->count > 1, CTT_EFORMAT, "nothing follows the input");
    CTT_CHECK(g->clip != 0 && g->clip < g->count, CTT_EFORMAT,
              "'clip' needs lines before and after it");
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_STATE)
            CTT_TRY(resolve(g, &g->node[i]));
    CTT_TRY(lay_out(g));
    if (g->clip < 0)
        g->clip = g->count;
    g->sealed = 1;
out:
    return rc;
}
