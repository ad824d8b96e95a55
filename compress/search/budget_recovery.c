/* SPDX-License-Identifier: Apache-2.0
 * budget_recovery.c: retrains each kind of option alone, for all weights at
 * once and for a few steps, as what counts is what retraining leaves of the
 * harm. */
#include "compress/search/budget_run.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* All levels; part: by weight, of one level, and with each value of
 * sharing. */
struct heal {
    struct ctt_budget_run *r;
    struct ctt_level       level[CTT_LEVELS];
    struct ctt_part       *part[1 + CTT_LADDER_MOST];
    int                    levels;
    double                 chance;    /* nats that a guess loses */
};

static const char *name_of(const struct ctt_level *l, char text[64])
{
    snprintf(text, 64, "%s %g", l->ladder->name, l->ladder->value[l->value]);
    return text;
}

/* Those that the model can have. */
static void find_levels(struct heal *h)
{
    int all = ctt_levels(h->level), n = 0;

    for (int i = 0; i < all; i++)
        if (ctt_level_parts(h->r->s, &h->level[i], h->part[0]))
            h->level[n++] = h->level[i];
    h->levels = n;
}

/* Nats of what leads to numbers that are not finite: it is the worst. */
#define LOST 30

/* A level, and of factors what shared values add. */
static int measure_level(struct heal *h, struct ctt_level *l,
                         struct ctt_budget_short *t)
{
    struct ctt_budget_then then[CTT_LADDER_MOST];
    int value[CTT_LADDER_MOST], rc;
    double loss;

    ctt_level_parts(h->r->s, l, h->part[0]);
    t->part = h->part[0];
    t->then = then;
    t->thens = 0;
    for (int k = 0; k < CTT_LADDER_MOST; k++)
        if (ctt_level_share(h->r->s, l, k, h->part[1 + t->thens])) {
            then[t->thens] = (struct ctt_budget_then){
                .part = h->part[1 + t->thens], .loss = NAN, .bytes = NAN };
            value[t->thens++] = k;
        }
    CTT_TRY(ctt_budget_shortly(h->r, t, &loss));
    l->left = isnan(loss) ? LOST : loss - h->r->base;
    for (int i = 0; i < t->thens; i++)
        l->shared[value[i]] = isnan(then[i].loss) ? LOST : then[i].loss - loss;
out:
    return rc;
}

/* A value that loses over half of what a guess does is of no use to a mix, nor
 * is a stronger one, which is not retrained but taken to lose all.  Where a
 * guess loses little, half of it tells too little. */
#define TELLS 1.0
static int is_lost(const struct heal *h, int i)
{
    const struct ctt_level *l = &h->level[i];

    return i > 0 && l[-1].ladder == l->ladder && h->chance > TELLS &&
           l[-1].left > h->chance / 2;
}

static int measure_one(struct heal *h, int i, struct ctt_budget_short *t)
{
    struct ctt_level *l = &h->level[i];

    if (!is_lost(h, i))
        return measure_level(h, l, t);
    l->left = fmax(h->chance, l[-1].left);
    return 0;
}

static int measure(struct heal *h)
{
    struct ctt_budget_short t = { .at = 1, .all = h->levels + 1,
                                  .steps = h->r->j->c.budget_steps,
                                  .what = "as given" };
    char text[64];
    int rc;

    CTT_TRY(ctt_budget_shortly(h->r, &t, &h->r->base));
    h->chance = log(h->r->was[0]->classes) - h->r->base;
    for (int i = 0; i < h->levels; i++) {
        t.at = i + 2;
        t.what = name_of(&h->level[i], text);
        CTT_TRY(measure_one(h, i, &t));
    }
out:
    return rc;
}

/* ---- what it came to ---- */

/* What sharing adds, by value: "4: 0.10, 3: 0.31", or "-". */
static const char *shared_text(const struct ctt_level *l, char *text,
                               size_t size)
{
    const struct ctt_ladder *bits = ctt_ladders;
    size_t n = 0;

    while (strcmp(bits->name, "share") != 0)
        bits++;
    snprintf(text, size, "-");
    for (int k = 0; k < bits->values; k++)
        if (!isnan(l->shared[k]) && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%g: %.2f",
                                  n ? ", " : "", bits->value[k], l->shared[k]);
    return text;
}

static const char *guess_text(const struct heal *h, char *text, size_t size)
{
    text[0] = '\0';
    if (h->chance > TELLS)
        snprintf(text, size, " (a guess loses %.3f; -: a milder value loses "
                 "over half of that)", h->chance);
    return text;
}

/* Before and after. */
static int say(const struct heal *h)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char text[96], shared[64], cell[2][CTT_BUDGET_CELL];
    int rc;

    ctt_tool_say("\nall weights with the same option: what the answers lose, "
                 "in nats, at once, after %d steps of retraining%s, and "
                 "besides if what is factorised then has values of so many "
                 "bits:", h->r->j->c.budget_steps,
                 guess_text(h, text, sizeof(text)));
    ctt_table_row(&t, "option\tat once\tretrained\tshared");
    for (int i = 0; i < h->levels; i++)
        ctt_table_row(&t, "%s\t%s\t%s\t%s", name_of(&h->level[i], text),
                      ctt_budget_number(ctt_level_harm(h->r->s,
                                        &h->level[i]), cell[0]),
                      ctt_budget_number(is_lost(h, i) ? NAN
                                        : h->level[i].left, cell[1]),
                      shared_text(&h->level[i], shared, sizeof(shared)));
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

int ctt_budget_recovery(struct ctt_budget_run *r)
{
    struct heal h = { .r = r };
    int rc = 0;

    if (!r->j->c.budget_steps)
        return 0;
    for (size_t i = 0; i < CTT_LEN(h.part) && rc >= 0; i++) {
        h.part[i] = ctt_calloc((size_t)r->s->weights, sizeof(**h.part));
        rc = h.part[i] ? 0 : CTT_ENOMEM;
    }
    CTT_TRY(rc);
    find_levels(&h);
    CTT_TRY(measure(&h));
    CTT_TRY(say(&h));
    r->shared_left = ctt_shared_left(r->s, h.level, h.levels);
    ctt_recovery_shared(r->s, h.level, h.levels);
    ctt_recovery(r->s, h.level, h.levels);
out:
    for (size_t i = 0; i < CTT_LEN(h.part); i++)
        ctt_free(h.part[i]);
    return rc;
}
