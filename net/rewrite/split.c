/* SPDX-License-Identifier: Apache-2.0
 * split.c: the weights of a part of a graph and those of the whole, and the
 * functions shared by the ways to divide it. */
#include "net/rewrite/split_in.h"
#include "net/op.h"

#include <string.h>

int ctt_split_new(const struct ctt_graph *g, struct ctt_split **out)
{
    struct ctt_split *s = ctt_calloc(1, sizeof(*s));

    if (s)
        s->partial = ctt_calloc((size_t)g->count, 1);
    if (!s || !s->partial) {
        ctt_split_free(&s);
        return CTT_ENOMEM;
    }
    *out = s;
    return 0;
}

void ctt_split_free(struct ctt_split **s)
{
    if (!*s)
        return;
    ctt_graph_free(&(*s)->g);
    ctt_free((*s)->partial);
    ctt_free((*s)->piece);
    ctt_free(*s);
    *s = NULL;
}

int ctt_split_check(const struct ctt_graph *g)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        CTT_CHECK(!ctt_is_exchange(&g->node[i]), CTT_EUNSUP, "%s: this is a "
                  "part of a model already", g->node[i].name);
out:
    return rc;
}

void ctt_split_describe(const struct ctt_graph *g, struct ctt_split *s)
{
    double all = 0, divided = 0;

    for (int i = 0; i < g->count; i++) {
        double macs = (double)ctt_node_macs(g, i);

        all += macs;
        divided += s->partial[i] ? macs : 0;
        s->nodes += s->partial[i];
    }
    s->share = all > 0 ? divided / all : 0;
}

/* ---- the places of weights ---- */

int ctt_split_piece(struct ctt_split *s, const struct ctt_graph *g, int node,
                    int k, const char *name, struct ctt_piece p)
{
    int at = ctt_graph_find(s->g, name);

    if (!s->piece)
        s->piece = ctt_calloc((size_t)g->count * CTT_MAX_W,
                              sizeof(*s->piece));
    if (!s->piece)
        return CTT_ENOMEM;
    if (at < 0 || k >= s->g->node[at].nw)
        return 0;
    p.whole += g->node[node].at[k];
    p.part = s->g->node[at].at[k];
    p.part_apart = p.run;
    p.moved = g->node[node].fixed >> k & 1;
    s->piece[s->pieces++] = p;
    return 0;
}

int ctt_split_whole(struct ctt_split *s, const struct ctt_graph *g, int node,
                    int k)
{
    return ctt_split_piece(s, g, node, k, g->node[node].name,
                           (struct ctt_piece){
        .run = ctt_volume(&g->node[node].w[k]), .count = 1 });
}

void ctt_split_take(const struct ctt_split *s, const float *whole, float *part)
{
    if (!s->piece)
        memcpy(part, whole, (size_t)s->g->weights * sizeof(*part));
    for (int i = 0; i < s->pieces; i++) {
        const struct ctt_piece *p = &s->piece[i];

        for (int64_t k = 0; k < p->count; k++)
            memcpy(part + p->part + k * p->part_apart,
                   whole + p->whole + k * p->whole_apart,
                   (size_t)p->run * sizeof(*part));
    }
}

void ctt_split_give(const struct ctt_split *s, int moved, const float *part,
                    float *whole)
{
    if (!s->piece && !moved)
        memcpy(whole, part, (size_t)s->g->weights * sizeof(*whole));
    for (int i = 0; i < s->pieces; i++) {
        const struct ctt_piece *p = &s->piece[i];

        for (int64_t k = 0; k < p->count && p->moved == moved; k++)
            memcpy(whole + p->whole + k * p->whole_apart,
                   part + p->part + k * p->part_apart,
                   (size_t)p->run * sizeof(*whole));
    }
}

int ctt_split_finish(struct ctt_split *s, const struct ctt_graph *g,
                     int (*add)(const void *arg, struct ctt_split *s,
                                int node, int k), const void *arg)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        if (!s->whole && !s->partial[i] && ctt_is_conv(n))
            s->whole = n->name;
        for (int k = 0; k < n->nw; k++)
            CTT_TRY(add(arg, s, i, k));
    }
    ctt_split_describe(g, s);
out:
    return rc;
}
