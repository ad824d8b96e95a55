/* SPDX-License-Identifier: Apache-2.0
 * layout.c: where the values of a graph are stored: which nodes are only names
 * of other nodes' memory, and how many past steps have memory. */
#include "run/joint.h"
#include "run/layout.h"
#include "base/half.h"
#include "net/op.h"

enum { DEEPEST = 1000 };

void ctt_layout_readers(const struct ctt_graph *g, int *readers)
{
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < ctt_node_inputs(&g->node[i]); k++)
            readers[ctt_node_input(&g->node[i], k)]++;
}

/* Initialises the slots, before fusion. */
static void init_slots(struct ctt_run *r)
{
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];

        s->act = s->quant = s->lstm = s->pair = s->link = -1;
        s->fused_into = -1;
        s->skip = ctt_ops[r->g->node[i].op].memory != CTT_COMPUTED;
    }
}

/* 1 if the node only names memory of the node that it reads, whose kernel may
 * have done its work. */
static int is_name(const struct ctt_node *n, const struct ctt_slot *s)
{
    return ctt_ops[n->op].memory == CTT_VIEW ||
           (ctt_ops[n->op].memory == CTT_COMPUTED && s->skip);
}

/* Resolves a name: the node that owns the memory, and the offset in it. */
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
    if (!is_name(n, s)) {
        s->ld = n->out.c;
        s->type = ctt_place_type(r, s->quant < 0 ? node : s->quant);
        goto out;
    }
    s->alias = ctt_viewed(n);
    from = &r->g->node[s->alias];
    of = &r->slot[s->alias];
    CTT_TRY(view(r, s->alias, depth + 1));
    s->alias = of->alias;
    s->delay = of->delay + (n->op == CTT_OP_STATE ? n->attr.state.delay : 0);
    s->first = of->first || (n->op == CTT_OP_STATE &&
                             n->attr.state.fill == CTT_FILL_FIRST);
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

/* Keeps `steps` steps before the window, plus the delay of a name. */
static void look_back(struct ctt_run *r, int node, int steps)
{
    struct ctt_slot *of = &r->slot[r->slot[node].alias];
    int64_t need = (int64_t)r->slot[node].delay + steps;

    if (need > of->history)
        of->history = (int)need;
}

/* Keeps values of all steps before the window, for `slots` slots. */
static void look_over(struct ctt_run *r, int node, int slots)
{
    struct ctt_slot *of = &r->slot[r->slot[node].alias];

    if (2 * slots > of->kept)
        of->kept = 2 * slots;
}

/* A window op reads past steps too, except if each window is a whole clip. */
static void histories(struct ctt_run *r, int windows)
{
    const struct ctt_graph *g = r->g;

    r->slot[r->slot[ctt_graph_output(g)].alias].lasts = 1;
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        const struct ctt_window_attr *a = &n->attr.window;

        look_back(r, i, 0);
        if (n->op == CTT_OP_WINDOW)
            r->slot[r->slot[n->in[0]].alias].lasts = 1;
        if (n->op != CTT_OP_WINDOW || !windows)
            continue;
        if (a->spread)
            look_over(r, n->in[0], a->steps);
        else
            look_back(r, n->in[0], (a->steps - 1) * a->every);
    }
}

/* The size of each node's values in numbers per step. */
static int sizes(struct ctt_run *r)
{
    int rc = 0;

    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        int64_t copies = i < r->g->clip ? r->n : r->max_asks;
        struct ctt_slot *s = &r->slot[i];

        CTT_CHECK(ctt_volume(&n->out) <=
                  CTT_BLOCK_MOST / 4 / copies / (ctt_slot_before(s) + r->room),
                  CTT_EINVAL, "%s: its values do not fit into memory", n->name);
        s->size = copies * ctt_volume(&n->out);
        if (ctt_joint_copies(r, i))
            s->size = copies * ctt_rows(&n->out) * s->ld;
    }
out:
    return rc;
}

static int blocks(struct ctt_run *r, const char *saved)
{
    int64_t sum = 0;
    int rc = 0;

    for (int i = 0; i < r->g->count; i++)
        r->slot[i].block = saved ? CTT_TRANSIENT : CTT_SAVED;
    for (int i = 0; i < r->g->count && saved; i++)
        if (saved[i])
            r->slot[r->slot[i].alias].block = CTT_SAVED;
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_extent *e = &r->extent[r->slot[i].block];

        if (r->slot[i].alias != i)
            continue;
        CTT_TRY(ctt_place_take(&sum, ctt_place_before(r, i)));
        CTT_TRY(ctt_place_take(&sum, ctt_place_bytes(
            r, i, i < r->g->clip ? r->room : r->max_asks)));
        e->fixed += ctt_place_before(r, i);
        *(i < r->g->clip ? &e->step : &e->ask) +=
            ctt_place_bytes(r, i, 1);
    }
out:
    return rc;
}

int ctt_run_layout(struct ctt_run *r, const char *saved, int windows)
{
    size_t count = (size_t)r->g->count;
    int *readers = ctt_calloc(count, sizeof(*readers));
    int rc = 0;

    r->slot = ctt_calloc(count, sizeof(*r->slot));
    CTT_TRY(readers && r->slot ? 0 : CTT_ENOMEM);
    ctt_layout_readers(r->g, readers);
    init_slots(r);
    ctt_layout_fuse_acts(r, readers);
    ctt_layout_fuse_quants(r, readers);
    for (int i = 0; i < r->g->count; i++)
        CTT_TRY(view(r, i, 0));
    histories(r, windows);
    CTT_TRY(ctt_layout_fuse_convs(r, readers, saved));
    if (!r->slides && saved && r->dev && !ctt_dev_shared(r->dev))
        CTT_TRY(ctt_layout_join(r, readers));
    CTT_TRY(sizes(r));
    if (r->slides) {
        CTT_TRY(ctt_layout_reuse(r));
        goto out;
    }
    CTT_TRY(blocks(r, saved));
    ctt_run_place(r, r->room, r->max_asks);
out:
    ctt_free(readers);
    return rc;
}
