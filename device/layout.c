/* SPDX-License-Identifier: Apache-2.0
 * layout.c: where the values of a graph lie: which nodes are only names of
 * other nodes' memory, which steps stay, and who may share. */
#include "device/run.h"

enum { DEEPEST = 1000, SHARED_MOST = 4096 };

static const int64_t most = INT64_C(1) << 44;    /* floats in a block */

/* Kernels that apply an act to their result; none of them needs that result on
 * the way back. */
static const char applies_act[CTT_NOPS] = {
    [CTT_OP_CONV] = 1, [CTT_OP_DECONV] = 1, [CTT_OP_NORM] = 1,
    [CTT_OP_ADD] = 1,
};

static const char is_name[CTT_NOPS] = {
    [CTT_OP_STATE] = 1, [CTT_OP_SLICE] = 1, [CTT_OP_RESHAPE] = 1,
};

static const char no_kernel[CTT_NOPS] = {
    [CTT_OP_INPUT] = 1, [CTT_OP_STATE] = 1, [CTT_OP_CELL] = 1,
    [CTT_OP_SLICE] = 1, [CTT_OP_RESHAPE] = 1,
};

/* The life of a node's memory, in positions of the order of running. */
struct life {
    int readers;     /* edges that name the node itself */
    int pos;         /* when its kernel runs */
    int first, last; /* written first, read last; of those with memory */
    int stays;       /* must outlive the step */
};

/* A group of nodes that use the same memory one after the other. */
struct shared { int64_t floats, at; int last; };

struct plan {
    struct ctt_run *r;
    struct life    *life;
    struct shared  *shared;
    int            *use;    /* of a node: its shared memory, or -1 */
    int             groups;
};

static void count_readers(const struct ctt_graph *g, struct life *life)
{
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        for (int k = 0; k < n->nin; k++)
            life[n->in[k]].readers++;
        if (n->op == CTT_OP_STATE)
            life[n->source].readers++;
    }
}

/* The node whose kernel may apply this act, or -1. */
static int giver(const struct ctt_graph *g, const struct life *life, int act)
{
    int p = g->node[act].in[0];

    if (g->node[act].op != CTT_OP_ACT)
        return -1;
    while (g->node[p].op == CTT_OP_RESHAPE && life[p].readers == 1)
        p = g->node[p].in[0];
    if (!applies_act[g->node[p].op] || life[p].readers != 1 ||
        (p < g->clip) != (act < g->clip))
        return -1;
    return p;
}

static void fuse(struct ctt_run *r, const struct life *life)
{
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];
        int p = giver(r->g, life, i);

        s->fused = -1;
        s->skip = no_kernel[r->g->node[i].op];
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
    if (!is_name[n->op] && !(n->op == CTT_OP_ACT && s->skip)) {
        s->ld = n->out.c;
        goto out;
    }
    s->alias = n->op == CTT_OP_STATE ? n->source : n->in[0];
    from = &r->g->node[s->alias];
    of = &r->slot[s->alias];
    CTT_TRY(view(r, s->alias, depth + 1));
    s->alias = of->alias;
    s->delay = of->delay + (n->op == CTT_OP_STATE ? n->attr.state.delay : 0);
    s->off = of->off + (n->op == CTT_OP_SLICE ? n->attr.slice.from : 0);
    s->ld = of->ld;
    if (n->op == CTT_OP_RESHAPE && n->out.c != from->out.c) {
        CTT_CHECK(of->ld == from->out.c, CTT_EUNSUP,
                  "%s: cannot reshape a slice", n->name);
        s->ld = n->out.c;
    }
out:
    return rc;
}

/* Steps before the window that must stay.  A window op looks back too, but
 * where windows begin with the clip there is nothing to see. */
static void look_back(struct ctt_run *r, int node, int steps)
{
    struct ctt_slot *of = &r->slot[r->slot[node].alias];
    int64_t need = (int64_t)r->slot[node].delay + steps;

    if (need > of->history)
        of->history = (int)need;
}

static void histories(struct ctt_run *r, struct life *life)
{
    const struct ctt_graph *g = r->g;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        look_back(r, i, 0);
        if (n->op != CTT_OP_WINDOW)
            continue;
        life[r->slot[n->in[0]].alias].stays = 1;
        if (r->slides)
            look_back(r, n->in[0],
                      (n->attr.window.steps - 1) * n->attr.window.every);
    }
}

/* Floats a step of a node with memory. */
static int sizes(struct ctt_run *r)
{
    int rc = 0;

    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        int64_t copies = i < r->g->clip ? r->n : r->max_asks;
        struct ctt_slot *s = &r->slot[i];

        CTT_CHECK(ctt_volume(&n->out) <=
                  most / copies / ((int64_t)s->history + r->room),
                  CTT_EINVAL, "%s: its values do not fit into memory", n->name);
        s->size = copies * ctt_volume(&n->out);
    }
out:
    return rc;
}

/* Nodes of a bound component run again and again: they share one position. */
static void positions(const struct ctt_run *r, struct life *life)
{
    const struct ctt_schedule *s = r->s;

    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; j < s->first[k + 1]; j++)
            life[s->order[j]].pos = k;
    for (int i = r->g->clip; i < r->g->count; i++)
        life[i].pos = s->comps + i - r->g->clip;
}

static void lives(const struct ctt_run *r, struct life *life)
{
    const struct ctt_graph *g = r->g;

    positions(r, life);
    for (int i = 0; i < g->count; i++)
        life[i].first = life[i].last = life[i].pos;
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        for (int k = 0; k < n->nin; k++) {
            struct life *of = &life[r->slot[n->in[k]].alias];
            of->last = life[i].pos > of->last ? life[i].pos : of->last;
        }
        if (n->op == CTT_OP_LSTM && n->cell >= 0)
            life[n->cell].first = life[i].pos;
        if (n->op == CTT_OP_INPUT || r->slot[i].history > 0)
            life[i].stays = 1;
    }
    life[r->slot[ctt_graph_output(g)].alias].stays = 1;
}

static int64_t room_of(const struct ctt_run *r, int node)
{
    const struct ctt_slot *s = &r->slot[node];

    if (node >= r->g->clip)
        return ctt_align(s->size, 16);
    return ctt_align(s->history * s->size, 16) +
           ctt_align(r->room * s->size, 16);
}

/* The free group that this node's memory fits best, or a new one. */
static int group_for(struct plan *p, const struct life *l, int64_t floats)
{
    int best = -1;
    int64_t waste = INT64_MAX;

    for (int k = 0; k < p->groups; k++) {
        int64_t w = p->shared[k].floats - floats;
        w = w < 0 ? -w : w;
        if (p->shared[k].last < l->first && w < waste) {
            waste = w;
            best = k;
        }
    }
    return best < 0 ? p->groups++ : best;
}

static void share(struct plan *p, int node)
{
    int64_t floats = room_of(p->r, node);
    int k;

    if (p->r->slot[node].alias != node || p->life[node].stays)
        return;
    k = group_for(p, &p->life[node], floats);
    p->use[node] = k;
    p->shared[k].last = p->life[node].last;
    if (floats > p->shared[k].floats)
        p->shared[k].floats = floats;
}

static int take(struct ctt_run *r, int64_t floats, int64_t *at)
{
    int rc = 0;

    *at = r->values;
    CTT_CHECK(floats <= most - r->values, CTT_EINVAL,
              "the model's values do not fit into memory");
    r->values += floats;
out:
    return rc;
}

static int place(struct plan *p)
{
    struct ctt_run *r = p->r;
    int rc = 0;

    for (int k = 0; k < p->groups; k++)
        CTT_TRY(take(r, p->shared[k].floats, &p->shared[k].at));
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];

        if (s->alias != i)
            continue;
        if (p->use[i] >= 0)
            s->at = p->shared[p->use[i]].at;
        else
            CTT_TRY(take(r, room_of(r, i), &s->at));
        if (i < r->g->clip)    /* step 0 at a multiple of 64 bytes */
            s->at += ctt_align(s->history * s->size, 16);
    }
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i], *of = &r->slot[s->alias];

        s->at = of->at;
        s->size = of->size;
        s->history = of->history;
    }
out:
    return rc;
}

/* In the order of running, so that a group's last reader is known. */
static void share_all(struct plan *p)
{
    const struct ctt_schedule *s = p->r->s;
    const struct ctt_graph *g = p->r->g;

    for (int i = 0; i < g->count; i++)
        p->use[i] = -1;
    if (!p->r->slides || g->count > SHARED_MOST)
        return;
    for (int j = 0; j < s->first[s->comps]; j++)
        share(p, s->order[j]);
    for (int i = g->clip; i < g->count; i++)
        share(p, i);
}

int ctt_run_layout(struct ctt_run *r)
{
    size_t count = (size_t)r->g->count;
    struct plan p = { .r = r };
    int rc = 0;

    p.life = ctt_calloc(count, sizeof(*p.life));
    p.shared = ctt_calloc(count, sizeof(*p.shared));
    p.use = ctt_calloc(count, sizeof(*p.use));
    r->slot = ctt_calloc(count, sizeof(*r->slot));
    CTT_TRY(p.life && p.shared && p.use && r->slot ? 0 : CTT_ENOMEM);
    count_readers(r->g, p.life);
    fuse(r, p.life);
    for (int i = 0; i < r->g->count; i++)
        CTT_TRY(view(r, i, 0));
    histories(r, p.life);
    CTT_TRY(sizes(r));
    lives(r, p.life);
    share_all(&p);
    CTT_TRY(place(&p));
out:
    ctt_free(p.life);
    ctt_free(p.shared);
    ctt_free(p.use);
    return rc;
}
