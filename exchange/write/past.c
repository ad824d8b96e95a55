/* SPDX-License-Identifier: Apache-2.0
 * past.c: the values of earlier steps in a graph of one step. */
#include "exchange/write/past.h"

#include <stdio.h>
#include <string.h>

/* ---- what is kept ---- */

/* Node i reads a value of `delay` steps ago. */
static int keep_past(struct ctt_emit *x, int i, int delay, int first)
{
    struct ctt_emit_past *p = &x->past[i];
    const char *name = x->m->g->node[i].name;
    int rc = 0;

    CTT_CHECK(!p->depth || p->first == first, CTT_EUNSUP, "%s: before the "
              "first step it is zero for one reader and has its first value "
              "for another, and one pair of ONNX holds one of them", name);
    p->first = first;
    p->depth = delay > p->depth ? delay : p->depth;
out:
    return rc;
}

static int keep_of(struct ctt_emit *x, const struct ctt_node *n)
{
    const struct ctt_window_attr *w = &n->attr.window;
    int rc = 0;

    if (n->op == CTT_OP_STATE)
        return keep_past(x, n->source, n->attr.state.delay,
                         n->attr.state.fill == CTT_FILL_FIRST);
    if (n->op != CTT_OP_WINDOW)
        return 0;
    CTT_CHECK(!w->spread, CTT_EUNSUP, "%s: spread=1 shows steps that depend on "
              "the length of the stream, and a graph of ONNX has fixed ones",
              n->name);
    if (w->steps > 1)
        CTT_TRY(keep_past(x, n->in[0], (w->steps - 1) * w->every,
                          w->fill == CTT_FILL_FIRST));
out:
    return rc;
}

/* A node must not have the name of an input or output that is added. */
static int check_past_name(const char *name)
{
    int rc = 0;

    CTT_CHECK(strcmp(name, CTT_EMIT_START) != 0 &&
              strncmp(name, "past.", 5) != 0 &&
              strncmp(name, "next.", 5) != 0, CTT_EUNSUP, "%s: in ONNX that is "
              "the name of what is carried from step to step; rename the node",
              name);
out:
    return rc;
}

struct ctt_emit_name ctt_emit_pair(const struct ctt_emit *x, int node,
                                   int next)
{
    struct ctt_emit_name name;

    snprintf(name.s, sizeof(name.s), "%s.%s", next ? "next" : "past",
             x->m->g->node[node].name);
    return name;
}

/* 1 if there is an input that is true at the first step. */
static int needs_start(const struct ctt_emit *x)
{
    int starts = 0;

    for (int i = 0; i < x->m->g->count; i++)
        starts |= x->past[i].depth && x->past[i].first;
    return starts;
}

int ctt_emit_pasts(struct ctt_emit *x)
{
    const struct ctt_graph *g = x->m->g;
    int64_t dim[CTT_EMIT_RANK];
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        if (x->needed[i]) {
            CTT_TRY(check_past_name(g->node[i].name));
            CTT_TRY(keep_of(x, &g->node[i]));
        }
    for (int i = 0; i < g->count; i++)
        if (x->past[i].depth)
            ctt_emit_input(x, ctt_emit_pair(x, i, 0).s, CTT_EMIT_FLOAT, dim,
                           ctt_emit_shape(x, i, x->past[i].depth, dim));
    if (needs_start(x))
        ctt_emit_input(x, CTT_EMIT_START, CTT_EMIT_BOOL, (int64_t[]){ 1 }, 1);
out:
    return rc;
}

/* ---- in the graph ---- */

static struct ctt_emit_name first_name(const struct ctt_emit *x, int node)
{
    struct ctt_emit_name name;

    snprintf(name.s, sizeof(name.s), "%s/past", x->m->g->node[node].name);
    return name;
}

/* At the first step the value of now stands for all earlier ones. */
static void fill_first(struct ctt_emit *x, int node)
{
    int64_t times[CTT_EMIT_RANK] = { 1, x->past[node].depth, 1, 1, 1 };
    struct ctt_emit_name now = ctt_emit_temp(x);
    struct ctt_emit_name count = ctt_emit_const(x, times, 4 +
                                                ctt_emit_deep(x, node));

    ctt_emit_op(x, "Tile", now.s, ctt_emit_value(x, node).s, count.s, NULL);
    ctt_emit_op(x, "Where", first_name(x, node).s, CTT_EMIT_START, now.s,
                ctt_emit_pair(x, node, 0).s, NULL);
}

struct ctt_emit_name ctt_emit_packed(struct ctt_emit *x, int node)
{
    struct ctt_emit_past *p = &x->past[node];

    if (!p->first)
        return ctt_emit_pair(x, node, 0);
    if (!p->made)
        fill_first(x, node);
    p->made = 1;
    return first_name(x, node);
}

void ctt_emit_delayed(struct ctt_emit *x, int node, int delay, const char *out)
{
    int64_t c = x->m->g->node[node].out.c;
    int64_t from = (x->past[node].depth - delay) * c;
    struct ctt_emit_name packed = ctt_emit_packed(x, node);

    if (x->past[node].depth == 1)
        ctt_emit_op(x, "Identity", out, packed.s, NULL);
    else
        ctt_emit_slice(x, packed.s, 1, from, from + c, 1, out);
}

/* Without the oldest, and with the value of now. */
static void put_next(struct ctt_emit *x, int node, const char *out)
{
    int64_t c = x->m->g->node[node].out.c;
    int depth = x->past[node].depth;
    struct ctt_emit_name now = ctt_emit_value(x, node), kept;

    if (depth == 1) {
        ctt_emit_op(x, "Identity", out, now.s, NULL);
        return;
    }
    kept = ctt_emit_temp(x);
    ctt_emit_slice(x, ctt_emit_packed(x, node).s, 1, c, depth * c, 1, kept.s);
    ctt_emit_op(x, "Concat", out, kept.s, now.s, NULL);
    ctt_emit_int(x, "axis", 1);
}

void ctt_emit_nexts(struct ctt_emit *x)
{
    int64_t dim[CTT_EMIT_RANK];

    for (int i = 0; i < x->m->g->count; i++)
        if (x->past[i].depth) {
            struct ctt_emit_name out = ctt_emit_pair(x, i, 1);

            put_next(x, i, out.s);
            ctt_emit_output(x, out.s, dim, ctt_emit_shape(x, i,
                                                          x->past[i].depth,
                                                          dim));
        }
}
