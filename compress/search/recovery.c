/* SPDX-License-Identifier: Apache-2.0
 * recovery.c: what retraining leaves of the harm of options, by a few values of
 * each that were retrained for all weights at once. */
#include "compress/search/budget.h"
#include "compress/stage.h"

#include <math.h>

/* Nats: what less a level loses can't be told from nothing on a few hundred
 * clips. */
#define LEAST 0.02
/* Makes parts of a harm equal if none of its points has any. */
#define TINY 1e-12

/* A mix has these, and retraining repairs them; INT8 is rounded after it. */
static int is_healed(const struct ctt_ladder *l)
{
    static const struct ctt_stage *const of[] = { &ctt_stage_prune,
        &ctt_stage_share, &ctt_stage_svd, &ctt_stage_tt };

    for (size_t i = 0; i < CTT_LEN(of); i++)
        if (l->stage == of[i])
            return 1;
    return 0;
}

static struct ctt_level new_level(const struct ctt_ladder *l, int value)
{
    struct ctt_level x = { l, value, NAN, { 0 } };

    for (int k = 0; k < CTT_LADDER_MOST; k++)
        x.shared[k] = NAN;
    return x;
}

int ctt_levels(struct ctt_level to[CTT_LEVELS])
{
    int n = 0;

    for (const struct ctt_ladder *l = ctt_ladders; l->name; l++)
        for (int k = 1 + l->values % 2; is_healed(l) && k < l->values &&
                                        n < CTT_LEVELS; k += 2)
            to[n++] = new_level(l, k);
    return n;
}

static int is_at(const struct ctt_sensitivity_point *p,
                 const struct ctt_ladder *l, int value)
{
    return p->ladder == l && p->value == l->value[value] && p->done &&
           !p->why[0];
}

/* Whether a level changes the weight of a point. */
static int is_part(const struct ctt_sensitivity *s,
                   const struct ctt_sensitivity_point *p,
                   const struct ctt_level *l)
{
    int form = l->ladder->stage == &ctt_stage_svd ||
               l->ladder->stage == &ctt_stage_tt;
    int prune = l->ladder->stage == &ctt_stage_prune;

    return is_at(p, l->ladder, l->value) &&
           (!form || ctt_is_large(s, p->weight)) &&
           (!prune || ctt_assignment_prunes(s, p->weight));
}

static void set_part(const struct ctt_sensitivity_point *p,
                     struct ctt_part *part)
{
    const struct ctt_stage *s = p->ladder->stage;

    *part = (struct ctt_part){ .form = NULL };
    if (s == &ctt_stage_prune)
        part->prune = p;
    else if (s == &ctt_stage_share)
        part->share = p;
    else
        part->form = p;
}

int ctt_level_parts(const struct ctt_sensitivity *s, const struct ctt_level *l,
                    struct ctt_part *part)
{
    int some = 0;

    for (int i = 0; i < s->weights; i++)
        part[i] = (struct ctt_part){ .form = NULL };
    for (int i = 0; i < s->points; i++)
        if (is_part(s, &s->point[i], l)) {
            set_part(&s->point[i], &part[s->point[i].weight]);
            some = 1;
        }
    return some;
}

/* ---- correcting ---- */

double ctt_level_harm(const struct ctt_sensitivity *s,
                      const struct ctt_level *l)
{
    double sum = 0;

    for (int i = 0; i < s->points; i++)
        if (is_part(s, &s->point[i], l))
            sum += s->point[i].fit;
    return sum;
}

/* The logarithm of the share of its harm that a level keeps; NAN: that is not
 * known, as it does less than can be seen. */
static double kept(const struct ctt_sensitivity *s, const struct ctt_level *l)
{
    double before = ctt_level_harm(s, l);

    if (isnan(l->left) || !(before > LEAST))
        return NAN;
    return fmin(0, log(fmax(l->left, LEAST) / before));
}

/* The same for any value, between the known ones below and above it. */
static double kept_at(const struct ctt_sensitivity *s,
                      const struct ctt_level *level, int levels,
                      const struct ctt_ladder *l, int value)
{
    double x[2] = { NAN, NAN }, y[2] = { 0, 0 };

    for (int i = 0; i < levels; i++) {
        int up = level[i].value > value;
        double is = level[i].ladder == l ? kept(s, &level[i]) : NAN;

        if (isnan(is))
            continue;
        if (isnan(x[up]) || fabs((double)level[i].value - value) <
                             fabs(x[up] - value)) {
            x[up] = level[i].value;
            y[up] = is;
        }
    }
    if (isnan(x[0]) || isnan(x[1]))    /* 0 if neither is known */
        return isnan(x[0]) ? y[1] : y[0];
    return y[0] + (y[1] - y[0]) * (value - x[0]) / (x[1] - x[0]);
}

/* ---- pruning ---- */

/* Nats that a share of pruning costs, by the levels of its ladder: between two
 * of them interpolated in the logarithm; below the least in proportion to how
 * many values are pruned for one that is left. */
static double pruned_at(const struct ctt_level *level, int levels,
                        const struct ctt_ladder *l, int value)
{
    const struct ctt_level *low = NULL, *high = NULL;
    double p = l->value[value], q, t;

    for (int i = 0; i < levels; i++) {
        if (level[i].ladder != l || isnan(level[i].left))
            continue;
        if (level[i].value <= value && (!low || level[i].value > low->value))
            low = &level[i];
        if (level[i].value >= value && (!high || level[i].value < high->value))
            high = &level[i];
    }
    if (!high)
        return low ? fmax(low->left, LEAST) : 0;
    q = l->value[high->value];
    if (!low)
        return fmax(high->left, LEAST) * (p / (1 - p)) / (q / (1 - q));
    if (low == high)
        return fmax(low->left, LEAST);
    t = (double)(value - low->value) / (high->value - low->value);
    return fmax(low->left, LEAST) *
           pow(fmax(high->left, LEAST) / fmax(low->left, LEAST), t);
}

/* Weights are pruned together, so each has a part of the harm, in proportion to
 * what it costs if it is pruned alone. */
static void spread(struct ctt_sensitivity *s, const struct ctt_level *level,
                   int levels, const struct ctt_ladder *l)
{
    for (int k = 0; k < l->values; k++) {
        double harm = pruned_at(level, levels, l, k), all = 0;
        struct ctt_level at = new_level(l, k);

        for (int i = 0; i < s->points; i++)
            if (is_part(s, &s->point[i], &at))
                all += s->point[i].fit + TINY;
        for (int i = 0; i < s->points; i++)
            if (is_part(s, &s->point[i], &at))
                s->point[i].fit = harm / all * (s->point[i].fit + TINY);
    }
}

/* ---- all ---- */

/* All factors are of the fits as they were. */
static void heal_ladder(struct ctt_sensitivity *s,
                        const struct ctt_level *level, int levels,
                        const struct ctt_ladder *l)
{
    double factor[16];

    for (int k = 0; k < l->values; k++)
        factor[k] = exp(kept_at(s, level, levels, l, k));
    for (int k = 0; k < l->values; k++)
        for (int i = 0; i < s->points; i++)
            if (is_at(&s->point[i], l, k))
                s->point[i].fit *= factor[k];
}

void ctt_recovery(struct ctt_sensitivity *s, const struct ctt_level *level,
                  int levels)
{
    for (const struct ctt_ladder *l = ctt_ladders; l->name; l++)
        if (l->stage == &ctt_stage_prune)
            spread(s, level, levels, l);
        else
            heal_ladder(s, level, levels, l);
    ctt_sensitivity_rise(s);
}
