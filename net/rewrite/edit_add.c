/* SPDX-License-Identifier: Apache-2.0
 * edit_add.c: moves sums into convs: an add of a conv and another value becomes
 * the plus input of that conv. */
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* 1 if a state takes the size of a node by its name. */
static int is_like(const struct ctt_graph *g, int node)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_STATE && g->node[i].attr.state.like &&
            strcmp(g->node[i].attr.state.like, g->node[node].name) == 0)
            return 1;
    return 0;
}

static int same_shape(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    return a->d == b->d && a->h == b->h && a->w == b->w && a->c == b->c;
}

/* 1 if input k of an add is a conv that can add the other one. */
static int is_host(const struct ctt_graph *g, int add, int k)
{
    const struct ctt_node *n = &g->node[add];
    int conv = n->in[k], other = n->in[1 - k];
    const struct ctt_node *p = &g->node[conv];

    return p->op == CTT_OP_CONV && !p->plus && conv != other &&
           ctt_node_readers(g, conv) == 1 && !is_like(g, conv) &&
           (conv < g->clip) == (add < g->clip) &&
           same_shape(&p->out, &n->out) &&
           same_shape(&g->node[other].out, &n->out);
}

/* The index of the input of an add of two values that is such a conv, or -1. */
static int host(const struct ctt_graph *g, int add)
{
    const struct ctt_node *n = &g->node[add];

    if (n->op != CTT_OP_ADD || n->nin != 2 || n->attr.add.bias ||
        n->attr.add.minus || add == ctt_graph_output(g))
        return -1;
    return is_host(g, add, 0) ? 0 : is_host(g, add, 1) ? 1 : -1;
}

/* An add outside of loops that can go, or -1: a conv in a loop takes longer. */
static int find_add(const struct ctt_graph *g, const struct ctt_schedule *s)
{
    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; j < s->first[k + 1] && !s->bound[k]; j++)
            if (host(g, s->order[j]) >= 0)
                return s->order[j];
    return -1;
}

/* The line of node i in the text of a graph. */
static const char *line_of(const struct ctt_graph *g, const char *text, int i)
{
    for (int k = 0; k < i + (i >= g->clip); k++)
        text += strcspn(text, "\n") + 1;
    return text;
}

/* Moves the conv to where the add was, behind both of its inputs. */
static int move_conv(struct ctt_edit *e, const struct ctt_graph *g, int add,
                     const char *text)
{
    const struct ctt_node *n = &g->node[add];
    int k = host(g, add), conv = n->in[k], rc;
    const char *line = line_of(g, text, conv);
    const char *rest = strstr(line, " in=") + 1;

    rest += strcspn(rest, " \n");
    CTT_TRY(ctt_edit_add(e, add, "conv %s in=%s plus=%s%.*s",
                         g->node[conv].name, g->node[g->node[conv].in[0]].name,
                         g->node[n->in[1 - k]].name,
                         (int)strcspn(rest, "\n"), rest));
    ctt_edit_remove(e, conv);
    CTT_TRY(ctt_edit_unlink(e, add));
out:
    return rc;
}

/* Readers of an add that goes take its first input: that must be the conv. */
static int turn(struct ctt_edit *e, const struct ctt_graph *g, int add)
{
    const struct ctt_node *n = &g->node[add];
    char names[2 * CTT_NAME + 2];

    snprintf(names, sizeof(names), "%s,%s", g->node[n->in[1]].name,
             g->node[n->in[0]].name);
    return ctt_edit_set(e, add, "in", names);
}

/* A graph with one add less, or one that then can go; 0: there is none. */
static int remove_add(const struct ctt_graph *g, struct ctt_graph **to)
{
    struct ctt_schedule *s = NULL;
    struct ctt_edit *e = NULL;
    char *text = NULL;
    int rc, add;

    CTT_TRY(ctt_schedule_new(g, 0, &s));
    add = find_add(g, s);
    if (add < 0) {
        rc = 0;
        goto out;
    }
    CTT_TRY((text = ctt_net_print(g)) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_edit_begin(g, &e));
    CTT_TRY(host(g, add) == 1 ? turn(e, g, add) : move_conv(e, g, add, text));
    CTT_TRY(ctt_edit_graph(e, to));
    rc = 1;
out:
    ctt_edit_free(&e);
    ctt_schedule_free(&s);
    ctt_free(text);
    return rc;
}

/* Weights are copied once, behind all changes of the graph. */
int ctt_without_adds(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_graph *to = NULL, *next = NULL;
    int rc;

    while ((rc = remove_add(to ? to : m->g, &next)) > 0) {
        ctt_graph_free(&to);
        to = next;
        next = NULL;
    }
    CTT_TRY(rc);
    rc = to ? ctt_model_with(to, m, out) : ctt_model_copy(m, out);
    to = NULL;
out:
    ctt_graph_free(&to);
    return rc;
}
