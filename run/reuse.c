/* SPDX-License-Identifier: Apache-2.0
 * reuse.c: memory reuse in a sliding run: a node may get the memory of a node
 * whose readers have all run. */
#include "run/layout.h"
#include "base/half.h"

enum { REUSE_MOST = 4096 };

/* The lifetime of a node's memory, in positions of the execution order. */
struct lifetime {
    int pos;         /* when its kernel runs */
    int first, last; /* first write and last read, of nodes with memory */
    int stays;       /* must outlive the step */
};

/* A group of nodes that use the same memory one after the other. */
struct group { int64_t bytes, at; int last; };

struct reuse {
    struct ctt_run *r;
    struct lifetime    *life;
    struct group   *group;
    int            *use;    /* of a node: its group, or -1 */
    int             groups;
};

/* All nodes of a bound component have one position, as they run in a loop. */
static void positions(const struct ctt_run *r, struct lifetime *life)
{
    const struct ctt_schedule *s = r->sched[0];

    for (int i = 0; i < r->g->count; i++)
        life[i].pos = s->of[i] + (i < r->g->clip ? 0 : i - r->g->clip);
}

static void read_at(const struct ctt_run *r, struct lifetime *life, int node,
                    int pos)
{
    struct lifetime *of = &life[r->slot[node].alias];

    of->last = pos > of->last ? pos : of->last;
}

/* A conv that is fused into another one reads its input when the latter
 * runs. */
static void lives(const struct ctt_run *r, struct lifetime *life)
{
    const struct ctt_graph *g = r->g;

    positions(r, life);
    for (int i = 0; i < g->count; i++)
        life[i].first = life[i].last = life[i].pos;
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        struct lifetime *mine = &life[r->slot[i].alias];
        int into = r->slot[i].fused_into;

        if (!r->slot[i].skip && life[i].pos < mine->first)
            mine->first = life[i].pos;
        for (int k = 0; k < n->nin; k++)
            read_at(r, life, n->in[k], life[into < 0 ? i : into].pos);
        if (n->cell >= 0)
            life[n->cell].first = life[i].pos;
        if (n->op == CTT_OP_INPUT || r->slot[i].history > 0)
            life[i].stays = 1;
        if (n->op == CTT_OP_WINDOW)
            life[r->slot[n->in[0]].alias].stays = 1;
    }
    life[r->slot[ctt_graph_output(g)].alias].stays = 1;
}

static int64_t room_of(const struct ctt_run *r, int node)
{
    const struct ctt_slot *s = &r->slot[node];

    if (node >= r->g->clip)
        return ctt_align(s->size * ctt_dtype_size(s->type), 64);
    return ctt_place_before(r, node) +
           ctt_align(r->room * s->size * ctt_dtype_size(s->type), 64);
}

/* The free group whose size is closest to `bytes`, or a new one. */
static int group_for(struct reuse *p, const struct lifetime *l, int64_t bytes)
{
    int best = -1;
    int64_t waste = INT64_MAX;

    for (int k = 0; k < p->groups; k++) {
        int64_t w = p->group[k].bytes - bytes;
        w = w < 0 ? -w : w;
        if (p->group[k].last < l->first && w < waste) {
            waste = w;
            best = k;
        }
    }
    return best < 0 ? p->groups++ : best;
}

static void assign(struct reuse *p, int node)
{
    int64_t bytes = room_of(p->r, node);
    int k;

    if (p->r->slot[node].alias != node || p->life[node].stays)
        return;
    k = group_for(p, &p->life[node], bytes);
    p->use[node] = k;
    p->group[k].last = p->life[node].last;
    if (bytes > p->group[k].bytes)
        p->group[k].bytes = bytes;
}

static int take_place(struct ctt_run *r, int64_t bytes, int64_t *at)
{
    *at = r->values;
    return ctt_place_take(&r->values, bytes);
}

static int place_values(struct reuse *p)
{
    struct ctt_run *r = p->r;
    int rc = 0;

    for (int k = 0; k < p->groups; k++)
        CTT_TRY(take_place(r, p->group[k].bytes, &p->group[k].at));
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];

        if (s->alias != i)
            continue;
        if (p->use[i] >= 0)
            s->at = p->group[p->use[i]].at;
        else
            CTT_TRY(take_place(r, room_of(r, i), &s->at));
        if (i < r->g->clip)    /* step 0 at a multiple of 64 bytes */
            s->at += ctt_place_before(r, i);
    }
    ctt_place_names(r);
out:
    return rc;
}

/* Assigns groups in execution order, so that the last reader of a group is
 * known. */
static void assign_all(struct reuse *p)
{
    const struct ctt_schedule *s = p->r->sched[0];
    const struct ctt_graph *g = p->r->g;

    for (int i = 0; i < g->count; i++)
        p->use[i] = -1;
    if (p->r->sched[1] || g->count > REUSE_MOST)
        return;    /* with a mix there are two orders */
    for (int j = 0; j < s->first[s->comps]; j++)
        assign(p, s->order[j]);
    for (int i = g->clip; i < g->count; i++)
        assign(p, i);
}

int ctt_layout_reuse(struct ctt_run *r)
{
    size_t count = (size_t)r->g->count;
    struct reuse p = { .r = r };
    int rc = 0;

    p.life = ctt_calloc(count, sizeof(*p.life));
    p.group = ctt_calloc(count, sizeof(*p.group));
    p.use = ctt_calloc(count, sizeof(*p.use));
    CTT_TRY(p.life && p.group && p.use ? 0 : CTT_ENOMEM);
    lives(r, p.life);
    assign_all(&p);
    CTT_TRY(place_values(&p));
out:
    ctt_free(p.life);
    ctt_free(p.group);
    ctt_free(p.use);
    return rc;
}
