/* SPDX-License-Identifier: Apache-2.0
 * channel_groups.c: classes of channels that can only be removed together,
 * found by uniting those that an op ties (union-find; Tarjan 1975). */
#include "net/op.h"
#include "net/rewrite/channel_groups.h"

#include <limits.h>

/* While classes are found, of[e] is an entry of the same class, its own number
 * for one entry of each. */
struct find {
    const struct ctt_graph *g;
    int64_t *at;
    int     *of;
    uint8_t *stays;    /* by entry: its class must stay */
};

int ctt_is_depthwise(const struct ctt_graph *g, const struct ctt_node *n)
{
    return ctt_is_grouped(n) &&
           n->attr.conv.groups == g->node[n->in[0]].out.c;
}

/* ---- union and find ---- */

static int root(int *of, int e)
{
    while (of[e] != e)
        e = of[e] = of[of[e]];
    return e;
}

/* The earlier entry stands for both. */
static void unite(struct find *f, int a, int64_t ca, int b, int64_t cb)
{
    int x = root(f->of, (int)(f->at[a] + ca));
    int y = root(f->of, (int)(f->at[b] + cb));

    f->of[x > y ? x : y] = x > y ? y : x;
}

/* Unites n channels of nodes a and b, the first of them from ca and cb. */
static void unite_all(struct find *f, int a, int64_t ca, int b, int64_t cb,
                      int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        unite(f, a, ca + j, b, cb + j);
}

static void stay(struct find *f, int node)
{
    for (int64_t j = 0; j < f->g->node[node].out.c; j++)
        f->stays[f->at[node] + j] = 1;
}

/* ---- the rules of ops ---- */

static void stay_with_inputs(struct find *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];

    stay(f, i);
    for (int k = 0; k < ctt_node_inputs(n); k++)
        stay(f, ctt_node_input(n, k));
}

static void alone(struct find *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];

    for (int k = 0; k < ctt_node_inputs(n); k++)
        unite_all(f, i, 0, ctt_node_input(n, k), 0, n->out.c);
}

static void norm(struct find *f, int i)
{
    alone(f, i);
    if (!ctt_is_batch_norm(&f->g->node[i]))
        stay(f, i);
}

static void slice(struct find *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];

    unite_all(f, i, 0, n->in[0], n->attr.slice.from, n->out.c);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Element e of a value with c channels is of channel e mod c. */
static void reshape(struct find *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];
    int64_t in = f->g->node[n->in[0]].out.c;
    int64_t common = common_divisor(in, n->out.c);

    for (int64_t j = 0; j < in; j++)
        unite(f, n->in[0], j, n->in[0], j % common);
    for (int64_t j = 0; j < n->out.c; j++)
        unite(f, i, j, n->in[0], j % common);
}

static void concat(struct find *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];
    int64_t from = 0;

    for (int k = 0; k < n->nin; k++) {
        int64_t c = f->g->node[n->in[k]].out.c;

        unite_all(f, i, from, n->in[k], 0, c);
        from += c;
    }
}

static void conv(struct find *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];

    if (ctt_is_grouped(n) && !ctt_is_depthwise(f->g, n)) {
        stay_with_inputs(f, i);
        return;
    }
    if (n->plus)
        unite_all(f, i, 0, n->in[1], 0, n->out.c);
    for (int64_t j = 0; ctt_is_grouped(n) && j < n->out.c; j++)
        unite(f, i, j, n->in[0], j * n->attr.conv.groups / n->out.c);
}

static void lstm(struct find *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];

    for (int gate = 0; gate < 4; gate++)
        unite_all(f, i, 0, n->in[0], gate * n->out.c, n->out.c);
    unite_all(f, i, 0, n->in[1], 0, n->out.c);
}

static void (*const rules[CTT_GROUPS_RULES])(struct find *f, int i) = {
    [CTT_GROUPS_WHOLE] = stay_with_inputs, [CTT_GROUPS_ALONE] = alone,
    [CTT_GROUPS_NORM] = norm, [CTT_GROUPS_SLICE] = slice,
    [CTT_GROUPS_RESHAPE] = reshape, [CTT_GROUPS_CONCAT] = concat,
    [CTT_GROUPS_CONV] = conv, [CTT_GROUPS_LSTM] = lstm,
};

/* ---- layers ---- */

/* A cut of a layer by a node: the classes of the layer that the node has
 * `count` times become a new layer, `to`. */
struct cut { int node, count, to; };

struct cutting {
    struct ctt_channel_groups *t;
    int        *count;    /* by class: channels of the node at hand */
    struct cut *cut;      /* by layer, at most one for each entry */
};

static void cut_node(struct cutting *a, const struct ctt_graph *g, int i)
{
    struct ctt_channel_groups *t = a->t;
    int64_t c = g->node[i].out.c;

    for (int64_t j = 0; j < c; j++)
        a->count[ctt_tie(t, i, j)]++;
    for (int64_t j = 0; j < c; j++) {
        int k = ctt_tie(t, i, j), n = a->count[k];
        struct cut *cut = &a->cut[t->layer[k] < 0 ? 0 : t->layer[k]];

        a->count[k] = 0;
        if (n == 0 || t->whole[k])
            continue;
        if (cut->node != i + 1 || cut->count != n)
            *cut = (struct cut){ i + 1, n, t->layers++ };
        t->layer[k] = cut->to;
    }
}

/* Numbers layers in the order of their first classes. */
static void number_layers(struct ctt_channel_groups *t, struct cut *cut)
{
    int layers = 0;

    for (int k = 0; k < t->layers; k++)
        cut[k].to = -1;
    for (int k = 0; k < t->classes; k++) {
        if (t->whole[k])
            continue;
        if (cut[t->layer[k]].to < 0)
            cut[t->layer[k]].to = layers++;
        t->layer[k] = cut[t->layer[k]].to;
    }
    t->layers = layers;
}

static int find_layers(const struct ctt_graph *g, struct ctt_channel_groups *t,
                       int64_t all)
{
    size_t n = (size_t)t->classes;
    struct cutting a = { t, ctt_calloc(n, sizeof(*a.count)),
                         ctt_calloc((size_t)all + 1, sizeof(*a.cut)) };
    int rc = 0;

    t->layer = ctt_calloc(n, sizeof(*t->layer));
    CTT_TRY(a.count && a.cut && t->layer ? 0 : CTT_ENOMEM);
    t->layers = 1;
    for (int k = 0; k < t->classes; k++)
        t->layer[k] = t->whole[k] ? -1 : 0;
    for (int i = 0; i < g->count; i++)
        cut_node(&a, g, i);
    number_layers(t, a.cut);
out:
    ctt_free(a.count);
    ctt_free(a.cut);
    return rc;
}

/* ---- all ---- */

static int place_channels(const struct ctt_graph *g,
                          struct ctt_channel_groups *t, int64_t *all)
{
    int rc = 0;

    *all = 0;
    t->at = ctt_calloc((size_t)g->count, sizeof(*t->at));
    CTT_TRY(t->at ? 0 : CTT_ENOMEM);
    for (int i = 0; i < g->count; i++) {
        t->at[i] = *all;
        *all += g->node[i].out.c;
    }
    CTT_CHECK(*all <= INT_MAX, CTT_EUNSUP, "the model has %lld channels, more "
              "than %d", (long long)*all, INT_MAX);
    t->of = ctt_calloc((size_t)*all, sizeof(*t->of));
    CTT_TRY(t->of ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* Numbers the classes in the order of their first entries. */
static void number_classes(struct ctt_channel_groups *t, const uint8_t *stays,
                           int64_t all)
{
    for (int64_t e = 0; e < all; e++) {
        int r = root(t->of, (int)e);

        t->of[e] = r;
    }
    for (int64_t e = 0; e < all; e++) {
        int first = t->of[e] == e;

        t->of[e] = first ? t->classes++ : t->of[t->of[e]];
        t->whole[t->of[e]] |= stays[e];
    }
}

int ctt_channel_groups_new(const struct ctt_graph *g,
                           struct ctt_channel_groups **out)
{
    struct ctt_channel_groups *t = ctt_calloc(1, sizeof(*t));
    struct find f = { .g = g };
    int64_t all;
    int rc = 0;

    CTT_TRY(t ? 0 : CTT_ENOMEM);
    CTT_TRY(place_channels(g, t, &all));
    f = (struct find){ g, t->at, t->of, ctt_calloc((size_t)all, 1) };
    t->whole = ctt_calloc((size_t)all, 1);
    CTT_TRY(f.stays && t->whole ? 0 : CTT_ENOMEM);
    for (int64_t e = 0; e < all; e++)
        t->of[e] = (int)e;
    for (int i = 0; i < g->count; i++)
        rules[ctt_ops[g->node[i].op].ties](&f, i);
    stay(&f, ctt_graph_output(g));
    number_classes(t, f.stays, all);
    CTT_TRY(find_layers(g, t, all));
    *out = t;
    t = NULL;
out:
    ctt_free(f.stays);
    ctt_channel_groups_free(&t);
    return rc;
}

void ctt_channel_groups_free(struct ctt_channel_groups **t)
{
    if (!*t)
        return;
    ctt_free((*t)->at);
    ctt_free((*t)->of);
    ctt_free((*t)->whole);
    ctt_free((*t)->layer);
    ctt_free(*t);
    *t = NULL;
}
