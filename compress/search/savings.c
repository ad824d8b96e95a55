/* SPDX-License-Identifier: Apache-2.0
 * savings.c: the ways to store each weight of a model, with what they harm and
 * cost. */
#include "compress/search/savings.h"
#include "compress/stage.h"

#include <math.h>
#include <string.h>

/* What points save of a cost that is measured by running. */
struct saving {
    enum ctt_cost cost;
    double        given;    /* of the model as given; NAN: not measured */
    double       *most;     /* that can be saved, by weight */
    double        scale;    /* of what points save */
};

struct making {
    const struct ctt_sensitivity *s;
    struct saving           ms, ram;
    struct ctt_choices     *can;      /* by weight */
    struct ctt_savings_bytes   bytes;
    struct ctt_offer       *f;
};

static int kind_of(const struct ctt_ladder *l, const char *prune)
{
    if (l->stage == &ctt_stage_svd || l->stage == &ctt_stage_tt)
        return CTT_PART_FORM;
    if (strcmp(l->name, prune) == 0)
        return CTT_PART_PRUNE;
    if (l->stage == &ctt_stage_share)
        return CTT_PART_SHARE;
    return l->stage == &ctt_stage_int8 ? CTT_PART_INT8 : -1;
}

static int is_usable(const struct making *a,
                     const struct ctt_sensitivity_point *p, int kind)
{
    return kind >= 0 && p->done && !p->why[0] &&
           (kind != CTT_PART_PRUNE || ctt_assignment_prunes(a->s, p->weight));
}

/* Shares of pruning have every second place.  Tensor trains are behind SVDs. */
_Static_assert(2 * CTT_LADDER_MOST <= CTT_CHOICES, "places of shares");

static int choice_at(const struct ctt_sensitivity_point *p, int kind)
{
    int step = ctt_sensitivity_step(p);

    if (kind == CTT_PART_PRUNE)
        return 2 * step + 1;
    if (p->ladder->stage == &ctt_stage_tt)
        for (const struct ctt_ladder *l = ctt_ladders; l->name; l++)
            step += l->stage == &ctt_stage_svd ? l->values : 0;
    return step + 1;
}

int ctt_choice_is(const struct ctt_choices *c, int kind, int place)
{
    return !place || c->p[kind][place];
}

/* Between two shares of a ladder, which are far apart in bytes, there is one
 * more: the mean of the logarithms of what is kept, so rounded that texts say
 * it.  What it harms and saves lies between, too. */
#define ROUND 1e-4
static const struct ctt_sensitivity_point *
add_between(struct making *a, const struct ctt_sensitivity_point *low,
            const struct ctt_sensitivity_point *high)
{
    double kept = sqrt((1 - low->value) * (1 - high->value)), t;
    struct ctt_sensitivity_point *p = &a->f->fine[a->f->fines++];

    kept = round(kept / ROUND) * ROUND;
    t = (1 - low->value - kept) / (high->value - low->value);
    *p = *low;
    memset(&p->change, 0, sizeof(p->change));
    p->value = 1 - kept;
    p->fit = ctt_sensitivity_fit_at(a->s, low, kept);
    if (!isnan(high->faster))
        p->faster = 1 / ((1 - t) / low->faster + t / high->faster);
    if (!isnan(high->ram))
        p->ram = (1 - t) * low->ram + t * high->ram;
    return p;
}

static void find_choices(struct making *a, const char *prune)
{
    const struct ctt_sensitivity *s = a->s;

    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];
        int kind = kind_of(p->ladder, prune);

        if (is_usable(a, p, kind))
            a->can[p->weight].p[kind][choice_at(p, kind)] = p;
    }
    for (int i = 0; i < s->weights; i++) {
        const struct ctt_sensitivity_point **p = a->can[i].p[CTT_PART_PRUNE];

        for (int k = 1; k + 2 < CTT_CHOICES; k += 2)
            if (p[k] && p[k + 2])
                p[k + 1] = add_between(a, p[k], p[k + 2]);
    }
}

/* ---- the ways ---- */

/* How many times as much shared values harm these factors; 0: not known. */
static double on_factors(const struct ctt_sensitivity *s,
                         const struct ctt_part *p)
{
    ptrdiff_t ladder = p->form->ladder - ctt_ladders;

    return s->on_factors[ladder][ctt_sensitivity_step(p->form)]
                        [ctt_sensitivity_step(p->share)];
}

double ctt_part_harm(const struct ctt_sensitivity *s, const struct ctt_part *p,
                     enum ctt_part_kind kind)
{
    const struct ctt_sensitivity_point *at = ctt_part_point(p, kind);
    double times;

    if (!at)
        return 0;
    if (!p->form || (kind != CTT_PART_SHARE && kind != CTT_PART_PRUNE))
        return at->fit;
    times = kind == CTT_PART_SHARE ? on_factors(s, p) : 0;
    return at->fit * (times > 0 ? times : 1 / ctt_sensitivity_left(s, p->form));
}

double ctt_part_harms(const struct ctt_sensitivity *s, const struct ctt_part *p)
{
    double sum = 0;

    for (int k = 0; k < CTT_PART_KINDS; k++)
        sum += ctt_part_harm(s, p, (enum ctt_part_kind)k);
    return sum;
}

/* Memory that a point is expected to save where that is not measured: a value
 * is a float or an INT8, pruned or shared or not. */
static double by_values(const struct ctt_sensitivity *s,
                        const struct ctt_sensitivity_point *p)
{
    double bytes = 4 * (double)s->weight[p->weight].params;

    if (p->ladder->stage == &ctt_stage_int8)
        return 0.75 * bytes;
    return p->ladder->stage == &ctt_stage_svd ||
           p->ladder->stage == &ctt_stage_tt
        ? bytes * (1 - ctt_sensitivity_left(s, p)) : 0;
}

/* What a point that can be used saves alone; below 0: what it costs. */
static double saves(const struct making *a, const struct saving *of,
                    const struct ctt_sensitivity_point *p)
{
    double x;

    if (!p || isnan(of->given))
        return 0;
    if (of->cost == CTT_COST_MS)
        x = isnan(p->faster) ? 0 : of->given * (1 - 1 / p->faster);
    else
        x = isnan(p->ram) ? by_values(a->s, p) : of->given - p->ram;
    return of->scale * x;
}

/* Memory that a weight can save: all its values, or what the best point does
 * and somewhat more, so that each option that is added saves something. */
static double most_memory(double params, double best)
{
    return fmax(4 * params, 1.05 * best);
}

/* The most that can be saved of each weight: of time what its best point does.
 * Noise and what several weights save of the same may make that more than there
 * is: then all save less. */
#define MOST_SAVED 0.95
static int find_most(const struct making *a, struct saving *of)
{
    const struct ctt_sensitivity *s = a->s;
    double sum = 0;

    of->most = ctt_calloc((size_t)s->weights, sizeof(*of->most));
    if (!of->most)
        return CTT_ENOMEM;
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->done && !p->why[0])
            of->most[p->weight] = fmax(of->most[p->weight], saves(a, of, p));
    }
    for (int i = 0; i < s->weights; i++) {
        if (of->cost == CTT_COST_RAM)
            of->most[i] = most_memory((double)s->weight[i].params, of->most[i]);
        sum += of->most[i];
    }
    if (sum > MOST_SAVED * of->given)
        of->scale = MOST_SAVED * of->given / sum;
    for (int i = 0; i < s->weights; i++)
        of->most[i] *= of->scale;
    return 0;
}

/* What a way saves.  Points save their shares of what may be saved, each of
 * what the others leave; factors of time what they do alone, and the others of
 * that as much as factors have of the values.  Nothing saves more than there is
 * to save: the rest is not the weight's.  What costs something is added. */
static double saved(const struct making *a, const struct saving *save,
                    int weight, const struct ctt_part *part)
{
    const struct ctt_sensitivity_point *const of[] = { part->prune,
                                                       part->int8 };
    double left = part->form ? ctt_sensitivity_left(a->s, part->form) : 1;
    double form = saves(a, save, part->form), costs = 0, rest = 1;
    double most = save->most[weight];

    for (size_t i = 0; i < CTT_LEN(of); i++) {
        double x = saves(a, save, of[i]);

        if (x > 0)
            rest *= 1 - x / most;
        else
            costs += x;
    }
    if (save->cost == CTT_COST_RAM)
        return form + (most - fmax(0, form)) * (1 - rest) + left * costs;
    return fmin(most, form + left * most * (1 - rest)) + left * costs;
}

static void make_way(struct making *a, int weight, const int k[CTT_PART_KINDS])
{
    struct ctt_savings *m = &a->f->menu;
    const struct ctt_sensitivity_weight *w = &a->s->weight[weight];
    int at = m->first[weight + 1]++;
    struct ctt_way *way = &m->way[at];
    const struct ctt_sensitivity_point *p[CTT_PART_KINDS];
    int frame = w->node < a->s->m->g->clip;
    struct ctt_part part;
    double left;

    for (int i = 0; i < CTT_PART_KINDS; i++)
        p[i] = a->can[weight].p[i][k[i]];
    part = (struct ctt_part){ p[CTT_PART_FORM], p[CTT_PART_PRUNE],
                              p[CTT_PART_SHARE], p[CTT_PART_INT8] };
    left = part.form ? ctt_sensitivity_left(a->s, part.form) : 1;
    *way = (struct ctt_way){ .harm = 0 };
    way->cost[CTT_COST_BYTES] = ctt_savings_bytes_of(&a->bytes, weight, k);
    way->cost[CTT_COST_MS] = -saved(a, &a->ms, weight, &part);
    way->cost[CTT_COST_RAM] = -saved(a, &a->ram, weight, &part);
    way->cost[CTT_COST_MACS] = frame ? left * a->f->macs * w->macs *
        (1 - (part.prune ? part.prune->value : 0)) : 0;
    way->harm = ctt_part_harms(a->s, &part);
    a->f->part[at] = part;
}

/* The next set of places, as the digits of a number; 0: that was the last. */
static int next(const struct ctt_choices *c, int k[CTT_PART_KINDS])
{
    for (int i = CTT_PART_KINDS - 1; i >= 0; i--) {
        while (++k[i] < CTT_CHOICES)
            if (c->p[i][k[i]])
                return 1;
        k[i] = 0;
    }
    return 0;
}

static void make_ways(struct making *a, int weight)
{
    int k[CTT_PART_KINDS] = { 0 };

    a->f->menu.first[weight + 1] = a->f->menu.first[weight];
    do
        make_way(a, weight, k);
    while (next(&a->can[weight], k));
}

static size_t count_ways(const struct ctt_choices *c)
{
    size_t all = 1;

    for (int kind = 0; kind < CTT_PART_KINDS; kind++) {
        size_t n = 0;

        for (int k = 0; k < CTT_CHOICES; k++)
            n += (size_t)ctt_choice_is(c, kind, k);
        all *= n;
    }
    return all;
}

/* All multiplications, per frame and clip, that the shares of weights are
 * of. */
static double all_macs(const struct ctt_graph *g)
{
    double sum = 0;

    for (int i = 0; i < g->count; i++)
        sum += (double)ctt_node_macs(g, i);
    return sum;
}

void ctt_offer_free(struct ctt_offer **f)
{
    if (!*f)
        return;
    ctt_free((*f)->menu.first);
    ctt_free((*f)->menu.way);
    ctt_free((*f)->part);
    ctt_free((*f)->fine);
    ctt_free(*f);
    *f = NULL;
}

static int make_offer(struct making *a)
{
    size_t n = (size_t)a->s->weights, ways = 0;
    struct ctt_savings *m = &a->f->menu;
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        ways += count_ways(&a->can[i]);
    m->weights = (int)n;
    m->first = ctt_calloc(n + 1, sizeof(*m->first));
    m->way = ctt_calloc(ways, sizeof(*m->way));
    a->f->part = ctt_calloc(ways, sizeof(*a->f->part));
    CTT_TRY(m->first && m->way && a->f->part ? 0 : CTT_ENOMEM);
    CTT_TRY(find_most(a, &a->ms));
    CTT_TRY(find_most(a, &a->ram));
    m->rest[CTT_COST_BYTES] = a->bytes.form[0];
    a->f->macs = all_macs(a->s->m->g);
    for (size_t i = 0; i < n; i++)
        make_ways(a, (int)i);
    m->rest[CTT_COST_MS] = isnan(a->ms.given) ? 0 : a->ms.given;
    m->rest[CTT_COST_RAM] = isnan(a->ram.given) ? 0 : a->ram.given;
out:
    return rc;
}

int ctt_offer_new(const struct ctt_sensitivity *s, const struct ctt_model *m,
                  const struct ctt_recipe *o, const char *prune,
                  const struct ctt_costs *given, const char *path,
                  const struct ctt_savings_calls *calls, struct ctt_offer **out)
{
    struct making a = { .s = s,
        .ms = { CTT_COST_MS, given->cost[CTT_COST_MS], NULL, 1 },
        .ram = { CTT_COST_RAM, given->cost[CTT_COST_RAM], NULL, 1 } };
    int rc = 0;

    a.f = ctt_calloc(1, sizeof(*a.f));
    a.can = ctt_calloc((size_t)s->weights, sizeof(*a.can));
    CTT_TRY(a.f && a.can ? 0 : CTT_ENOMEM);
    a.f->fine = ctt_calloc((size_t)s->points + 1, sizeof(*a.f->fine));
    CTT_TRY(a.f->fine ? 0 : CTT_ENOMEM);
    a.f->trust = (struct ctt_trust){ { 1, 1, 1, 1 }, 1 };
    find_choices(&a, prune);
    CTT_TRY(ctt_savings_bytes(s, m, o, path, a.can, calls, &a.bytes));
    CTT_TRY(make_offer(&a));
    *out = a.f;
    a.f = NULL;
out:
    ctt_offer_free(&a.f);
    ctt_free(a.can);
    ctt_savings_bytes_free(&a.bytes);
    ctt_free(a.ms.most);
    ctt_free(a.ram.most);
    return rc;
}

double ctt_offer_harm(const struct ctt_offer *f,
                      const struct ctt_sensitivity *s, const struct ctt_part *p)
{
    double sum = 0;

    for (int k = 0; k < CTT_PART_KINDS; k++) {
        double x = f->trust.kind[k];

        if (k == CTT_PART_PRUNE && p->form)
            x *= f->trust.pruned_factors;
        sum += x * ctt_part_harm(s, p, (enum ctt_part_kind)k);
    }
    return sum;
}

void ctt_offer_trust(struct ctt_offer *f, const struct ctt_sensitivity *s,
                     const struct ctt_trust *times)
{
    f->trust = *times;
    for (int i = 0; i < f->fines; i++)
        f->fine[i].fit =
            ctt_sensitivity_fit_at(s, &f->fine[i], 1 - f->fine[i].value);
    for (int i = 0; i < f->menu.first[f->menu.weights]; i++)
        f->menu.way[i].harm = ctt_offer_harm(f, s, &f->part[i]);
}

void ctt_offer_take(const struct ctt_offer *f, const int *pick,
                    struct ctt_part *part)
{
    for (int i = 0; i < f->menu.weights; i++)
        part[i] = f->part[f->menu.first[i] + pick[i]];
}
