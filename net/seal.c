/* SPDX-License-Identifier: Apache-2.0
 * seal.c: the checks of a complete graph, the order of its nodes and the places
 * of its weights. */
#include "net/op.h"
#include "net/quant.h"

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
              "%s: '%s' is a %s; delay its input", n->name,
              n->attr.state.of, ctt_ops[g->node[n->source].op].name);
    b = &g->node[n->source].out;
    CTT_CHECK(a->d == b->d && a->h == b->h && a->w == b->w && a->c == b->c,
              CTT_EFORMAT, "%s: not the shape of '%s'", n->name,
              n->attr.state.of);
out:
    return rc;
}

/* States of one node share its values before step 0. */
static int check_fills(const struct ctt_graph *g)
{
    const struct ctt_node **first = ctt_calloc((size_t)g->count,
                                               sizeof(const void *));
    int rc = first ? 0 : CTT_ENOMEM;

    for (int i = 0; i < g->count && first; i++) {
        const struct ctt_node *n = &g->node[i];

        if (n->op != CTT_OP_STATE)
            continue;
        if (!first[n->source])
            first[n->source] = n;
        CTT_CHECK(n->attr.state.fill == first[n->source]->attr.state.fill,
                  CTT_EFORMAT, "%s: '%s' delays '%s' with another 'fill'",
                  n->name, first[n->source]->name, n->attr.state.of);
    }
out:
    ctt_free(first);
    return rc;
}

/* The line `ahead` stands once, predicts a frame, and no node reads it. */
static int check_ahead(const struct ctt_graph *g, int ahead)
{
    const struct ctt_tensor *a = &g->node[ctt_graph_input(g)].out;
    const struct ctt_tensor *b = &g->node[ahead].out;
    const char *name = g->node[ahead].name;
    int rc = 0;

    CTT_CHECK(a->d == b->d && a->h == b->h && a->w == b->w && a->c == b->c,
              CTT_EFORMAT, "%s: predicts the next frame, %lldx%lldx%lldx%lld, "
              "and is %lldx%lldx%lldx%lld", name, (long long)a->d,
              (long long)a->h, (long long)a->w, (long long)a->c,
              (long long)b->d, (long long)b->h, (long long)b->w,
              (long long)b->c);
    CTT_CHECK(g->clip < 0 || ahead < g->clip, CTT_EFORMAT,
              "%s: 'ahead' stands before 'clip'", name);
    CTT_CHECK(ahead != ctt_graph_output(g), CTT_EFORMAT,
              "%s: 'ahead' cannot be the answer, which the last line is", name);
    for (int i = ahead + 1; i < g->count; i++) {
        CTT_CHECK(g->node[i].op != CTT_OP_AHEAD, CTT_EFORMAT,
                  "%s: 'ahead' stands twice", g->node[i].name);
        for (int k = 0; k < g->node[i].nin; k++)
            CTT_CHECK(g->node[i].in[k] != ahead, CTT_EFORMAT,
                      "%s: nothing can read '%s', which is for training only",
                      g->node[i].name, name);
    }
out:
    return rc;
}

/* Gives a node the next rank.  Nodes that only pass values between processes do
 * not count, so that all others have their rank in the undivided graph. */
static void rank_node(struct ctt_node *n, int *next)
{
    n->rank = *next;
    *next += !ctt_is_exchange(n);
}

/* The nodes that the answer needs are ranked first, as if the others were not
 * there. */
static void rank_nodes(struct ctt_graph *g, const char *needed)
{
    int next = 0;

    for (int i = 0; i < g->count; i++) {
        g->node[i].aside = needed && !needed[i];
        if (!g->node[i].aside)
            rank_node(&g->node[i], &next);
    }
    for (int i = 0; i < g->count; i++)
        if (g->node[i].aside)
            rank_node(&g->node[i], &next);
}

static int order_nodes(struct ctt_graph *g)
{
    int ahead = ctt_graph_ahead(g), rc = 0;
    char *needed = NULL;

    if (ahead >= 0) {
        CTT_TRY(check_ahead(g, ahead));
        needed = ctt_calloc((size_t)g->count, 1);
        CTT_TRY(needed ? 0 : CTT_ENOMEM);
        ctt_graph_needed(g, ctt_graph_output(g), needed);
        needed[ctt_graph_input(g)] = 1;
    }
    rank_nodes(g, needed);
out:
    ctt_free(needed);
    return rc;
}

/* Weights of nodes that stand aside lie behind all others, so that a graph
 * without these nodes has the same offsets. */
static int lay_out(struct ctt_graph *g, int aside)
{
    for (int i = 0; i < g->count; i++) {
        struct ctt_node *n = &g->node[i];
        if (n->aside != aside)
            continue;
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
    CTT_TRY(check_fills(g));
    CTT_TRY(ctt_graph_quantise(g));
    CTT_TRY(order_nodes(g));
    CTT_TRY(lay_out(g, 0));
    CTT_TRY(lay_out(g, 1));
    if (g->clip < 0)
        g->clip = g->count;
    g->sealed = 1;
out:
    return rc;
}
