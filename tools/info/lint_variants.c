/* SPDX-License-Identifier: Apache-2.0
 * lint_variants.c: graphs with other channels, or with convs made one. */
#include "tools/info/lint.h"
#include "net/op.h"
#include "net/rewrite/edit.h"

#include <string.h>

/* The layer of all channels of a node, or -1. */
static int layer_of(const struct ctt_graph *g,
                    const struct ctt_channel_groups *t, int i)
{
    int layer = t->layer[ctt_tie(t, i, 0)];

    for (int64_t j = 0; j < g->node[i].out.c; j++)
        if (t->layer[ctt_tie(t, i, j)] != layer)
            return -1;
    return layer;
}

/* 1 if node i is the first conv with channels of that layer. */
static int is_first(const struct ctt_graph *g,
                    const struct ctt_channel_groups *t, int i, int layer)
{
    for (int k = 0; k < i; k++)
        if (ctt_is_conv(&g->node[k]) && layer_of(g, t, k) == layer)
            return 0;
    return 1;
}

static int64_t up_to(int64_t n)
{
    int64_t by = n % 8 ? 8 : 16;

    return (n + by - 1) / by * by;
}

int ctt_lint_pad(const struct ctt_graph *g, int i, int64_t size[2],
                 struct ctt_graph **out)
{
    struct ctt_channel_groups *t = NULL;
    uint8_t *copies = NULL;
    int64_t classes = 0;
    int rc, layer, last = 0;

    CTT_TRY(ctt_channel_groups_new(g, &t));
    layer = layer_of(g, t, i);
    if (layer < 0 || !is_first(g, t, i, layer))
        goto out;
    CTT_TRY((copies = ctt_calloc((size_t)t->classes, 1)) ? 0 : CTT_ENOMEM);
    for (int k = 0; k < t->classes; k++) {
        copies[k] = 1;
        if (t->layer[k] == layer) {
            classes++;
            last = k;
        }
    }
    size[0] = classes;
    size[1] = up_to(classes);
    copies[last] = (uint8_t)(1 + size[1] - size[0]);
    if (size[1] == size[0])
        goto out;
    CTT_TRY(ctt_widen_graph(g, t, copies, out));
    rc = 1;
out:
    ctt_free(copies);
    ctt_channel_groups_free(&t);
    return rc;
}

static int is_plain_conv(const struct ctt_node *n)
{
    return n->op == CTT_OP_CONV && !n->plus && n->nin == 1 &&
           n->attr.conv.groups == 1;
}

static int can_merge(const struct ctt_graph *g, int i, int k)
{
    const struct ctt_node *a = &g->node[i], *b = &g->node[k];
    struct ctt_slide x, y;

    if (!is_plain_conv(b) || a->in[0] != b->in[0] ||
        (i < g->clip) != (k < g->clip) ||
        a->attr.conv.bias != b->attr.conv.bias || k == ctt_graph_output(g))
        return 0;
    x = ctt_slide_of(a);
    y = ctt_slide_of(b);
    return memcmp(&x, &y, sizeof(x)) == 0;
}

static int merge(const struct ctt_graph *g, int i, int k,
                 struct ctt_graph **out)
{
    const struct ctt_node *a = &g->node[i], *b = &g->node[k];
    struct ctt_slide s = ctt_slide_of(a);
    long long first = (long long)a->out.c, all = first + (long long)b->out.c;
    char window[CTT_SLIDE_TEXT];
    struct ctt_edit *e = NULL;
    int rc;

    ctt_slide_text(&s, window);
    CTT_TRY(ctt_edit_begin(g, &e));
    CTT_TRY(ctt_edit_add(e, i, "conv lint.both in=%s out=%lld%s bias=%d",
                         g->node[a->in[0]].name, all, window,
                         a->attr.conv.bias));
    CTT_TRY(ctt_edit_add(e, i, "slice %s in=lint.both from=0 to=%lld", a->name,
                         first));
    CTT_TRY(ctt_edit_add(e, i, "slice %s in=lint.both from=%lld to=%lld",
                         b->name, first, all));
    ctt_edit_remove(e, i);
    ctt_edit_remove(e, k);
    CTT_TRY(ctt_edit_graph(e, out));
out:
    ctt_edit_free(&e);
    return rc;
}

int ctt_lint_merge(const struct ctt_graph *g, int i, int *with,
                   struct ctt_graph **out)
{
    int rc = 0;

    if (!is_plain_conv(&g->node[i]))
        return 0;
    for (int k = i + 1; k < g->count; k++)
        if (can_merge(g, i, k)) {
            CTT_TRY(merge(g, i, k, out));
            *with = k;
            return 1;
        }
out:
    return rc;
}
