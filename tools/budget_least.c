/* SPDX-License-Identifier: Apache-2.0
 * budget_least.c: refuses at once, before anything is measured, limits that
 * even the strongest options are far from. */
#include "tools/budget_run.h"
#include "tools/tool.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Weights by themselves may come to less than the best of these mixes, and
 * times vary: what is above this share is left to the search. */
#define FAR 0.7

/* The strongest options, for all weights alike. */
static const struct strong {
    const char *form, *prune;    /* names of ctt_ladders; NULL: none */
    int         int8;
    double      thin;
} strong[] = {
    { NULL, "prune any", 0, 0 }, { NULL, "prune block", 1, 0 },
    { "svd", NULL, 0, 0 }, { "svd", NULL, 1, 0 },
    { "tensor train", NULL, 0, 0 }, { "tensor train", NULL, 1, 0 },
    { NULL, "prune any", 0, CTT_BUDGET_THINNEST },
    { NULL, "prune block", 1, CTT_BUDGET_THINNEST },
    { "svd", NULL, 1, CTT_BUDGET_THINNEST },
};

static int is_of(const struct ctt_sense_point *p, const char *name)
{
    const struct ctt_ladder *l = p->ladder;

    return name && strcmp(l->name, name) == 0 &&
           p->value == l->value[l->values - 1];
}

static void fill(const struct ctt_sense *s, const struct strong *o,
                 struct ctt_part *part)
{
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sense_point *p = &s->point[i];
        struct ctt_part *to = &part[p->weight];

        if (is_of(p, o->form))
            to->form = p;
        else if (is_of(p, o->prune))
            to->prune = p;
        else if (is_of(p, "share"))
            to->share = p;
        else if (o->int8 && is_of(p, "int8"))
            to->int8 = p;
    }
}

static int try_strong(struct ctt_budget_run *r, const struct strong *o,
                      double least[CTT_COSTS])
{
    struct ctt_recipe_calls calls = ctt_compress_calls(r->j);
    struct ctt_part *part = ctt_calloc((size_t)r->s->weights, sizeof(*part));
    struct ctt_mix_recipe *mix = NULL;
    struct ctt_costs is;
    int rc = part ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (isinf(r->b.most[CTT_COST_MS]) && isinf(r->b.most[CTT_COST_RAM]))
        calls.compare = NULL;
    fill(r->s, o, part);
    CTT_TRY(ctt_budget_recipe(r, o->thin, part, &r->j->c.recipe, &mix));
    CTT_TRY(ctt_mix_try(r->j->m, ctt_mix_settings(mix), &calls, r->j->path,
                        r->j->c.out, &is));
    for (int k = 0; k < CTT_COSTS; k++)
        least[k] = fmin(least[k], is.cost[k]);
out:
    ctt_mix_recipe_free(&mix);
    ctt_free(part);
    return rc;
}

/* The weight that most of a cost is likely to be of. */
static const char *largest(const struct ctt_sense *s, enum ctt_cost cost)
{
    double most = -1;
    int at = 0;

    for (int i = 0; i < s->weights; i++) {
        double x = cost == CTT_COST_BYTES ? (double)s->weight[i].params
                                          : s->weight[i].macs;

        if (x > most) {
            most = x;
            at = i;
        }
    }
    return s->weight[at].name;
}

int ctt_budget_far(struct ctt_budget_run *r)
{
    double least[CTT_COSTS] = { INFINITY, INFINITY, INFINITY, INFINITY };
    int rc = 0, status = r->j->status;

    if (!ctt_budget_has_cost(&r->b) || access(r->j->c.sense_log, F_OK) == 0)
        goto out;
    for (size_t i = 0; i < CTT_LEN(strong); i++) {
        ctt_tool_progress(0, "trying the strongest options, %zu of %zu", i + 1,
                          CTT_LEN(strong));
        rc = try_strong(r, &strong[i], least);
        CTT_TRY(strong[i].thin > 0 && (rc == CTT_EUNSUP || rc == CTT_EINVAL)
                ? 0 : rc);
        CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "stopped; nothing is written");
    }
    r->j->status = CTT_EXIT_USAGE;
    for (int k = 0; k < CTT_COSTS; k++)
        CTT_CHECK(isinf(r->b.most[k]) || !(r->b.most[k] < FAR * least[k]),
                  CTT_EINVAL, "--budget: %s=%g cannot be met: with the "
                  "strongest options for all weights it is %.6g, most of it of "
                  "%s", ctt_cost_words[k], r->b.most[k], least[k],
                  largest(r->s, (enum ctt_cost)k));
    r->j->status = status;
out:
    return rc;
}
