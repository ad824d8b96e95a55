/* SPDX-License-Identifier: Apache-2.0
 * menu.c: the ways to store each weight of a model, with what they harm and
 * cost. */
#include "compress/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Values of a ladder, and none, which comes first. */
enum { MOST = 16 };

/* The points of a weight that can be used, by kind: form, prune, share, int8;
 * the first of each is NULL: not done. */
enum { FORM, PRUNE, SHARE, INT8, KINDS };
struct choices {
    const struct ctt_sense_point *p[KINDS][MOST];
    int                           n[KINDS];
};

struct making {
    const struct ctt_sense  *s;
    const struct ctt_model  *m;
    const struct ctt_recipe *o;
    const char     *path;
    const struct ctt_costs *given;
    double          ms;
    double         *most;   /* that a point saves, by weight, in ms */
    double          scale;  /* of what points save */
    struct choices *can;    /* by weight */
    int64_t        *bytes;  /* by weight, value of pruning and of sharing */
    struct ctt_offer *f;
};

static int kind_of(const struct ctt_ladder *l, const char *prune)
{
    if (l->stage == &ctt_stage_svd || l->stage == &ctt_stage_tt)
        return FORM;
    if (strcmp(l->name, prune) == 0)
        return PRUNE;
    if (l->stage == &ctt_stage_share)
        return SHARE;
    return l->stage == &ctt_stage_int8 ? INT8 : -1;
}

static void find_choices(struct making *a, const char *prune)
{
    const struct ctt_sense *s = a->s;

    for (int i = 0; i < s->weights; i++)
        for (int k = 0; k < KINDS; k++)
            a->can[i].n[k] = 1;
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sense_point *p = &s->point[i];
        struct choices *c = &a->can[p->weight];
        int k = kind_of(p->ladder, prune);

        if (k == PRUNE && !ctt_mix_prunes(s, p->weight))
            continue;
        if (k >= 0 && p->done && !p->why[0] && c->n[k] < MOST)
            c->p[k][c->n[k]++] = p;
    }
}

/* ---- bytes ---- */

static int64_t *bytes_at(const struct making *a, int weight, int prune,
                         int share)
{
    return &a->bytes[(weight * MOST + prune) * MOST + share];
}

static int64_t stored(const struct ctt_trial *t, const char *name)
{
    char full[CTT_NAME + 4];

    snprintf(full, sizeof(full), "%s.w", name);
    for (int i = 0; i < t->nstored; i++)
        if (strcmp(t->stored[i].name, full) == 0)
            return t->stored[i].size;
    return 0;
}

/* The same values for all weights that can have them. */
static int fill_parts(const struct making *a, int prune, int share,
                      struct ctt_part *part)
{
    int some = 0;

    for (int i = 0; i < a->s->weights; i++) {
        const struct choices *c = &a->can[i];

        part[i] = (struct ctt_part){ .form = NULL };
        if (prune < c->n[PRUNE])
            part[i].prune = c->p[PRUNE][prune];
        if (share < c->n[SHARE])
            part[i].share = c->p[SHARE][share];
        some |= (prune < c->n[PRUNE]) && (share < c->n[SHARE]);
    }
    return some;
}

static int measure_bytes(struct making *a, int prune, int share,
                         struct ctt_part *part)
{
    struct ctt_mix_recipe *r = NULL;
    struct ctt_trial t = { .file = NULL };
    double sum = 0;
    int rc = 0;

    if (!fill_parts(a, prune, share, part))
        goto out;
    CTT_TRY(ctt_mix_recipe(a->s, part, a->o, &r));
    CTT_TRY(ctt_trial_recipe(a->m, NULL, ctt_mix_settings(r), a->path, &t));
    for (int i = 0; i < a->s->weights; i++) {
        int64_t n = stored(&t, a->s->weight[i].name);

        *bytes_at(a, i, prune, share) = n;
        sum += (double)n;
    }
    if (!prune && !share)
        a->f->menu.rest[CTT_COST_BYTES] = (double)t.bytes - sum;
out:
    ctt_trial_drop(&t);
    ctt_mix_recipe_free(&r);
    return rc;
}

static int most_of(const struct making *a, int kind)
{
    int most = 1;

    for (int i = 0; i < a->s->weights; i++)
        most = a->can[i].n[kind] > most ? a->can[i].n[kind] : most;
    return most;
}

/* Every second share of pruning after 0.7 is not coded, which takes its time,
 * but lies between its neighbours. */
static int is_between(const struct making *a, int prune)
{
    return prune > 2 && prune % 2 == 1 && prune + 1 < most_of(a, PRUNE);
}

/* Bytes between two shares, by the logarithms of bytes and of the values that
 * are kept. */
static int64_t between(const struct choices *c, int prune, int64_t below,
                       int64_t above)
{
    double low = 1 - c->p[PRUNE][prune - 1]->value;
    double is = 1 - c->p[PRUNE][prune]->value, high, t;

    if (prune + 1 >= c->n[PRUNE] || below < 1 || above < 1)
        return (int64_t)round((double)below * is / low);
    high = 1 - c->p[PRUNE][prune + 1]->value;
    t = log(is / low) / log(high / low);
    return (int64_t)round((double)below *
                          pow((double)above / (double)below, t));
}

static void set_between(const struct making *a, int prune, int share)
{
    for (int i = 0; i < a->s->weights; i++)
        if (prune < a->can[i].n[PRUNE])
            *bytes_at(a, i, prune, share) =
                between(&a->can[i], prune, *bytes_at(a, i, prune - 1, share),
                        *bytes_at(a, i, prune + 1, share));
}

static int measure_all(struct making *a)
{
    size_t n = (size_t)a->s->weights;
    struct ctt_part *part = ctt_calloc(n, sizeof(*part));
    int rc = 0;

    a->bytes = ctt_calloc(n * MOST * MOST, sizeof(*a->bytes));
    CTT_TRY(part && a->bytes ? 0 : CTT_ENOMEM);
    for (int p = 0; p < most_of(a, PRUNE); p++)
        for (int b = 0; b < most_of(a, SHARE) && !is_between(a, p); b++)
            CTT_TRY(measure_bytes(a, p, b, part));
    for (int p = 0; p < most_of(a, PRUNE); p++)
        for (int b = 0; b < most_of(a, SHARE) && is_between(a, p); b++)
            set_between(a, p, b);
out:
    ctt_free(part);
    return rc;
}

/* ---- the ways ---- */

/* The share of a weight's values that its factors have: floats are stored by
 * their number. */
static double left_by(const struct ctt_sense *s,
                      const struct ctt_sense_point *p)
{
    double all = 4.0 * (double)s->weight[p->weight].params;

    return fmin(1, fmax(0.001, 1 - (double)(s->bytes - p->bytes) / all));
}

/* How many times as much shared values harm these factors; 0: not known. */
static double on_factors(const struct ctt_sense *s, const struct ctt_part *p)
{
    ptrdiff_t ladder = p->form->ladder - ctt_ladders;

    return s->on_factors[ladder][ctt_sense_step(p->form)]
                        [ctt_sense_step(p->share)];
}

double ctt_part_harm(const struct ctt_sense *s, const struct ctt_part *p,
                     enum ctt_part_kind kind)
{
    const struct ctt_sense_point *at = ctt_part_point(p, kind);
    double times;

    if (!at)
        return 0;
    if (!p->form || (kind != CTT_PART_SHARE && kind != CTT_PART_PRUNE))
        return at->fit;
    times = kind == CTT_PART_SHARE ? on_factors(s, p) : 0;
    return at->fit * (times > 0 ? times : 1 / left_by(s, p->form));
}

/* The milliseconds that a point saves alone; below 0: that it costs. */
static double saves(const struct making *a, const struct ctt_sense_point *p)
{
    return p && !isnan(p->faster) ? a->scale * a->ms * (1 - 1 / p->faster) : 0;
}

/* The most that any point of each weight saves.  Noise and what several weights
 * save of the same may make that more than there is: then all save less. */
#define MOST_SAVED 0.95
static int find_most(struct making *a)
{
    double sum = 0;

    a->scale = 1;
    a->most = ctt_calloc((size_t)a->s->weights, sizeof(*a->most));
    if (!a->most)
        return CTT_ENOMEM;
    for (int i = 0; i < a->s->points; i++) {
        double *most = &a->most[a->s->point[i].weight];

        *most = fmax(*most, saves(a, &a->s->point[i]));
    }
    for (int i = 0; i < a->s->weights; i++)
        sum += a->most[i];
    if (sum > MOST_SAVED * a->ms)
        a->scale = MOST_SAVED * a->ms / sum;
    for (int i = 0; i < a->s->weights; i++)
        a->most[i] *= a->scale;
    return 0;
}

/* What a way saves.  Factors save what they do alone.  Pruning and INT8 save
 * their shares of what may be saved, one of what the other leaves, and of
 * factors as much as these have of the values.  Nothing saves more than the
 * best point alone: the rest is not the weight's multiplications.  What costs
 * time is added. */
static double saved(const struct making *a, int weight,
                    const struct ctt_part *part)
{
    const struct ctt_sense_point *const of[] = { part->prune, part->int8 };
    double left = part->form ? left_by(a->s, part->form) : 1;
    double most = a->most[weight], rest = 1, costs = 0;

    for (size_t i = 0; i < CTT_LEN(of); i++) {
        double x = saves(a, of[i]);

        if (x > 0)
            rest *= 1 - x / most;
        else
            costs += x;
    }
    return fmin(most, saves(a, part->form) + left * most * (1 - rest)) +
           left * costs;
}

static void make_way(struct making *a, int weight, const int k[KINDS])
{
    struct ctt_menu *m = &a->f->menu;
    const struct choices *c = &a->can[weight];
    const struct ctt_sense_weight *w = &a->s->weight[weight];
    int at = m->first[weight + 1]++;
    struct ctt_way *way = &m->way[at];
    struct ctt_part part = { c->p[FORM][k[FORM]], c->p[PRUNE][k[PRUNE]],
                             c->p[SHARE][k[SHARE]], c->p[INT8][k[INT8]] };
    double left = part.form ? left_by(a->s, part.form) : 1;
    int frame = w->node < a->s->m->g->clip;

    *way = (struct ctt_way){ .harm = 0 };
    way->cost[CTT_COST_BYTES] = left * (double)*bytes_at(a, weight, k[PRUNE],
                                                         k[SHARE]);
    way->cost[CTT_COST_MS] = isnan(a->ms) ? 0 : -saved(a, weight, &part);
    way->cost[CTT_COST_MACS] = frame ? left * a->f->macs * w->macs *
        (1 - (part.prune ? part.prune->value : 0)) : 0;
    for (int i = 0; i < KINDS; i++)
        way->harm += ctt_part_harm(a->s, &part, (enum ctt_part_kind)i);
    way->cost[CTT_COST_RAM] = (part.int8 ? 1 : 4) * left * (double)w->params;
    a->f->part[at] = part;
}

static void make_ways(struct making *a, int weight)
{
    const struct choices *c = &a->can[weight];
    int k[KINDS];

    a->f->menu.first[weight + 1] = a->f->menu.first[weight];
    for (k[FORM] = 0; k[FORM] < c->n[FORM]; k[FORM]++)
        for (k[PRUNE] = 0; k[PRUNE] < c->n[PRUNE]; k[PRUNE]++)
            for (k[SHARE] = 0; k[SHARE] < c->n[SHARE]; k[SHARE]++)
                for (k[INT8] = 0; k[INT8] < c->n[INT8]; k[INT8]++)
                    make_way(a, weight, k);
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

/* What the runtime keeps besides weights. */
static double rest_of_ram(const struct making *a)
{
    double rest = a->given->cost[CTT_COST_RAM];

    for (int i = 0; i < a->s->weights; i++)
        rest -= 4 * (double)a->s->weight[i].params;
    return rest > 0 ? rest : 0;
}

void ctt_offer_free(struct ctt_offer **f)
{
    if (!*f)
        return;
    ctt_free((*f)->menu.first);
    ctt_free((*f)->menu.way);
    ctt_free((*f)->part);
    ctt_free(*f);
    *f = NULL;
}

static int make_offer(struct making *a)
{
    size_t n = (size_t)a->s->weights, ways = 0;
    struct ctt_menu *m = &a->f->menu;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        size_t all = 1;

        for (int k = 0; k < KINDS; k++)
            all *= (size_t)a->can[i].n[k];
        ways += all;
    }
    m->weights = (int)n;
    m->first = ctt_calloc(n + 1, sizeof(*m->first));
    m->way = ctt_calloc(ways, sizeof(*m->way));
    a->f->part = ctt_calloc(ways, sizeof(*a->f->part));
    CTT_TRY(m->first && m->way && a->f->part ? 0 : CTT_ENOMEM);
    CTT_TRY(find_most(a));
    a->f->macs = all_macs(a->s->m->g);
    for (size_t i = 0; i < n; i++)
        make_ways(a, (int)i);
    m->rest[CTT_COST_RAM] = rest_of_ram(a);
    m->rest[CTT_COST_MS] = isnan(a->ms) ? 0 : a->ms;
out:
    return rc;
}

int ctt_offer_new(const struct ctt_sense *s, const struct ctt_model *m,
                  const struct ctt_recipe *o, const char *prune,
                  const struct ctt_costs *given, const char *path,
                  struct ctt_offer **out)
{
    struct making a = { .s = s, .m = m, .o = o, .path = path, .given = given,
                        .ms = given->cost[CTT_COST_MS] };
    int rc = 0;

    a.f = ctt_calloc(1, sizeof(*a.f));
    a.can = ctt_calloc((size_t)s->weights, sizeof(*a.can));
    CTT_TRY(a.f && a.can ? 0 : CTT_ENOMEM);
    a.f->trust = (struct ctt_trust){ { 1, 1, 1, 1 }, 1 };
    find_choices(&a, prune);
    CTT_TRY(measure_all(&a));
    CTT_TRY(make_offer(&a));
    *out = a.f;
    a.f = NULL;
out:
    ctt_offer_free(&a.f);
    ctt_free(a.can);
    ctt_free(a.bytes);
    ctt_free(a.most);
    return rc;
}

double ctt_offer_harm(const struct ctt_offer *f, const struct ctt_sense *s,
                      const struct ctt_part *p)
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

void ctt_offer_trust(struct ctt_offer *f, const struct ctt_sense *s,
                     const struct ctt_trust *times)
{
    f->trust = *times;
    for (int i = 0; i < f->menu.first[f->menu.weights]; i++)
        f->menu.way[i].harm = ctt_offer_harm(f, s, &f->part[i]);
}

void ctt_offer_take(const struct ctt_offer *f, const int *pick,
                    struct ctt_part *part)
{
    for (int i = 0; i < f->menu.weights; i++)
        part[i] = f->part[f->menu.first[i] + pick[i]];
}
