/* SPDX-License-Identifier: Apache-2.0
 * ways.c: the ways to store each weight of a model, with harm and costs that
 * are estimated from those of each option alone. */
#include "compress/search/ways.h"
#include "compress/compress.h"

#include <math.h>

struct listing {
    const struct ctt_sensitivity *s;
    const struct ctt_costs  *given;
    const struct ctt_style  *style;
    const struct ctt_common *all;
    double  macs;                /* of the model, per frame and clip */
    double  bits;                /* of a value that is not shared */
    double *most[CTT_COSTS];     /* savings of a weight at most: ms and ram */
    struct ctt_ways *w;
};

int ctt_is_large(const struct ctt_sensitivity *s, int weight)
{
    int64_t largest = 0;

    for (int i = 0; i < s->weights; i++)
        if (s->weight[i].params > largest)
            largest = s->weight[i].params;
    return s->weight[weight].params >= largest / 4;
}

/* ---- harm ---- */

/* The usable point of a weight that is nearest to a value; ladder NULL: of its
 * only ladder of this kind. */
static const struct ctt_sensitivity_point *
nearest_point(const struct ctt_sensitivity *s, int weight,
              enum ctt_option_kind kind, const struct ctt_ladder *l,
              double value)
{
    const struct ctt_sensitivity_point *best = NULL;

    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->weight == weight && p->ladder->kind == kind &&
            (!l || p->ladder == l) && ctt_sensitivity_usable(p) &&
            (!best || fabs(p->value - value) < fabs(best->value - value)))
            best = p;
    }
    return best;
}

static const struct ctt_sensitivity_point *
pruned_point(const struct ctt_sensitivity *s, int weight,
             const struct ctt_ladder *pruning, double prune)
{
    return nearest_point(s, weight, CTT_OPTION_PRUNE, pruning, prune);
}

static const struct ctt_sensitivity_point *
int8_point(const struct ctt_sensitivity *s, int weight)
{
    return nearest_point(s, weight, CTT_OPTION_INT8, NULL, 0);
}

/* Pruned or shared values of a whole weight change those that matter least; of
 * factors all values matter, so that their harm is as many times as large as
 * the factors are smaller. */
double ctt_assigned_harm(const struct ctt_sensitivity *s, int weight,
                         const struct ctt_assigned *w,
                         const struct ctt_ladder *pruning, double prune)
{
    const struct ctt_sensitivity_point *p;
    double times = w->form ? 1 / ctt_sensitivity_left(s, w->form) : 1;
    double harm = w->form ? w->form->fit : 0;

    if (w->share)
        harm += w->share->fit * times;
    if (w->pruned && (p = pruned_point(s, weight, pruning, prune)) != NULL)
        harm += ctt_sensitivity_fit_at(s, p, 1 - prune) * times;
    if (w->int8 && (p = int8_point(s, weight)) != NULL)
        harm += p->fit;
    return harm;
}

/* ---- bytes ---- */

/* Bytes of the text of nodes: an SVD has one node more, a tensor train up to
 * three, and INT8 one with ranges and scales. */
enum { NODE = 90, NODES = 2, BYTES_NODE = 200, UNIT = 4 };

/* Bits that say which of the values are kept, a value. */
static double mask_entropy(double kept)
{
    double x = fmin(1 - 1e-9, fmax(1e-9, kept));

    return -(x * log2(x) + (1 - x) * log2(1 - x));
}

static double way_bytes(const struct listing *a, int weight,
                        const struct ctt_assigned *w)
{
    double n = (double)a->s->weight[weight].params, bits = a->bits, sum, values;
    double kept = w->pruned ? 1 - a->all->prune : 1;
    int blocks = w->pruned && a->all->pruning->form == CTT_PRUNE_BLOCK;

    values = n * (w->form ? ctt_sensitivity_left(a->s, w->form) : 1);
    if (w->share)    /* as measured of the whole weight */
        bits = fmax(1, 32 - 8 * (double)(a->s->bytes - w->share->bytes) / n);
    sum = values * kept * bits / 8;
    if (w->pruned)
        sum += values * mask_entropy(kept) / 8 / (blocks ? UNIT : 1);
    if (w->form)
        sum += NODE * (w->form->ladder->of_rank ? 1 : NODES);
    return w->int8 ? sum + BYTES_NODE : sum;
}

/* ---- time and memory ---- */

/* Memory that a point saves where that is not measured: a value is a float or
 * an INT8, pruned or shared or not. */
static double values_memory(const struct ctt_sensitivity *s,
                            const struct ctt_sensitivity_point *p)
{
    double bytes = 4 * (double)s->weight[p->weight].params;

    if (p->ladder->kind == CTT_OPTION_INT8)
        return 0.75 * bytes;
    return p->ladder->kind == CTT_OPTION_FORM
        ? bytes * (1 - ctt_sensitivity_left(s, p)) : 0;
}

/* Saving of ms or ram by a point alone; below 0: a cost. */
static double point_saving(const struct listing *a, int cost,
                           const struct ctt_sensitivity_point *p)
{
    double given = a->given->cost[cost];

    if (!p || isnan(given))
        return 0;
    if (cost == CTT_COST_MS)
        return isnan(p->faster) ? 0 : given * (1 - 1 / p->faster);
    return isnan(p->ram) ? values_memory(a->s, p) : given - p->ram;
}

/* The savings of a weight at most: of time what its best point saves, of memory
 * all its values.  Their sum leaves a little of the model. */
#define MOST_SAVED 0.95
static void set_most_saved(const struct listing *a, int cost)
{
    double *most = a->most[cost], sum = 0, all;

    for (int i = 0; i < a->s->points; i++) {
        const struct ctt_sensitivity_point *p = &a->s->point[i];

        if (ctt_sensitivity_usable(p))
            most[p->weight] = fmax(most[p->weight], point_saving(a, cost, p));
    }
    for (int i = 0; i < a->s->weights; i++) {
        if (cost == CTT_COST_RAM)
            most[i] = fmax(most[i], 4 * (double)a->s->weight[i].params);
        sum += most[i];
    }
    all = MOST_SAVED * a->given->cost[cost];
    for (int i = 0; i < a->s->weights && sum > all; i++)
        most[i] *= all / sum;
}

/* Options of one weight save what each saves of what the others leave, and
 * together at most what there is to save. */
static double way_saving(const struct listing *a, int cost, int weight,
                         const struct ctt_assigned *w)
{
    const struct ctt_sensitivity_point *const of[] = {
        w->form,
        w->pruned ? pruned_point(a->s, weight, a->all->pruning, a->all->prune)
                  : NULL,
        w->int8 ? int8_point(a->s, weight) : NULL };
    double most = a->most[cost][weight], rest = 1, costs = 0;

    for (size_t i = 0; i < CTT_LEN(of); i++) {
        double x = point_saving(a, cost, of[i]);

        if (x > 0)
            rest *= 1 - fmin(1, x / most);
        else
            costs += x;
    }
    return most * (1 - rest) + costs;
}

/* ---- the list ---- */

static void add_way(const struct listing *a, int weight,
                    const struct ctt_assigned *is)
{
    const struct ctt_sensitivity_weight *x = &a->s->weight[weight];
    struct ctt_way w = { .is = *is };
    double left = is->form ? ctt_sensitivity_left(a->s, is->form) : 1;

    w.harm = ctt_assigned_harm(a->s, weight, is, a->all->pruning,
                               a->all->prune);
    w.cost[CTT_COST_BYTES] = way_bytes(a, weight, is);
    w.cost[CTT_COST_MS] = -way_saving(a, CTT_COST_MS, weight, is);
    w.cost[CTT_COST_RAM] = -way_saving(a, CTT_COST_RAM, weight, is);
    if (x->node < a->s->m->g->clip)
        w.cost[CTT_COST_MACS] = left * a->macs * x->macs *
                                (is->pruned ? 1 - a->all->prune : 1);
    a->w->way[a->w->first[weight + 1]++] = w;
}

/* Whether a weight is factorised so in this style; form NULL: left whole. */
static int allows_form(const struct listing *a, int weight,
                    const struct ctt_sensitivity_point *form)
{
    const struct ctt_common *all = a->all;

    if (a->style->uniform && all->form && ctt_is_large(a->s, weight))
        return form && form->ladder == all->form &&
               ctt_sensitivity_step(form) == all->value;
    return !form || !(a->style->whole || a->style->uniform);
}

static int can_prune(const struct listing *a, int weight)
{
    return a->all->pruning && ctt_assignment_prunes(a->s, weight) &&
           pruned_point(a->s, weight, a->all->pruning, a->all->prune);
}

/* All ways with these factors: shared or not, pruned, and in bytes. */
static void add_shared(const struct listing *a, int weight,
                       const struct ctt_sensitivity_point *form,
                       const struct ctt_sensitivity_point *share)
{
    int prune = can_prune(a, weight);

    for (int pruned = prune && !form; pruned <= prune; pruned++)
        for (int int8 = 0; int8 <= (int8_point(a->s, weight) != NULL); int8++)
            add_way(a, weight, &(struct ctt_assigned){ form, share, pruned,
                                                       int8 });
}

static void add_form(const struct listing *a, int weight,
                     const struct ctt_sensitivity_point *form)
{
    add_shared(a, weight, form, NULL);
    for (int i = 0; i < a->s->points; i++) {
        const struct ctt_sensitivity_point *p = &a->s->point[i];

        if (p->weight == weight && p->ladder->kind == CTT_OPTION_SHARE &&
            ctt_sensitivity_usable(p))
            add_shared(a, weight, form, p);
    }
}

static void add_weight(const struct listing *a, int weight)
{
    struct ctt_ways *w = a->w;

    w->first[weight + 1] = w->first[weight];
    for (int i = 0; i < a->s->points; i++) {
        const struct ctt_sensitivity_point *p = &a->s->point[i];

        if (p->weight == weight && p->ladder->kind == CTT_OPTION_FORM &&
            ctt_sensitivity_usable(p) && allows_form(a, weight, p))
            add_form(a, weight, p);
    }
    if (allows_form(a, weight, NULL) ||
        w->first[weight + 1] == w->first[weight])
        add_form(a, weight, NULL);
}

void ctt_ways_free(struct ctt_ways **w)
{
    if (!*w)
        return;
    ctt_free((*w)->first);
    ctt_free((*w)->way);
    ctt_free(*w);
    *w = NULL;
}

/* Of the original all stages have run. */
static void set_rest_costs(struct listing *a)
{
    double *rest = a->w->rest, all = 0;

    for (int i = 0; i < a->s->weights; i++)
        all += (double)a->s->weight[i].params;
    rest[CTT_COST_BYTES] = (double)a->s->rest;
    a->bits = fmax(1, fmin(32, 8 * (a->given->cost[CTT_COST_BYTES] -
                                    rest[CTT_COST_BYTES]) / all));
    for (int k = CTT_COST_MS; k < CTT_COSTS; k++)
        rest[k] = k == CTT_COST_MACS || isnan(a->given->cost[k])
            ? 0 : a->given->cost[k];
}

static int list_ways(struct listing *a)
{
    size_t n = (size_t)a->s->weights, forms = 1, shares = 1;
    const struct ctt_ladder *l;
    int rc = 0;

    for (int i = 0; (l = ctt_ladder(i)); i++) {
        forms += l->kind == CTT_OPTION_FORM ? (size_t)l->values : 0;
        shares += l->kind == CTT_OPTION_SHARE ? (size_t)l->values : 0;
    }
    a->w->weights = (int)n;
    a->w->first = ctt_calloc(n + 1, sizeof(*a->w->first));
    a->w->way = ctt_calloc(4 * n * forms * shares, sizeof(*a->w->way));
    a->most[CTT_COST_MS] = ctt_calloc(n, sizeof(double));
    a->most[CTT_COST_RAM] = ctt_calloc(n, sizeof(double));
    CTT_TRY(a->w->first && a->w->way && a->most[CTT_COST_MS] &&
            a->most[CTT_COST_RAM] ? 0 : CTT_ENOMEM);
    for (int i = 0; i < a->s->m->g->count; i++)
        a->macs += (double)ctt_node_macs(a->s->m->g, i);
    set_most_saved(a, CTT_COST_MS);
    set_most_saved(a, CTT_COST_RAM);
    set_rest_costs(a);
    for (size_t i = 0; i < n; i++)
        add_weight(a, (int)i);
out:
    return rc;
}

int ctt_ways_new(const struct ctt_sensitivity *s,
                 const struct ctt_costs *given, const struct ctt_style *style,
                 const struct ctt_common *all, struct ctt_ways **out)
{
    struct listing a = { .s = s, .given = given, .style = style, .all = all };
    int rc = 0;

    a.w = ctt_calloc(1, sizeof(*a.w));
    CTT_TRY(a.w ? 0 : CTT_ENOMEM);
    CTT_TRY(list_ways(&a));
    *out = a.w;
    a.w = NULL;
out:
    ctt_free(a.most[CTT_COST_MS]);
    ctt_free(a.most[CTT_COST_RAM]);
    ctt_ways_free(&a.w);
    return rc;
}
