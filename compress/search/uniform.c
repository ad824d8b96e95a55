/* SPDX-License-Identifier: Apache-2.0
 * uniform.c: picks what all weights have in common under limits: the share that
 * is pruned, or all options. */
#include "compress/search/savings.h"

#include <string.h>

int ctt_is_large(const struct ctt_sensitivity *s, int weight)
{
    int64_t largest = 0;

    for (int i = 0; i < s->weights; i++)
        if (s->weight[i].params > largest)
            largest = s->weight[i].params;
    return s->weight[weight].params >= largest / 4;
}

/* The values of a kind that any weight has, by a point with each; the first is
 * NULL: none. */
struct values {
    const struct ctt_sensitivity_point *p[CTT_CHOICES];
    int                           n;
};

static int is_same(const struct ctt_sensitivity_point *a,
                   const struct ctt_sensitivity_point *b)
{
    return a == b || (a && b && a->ladder == b->ladder &&
                      !(a->value < b->value) && !(a->value > b->value));
}

static void add(struct values *v, const struct ctt_sensitivity_point *p)
{
    for (int i = 0; i < v->n; i++)
        if (is_same(v->p[i], p))
            return;
    if (v->n < CTT_CHOICES)
        v->p[v->n++] = p;
}

static void find(const struct ctt_offer *f, const char *form,
                 struct values all[CTT_PART_KINDS])
{
    int ways = f->menu.first[f->menu.weights];

    for (int k = 0; k < CTT_PART_KINDS; k++)
        all[k] = (struct values){ .n = 1 };
    for (int i = 0; i < ways; i++)
        for (int k = 0; k < CTT_PART_KINDS; k++) {
            const struct ctt_sensitivity_point *p =
                ctt_part_point(&f->part[i], k);

            if (p && (k != CTT_PART_FORM ||
                      (form && strcmp(p->ladder->name, form) == 0)))
                add(&all[k], p);
        }
}

/* How much of what is wanted a part has, factors before all else; -1: it has
 * something else. */
static int
matches(const struct ctt_part *part, int large,
        const struct ctt_sensitivity_point *const want[CTT_PART_KINDS])
{
    int n = 0;

    for (int k = 0; k < CTT_PART_KINDS; k++) {
        const struct ctt_sensitivity_point *p = ctt_part_point(part, k);

        if (p && (!is_same(p, want[k]) || (k == CTT_PART_FORM && !large)))
            return -1;
        if (p)
            n += k == CTT_PART_FORM ? CTT_PART_KINDS : 1;
    }
    return n;
}

/* The way of each weight that has most of what is wanted. */
static void
pick_all(const struct ctt_offer *f, const struct ctt_sensitivity *s,
         const struct ctt_sensitivity_point *const want[CTT_PART_KINDS],
         int *pick)
{
    for (int i = 0; i < f->menu.weights; i++) {
        int most = -1, large = ctt_is_large(s, i);

        for (int k = f->menu.first[i]; k < f->menu.first[i + 1]; k++) {
            int n = matches(&f->part[k], large, want);

            if (n > most) {
                most = n;
                pick[i] = k - f->menu.first[i];
            }
        }
    }
}

/* Factors that are asked for are there, if any weight can have them. */
static int first_form(const struct values all[CTT_PART_KINDS],
                      const char *form)
{
    return form && all[CTT_PART_FORM].n > 1;
}

/* The next set of values, as the digits of a number; 0: that was the last. */
static int next(const struct values all[CTT_PART_KINDS], const char *form,
                int at[CTT_PART_KINDS])
{
    for (int k = 0; k < CTT_PART_KINDS; k++) {
        if (++at[k] < all[k].n)
            return 1;
        at[k] = k == CTT_PART_FORM ? first_form(all, form) : 0;
    }
    return 0;
}

int ctt_allocate_uniform(const struct ctt_offer *f,
                         const struct ctt_sensitivity *s, const char *form,
                         const struct ctt_aim_at *a, struct ctt_part *part,
                         struct ctt_way *sum)
{
    int *pick = ctt_calloc((size_t)f->menu.weights, sizeof(*pick));
    int at[CTT_PART_KINDS] = { 0 }, some = 0, rc = pick ? 0 : CTT_ENOMEM;
    struct values all[CTT_PART_KINDS];

    CTT_TRY(rc);
    find(f, form, all);
    at[CTT_PART_FORM] = first_form(all, form);
    do {
        const struct ctt_sensitivity_point *want[CTT_PART_KINDS];
        struct ctt_way is;

        for (int k = 0; k < CTT_PART_KINDS; k++)
            want[k] = all[k].p[at[k]];
        pick_all(f, s, want, pick);
        is = ctt_savings_sum(&f->menu, pick);
        if (some++ && !ctt_aim_better(a, &is, sum))
            continue;
        *sum = is;
        ctt_offer_take(f, pick, part);
    } while (next(all, form, at));
    rc = ctt_aim_excess(a, sum) > 1;
out:
    ctt_free(pick);
    return rc;
}

/* ---- one share of pruning ---- */

/* Whether a way goes with this pruning: it has it, or factors and no pruning;
 * or the weight has no such way. */
static int goes_with(const struct ctt_part *p, int has,
                     const struct ctt_sensitivity_point *prune)
{
    return is_same(p->prune, prune) || (!p->prune && (!has || p->form));
}

/* Copies the ways of f that go with this pruning to `to`, which has room for
 * all. */
static void prune_offer(const struct ctt_offer *f,
                        const struct ctt_sensitivity_point *prune,
                        struct ctt_offer *to)
{
    int n = 0;

    for (int i = 0; i < f->menu.weights; i++) {
        int has = 0;

        to->menu.first[i] = n;
        for (int k = f->menu.first[i]; k < f->menu.first[i + 1]; k++)
            has |= prune && is_same(f->part[k].prune, prune);
        for (int k = f->menu.first[i]; k < f->menu.first[i + 1]; k++) {
            if (!goes_with(&f->part[k], has, prune))
                continue;
            to->menu.way[n] = f->menu.way[k];
            to->part[n++] = f->part[k];
        }
    }
    to->menu.first[f->menu.weights] = n;
}

static int copy_offer(const struct ctt_offer *f, struct ctt_offer **out)
{
    size_t n = (size_t)f->menu.weights, ways = (size_t)f->menu.first[n];
    struct ctt_offer *to = ctt_calloc(1, sizeof(*to));
    int rc = 0;

    CTT_TRY(to ? 0 : CTT_ENOMEM);
    *to = *f;
    to->fine = NULL;    /* they are of f, which frees them */
    to->fines = 0;
    to->menu.first = ctt_calloc(n + 1, sizeof(*to->menu.first));
    to->menu.way = ctt_calloc(ways, sizeof(*to->menu.way));
    to->part = ctt_calloc(ways, sizeof(*to->part));
    CTT_TRY(to->menu.first && to->menu.way && to->part ? 0 : CTT_ENOMEM);
    *out = to;
    to = NULL;
out:
    ctt_offer_free(&to);
    return rc;
}

int ctt_allocate_each(const struct ctt_offer *f, const struct ctt_aim_at *a,
                      struct ctt_part *part, struct ctt_way *sum)
{
    int *pick = ctt_calloc((size_t)f->menu.weights, sizeof(*pick));
    int some = 0, rc = pick ? 0 : CTT_ENOMEM;
    struct values all[CTT_PART_KINDS];
    struct ctt_offer *to = NULL;

    CTT_TRY(rc);
    CTT_TRY(copy_offer(f, &to));
    find(f, NULL, all);
    for (int k = 0; k < all[CTT_PART_PRUNE].n; k++) {
        struct ctt_way is;

        prune_offer(f, all[CTT_PART_PRUNE].p[k], to);
        CTT_TRY(ctt_allocate(&to->menu, a, pick));
        is = ctt_savings_sum(&to->menu, pick);
        if (some++ && !ctt_aim_better(a, &is, sum))
            continue;
        *sum = is;
        ctt_offer_take(to, pick, part);
    }
    rc = ctt_aim_excess(a, sum) > 1;
out:
    ctt_offer_free(&to);
    ctt_free(pick);
    return rc;
}
