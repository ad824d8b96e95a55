/* SPDX-License-Identifier: Apache-2.0
 * depth_uses.c: the memories that each position of a window reads and writes,
 * forward and back, and the places at which a plan may cut. */
#include "run/back/depth.h"
#include "run/place.h"
#include "net/op.h"

#include <string.h>

/* ---- uses ---- */

/* The nodes of position k. */
static const int *nodes_at(const struct ctt_run *r, int k, int *clip,
                           int *count)
{
    const struct ctt_schedule *s = ctt_run_schedule(r);

    *count = 1;
    if (k >= s->comps) {
        *clip = r->g->clip + k - s->comps;
        return clip;
    }
    *count = s->first[k + 1] - s->first[k];
    return s->order + s->first[k];
}

struct list { struct ctt_use *use; int count; };

/* use NULL: only counts. */
static void add_use(struct list *l, int memory, int writes)
{
    if (l->use)
        l->use[l->count] = (struct ctt_use){ memory, writes };
    l->count++;
}

/* A name without a kernel is a reader, too, so that a cut before it keeps what
 * it names. */
static void forward_uses(const struct ctt_depth *d, int i, struct list *l)
{
    const struct ctt_run *r = d->r;
    const struct ctt_node *n = &r->g->node[i];

    if (!r->slot[i].skip)
        add_use(l, r->slot[i].alias, 1);
    if (n->op == CTT_OP_LSTM && n->cell >= 0)
        add_use(l, r->slot[n->cell].alias, 1);
    add_use(l, r->slot[i].alias, 0);
    for (int k = 0; k < n->nin; k++)
        add_use(l, r->slot[n->in[k]].alias, 0);
    if (r->slot[i].lstm >= 0)    /* the conv's kernel does their work */
        forward_uses(d, r->slot[i].lstm, l);
    if (r->slot[i].pair >= 0)
        forward_uses(d, r->slot[i].pair, l);
}

static void backward_uses(const struct ctt_depth *d, int i, struct list *l)
{
    const struct ctt_run *r = d->r;
    const struct ctt_node *n = &r->g->node[i];
    unsigned reads = ctt_back_reads(r->g, d->need, i);

    if (ctt_ops[n->op].memory != CTT_COMPUTED ||
        !ctt_back_wants(r->g, d->need, i))
        return;
    if (reads & CTT_READS_OUT)
        add_use(l, r->slot[i].alias, 0);
    add_use(l, d->count + r->slot[i].alias, 0);
    if (n->cell >= 0)
        add_use(l, d->count + r->slot[n->cell].alias, 0);
    for (int k = 0; k < n->nin; k++) {
        if (reads >> k & 1)
            add_use(l, r->slot[n->in[k]].alias, 0);
        if (d->need[n->in[k]])
            add_use(l, d->count + r->slot[n->in[k]].alias, 0);
    }
}

static void list_uses(struct ctt_depth *d, int back, struct list *l)
{
    for (int k = 0, clip, count; k < d->positions; k++) {
        const int *node = nodes_at(d->r, k, &clip, &count);

        d->used[back][k] = l->count;
        for (int j = 0; j < count; j++)
            (back ? backward_uses : forward_uses)(d, node[j], l);
    }
    d->used[back][d->positions] = l->count;
}

static int make_uses(struct ctt_depth *d, int back)
{
    struct list l = { .use = NULL };

    d->used[back] = ctt_calloc((size_t)d->positions + 1, sizeof(int));
    d->cost[back] = ctt_calloc((size_t)d->positions + 1, sizeof(double));
    if (!d->used[back] || !d->cost[back])
        return CTT_ENOMEM;
    list_uses(d, back, &l);
    d->use[back] = ctt_calloc((size_t)l.count + 1, sizeof(*l.use));
    if (!d->use[back])
        return CTT_ENOMEM;
    l = (struct list){ .use = d->use[back] };
    list_uses(d, back, &l);
    return 0;
}

/* ---- memories ---- */

static void fix_node(struct ctt_depth *d, int node)
{
    d->fixed[d->r->slot[node].alias] = 1;
}

/* The caller writes inputs, reads losses and answers and sets their gradients;
 * a history comes from the window before and goes to the next one. */
static void find_fixed(struct ctt_depth *d, const char *wanted)
{
    const struct ctt_graph *g = d->r->g;

    fix_node(d, ctt_graph_output(g));
    for (int i = 0; i < g->count; i++) {
        int loss = g->node[i].op == CTT_OP_LOSS;

        if (loss || g->node[i].op == CTT_OP_INPUT || (wanted && wanted[i]) ||
            ctt_slot_before(&d->r->slot[i]) > 0)
            fix_node(d, i);
        for (int k = 0; loss && k < g->node[i].nin; k++)
            fix_node(d, g->node[i].in[k]);
    }
}

static void find_sizes(struct ctt_depth *d, int steps, int asks)
{
    const struct ctt_run *r = d->r;

    for (int i = 0; i < d->count; i++) {
        int of = r->slot[i].alias;

        d->writer[i] = d->positions;
        if (of == i)
            d->size[i] = ctt_place_before(r, i) + ctt_place_bytes(
                r, i, i < r->g->clip ? steps : asks);
        if (d->need[i])    /* a name has the gradient of what it names */
            d->size[d->count + of] = d->size[of] ? d->size[of] : 1;
        d->fixed[d->count + i] = d->fixed[i];
    }
    for (int i = 0; i < d->count; i++)
        if (d->size[d->count + i])
            d->size[d->count + i] = d->size[i];
}

static void find_ends(struct ctt_depth *d)
{
    for (int k = 0, clip, count; k < d->positions; k++) {
        const int *node = nodes_at(d->r, k, &clip, &count);

        for (int j = 0; j < count; j++)
            d->place[node[j]] = k;
        for (int u = d->used[0][k]; u < d->used[0][k + 1]; u++) {
            int m = d->use[0][u].memory;

            d->reader[m] = k;
            if (d->use[0][u].writes && k < d->writer[m])
                d->writer[m] = k;
        }
    }
}

/* ---- cuts ---- */

int ctt_depth_crosses(const struct ctt_depth *d, int node, int cut)
{
    return !d->fixed[node] && d->writer[node] < cut && d->reader[node] >= cut;
}

/* No cut is between two positions that write the same memory, as a conv and the
 * plus input that it is added to, or whose kernels are one. */
static void find_cuts(struct ctt_depth *d, char *joined)
{
    const struct ctt_run *r = d->r;

    for (int k = 0, clip, count; k < d->positions; k++) {
        const int *node = nodes_at(r, k, &clip, &count);

        for (int u = d->used[0][k]; u < d->used[0][k + 1]; u++)
            for (int j = d->writer[d->use[0][u].memory] + 1;
                 d->use[0][u].writes && j <= k; j++)
                joined[j] = 1;
        for (int i = 0; i < count; i++) {
            int host = r->slot[node[i]].fused_into;
            int of = host < 0 ? k : d->place[host];

            for (int j = (k < of ? k : of) + 1; j <= k || j <= of; j++)
                joined[j] = 1;
        }
    }
    for (int k = 1; k < d->positions; k++)
        if (!joined[k])
            d->cut[++d->cuts] = k;
    d->cut[++d->cuts] = d->positions;
}

static int64_t live_bytes(const struct ctt_depth *d, int cut)
{
    int64_t sum = 1;

    for (int i = 0; i < d->count; i++)
        if (d->size[i] && ctt_depth_crosses(d, i, cut))
            sum += d->size[i];
    return sum;
}

/* Bytes that are computed in positions from .. to - 1. */
static int64_t made_bytes(const struct ctt_depth *d, int from, int to)
{
    int64_t sum = 0;

    for (int i = 0; i < d->count; i++)
        if (d->writer[i] >= from && d->writer[i] < to && !d->fixed[i])
            sum += d->size[i];
    return sum;
}

void ctt_depth_merge(struct ctt_depth *d)
{
    double least = 0;
    int worst = 1;

    for (int k = 1; k < d->cuts; k++) {
        double score = (double)made_bytes(d, d->cut[k - 1], d->cut[k + 1]) /
                       (double)live_bytes(d, d->cut[k]);

        if (k == 1 || score < least) {
            least = score;
            worst = k;
        }
    }
    memmove(d->cut + worst, d->cut + worst + 1,
            (size_t)(d->cuts - worst) * sizeof(*d->cut));
    d->cuts--;
}

/* ---- all of it ---- */

static int fill_uses(struct ctt_depth *d, const struct ctt_back *y)
{
    char *joined = ctt_calloc((size_t)d->positions + 1, 1);
    int rc = joined ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(make_uses(d, 0));
    CTT_TRY(make_uses(d, 1));
    find_fixed(d, y->wanted);
    find_sizes(d, y->plan.window, y->asks);
    find_ends(d);
    find_cuts(d, joined);
    while (!y->whole && d->cuts > CTT_STAGES_MOST)    /* whole: none is cut */
        ctt_depth_merge(d);
out:
    ctt_free(joined);
    return rc;
}

int ctt_depth_new(const struct ctt_back *y, const struct ctt_run *r,
                  struct ctt_depth **out)
{
    struct ctt_depth *d = ctt_calloc(1, sizeof(*d));
    size_t n = (size_t)r->g->count;
    int rc = d ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    d->r = r;
    d->need = y->need;
    d->count = r->g->count;
    d->positions = ctt_run_schedule(r)->comps + d->count - r->g->clip;
    d->fixed = ctt_calloc(2 * n, 1);
    d->size = ctt_calloc(2 * n, sizeof(*d->size));
    d->writer = ctt_calloc(n, sizeof(*d->writer));
    d->reader = ctt_calloc(n, sizeof(*d->reader));
    d->place = ctt_calloc(n, sizeof(*d->place));
    d->mark = ctt_calloc(n, 1);
    d->redo = ctt_calloc((size_t)d->positions + 1, 1);
    d->grad = ctt_calloc(n, sizeof(*d->grad));
    d->cut = ctt_calloc((size_t)d->positions + 2, sizeof(*d->cut));
    CTT_TRY(d->fixed && d->size && d->writer && d->reader && d->place &&
            d->mark && d->redo && d->grad && d->cut ? 0 : CTT_ENOMEM);
    CTT_TRY(fill_uses(d, y));
    *out = d;
    d = NULL;
out:
    ctt_depth_free(&d);
    return rc;
}

void ctt_depth_free(struct ctt_depth **d)
{
    struct ctt_depth *p = *d;

    if (!p)
        return;
    for (int b = 0; b < 2; b++) {
        ctt_free(p->used[b]);
        ctt_free(p->use[b]);
        ctt_free(p->cost[b]);
    }
    ctt_free(p->fixed);
    ctt_free(p->size);
    ctt_free(p->writer);
    ctt_free(p->reader);
    ctt_free(p->place);
    ctt_free(p->mark);
    ctt_free(p->redo);
    ctt_free(p->grad);
    ctt_free(p->cut);
    ctt_free(p->visit);
    ctt_free(p->life);
    ctt_free(p);
    *d = NULL;
}
