/* SPDX-License-Identifier: Apache-2.0
 * budget_prune.c: pruning of all weights together in place of each alone. */
#include "tools/budget_run.h"
#include "tools/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int is_pruning(const struct ctt_ladder *l)
{
    return strcmp(l->option, "prune") == 0;
}

void ctt_budget_leave_pruned(const struct ctt_budget_run *r)
{
    for (int i = 0; r->j->c.budget_steps && i < r->s->points; i++)
        if (is_pruning(r->s->point[i].ladder)) {
            r->s->point[i].done = 1;
            r->s->point[i].bytes = r->s->bytes;
            r->s->point[i].faster = NAN;
        }
}

int ctt_budget_times_matter(const struct ctt_budget_run *r)
{
    return !isnan(r->ms) && (!isinf(r->b.most[CTT_COST_MS]) ||
                             (!ctt_budget_has_cost(&r->b) &&
                              r->j->c.recipe.aim != CTT_AIM_BYTES));
}

/* Each weight takes the same share of its time as before. */
static void set_times(struct ctt_sense *s, const struct ctt_level *l,
                      double share)
{
    for (int i = 0; i < s->points; i++) {
        struct ctt_sense_point *p = &s->point[i];

        if (p->ladder == l->ladder && p->value == l->ladder->value[l->value])
            p->faster = 1 / (1 - (1 - share) * s->weight[p->weight].macs);
    }
}

static int time_ladder(struct ctt_budget_run *r, const struct ctt_ladder *l,
                       struct ctt_part *part, char *mix)
{
    int rc = 0;

    for (int k = 0; k < l->values; k++) {
        struct ctt_level level = { l, k, NAN };
        struct ctt_costs is;

        if (!ctt_level_parts(r->s, &level, part))
            continue;
        ctt_tool_progress(0, "timing %s %g", l->name, l->value[k]);
        ctt_mix_print(r->s, part, mix, CTT_MIX_TEXT);
        CTT_TRY(ctt_budget_try(r, part, mix, &is));
        set_times(r->s, &level, 1 / is.faster);
    }
out:
    return rc;
}

int ctt_budget_time_pruned(struct ctt_budget_run *r)
{
    struct ctt_part *part = NULL;
    char *mix = NULL;
    int rc = 0;

    if (!r->j->c.budget_steps || !ctt_budget_times_matter(r))
        goto out;
    part = ctt_calloc((size_t)r->s->weights, sizeof(*part));
    mix = ctt_calloc(CTT_MIX_TEXT, 1);
    CTT_TRY(part && mix ? 0 : CTT_ENOMEM);
    for (const struct ctt_ladder *l = ctt_ladders; l->name; l++)
        if (is_pruning(l))
            CTT_TRY(time_ladder(r, l, part, mix));
out:
    ctt_free(part);
    ctt_free(mix);
    return rc;
}
