/* SPDX-License-Identifier: Apache-2.0
 * alike.c: picks the same options for all weights under limits. */
#include "compress/budget.h"

#include <string.h>

/* The values of a kind that any weight has, by a point with each; the first is
 * NULL: none. */
enum { MOST = 16 };
struct values {
    const struct ctt_sense_point *p[MOST];
    int                           n;
};

static int is_same(const struct ctt_sense_point *a,
                   const struct ctt_sense_point *b)
{
    return a == b || (a && b && a->ladder == b->ladder &&
                      !(a->value < b->value) && !(a->value > b->value));
}

static void add(struct values *v, const struct ctt_sense_point *p)
{
    for (int i = 0; i < v->n; i++)
        if (is_same(v->p[i], p))
            return;
    if (v->n < MOST)
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
            const struct ctt_sense_point *p = ctt_part_point(&f->part[i], k);

            if (p && (k != CTT_PART_FORM ||
                      (form && strcmp(p->ladder->name, form) == 0)))
                add(&all[k], p);
        }
}

/* How much of what is wanted a part has; -1: it has something else. */
static int matches(const struct ctt_part *part,
                   const struct ctt_sense_point *const want[CTT_PART_KINDS])
{
    int n = 0;

    for (int k = 0; k < CTT_PART_KINDS; k++) {
        const struct ctt_sense_point *p = ctt_part_point(part, k);

        if (p && !is_same(p, want[k]))
            return -1;
        n += p != NULL;
    }
    return n;
}

/* The way of each weight that has most of what is wanted. */
static void pick_all(const struct ctt_offer *f,
                     const struct ctt_sense_point *const want[CTT_PART_KINDS],
                     int *pick)
{
    for (int i = 0; i < f->menu.weights; i++) {
        int most = -1;

        for (int k = f->menu.first[i]; k < f->menu.first[i + 1]; k++) {
            int n = matches(&f->part[k], want);

            if (n > most) {
                most = n;
                pick[i] = k - f->menu.first[i];
            }
        }
    }
}

/* The next set of values, as the digits of a number; 0: that was the last. */
static int next(const struct values all[CTT_PART_KINDS],
                int at[CTT_PART_KINDS])
{
    for (int k = 0; k < CTT_PART_KINDS; k++) {
        if (++at[k] < all[k].n)
            return 1;
        at[k] = 0;
    }
    return 0;
}

int ctt_allot_alike(const struct ctt_offer *f, const char *form,
                    const struct ctt_aim_at *a, int *pick)
{
    size_t size = (size_t)f->menu.weights * sizeof(*pick);
    int *now = ctt_calloc(size + 1, 1), at[CTT_PART_KINDS] = { 0 }, rc = 0;
    struct values all[CTT_PART_KINDS];
    struct ctt_way best, sum;

    CTT_TRY(now ? 0 : CTT_ENOMEM);
    find(f, form, all);
    memset(pick, 0, size);
    best = ctt_menu_sum(&f->menu, pick);
    do {
        const struct ctt_sense_point *want[CTT_PART_KINDS];

        for (int k = 0; k < CTT_PART_KINDS; k++)
            want[k] = all[k].p[at[k]];
        pick_all(f, want, now);
        sum = ctt_menu_sum(&f->menu, now);
        if (ctt_aim_better(a, &sum, &best)) {
            best = sum;
            memcpy(pick, now, size);
        }
    } while (next(all, at));
    rc = ctt_aim_excess(a, &best) > 1;
out:
    ctt_free(now);
    return rc;
}
