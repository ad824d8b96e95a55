/* SPDX-License-Identifier: Apache-2.0
 * fuse.c: operator fusion: an act or quant that the preceding kernel applies;
 * an lstm and the conv of the plus input that a conv's kernel computes too; a
 * plus input that the conv accumulates into; and chains of convs. */
#include "run/layout.h"
#include "net/op.h"

#include <string.h>

/* ---- acts ---- */

/* The node whose kernel may apply this act, or -1: not if the act's backward
 * kernel reads its input, which its result would replace. */
static int act_host(const struct ctt_run *r, const int *readers, int act)
{
    const struct ctt_graph *g = r->g;
    int p = g->node[act].in[0];

    if (g->node[act].op != CTT_OP_ACT || !ctt_act_is_plain(&g->node[act]) ||
        (!r->slides && ctt_act_reads_input(g->node[act].attr.act.kind)))
        return -1;
    while (g->node[p].op == CTT_OP_RESHAPE && readers[p] == 1)
        p = g->node[p].in[0];
    if (ctt_ops[g->node[p].op].result != CTT_RESULT_ACT || readers[p] != 1 ||
        (p < g->clip) != (act < g->clip) ||
        ctt_place_type(r, p) != ctt_place_type(r, act))
        return -1;
    return p;
}

void ctt_layout_fuse_acts(struct ctt_run *r, const int *readers)
{
    for (int i = 0; i < r->g->count; i++) {
        int p = act_host(r, readers, i);

        if (p >= 0 && r->slot[p].act < 0) {
            r->slot[p].act = i;
            r->slot[i].skip = 1;
        }
    }
}

/* The node whose kernel may write the bytes of this quant, or -1. */
static int quant_host(const struct ctt_run *r, const int *readers, int quant)
{
    const struct ctt_graph *g = r->g;
    int p = g->node[quant].in[0], from = p;

    if (g->node[quant].op != CTT_OP_QUANT || readers[p] != 1 ||
        !r->bytes || ctt_place_type(r, quant) != r->bytes)
        return -1;
    if (g->node[p].op == CTT_OP_ACT && r->slot[p].skip)
        do
            from = g->node[from].in[0];
        while (r->slot[from].act != p);
    if (ctt_ops[g->node[from].op].result != CTT_RESULT_ACT ||
        (from < g->clip) != (quant < g->clip) ||
        ctt_place_type(r, from) != CTT_F32)
        return -1;
    return from;
}

void ctt_layout_fuse_quants(struct ctt_run *r, const int *readers)
{
    for (int i = 0; i < r->g->count; i++) {
        int p = quant_host(r, readers, i);

        if (p >= 0) {
            r->slot[p].quant = i;
            r->slot[i].skip = 1;
        }
    }
}

/* ---- convs ---- */

/* comp[f][i]: the component of node i in schedule f; bound[f][k]: whether it is
 * a loop. */
struct fusion {
    struct ctt_run *r;
    const int      *readers;
    const char     *saved;
    const int      *comp[2], *bound[2];
};

/* The plus input of conv z becomes a name of its result if no other node and no
 * backward pass reads it.  In a run that keeps all values the input is kept,
 * too. */
static void plus_in_place(struct fusion *l, int z)
{
    struct ctt_run *r = l->r;
    const struct ctt_node *n = &r->g->node[z];
    int p = n->in[1];

    if ((!r->slides && !l->saved) ||
        ctt_ops[r->g->node[p].op].result == CTT_RESULT_STAYS ||
        r->slot[p].alias != p || r->slot[p].act >= 0 ||
        l->readers[p] != 1 || r->slot[p].type != r->slot[z].type)
        return;
    r->slot[p].alias = r->slot[z].alias;
    r->slot[z].plus_in_place = 1;
}

static int same_window(const struct ctt_node *a, const struct ctt_node *b)
{
    struct ctt_slide x = ctt_slide_of(a), y = ctt_slide_of(b);

    return memcmp(&x, &y, sizeof(x)) == 0 &&
           a->attr.conv.groups == b->attr.conv.groups;
}

/* Only nodes of floats are fused into a conv. */
static int is_wide(const struct ctt_run *r, int a, int b)
{
    return r->slot[a].type == CTT_F32 && r->slot[b].type == CTT_F32;
}

/* A conv reads floats or the bytes of quantised values. */
static int reads_wide(const struct ctt_run *r, const struct ctt_node *n)
{
    enum ctt_dtype type = r->slot[n->in[0]].type;

    return type == CTT_F32 || type == r->bytes;
}

static void fuse_pair(struct fusion *l, int z)
{
    struct ctt_run *r = l->r;
    const struct ctt_node *n = &r->g->node[z], *of = &r->g->node[n->in[1]];
    int p = n->in[1];

    if (of->op != CTT_OP_CONV || of->plus || r->slot[p].act >= 0 ||
        l->readers[p] != 1 || !same_window(n, of) || !is_wide(r, z, p) ||
        !reads_wide(r, n))
        return;
    r->slot[z].pair = p;
    r->slot[p].fused_into = z;
    for (int f = 0; f < 2; f++)
        r->slot[z].same_loop[f] = l->comp[f][p] == l->comp[f][z];
}

/* 1 if the old cell state is known when the conv of the gates runs: it is that
 * of an earlier step or comes from an earlier component.  What begins with the
 * value of step 0 is known after the state has run. */
static int ready(const struct fusion *l, int z, int lstm, int f)
{
    const struct ctt_run *r = l->r;
    int in = r->g->node[lstm].in[1];
    const struct ctt_slot *old = &r->slot[in];

    if (l->comp[f][z] != l->comp[f][lstm])
        return 0;
    if (old->first)
        return l->comp[f][in] < l->comp[f][z];
    return old->delay > 0 || l->comp[f][old->alias] < l->comp[f][z];
}

static void fuse_lstm(struct fusion *l, int lstm)
{
    struct ctt_run *r = l->r;
    int z = r->g->node[lstm].in[0];

    if (lstm >= r->g->clip || r->g->node[z].op != CTT_OP_CONV ||
        r->slot[z].act >= 0 || l->readers[z] != 1 ||
        !is_wide(r, z, lstm) || !is_wide(r, z, r->g->node[lstm].in[1]) ||
        !ready(l, z, lstm, 0) || !ready(l, z, lstm, 1))
        return;
    r->slot[z].lstm = lstm;
    r->slot[lstm].fused_into = z;
}

/* ---- chains ---- */

/* 1 if both convs run in the same loop over steps, or neither is in one. */
static int same_times(const struct fusion *l, int a, int b)
{
    int clip = l->r->g->clip;

    if (a >= clip || b >= clip)
        return a >= clip && b >= clip;
    for (int f = 0; f < 2; f++) {
        const int *bound = l->bound[f];
        int of_a = l->comp[f][a], of_b = l->comp[f][b];
        if (of_a != of_b && (bound[of_a] || bound[of_b]))
            return 0;
    }
    return 1;
}

/* 1 if the conv is computed by a call of its own, in floats or bytes. */
static int is_alone(const struct fusion *l, int conv)
{
    const struct ctt_slot *s = &l->r->slot[conv];

    return l->r->g->node[conv].op == CTT_OP_CONV && s->pair < 0 &&
           s->lstm < 0 && s->fused_into < 0 &&
           (s->type == CTT_F32 || s->type == l->r->bytes) &&
           (!l->r->mul || l->r->mul[conv] == CTT_F32);
}

/* 1 if node i is another name of all its input, as of a norm whose factors went
 * into a conv. */
static int is_name(const struct ctt_graph *g, int i)
{
    const struct ctt_tensor *y = &g->node[i].out;
    const struct ctt_tensor *x = &g->node[g->node[i].in[0]].out;

    return g->node[i].op == CTT_OP_RESHAPE && x->d == y->d && x->h == y->h &&
           x->w == y->w && x->c == y->c;
}

/* The conv whose result only the conv b reads, after acts and quants that its
 * kernel applies, and which the device may compute faster in a chain with b,
 * behind which are `behind` convs; or -1.  *most is lowered to the most convs
 * before the last one of such a chain. */
static int link_of(const struct fusion *l, int b, int behind, int *most)
{
    const struct ctt_run *r = l->r;
    const struct ctt_graph *g = r->g;
    int a = g->node[b].in[0], links;

    while (l->readers[a] == 1 && (is_name(g, a) || (r->slot[a].skip &&
           (g->node[a].op == CTT_OP_ACT || g->node[a].op == CTT_OP_QUANT))))
        a = g->node[a].in[0];
    if (l->readers[a] != 1 || !is_alone(l, a) || r->slot[a].alias != a ||
        r->slot[g->node[b].in[0]].alias != a || r->slot[a].history > 0 ||
        !same_times(l, a, b))
        return -1;
    links = ctt_dev_links(r->dev, &g->node[a], &g->node[b], r->slot[a].type,
                          behind);
    *most = behind + links < *most ? behind + links : *most;
    return links > 0 ? a : -1;
}

/* Makes the longest chain that ends with this conv; returns the number of convs
 * before it. */
static int fuse_chain(struct fusion *l, int last)
{
    int links = 0, most = CTT_CHAIN_MOST, at = last, from;

    while ((from = link_of(l, at, links, &most)) >= 0 && links < most) {
        l->r->slot[at].link = from;
        l->r->slot[from].fused_into = last;
        at = from;
        links++;
    }
    return links;
}

static int fuse_chains(struct fusion *l)
{
    struct ctt_run *r = l->r;
    int links = 0;

    for (int i = r->g->count - 1; i >= 0; i--)
        if (is_alone(l, i)) {
            r->slot[i].chain = links;
            links += fuse_chain(l, i);
        }
    r->chain = ctt_calloc((size_t)links + 1, sizeof(*r->chain));
    return r->chain ? 0 : CTT_ENOMEM;
}

/* ---- trains ---- */

/* 1 if the node, which only `last` or a node before it reads, runs in the same
 * loop over steps as `last`. */
static int goes_along(const struct fusion *l, int i, int last)
{
    const struct ctt_slot *s = &l->r->slot[i];

    for (int f = 0; f < 2; f++)
        if (l->comp[f][i] != l->comp[f][last] || !l->bound[f][l->comp[f][i]])
            return 0;
    return l->readers[i] == 1 && !s->skip && s->act < 0 && s->quant < 0 &&
           s->type == l->r->slot[last].type && s->fused_into < 0;
}

static int device_links(const struct fusion *l, int i, int next)
{
    const struct ctt_graph *g = l->r->g;

    return ctt_dev_fuses(l->r->dev, CTT_FUSE_TRAIN, &g->node[i],
                         &g->node[next], l->r->slot[i].type);
}

/* Core `conv` adds the sum p: a train ends there. */
static int core_sum(const struct fusion *l, int conv, int last)
{
    const struct ctt_node *n = &l->r->g->node[conv];

    return n->op == CTT_OP_CONV && n->plus && l->r->slot[conv].act < 0 &&
           l->r->slot[conv].plus_in_place && goes_along(l, n->in[1], last) &&
           device_links(l, n->in[1], conv) ? n->in[1] : -1;
}

/* Links `last` to the calls before it in a tensor train: sums and convs.  Each
 * core is two calls, and the first may read a sum. */
static int fuse_train(struct fusion *l, int last)
{
    struct ctt_slot *slot = l->r->slot;
    int at = last, conv = last, links = 0, next, sum;

    while (links + 3 <= CTT_CHAIN_MOST &&
           (sum = core_sum(l, conv, last)) >= 0) {
        slot[at].link = sum;
        slot[sum].fused_into = last;
        at = sum;
        links++;
        next = l->r->g->node[conv].in[0];
        if (!goes_along(l, next, last) || !device_links(l, next, conv) ||
            (l->r->g->node[next].op == CTT_OP_CONV &&
             core_sum(l, next, last) < 0))
            break;
        slot[at].link = next;
        slot[next].fused_into = last;
        at = conv = next;
        links++;
    }
    return links;
}

/* In training, on a device that computes trains. */
static int fuse_trains(struct fusion *l)
{
    struct ctt_run *r = l->r;
    int links = 0;

    for (int i = r->g->clip - 1; i >= 0; i--)
        if (l->readers[i] && r->slot[i].fused_into < 0 &&
            r->slot[i].link < 0) {
            r->slot[i].chain = links;
            links += fuse_train(l, i);
        }
    r->chain = ctt_calloc(2 * (size_t)links + 1, sizeof(*r->chain));
    r->links = links;
    return r->chain ? 0 : CTT_ENOMEM;
}

/* Later nodes first, so that a chain of sums ends in one memory. */
static void fuse_all(struct fusion *l)
{
    const struct ctt_graph *g = l->r->g;

    for (int i = g->count - 1; i >= 0; i--) {
        const struct ctt_node *n = &g->node[i];

        if (n->op == CTT_OP_LSTM)
            fuse_lstm(l, i);
        if (n->op != CTT_OP_CONV || !n->plus)
            continue;
        plus_in_place(l, i);
        if (i < g->clip)
            fuse_pair(l, i);
    }
}

int ctt_layout_fuse_convs(struct ctt_run *r, const int *readers,
                          const char *saved)
{
    struct fusion l = { .r = r, .readers = readers, .saved = saved };
    int rc = 0;

    for (int f = 0; f < 2; f++) {
        const struct ctt_schedule *s = r->sched[f] ? r->sched[f] : r->sched[0];

        l.comp[f] = s->of;
        l.bound[f] = s->bound;
    }
    fuse_all(&l);
    if (r->slides)
        rc = fuse_chains(&l);
    else if (r->dev && !ctt_dev_shared(r->dev))
        rc = fuse_trains(&l);
    return rc;
}
