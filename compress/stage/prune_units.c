/* SPDX-License-Identifier: Apache-2.0
 * prune_units.c: sets whole units of the weights to zero for good. */
#include "compress/compress.h"
#include "net/op.h"
#include "net/unit.h"

#include <math.h>
#include <stdlib.h>

/* One unit (net/unit.h): its score, the number of its elements that are not
 * pruned, its layer, its index there; 1: it must stay. */
struct item {
    double  score;
    int64_t unit;
    int     living, layer, stays;
};

/* A weight: its `count` units from `first`, the number pruned before as a
 * whole; of its elements the numbers pruned before and to keep. */
struct layer {
    const struct ctt_node *n;
    int64_t count, first, dead, gone, stay;
};

#define HALF 0.5    /* of form 2:4: the last share */

struct list {
    struct layer *layer;
    int           layers, form;
    struct item  *item;
    int64_t       items, elements, gone;
};

static int by_score(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;

    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return (a->unit > b->unit) - (a->unit < b->unit);
}

static int prunable(const struct ctt_node *n, const struct ctt_prune *o)
{
    if (!ctt_is_conv(n))
        return 0;
    return !o || (ctt_volume(&n->w[0]) >= o->least &&
                  !ctt_name_matches(o->except, n->name));
}

static int pruned(const struct ctt_model *m, int64_t at)
{
    return ctt_is_pruned(&m->constraint, at);
}

int64_t ctt_count_pruned(const struct ctt_model *m, const struct ctt_prune *o,
                         int64_t *all)
{
    int64_t gone = 0;

    *all = 0;
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (!prunable(n, o))
            continue;
        *all += ctt_volume(&n->w[0]);
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            gone += pruned(m, n->at[0] + k);
    }
    return gone;
}

double ctt_pruned(const struct ctt_model *m, const struct ctt_prune *o)
{
    int64_t all, gone = ctt_count_pruned(m, o, &all);

    return all ? (double)gone / (double)all : 0;
}

double ctt_prune_cubic(double s0, double s1, int round, int rounds)
{
    double left = 1 - (double)round / rounds;

    return s1 + (s0 - s1) * left * left * left;
}

/* ---- the list ---- */

static int groups_of(const struct ctt_node *n)
{
    return ctt_is_grouped(n) ? n->attr.conv.groups : 1;
}

static int64_t units_of(const struct ctt_node *n, int form)
{
    return ctt_units(form, &n->w[0], groups_of(n));
}

/* Unit k of a weight, with its place in the flat block. */
static struct ctt_unit unit_at(const struct ctt_node *n, int form, int64_t k)
{
    struct ctt_unit u = ctt_unit_at(form, &n->w[0], groups_of(n), k);

    u.at += n->at[0];
    return u;
}

/* The mean square of the elements that are not pruned, so that units of
 * different sizes compare.  Units pruned before sort first, so that they stay
 * pruned. */
static struct item make_item(const struct ctt_model *m,
                             const struct ctt_unit *u)
{
    struct item item = { .living = ctt_unit_kept(u, m->constraint.keep) };

    for (int o = 0; o < u->outs; o++)
        for (int i = 0; i < u->ins; i++) {
            int64_t at = u->at + o * u->stride + i;
            double x = pruned(m, at) ? 0 : m->w[at];
            item.score += x * x;
        }
    item.score = item.living ? item.score / item.living : -1;
    return item;
}

/* Of form 2:4: the two largest of each 4 input channels stay, of equal ones the
 * last. */
static void hold_two(struct item *item, int64_t channels, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t first = k - k % channels % 4, row = k - k % channels;
        int64_t end = row + channels < first + 4 ? row + channels : first + 4;
        int larger = 0;

        for (int64_t i = first; i < end; i++)
            larger += item[i].score > item[k].score ||
                      (i > k && !(item[i].score < item[k].score));
        item[k].stays = larger < 2;
    }
}

static void add_layer(const struct ctt_model *m, const struct ctt_prune *o,
                      const struct ctt_node *n, struct list *l)
{
    struct layer *y = &l->layer[l->layers];
    int64_t all = ctt_volume(&n->w[0]), left = 0;

    *y = (struct layer){ .n = n, .count = units_of(n, l->form),
                         .first = l->items };
    for (int64_t k = 0; k < y->count; k++) {
        struct ctt_unit u = unit_at(n, l->form, k);
        struct item *item = &l->item[l->items++];

        *item = make_item(m, &u);
        item->unit = k;
        item->layer = l->layers;
        y->dead += item->living == 0;
        left += item->living;
    }
    y->gone = all - left;
    y->stay = (int64_t)ceil((double)o->floor * (double)all);
    if (y->stay < 1)
        y->stay = 1;
    if (y->stay > left)
        y->stay = left;
    if (l->form == CTT_PRUNE_TWO) {    /* half stays, but no third of a block */
        y->stay = 0;
        hold_two(l->item + y->first, n->w[0].c, y->count);
    }
    l->layers++;
    l->elements += all;
    l->gone += y->gone;
    qsort(l->item + y->first, (size_t)y->count, sizeof(*l->item), by_score);
}

static int make_list(const struct ctt_model *m, const struct ctt_prune *o,
                     struct list *l)
{
    int64_t all = 0;
    int count = 0, rc = 0;

    l->form = o->form;
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (!prunable(n, o))
            continue;
        all += units_of(n, o->form);
        count++;
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            CTT_CHECK(isfinite(m->w[n->at[0] + k]), CTT_ENAN,
                      "%s: a weight is not finite", n->name);
    }
    CTT_CHECK(count > 0, CTT_EINVAL, "the model has no weight to prune");
    l->layer = ctt_calloc((size_t)count, sizeof(*l->layer));
    l->item = ctt_calloc((size_t)all, sizeof(*l->item));
    CTT_TRY(l->layer && l->item ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++)
        if (prunable(&m->g->node[i], o))
            add_layer(m, o, &m->g->node[i], l);
out:
    return rc;
}

/* ---- scores that are comparable between weights ---- */

/* The sum of squares of a unit. */
static double energy(const struct item *item)
{
    return item->score * item->living;
}

static void lamp(struct item *item, int64_t n)
{
    double sum = 0;

    for (int64_t k = n - 1; k >= 0; k--) {
        sum += energy(&item[k]);
        if (sum > 0)
            item[k].score /= sum;
    }
}

static void magnitude(struct item *item, int64_t n)
{
    double sum = 0, living = 0;

    for (int64_t k = 0; k < n; k++) {
        sum += energy(&item[k]);
        living += item[k].living;
    }
    for (int64_t k = 0; k < n && sum > 0; k++)
        item[k].score *= living / sum;
}

static void (*const scores[])(struct item *, int64_t) = {
    [CTT_SCORE_LAMP] = lamp, [CTT_SCORE_MAGNITUDE] = magnitude,
};

/* The largest units stay, until `stay` elements do, and those that must. */
static void protect(struct item *item, int64_t count, int64_t stay)
{
    for (int64_t k = 0; k < count; k++)
        if (item[k].stays)
            item[k].score = HUGE_VAL;
    for (int64_t k = count - 1; k >= 0 && stay > 0; k--) {
        item[k].score = HUGE_VAL;
        stay -= item[k].living;
    }
}

static void compare_all(struct list *l, int score)
{
    for (int i = 0; i < l->layers; i++) {
        struct layer *y = &l->layer[i];
        struct item *item = l->item + y->first;

        scores[score](item + y->dead, y->count - y->dead);
        protect(item, y->count, y->stay);
    }
    qsort(l->item, (size_t)l->items, sizeof(*l->item), by_score);
}

/* ---- pruning ---- */

static void zero(struct ctt_model *m, const struct ctt_unit *u)
{
    for (int o = 0; o < u->outs; o++)
        for (int i = 0; i < u->ins; i++) {
            int64_t at = u->at + o * u->stride + i;

            m->w[at] = 0;
            m->constraint.keep[at] = 0;
            if (m->constraint.share)
                m->constraint.share[at] = 0;
        }
}

/* Prunes the first of `count` units until `share` of all elements is. */
static void prune_first(struct ctt_model *m, const struct list *l,
                        const struct item *item, int64_t count, double share,
                        int64_t all, int64_t gone)
{
    int64_t want = llround(share * (double)all);

    if (l->form == CTT_PRUNE_TWO && share >= HALF)
        want = all;    /* all that may go: other zeros do not make up for it */
    for (int64_t k = 0; k < count && gone < want; k++) {
        struct ctt_unit u;

        if (item[k].score == HUGE_VAL)
            continue;
        u = unit_at(l->layer[item[k].layer].n, l->form, item[k].unit);
        zero(m, &u);
        gone += item[k].living;
    }
}

int ctt_prune(struct ctt_model *m, const struct ctt_prune *o, double share)
{
    struct list l = { NULL };
    int rc = 0;

    CTT_TRY(make_list(m, o, &l));
    CTT_TRY(ctt_constraint_mask(&m->constraint, m->g->weights));
    if (o->scope == CTT_PRUNE_GLOBAL) {
        compare_all(&l, o->score);
        prune_first(m, &l, l.item, l.items, share, l.elements, l.gone);
    }
    for (int i = 0; i < l.layers && o->scope == CTT_PRUNE_LAYER; i++) {
        const struct layer *y = &l.layer[i];
        protect(l.item + y->first, y->count, y->stay);
        prune_first(m, &l, l.item + y->first, y->count, share,
                    ctt_volume(&y->n->w[0]), y->gone);
    }
out:
    ctt_free(l.layer);
    ctt_free(l.item);
    return rc;
}
