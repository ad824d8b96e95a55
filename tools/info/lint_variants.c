/* SPDX-License-Identifier: Apache-2.0
 * lint_variants.c: graphs with other channels. */
#include "tools/info/lint.h"
#include "net/op.h"
#include "net/rewrite/edit.h"

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
