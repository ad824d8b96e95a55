/* SPDX-License-Identifier: Apache-2.0
 * edit_merge.c: two convs that read the same become one, and two slices of
 * it. */
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <string.h>

static int is_plain_conv(const struct ctt_node *n)
{
    return n->op == CTT_OP_CONV && !n->plus && n->nin == 1 &&
           n->attr.conv.groups == 1;
}

/* A state cannot delay a slice. */
static int is_delayed(const struct ctt_graph *g, int i)
{
    for (int k = 0; k < g->count; k++)
        if (g->node[k].op == CTT_OP_STATE && ctt_viewed(&g->node[k]) == i)
            return 1;
    return 0;
}

static int can_merge(const struct ctt_graph *g, int i, int k)
{
    const struct ctt_node *a = &g->node[i], *b = &g->node[k];
    struct ctt_slide x, y;

    if (!is_plain_conv(b) || a->in[0] != b->in[0] ||
        (i < g->clip) != (k < g->clip) ||
        a->attr.conv.bias != b->attr.conv.bias ||
        k == ctt_graph_output(g) || is_delayed(g, k))
        return 0;
    x = ctt_slide_of(a);
    y = ctt_slide_of(b);
    return memcmp(&x, &y, sizeof(x)) == 0;
}

static int merge_lines(const struct ctt_model *m, int i, int k,
                       const char *name, struct ctt_model **out)
{
    const struct ctt_node *a = &m->g->node[i], *b = &m->g->node[k];
    struct ctt_slide s = ctt_slide_of(a);
    long long first = (long long)a->out.c, all = first + (long long)b->out.c;
    char window[CTT_SLIDE_TEXT];
    struct ctt_edit *e = NULL;
    int rc;

    ctt_slide_text(&s, window);
    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(ctt_edit_add(e, i, "conv %s in=%s out=%lld%s bias=%d", name,
                         m->g->node[a->in[0]].name, all, window,
                         a->attr.conv.bias));
    CTT_TRY(ctt_edit_add(e, i, "slice %s in=%s from=0 to=%lld", a->name, name,
                         first));
    CTT_TRY(ctt_edit_add(e, i, "slice %s in=%s from=%lld to=%lld", b->name,
                         name, first, all));
    ctt_edit_remove(e, i);
    ctt_edit_remove(e, k);
    CTT_TRY(ctt_edit_model(e, m, out));
out:
    ctt_edit_free(&e);
    return rc;
}

/* A kernel and a bias begin with the dimension of the outputs, so that the
 * numbers of one conv lie behind those of the other. */
static void join_weights(const struct ctt_model *m, int i, int k,
                         const char *name, struct ctt_model *to)
{
    const struct ctt_node *of[2] = { &m->g->node[i], &m->g->node[k] };
    const struct ctt_node *n = &to->g->node[ctt_graph_find(to->g, name)];

    for (int w = 0; w < n->nw; w++)
        for (int64_t j = 0, at = n->at[w]; j < 2; j++) {
            int64_t count = ctt_volume(&of[j]->w[w]);

            memcpy(to->w + at, m->w + of[j]->at[w],
                   (size_t)count * sizeof(*to->w));
            ctt_constraint_carry(&m->constraint, of[j]->at[w], count,
                                 &to->constraint, at);
            at += count;
        }
}

int ctt_merge_convs(const struct ctt_model *m, int i, int *with,
                    struct ctt_model **out)
{
    const struct ctt_graph *g = m->g;
    char name[CTT_NAME];
    int k = i + 1, rc = 0;

    if (!is_plain_conv(&g->node[i]) || is_delayed(g, i) ||
        ctt_constraint_shares(&m->constraint, g->weights))
        return 0;
    while (k < g->count && !can_merge(g, i, k))
        k++;
    if (k == g->count || snprintf(name, sizeof(name), "%s.both",
                                  g->node[i].name) >= CTT_NAME ||
        ctt_graph_find(g, name) >= 0)
        return 0;
    CTT_TRY(merge_lines(m, i, k, name, out));
    join_weights(m, i, k, name, *out);
    *with = k;
    rc = 1;
out:
    return rc;
}
