/* SPDX-License-Identifier: Apache-2.0
 * graph.c: the nodes of a graph: adding, finding and counting them. */
#include "net/graph.h"
#include "base/limits.h"

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

/* The place of the node of this name in the table, or the free place for it.
 * The hash is FNV-1a (Fowler, Noll and Vo 1991). */
static int *hash_place(const struct ctt_graph *g, const char *name)
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
    return g->places ? *hash_place(g, name) - 1 : -1;
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
        *hash_place(g, g->node[i].name) = i + 1;
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

int ctt_graph_ahead(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_AHEAD)
            return i;
    return -1;
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

static int grow_nodes(struct ctt_graph *g)
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
    CTT_TRY(grow_nodes(g));
    CTT_TRY(grow_table(g));
    if (n->op == CTT_OP_CELL)
        g->node[n->in[0]].cell = g->count;
    g->node[g->count] = *n;
    g->count++;
    *hash_place(g, n->name) = g->count;
out:
    return rc;
}
