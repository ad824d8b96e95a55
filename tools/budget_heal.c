/* SPDX-License-Identifier: Apache-2.0
 * budget_heal.c: retrains each kind of option alone, for all weights at once
 * and for a few steps, as what counts is what retraining leaves of the harm. */
#include "tools/budget_run.h"
#include "tools/table.h"
#include "tools/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* All levels, and room for the text of each. */
struct heal {
    struct ctt_budget_run *r;
    struct ctt_level       level[CTT_LEVELS];
    struct ctt_part       *part;    /* by weight */
    char                  *mix;
    int                    levels;
};

static const char *name_of(const struct ctt_level *l, char text[64])
{
    snprintf(text, 64, "%s %g", l->ladder->name, l->ladder->value[l->value]);
    return text;
}

static int measure(struct heal *h)
{
    struct ctt_budget_short t = { .mix = h->mix, .at = 1, .all = h->levels + 1,
                                  .steps = h->r->j->c.budget_steps,
                                  .what = "as given" };
    struct ctt_budget_left base, is;
    char text[64];
    int rc;

    snprintf(h->mix, CTT_MIX_TEXT, "as given");
    CTT_TRY(ctt_budget_shortly(h->r, &t, &base));
    t.part = h->part;
    for (int i = 0; i < h->levels; i++) {
        if (!ctt_level_parts(h->r->s, &h->level[i], h->part))
            continue;
        t.at = i + 2;
        t.what = name_of(&h->level[i], text);
        ctt_mix_print(h->r->s, 0, h->part, h->mix, CTT_MIX_TEXT);
        CTT_TRY(ctt_budget_shortly(h->r, &t, &is));
        h->level[i].left = is.loss - base.loss;
    }
out:
    return rc;
}

/* Before and after. */
static int say(const struct heal *h, const double *before)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char text[64];
    int rc;

    ctt_tool_say("\nall weights with the same option: what the answers lose, "
                 "in nats, at once and after %d steps of retraining:",
                 h->r->j->c.budget_steps);
    ctt_table_row(&t, "option\tat once\tretrained");
    for (int i = 0; i < h->levels; i++)
        if (!isnan(h->level[i].left))
            ctt_table_row(&t, "%s\t%.3f\t%.3f", name_of(&h->level[i], text),
                          before[i], h->level[i].left);
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

int ctt_budget_heal(struct ctt_budget_run *r)
{
    struct heal h = { .r = r };
    double before[CTT_LEVELS];
    int rc = 0;

    if (!r->j->c.budget_steps)
        return 0;
    h.levels = ctt_levels(h.level);
    h.part = ctt_calloc((size_t)r->s->weights, sizeof(*h.part));
    h.mix = ctt_calloc(CTT_MIX_TEXT, 1);
    CTT_TRY(h.part && h.mix ? 0 : CTT_ENOMEM);
    CTT_TRY(measure(&h));
    for (int i = 0; i < h.levels; i++)
        before[i] = ctt_level_harm(r->s, &h.level[i]);
    CTT_TRY(say(&h, before));
    ctt_heal(r->s, h.level, h.levels);
out:
    ctt_free(h.part);
    ctt_free(h.mix);
    return rc;
}
