/* SPDX-License-Identifier: Apache-2.0
 * need.c: which gradients of values the weight gradients depend on, and which
 * values the backward pass reads. */
#include "run/back/backward.h"
#include "run/joint.h"
#include "net/op.h"

static int learns(const struct ctt_node *n)
{
    return (n->fixed & ((1u << n->nw) - 1)) != (1u << n->nw) - 1;
}

/* 1 if a weight gradient depends on the gradient of the node's value, as far as
 * `need` is known. */
static int leads(const struct ctt_graph *g, const char *need, int node)
{
    const struct ctt_node *n = &g->node[node];

    if (learns(n) || need[node])
        return 1;
    if (n->op == CTT_OP_STATE)
        return need[n->source];
    for (int k = 0; k < n->nin; k++)
        if (need[n->in[k]])
            return 1;
    return 0;
}

/* A state reads a later node, so this repeats until nothing changes. */
void ctt_back_needs(const struct ctt_graph *g, const char *wanted, char *need)
{
    for (int i = 0; i < g->count && wanted; i++)
        need[i] = wanted[i];
    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = 0; i < g->count; i++) {
            int now = leads(g, need, i);
            changed |= now != need[i];
            need[i] = (char)now;
        }
    }
}

void ctt_exec_gradients(const struct ctt_graph *g, char *need)
{
    ctt_back_needs(g, NULL, need);
}

int ctt_back_wants(const struct ctt_graph *g, const char *need, int node)
{
    const struct ctt_node *n = &g->node[node];
    int want = learns(n) ? CTT_WANT_DW : 0;

    for (int k = 0; k < n->nin; k++)
        want |= need[n->in[k]] ? CTT_WANT_DIN : 0;
    return want;
}

unsigned ctt_back_reads(const struct ctt_graph *g, const char *need, int node)
{
    const struct ctt_node *n = &g->node[node];
    unsigned din = 0;

    if (!ctt_back_wants(g, need, node))
        return 0;
    for (int k = 0; k < n->nin; k++)
        din |= need[n->in[k]] ? 1u << k : 0;
    return ctt_ops[n->op].reads(n, din, !(n->fixed & 1));
}

void ctt_back_saved(const struct ctt_graph *g, const char *need, char *saved)
{
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        unsigned r = ctt_back_reads(g, need, i);

        for (int k = 0; k < n->nin; k++)
            if (r >> k & 1)
                saved[n->in[k]] = 1;
        if (r & CTT_READS_OUT)
            saved[i] = 1;
    }
}

/* 1 if the k-th input of a node is all of the memory that it names, so that
 * overwriting its gradient leaves no number unwritten.  A mix may ignore its
 * second input. */
static int covers(const struct ctt_run *r, const struct ctt_node *n, int k)
{
    const struct ctt_slot *s = &r->slot[n->in[k]];

    if (ctt_joint_convolves(r, (int)(n - r->g->node)))
        return 1;
    return ctt_ops[n->op].reach != CTT_REACH_STEPS && !ctt_is_feedback(n, k) &&
           s->delay == 0 &&
           ctt_volume(&r->g->node[n->in[k]].out) ==
           ctt_volume(&r->g->node[s->alias].out);
}

/* The order of a schedule's nodes, in which the backward pass goes back. */
static void note_order(const struct ctt_run *r, const struct ctt_schedule *s,
                      int *at)
{
    for (int j = 0; j < r->g->clip; j++)
        at[s->order[j]] = j;
    for (int i = r->g->clip; i < r->g->count; i++)
        at[i] = i;
}

/* Nodes of a train may run earlier than their places. */
static int of_train(const struct ctt_run *r, int i)
{
    int last = r->slot[i].fused_into;

    return r->slot[last < 0 ? i : last].link >= 0;
}

enum { NO_READER = -2 };

/* Reader i is that of all so far whose gradient comes first.  One that reads a
 * memory twice, or an older step, spoils it. */
static void note_reader(const struct ctt_run *r, const int *at, int i, int k,
                        int *writer)
{
    const struct ctt_node *n = &r->g->node[i];
    int *w = &writer[r->slot[n->in[k]].alias];

    if (*w == -1)
        return;
    if (*w == i || r->slot[n->in[k]].delay > 0 ||
        (*w >= 0 && (of_train(r, i) || of_train(r, *w))))
        *w = -1;
    else if (*w == NO_READER || at[*w] < at[i])
        *w = i;
}

/* Gradients that not only readers write: give_first() and the caller add. */
static void spoil(const struct ctt_run *r, int *writer)
{
    for (int i = 0; i < r->g->count; i++)
        if (r->g->node[i].op == CTT_OP_STATE && r->slot[i].first)
            writer[r->slot[i].alias] = -1;
    writer[r->slot[ctt_graph_output(r->g)].alias] = -1;
}

static int covers_all(const struct ctt_run *r, int i, int of)
{
    const struct ctt_node *n = &r->g->node[i];

    for (int k = 0; k < n->nin; k++)
        if (r->slot[n->in[k]].alias == of &&
            !(k == 1 && r->slot[i].plus_in_place))
            return covers(r, n, k);
    return 0;
}

static void find_writers(const struct ctt_run *r, const int *at, int *writer)
{
    for (int i = 0; i < r->g->count; i++)
        writer[i] = NO_READER;
    for (int i = 0; i < r->g->count; i++)
        for (int k = 0; k < r->g->node[i].nin && !r->slot[i].skip; k++)
            if (k != 1 || !r->slot[i].plus_in_place)
                note_reader(r, at, i, k, writer);
    spoil(r, writer);
    for (int i = 0; i < r->g->count; i++)
        if (writer[i] < 0 || !covers_all(r, writer[i], i))
            writer[i] = -1;
}

int ctt_back_writers(const struct ctt_run *r, int *const writer[2])
{
    int *at = ctt_calloc((size_t)r->g->count, sizeof(*at));

    if (!at)
        return CTT_ENOMEM;
    for (int f = 0; f < 2; f++) {
        note_order(r, r->sched[f] ? r->sched[f] : r->sched[0], at);
        find_writers(r, at, writer[f]);
    }
    ctt_free(at);
    return 0;
}

int *ctt_back_writer(const struct ctt_exec *x, int node)
{
    const struct ctt_run *r = x->r;

    return &x->back->writer[r->feedback && r->sched[1]][r->slot[node].alias];
}
