/* SPDX-License-Identifier: Apache-2.0
 * channels.c: a graph of which each process reads some channels of the input of
 * every conv; what it makes of them are terms, which are added up (Dryden and
 * others 2019b).  All else is computed alike. */
#include "net/rewrite/split_in.h"
#include "net/op.h"
#include "net/part.h"
#include "net/quant.h"

#include <stdio.h>
#include <string.h>

struct making {
    const struct ctt_graph *g;
    struct ctt_edit        *e;
    int   part, parts;
    char *is_read;    /* per node: some of its channels are read alone */
};

/* The weights of a conv of whole numbers are rounded by the largest of a
 * filter, so such filters stay whole. */
static int is_divided(const struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];

    return ctt_is_conv(n) && !ctt_is_grouped(n) &&
           a->g->node[n->in[0]].out.c >= a->parts && !ctt_is_int8(a->g, node);
}

static int check(const struct making *a)
{
    int rc = 0, any = 0;

    CTT_TRY(ctt_split_check(a->g));
    for (int i = 0; i < a->g->count; i++)
        any |= is_divided(a, i);
    CTT_CHECK(any, CTT_EUNSUP, "no conv without groups reads %d channels or "
              "more", a->parts);
out:
    return rc;
}

/* The terms, of which that of the first part has the bias, and their sum under
 * the name of the conv. */
static int divide(struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];
    const int *k = n->attr.conv.kernel, *s = n->attr.conv.stride;
    const int *p = n->attr.conv.pad;
    int rc = 0;

    a->is_read[n->in[0]] = 1;
    CTT_TRY(ctt_edit_add(a->e, node, "%s split.terms.%d in=split.part.%d "
                         "out=%lld kernel=%d,%d,%d stride=%d,%d,%d "
                         "pad=%d,%d,%d bias=%d", ctt_ops[n->op].name, node,
                         n->in[0], (long long)n->out.c, k[0], k[1], k[2], s[0],
                         s[1], s[2], p[0], p[1], p[2],
                         a->part == 0 && n->attr.conv.bias));
    CTT_TRY(ctt_edit_add(a->e, node, "total %s in=split.terms.%d%s%s", n->name,
                         node, n->plus ? "," : "",
                         n->plus ? a->g->node[n->in[1]].name : ""));
    ctt_edit_remove(a->e, node);
out:
    return rc;
}

/* After the node, also where its line has been replaced. */
static int add_part(struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];

    return ctt_edit_after(a->e, node, "collect split.part.%d in=%s of=channels "
                          "pass=backward part=%d parts=%d all=%lld", node,
                          n->name, a->part, a->parts, (long long)n->out.c);
}

static int make_text(struct making *a)
{
    int rc = 0;

    for (int i = 0; i < a->g->count; i++)
        if (is_divided(a, i))
            CTT_TRY(divide(a, i));
    for (int i = 0; i < a->g->count; i++)
        if (a->is_read[i])
            CTT_TRY(add_part(a, i));
out:
    return rc;
}

/* Of each filter and place of its kernel, the weights of the own channels; the
 * bias whole, on the part that has it. */
static int add_piece(const void *arg, struct ctt_split *s, int node, int k)
{
    const struct making *a = arg;
    const struct ctt_node *n = &a->g->node[node];
    int64_t c = n->w[0].c;
    char name[CTT_NAME];

    if (!is_divided(a, node))
        return ctt_split_whole(s, a->g, node, k);
    snprintf(name, sizeof(name), CTT_SPLIT_TERMS "%d", node);
    if (k > 0)
        return ctt_split_piece(s, a->g, node, k, name, (struct ctt_piece){
            .run = ctt_volume(&n->w[k]), .count = 1 });
    return ctt_split_piece(s, a->g, node, k, name, (struct ctt_piece){
        .whole = ctt_part_first(c, a->part, a->parts),
        .run = ctt_part_size(c, a->part, a->parts),
        .count = ctt_volume(&n->w[0]) / c, .whole_apart = c });
}

static int finish(const struct making *a, struct ctt_split *s)
{
    for (int i = 0; i < a->g->count; i++)
        s->partial[i] = (char)is_divided(a, i);
    return ctt_split_finish(s, a->g, add_piece, a);
}

int ctt_split_channels(const struct ctt_graph *g, int part, int parts,
                       struct ctt_split **out)
{
    struct making a = { .g = g, .part = part, .parts = parts };
    struct ctt_split *s = NULL;
    int rc;

    CTT_TRY(ctt_split_new(g, &s));
    a.is_read = ctt_calloc((size_t)g->count, 1);
    CTT_TRY(a.is_read ? 0 : CTT_ENOMEM);
    CTT_TRY(check(&a));
    CTT_TRY(ctt_edit_begin(g, &a.e));
    CTT_TRY(make_text(&a));
    CTT_TRY(ctt_edit_graph(a.e, &s->g));
    CTT_TRY(finish(&a, s));
    *out = s;
    s = NULL;
out:
    ctt_split_free(&s);
    ctt_edit_free(&a.e);
    ctt_free(a.is_read);
    return rc;
}
