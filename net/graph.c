/* SPDX-License-Identifier: Apache-2.0
 * graph.c: the nodes of a graph: adding, finding and counting them, and what is
 * settled once all are there. */
#include "net/rewrite/aux_head.h"
#include "base/limits.h"
#include "net/op.h"
#include "net/quant.h"

#include <math.h>
#include <string.h>

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
    ctt_free((*g)->place);
    ctt_free(*g);
    *g = NULL;
}

/* ---- names ---- */

/* Where the node of this name is in the table, or the free place for it.  The
 * hash is FNV-1a (Fowler, Noll and Vo 1991). */
static int *place_of(const struct ctt_graph *g, const char *name)
{
    uint32_t h = 2166136261u, mask = (uint32_t)g->places - 1;

    for (const char *s = name; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    for (h &= mask; g->place[h]; h = (h + 1) & mask)
        if (strcmp(g->node[g->place[h] - 1].name, name) == 0)
            break;
    return &g->place[h];
}

int ctt_graph_find(const struct ctt_graph *g, const char *name)
{
    return g->places ? *place_of(g, name) - 1 : -1;
}

/* Keeps at least half of the table free. */
static int grow_table(struct ctt_graph *g)
{
    int *more;

    if (2 * (g->count + 1) <= g->places)
        return 0;
    more = ctt_calloc(g->places ? 2 * (size_t)g->places : 64, sizeof(*more));
    if (!more)
        return CTT_ENOMEM;
    ctt_free(g->place);
    g->place = more;
    g->places = g->places ? 2 * g->places : 64;
    for (int i = 0; i < g->count; i++)
        *place_of(g, g->node[i].name) = i + 1;
    return 0;
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

int ctt_graph_inputs(const struct ctt_graph *g)
{
    int inputs = 0;

    for (int i = 0; i < g->count; i++)
        inputs += g->node[i].op == CTT_OP_INPUT;
    return inputs;
}

static void set_auto(float to[3], const float from[3])
{
    if (isnan(to[0]))
        memcpy(to, from, 3 * sizeof(*to));
}

void ctt_graph_set_light(struct ctt_graph *g, const float mean[3],
                         const float std[3])
{
    for (int i = 0; i < g->count; i++) {
        struct ctt_input *in = &g->node[i].attr.input;

        if (g->node[i].op != CTT_OP_INPUT)
            continue;
        set_auto(in->mean, mean);
        set_auto(in->std, std);
    }
}

int ctt_graph_light_known(const struct ctt_graph *g)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_input *in = &g->node[i].attr.input;

        if (g->node[i].op == CTT_OP_INPUT)
            CTT_CHECK(!isnan(in->mean[0]) && !isnan(in->std[0]), CTT_EINVAL,
                      "%s: mean=auto and std=auto are for convtt-train, which "
                      "measures them; a model has numbers", g->node[i].name);
    }
out:
    return rc;
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

/* ---- adding a node ---- */

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

static int make_room(struct ctt_graph *g)
{
    void *p;

    if (g->count >= CTT_MAX_NODES || g->count >= ctt_limits()->nodes)
        return ctt_error(CTT_EFORMAT, "more than %d nodes, the "
                         "limit of nodes", g->count);
    p = ctt_grown(g->node, &g->room, g->count, sizeof(*g->node));
    if (!p)
        return CTT_ENOMEM;
    g->node = p;
    return 0;
}

int ctt_graph_put(struct ctt_graph *g, const struct ctt_node *n)
{
    int rc = 0;

    CTT_TRY(check_size(n));
    CTT_TRY(make_room(g));
    CTT_TRY(grow_table(g));
    if (n->op == CTT_OP_CELL)
        g->node[n->in[0]].cell = g->count;
    g->node[g->count] = *n;
    g->count++;
    *place_of(g, n->name) = g->count;
out:
    return rc;
}

/* ---- sealing ---- */

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

/* States of one node share what it had before step 0. */
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
    CTT_TRY(ctt_aux_head_settle(g));
    CTT_TRY(lay_out(g, 0));
    CTT_TRY(lay_out(g, 1));
    if (g->clip < 0)
        g->clip = g->count;
    g->sealed = 1;
out:
    return rc;
}
