/* SPDX-License-Identifier: Apache-2.0
 * reuse.c: nodes of a sliding run whose readers have run give their memory to
 * later ones. */
#include "run/layout.h"
#include "net/half.h"

enum { SHARED_MOST = 4096 };

/* The life of a node's memory, in positions of the order of running. */
struct life {
    int pos;         /* when its kernel runs */
    int first, last; /* written first, read last; of those with memory */
    int stays;       /* must outlive the step */
};

/* A group of nodes that use the same memory one after the other. */
struct shared { int64_t bytes, at; int last; };

struct plan {
    struct ctt_run *r;
    struct life    *life;
    struct shared  *shared;
    int            *use;    /* of a node: its shared memory, or -1 */
    int             groups;
};

/* Nodes of a bound component run again and again: they share one position. */
static void positions(const struct ctt_run *r, struct life *life)
{
    const struct ctt_schedule *s = r->sched[0];

    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; j < s->first[k + 1]; j++)
            life[s->order[j]].pos = k;
    for (int i = r->g->clip; i < r->g->count; i++)
        life[i].pos = s->comps + i - r->g->clip;
}

static void read_at(const struct ctt_run *r, struct life *life, int node,
                    int pos)
{
    struct life *of = &life[r->slot[node].alias];

    of->last = pos > of->last ? pos : of->last;
}

/* A conv that goes along with another reads its input when that one runs. */
static void lives(const struct ctt_run *r, struct life *life)
{
    const struct ctt_graph *g = r->g;

    positions(r, life);
    for (int i = 0; i < g->count; i++)
        life[i].first = life[i].last = life[i].pos;
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        struct life *mine = &life[r->slot[i].alias];
        int with = r->slot[i].with;

        if (!r->slot[i].skip && life[i].pos < mine->first)
            mine->first = life[i].pos;
        for (int k = 0; k < n->nin; k++)
            read_at(r, life, n->in[k], life[with < 0 ? i : with].pos);
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

/* The free group that this node's memory fits best, or a new one. */
static int group_for(struct plan *p, const struct life *l, int64_t bytes)
{
    int best = -1;
    int64_t waste = INT64_MAX;

    for (int k = 0; k < p->groups; k++) {
        int64_t w = p->shared[k].bytes - bytes;
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
    int64_t bytes = room_of(p->r, node);
    int k;

    if (p->r->slot[node].alias != node || p->life[node].stays)
        return;
    k = group_for(p, &p->life[node], bytes);
    p->use[node] = k;
    p->shared[k].last = p->life[node].last;
    if (bytes > p->shared[k].bytes)
        p->shared[k].bytes = bytes;
}

static int take(struct ctt_run *r, int64_t bytes, int64_t *at)
{
    *at = r->values;
    return ctt_place_take(&r->values, bytes);
}

static int place(struct plan *p)
{
    struct ctt_run *r = p->r;
    int rc = 0;

    for (int k = 0; k < p->groups; k++)
        CTT_TRY(take(r, p->shared[k].bytes, &p->shared[k].at));
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];

        if (s->alias != i)
            continue;
        if (p->use[i] >= 0)
            s->at = p->shared[p->use[i]].at;
        else
            CTT_TRY(take(r, room_of(r, i), &s->at));
        if (i < r->g->clip)    /* step 0 at a multiple of 64 bytes */
            s->at += ctt_place_before(r, i);
    }
    ctt_place_names(r);
out:
    return rc;
}

/* In the order of running, so that a group's last reader is known. */
static void share_all(struct plan *p)
{
    const struct ctt_schedule *s = p->r->sched[0];
    const struct ctt_graph *g = p->r->g;

    for (int i = 0; i < g->count; i++)
        p->use[i] = -1;
    if (p->r->sched[1] || g->count > SHARED_MOST)
        return;    /* with a mix there are two orders */
    for (int j = 0; j < s->first[s->comps]; j++)
        share(p, s->order[j]);
    for (int i = g->clip; i < g->count; i++)
        share(p, i);
}

int ctt_layout_reuse(struct ctt_run *r)
{
    size_t count = (size_t)r->g->count;
    struct plan p = { .r = r };
    int rc = 0;

    p.life = ctt_calloc(count, sizeof(*p.life));
    p.shared = ctt_calloc(count, sizeof(*p.shared));
    p.use = ctt_calloc(count, sizeof(*p.use));
    CTT_TRY(p.life && p.shared && p.use ? 0 : CTT_ENOMEM);
    lives(r, p.life);
    share_all(&p);
    CTT_TRY(place(&p));
out:
    ctt_free(p.life);
    ctt_free(p.shared);
    ctt_free(p.use);
    return rc;
}
