/* SPDX-License-Identifier: Apache-2.0
 * section.c: a section of a graph as a graph of its own. */
#include "net/rewrite/section.h"
#include "net/append.h"

#include <stdarg.h>
#include <string.h>

struct making {
    const struct ctt_graph *g;
    const int *number;
    int        at;
    char      *text;     /* lines so far */
    int        clip;     /* 1: the lines are behind the line clip */
};

static int append_text(struct making *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int append_text(struct making *a, const char *fmt, ...)
{
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = ctt_append_line(&a->text, fmt, ap);
    va_end(ap);
    return rc;
}

/* ---- values that pass ---- */

static int reads_node(const struct ctt_node *n, int node)
{
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] == node)
            return 1;
    return n->op == CTT_OP_STATE && n->source == node;
}

/* 1 if section `from` or a later one reads a node. */
static int is_read_from(const struct making *a, int node, int from)
{
    for (int i = 0; i < a->g->count; i++)
        if (a->number[i] >= from && reads_node(&a->g->node[i], node))
            return 1;
    return 0;
}

static int enters(const struct making *a, int node)
{
    return a->number[node] < a->at && is_read_from(a, node, a->at);
}

static int leaves(const struct making *a, int node)
{
    return a->number[node] <= a->at && is_read_from(a, node, a->at + 1);
}

/* 1 if a state of the section takes its shape from a node. */
static int is_like(const struct making *a, int node)
{
    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];

        if (a->number[i] == a->at && n->op == CTT_OP_STATE &&
            n->attr.state.like &&
            strcmp(n->attr.state.like, a->g->node[node].name) == 0)
            return 1;
    }
    return 0;
}

/* ---- the text ---- */

static int add_input(struct making *a, int node)
{
    const struct ctt_tensor *t = &a->g->node[node].out;

    return append_text(a, "input %s d=%lld h=%lld w=%lld c=%lld",
                       a->g->node[node].name, (long long)t->d, (long long)t->h,
                       (long long)t->w, (long long)t->c);
}

/* Adds a name that reads a value that passes, so that no other value may take
 * its memory, as in the whole graph. */
static int add_name(struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];

    return append_text(a, "slice section.passes.%d in=%s to=%lld", node,
                       n->name, (long long)n->out.c);
}

static int add_node(struct making *a, int node, const char *line)
{
    int own = a->number[node] == a->at, in = enters(a, node), rc = 0;

    if (own && node >= a->g->clip && !a->clip) {
        CTT_TRY(append_text(a, "clip"));
        a->clip = 1;
    }
    if (own)
        CTT_TRY(append_text(a, "%s", line));
    else if (in || is_like(a, node))
        CTT_TRY(add_input(a, node));
    if (in || leaves(a, node))
        CTT_TRY(add_name(a, node));
out:
    return rc;
}

/* Sets line[i] to that of node i in the text of the graph. */
static void find_lines(const struct ctt_graph *g, char *text, char **line)
{
    for (int i = 0; i < g->count; i++) {
        size_t n;

        if (i == g->clip)
            text += strlen("clip\n");
        n = strcspn(text, "\n");
        text[n] = '\0';
        line[i] = text;
        text += n + 1;
    }
}

/* Adds the lines in the order of the whole graph's schedule, which is then that
 * of the section, so that gradients are added up in the same order. */
static int make_text(struct making *a)
{
    const struct ctt_graph *g = a->g;
    char *all = ctt_net_print(g);
    char **line = ctt_calloc((size_t)g->count, sizeof(*line));
    struct ctt_schedule *s = NULL;
    int rc = all && line ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    find_lines(g, all, line);
    CTT_TRY(ctt_schedule_new(g, 0, &s));
    for (int k = 0; k < g->count; k++) {
        int i = k < g->clip ? s->order[k] : k;

        CTT_TRY(add_node(a, i, line[i]));
    }
out:
    ctt_schedule_free(&s);
    ctt_free(line);
    ctt_free(all);
    return rc;
}

/* ---- the section ---- */

/* Copies the fields of a node that do not follow from its text. */
static void copy_node(const struct ctt_node *from, struct ctt_node *to)
{
    to->rank = from->rank;
    to->aside = from->aside;
    to->fixed = from->fixed;
    to->frozen = from->frozen;
    memcpy(to->at, from->at, sizeof(to->at));
}

static void number_nodes(const struct making *a, struct ctt_section *s)
{
    for (int i = 0; i < s->g->count; i++) {
        int of = ctt_graph_find(a->g, s->g->node[i].name);

        s->of[i] = of;
        if (of >= 0 && a->number[of] == a->at)
            copy_node(&a->g->node[of], &s->g->node[i]);
    }
    s->g->weights = a->g->weights;
}

static void list_passing(const struct making *a, struct ctt_section *s)
{
    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];
        struct ctt_section_value p = { i, ctt_graph_find(s->g, n->name),
                                       ctt_volume(&n->out) };

        if (enters(a, i))
            s->in[s->ins++] = p;
        if (leaves(a, i))
            s->out[s->outs++] = p;
    }
}

void ctt_section_free(struct ctt_section **s)
{
    if (!*s)
        return;
    ctt_graph_free(&(*s)->g);
    ctt_free((*s)->of);
    ctt_free((*s)->in);
    ctt_free((*s)->out);
    ctt_free(*s);
    *s = NULL;
}

int ctt_section_new(const struct ctt_graph *g, const int *number, int at,
                    struct ctt_section **out)
{
    struct making a = { .g = g, .number = number, .at = at };
    struct ctt_section *s = ctt_calloc(1, sizeof(*s));
    size_t n = (size_t)g->count;
    int rc = s ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(make_text(&a));
    CTT_TRY(ctt_net_parse(a.text ? a.text : "", &s->g));
    s->of = ctt_calloc((size_t)s->g->count, sizeof(*s->of));
    s->in = ctt_calloc(n, sizeof(*s->in));
    s->out = ctt_calloc(n, sizeof(*s->out));
    CTT_TRY(s->of && s->in && s->out ? 0 : CTT_ENOMEM);
    number_nodes(&a, s);
    list_passing(&a, s);
    *out = s;
    s = NULL;
out:
    ctt_section_free(&s);
    ctt_free(a.text);
    return rc;
}
