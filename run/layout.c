/* SPDX-License-Identifier: Apache-2.0
 * layout.c: where the values of a graph lie: which nodes are only names of
 * other nodes' memory, and which steps stay. */
#include "run/layout.h"
#include "net/half.h"
#include "net/op.h"

enum { DEEPEST = 1000 };

static const int64_t most = INT64_C(1) << 46;    /* bytes in a block */

static void count_readers(const struct ctt_graph *g, int *readers)
{
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        for (int k = 0; k < n->nin; k++)
            readers[n->in[k]]++;
        if (n->op == CTT_OP_STATE)
            readers[n->source]++;
    }
}

/* Names have the type of what they name. */
static enum ctt_dtype type_of(const struct ctt_run *r, int node)
{
    return r->type ? r->type[node] : CTT_F32;
}

/* The node whose kernel may apply this act, or -1. */
static int giver(const struct ctt_run *r, const int *readers, int act)
{
    const struct ctt_graph *g = r->g;
    int p = g->node[act].in[0];

    if (g->node[act].op != CTT_OP_ACT)
        return -1;
    while (g->node[p].op == CTT_OP_RESHAPE && readers[p] == 1)
        p = g->node[p].in[0];
    if (ctt_ops[g->node[p].op].result != CTT_RESULT_ACT || readers[p] != 1 ||
        (p < g->clip) != (act < g->clip) ||
        type_of(r, p) != type_of(r, act))
        return -1;
    return p;
}

static void fuse(struct ctt_run *r, const int *readers)
{
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];
        int p = giver(r, readers, i);

        s->fused = -1;
        s->skip = ctt_ops[r->g->node[i].op].memory != CTT_COMPUTED;
        if (p >= 0 && r->slot[p].fused < 0) {
            r->slot[p].fused = i;
            s->skip = 1;
        }
    }
}

/* Whose memory a node names, and where in it. */
static int view(struct ctt_run *r, int node, int depth)
{
    const struct ctt_node *n = &r->g->node[node], *from;
    struct ctt_slot *s = &r->slot[node], *of;
    int rc = 0;

    if (s->ld)
        goto out;
    CTT_CHECK(depth < DEEPEST, CTT_EUNSUP, "%s: a chain of more than %d names",
              n->name, DEEPEST);
    s->alias = node;
    if (ctt_ops[n->op].memory != CTT_VIEW &&
        !(n->op == CTT_OP_ACT && s->skip)) {
        s->ld = n->out.c;
        s->type = type_of(r, node);
        goto out;
    }
    s->alias = ctt_viewed(n);
    from = &r->g->node[s->alias];
    of = &r->slot[s->alias];
    CTT_TRY(view(r, s->alias, depth + 1));
    s->alias = of->alias;
    s->delay = of->delay + (n->op == CTT_OP_STATE ? n->attr.state.delay : 0);
    s->off = of->off + (n->op == CTT_OP_SLICE ? n->attr.slice.from : 0);
    s->ld = of->ld;
    s->type = of->type;
    if (n->op == CTT_OP_RESHAPE && n->out.c != from->out.c) {
        CTT_CHECK(of->ld == from->out.c, CTT_EUNSUP,
                  "%s: cannot reshape a slice", n->name);
        s->ld = n->out.c;
    }
out:
    return rc;
}

/* Steps before the window that must stay. */
static void look_back(struct ctt_run *r, int node, int steps)
{
    struct ctt_slot *of = &r->slot[r->slot[node].alias];
    int64_t need = (int64_t)r->slot[node].delay + steps;

    if (need > of->history)
        of->history = (int)need;
}

/* A window op looks back too, but where windows begin with the clip there is
 * nothing to see. */
static void histories(struct ctt_run *r, int windows)
{
    const struct ctt_graph *g = r->g;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        look_back(r, i, 0);
        if (n->op == CTT_OP_WINDOW && windows)
            look_back(r, n->in[0],
                      (n->attr.window.steps - 1) * n->attr.window.every);
    }
}

/* Numbers a step of a node with memory. */
static int sizes(struct ctt_run *r)
{
    int rc = 0;

    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        int64_t copies = i < r->g->clip ? r->n : r->max_asks;
        struct ctt_slot *s = &r->slot[i];

        CTT_CHECK(ctt_volume(&n->out) <=
                  most / 4 / copies / ((int64_t)s->history + r->room),
                  CTT_EINVAL, "%s: its values do not fit into memory", n->name);
        s->size = copies * ctt_volume(&n->out);
    }
out:
    return rc;
}

/* ---- places ---- */

int ctt_layout_take(int64_t *at, int64_t bytes)
{
    int rc = 0;

    CTT_CHECK(bytes <= most - *at, CTT_EINVAL,
              "the model's values do not fit into memory");
    *at += bytes;
out:
    return rc;
}

void ctt_layout_follow(struct ctt_run *r)
{
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i], *of = &r->slot[s->alias];

        s->at = of->at;
        s->size = of->size;
        s->history = of->history;
        s->type = of->type;
        s->block = of->block;
    }
}

int64_t ctt_layout_before(const struct ctt_run *r, int node)
{
    const struct ctt_slot *s = &r->slot[node];

    return node < r->g->clip ? ctt_align(s->history * s->size *
                                         ctt_dtype_size(s->type), 64) : 0;
}

/* Bytes a step, or an ask. */
static int64_t each(const struct ctt_run *r, int node)
{
    int64_t n = node < r->g->clip ? r->slot[node].size
                                  : ctt_volume(&r->g->node[node].out);

    return ctt_align(n * ctt_dtype_size(r->slot[node].type), 64);
}

int64_t ctt_layout_bytes(const struct ctt_run *r, int node, int steps)
{
    return each(r, node) * steps;
}

void ctt_run_place(struct ctt_run *r, int steps, int asks)
{
    int64_t at[CTT_BLOCKS] = { 0 };

    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];

        if (s->alias != i)
            continue;
        at[s->block] += ctt_layout_before(r, i);
        s->at = at[s->block];
        at[s->block] += ctt_layout_bytes(r, i, i < r->g->clip ? steps : asks);
    }
    ctt_layout_follow(r);
}

static int blocks(struct ctt_run *r, const char *kept)
{
    int64_t sum = 0;
    int rc = 0;

    for (int i = 0; i < r->g->count; i++)
        r->slot[i].block = kept ? CTT_PASSING : CTT_KEPT;
    for (int i = 0; i < r->g->count && kept; i++)
        if (kept[i])
            r->slot[r->slot[i].alias].block = CTT_KEPT;
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_extent *e = &r->extent[r->slot[i].block];

        if (r->slot[i].alias != i)
            continue;
        CTT_TRY(ctt_layout_take(&sum, ctt_layout_before(r, i)));
        CTT_TRY(ctt_layout_take(&sum, ctt_layout_bytes(r, i, i < r->g->clip
                                ? r->room : r->max_asks)));
        e->fixed += ctt_layout_before(r, i);
        *(i < r->g->clip ? &e->step : &e->ask) += each(r, i);
    }
out:
    return rc;
}

int ctt_run_layout(struct ctt_run *r, const char *kept, int windows)
{
    size_t count = (size_t)r->g->count;
    int *readers = ctt_calloc(count, sizeof(*readers));
    int rc = 0;

    r->slot = ctt_calloc(count, sizeof(*r->slot));
    CTT_TRY(readers && r->slot ? 0 : CTT_ENOMEM);
    count_readers(r->g, readers);
    fuse(r, readers);
    for (int i = 0; i < r->g->count; i++)
        CTT_TRY(view(r, i, 0));
    histories(r, windows);
    CTT_TRY(ctt_layout_along(r, readers, kept));
    CTT_TRY(sizes(r));
    if (r->slides) {
        CTT_TRY(ctt_layout_share(r));
        goto out;
    }
    CTT_TRY(blocks(r, kept));
    ctt_run_place(r, r->room, r->max_asks);
out:
    ctt_free(readers);
    return rc;
}
