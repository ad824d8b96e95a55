/* SPDX-License-Identifier: Apache-2.0
 * budget_least.c: refuses limits that no mix meets: by coding alone before
 * anything is measured, and by what is measured before anything is
 * retrained. */
#include "compress/search/budget_run.h"
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what plans are made of ---- */

/* Thinning changes several weights at a time, so that a mix is thinned as a
 * whole; blocks and INT8 save time or memory. */
void ctt_budget_leave_out(struct ctt_budget_run *r)
{
    static const struct { const char *name, *why; int timed; } out[] = {
        { "thin", "of all weights at once", 0 },
        { "prune block", "saves time alone", 1 },
        { "int8", "saves time and memory alone", 1 },
    };

    for (int i = 0; i < r->s->points; i++)
        for (size_t k = 0; k < CTT_LEN(out); k++) {
            struct ctt_sensitivity_point *p = &r->s->point[i];

            if (strcmp(p->ladder->name, out[k].name) != 0 ||
                (out[k].timed && r->timed))
                continue;
            p->done = 1;
            snprintf(p->why, CTT_REASON, "%s", out[k].why);
        }
}

static int begin_trial(void *arg, int trial, int trials)
{
    const struct ctt_budget_run *r = arg;
    int rc = 0;

    CTT_CHECK(!ctt_tool_stop() || r->log, CTT_ESTOP, "stopped; nothing is "
              "written");
    CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "--budget: stopped; the same "
              "command goes on from %s", r->j->c.sense_log);
    ctt_tool_progress(0, "coding what weights can be together, %d of %d",
                      trial + 1, trials);
out:
    return rc;
}

int ctt_budget_offer(struct ctt_budget_run *r)
{
    const struct ctt_savings_calls calls = { r, begin_trial };
    struct ctt_costs of = r->given;
    int rc = 0;

    if (!r->timed)
        of.cost[CTT_COST_MS] = of.cost[CTT_COST_RAM] = NAN;
    for (int f = 0; f < CTT_BUDGET_FORMS; f++)
        if (ctt_budget_has_form(r, f))
            CTT_TRY(ctt_offer_new(r->s, r->j->m, &r->j->c.recipe,
                                  ctt_budget_forms[f], &of, r->j->c.out,
                                  &calls, &r->offer[f]));
out:
    return rc;
}

void ctt_budget_offer_free(struct ctt_budget_run *r)
{
    for (int f = 0; f < CTT_BUDGET_FORMS; f++)
        ctt_offer_free(&r->offer[f]);
}

/* ---- what is possible ---- */

/* What is largest at the least: of time by multiplications, of memory with a
 * byte a value; if there is less than that, weights are the smaller part. */
static const char *largest(const struct ctt_sensitivity *s, enum ctt_cost cost,
                           double least)
{
    const char *at = "what is no weight: values and states";
    double most = cost == CTT_COST_RAM ? least : 0;

    for (int i = 0; i < s->weights && cost == CTT_COST_RAM; i++)
        most -= (double)s->weight[i].params;
    if (cost == CTT_COST_RAM && most <= 0)
        return at;
    for (int i = 0; i < s->weights; i++) {
        double x = cost == CTT_COST_RAM ? (double)s->weight[i].params
                                        : s->weight[i].macs;

        if (x > most) {
            most = x;
            at = s->weight[i].name;
        }
    }
    return at;
}

/* What has the largest part of the least that was found of a cost: "y (61%)",
 * of time and memory without a share. */
static const char *limits(const struct ctt_savings *m,
                          const struct ctt_sensitivity *s, enum ctt_cost cost,
                          double found, char *text, size_t size)
{
    double most = m->rest[cost], sum = most;
    const char *at = "what is no weight: text, biases, norms";

    if (cost == CTT_COST_MS || cost == CTT_COST_RAM) {
        snprintf(text, size, "%s%s", largest(s, cost, found),
                 cost == CTT_COST_MS ? ", by multiplications" : "");
        return text;                /* ways have what they save */
    }
    for (int i = 0; i < m->weights; i++) {
        double least = INFINITY;

        for (int k = m->first[i]; k < m->first[i + 1]; k++)
            least = fmin(least, m->way[k].cost[cost]);
        sum += least;
        if (least > most) {
            most = least;
            at = s->weight[i].name;
        }
    }
    snprintf(text, size, "%s (%.0f%%)", at, sum > 0 ? 100 * most / sum : 0);
    return text;
}

/* The least of a cost that anything tried has. */
static double least_tried(const struct ctt_budget_run *r, enum ctt_cost cost)
{
    double least = INFINITY;

    for (int i = 0; i < r->rows.rows; i++)
        if (r->rows.row[i].how == r->how &&
            r->rows.row[i].kind == CTT_BUDGET_TRIED)
            least = fmin(least, r->rows.row[i].costs.cost[cost]);
    return least;
}

/* Tries the mix that is expected to have least of a cost. */
static int try_least(struct ctt_budget_run *r, enum ctt_cost cost, double thin)
{
    struct ctt_aim_at a = { .harm = 1e-12, .most_harm = INFINITY };
    struct ctt_budget_plan *p = NULL;
    int rc;

    for (int k = 0; k < CTT_COSTS; k++)
        a.most[k] = INFINITY;
    a.price[cost] = 1;
    r->style.thin = thin;
    rc = ctt_budget_plan(r, &a, &p);
    r->style.thin = 0;
    ctt_budget_plan_free(&p);
    return thin > 0 && (rc == CTT_EUNSUP || rc == CTT_EINVAL) ? 0 : rc;
}

/* Nothing is tried where something known is within the limit. */
static int check_least(struct ctt_budget_run *r, enum ctt_cost cost)
{
    const double thin[] = { 0, CTT_BUDGET_THINNEST };
    double least = least_tried(r, cost);
    char text[CTT_NAME + 64];
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(thin) && !(least <= r->b.most[cost]); i++) {
        CTT_TRY(try_least(r, cost, thin[i]));
        least = least_tried(r, cost);
    }
    CTT_CHECK(least <= r->b.most[cost], CTT_EINVAL, "--budget: %s=%g cannot be "
              "met: the least found is %.6g, most of it of %s",
              ctt_cost_words[cost], r->b.most[cost], least,
              limits(&r->offer[0]->menu, r->s, cost, least, text,
                     sizeof(text)));
out:
    return rc;
}

/* "bytes" or "bytes and ms": the limits that a mix exceeds. */
static const char *exceeded(const struct ctt_budget_run *r,
                            const struct ctt_budget_plan *p, char *text,
                            size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int k = 0; k < CTT_COSTS; k++)
        if (!(p->tried.cost[k] <= r->b.most[k]) && !isinf(r->b.most[k]) &&
            n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " and " : "",
                                  ctt_cost_words[k]);
    return text;
}

int ctt_budget_refuse(struct ctt_budget_run *r,
                      const struct ctt_budget_plan *p)
{
    char costs[192], over[64];

    r->j->status = CTT_EXIT_USAGE;
    return ctt_error(CTT_EINVAL, "--budget: no mix was found that is within "
                     "the limits: the nearest has %s, and exceeds %s",
                     ctt_budget_costs(p->tried.cost, costs, sizeof(costs)),
                     exceeded(r, p, over, sizeof(over)));
}

static int check_together(struct ctt_budget_run *r)
{
    struct ctt_aim_at a = { .harm = 1, .most_harm = INFINITY };
    struct ctt_budget_plan *p = NULL;
    int rc;

    memcpy(a.most, r->b.most, sizeof(a.most));
    CTT_TRY(ctt_budget_nearest(r, &a, &p));
    CTT_TRY(p && !p->meets ? ctt_budget_refuse(r, p) : 0);
out:
    ctt_budget_plan_free(&p);
    return rc;
}

int ctt_budget_possible(struct ctt_budget_run *r)
{
    int rc = 0, n = 0, status = r->j->status;

    r->j->status = CTT_EXIT_USAGE;
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(r->b.most[k])) {
            CTT_TRY(check_least(r, (enum ctt_cost)k));
            n++;
        }
    if (n > 0)
        CTT_TRY(check_together(r));
out:
    if (rc != CTT_EINVAL)
        r->j->status = status;
    return rc;
}

/* ---- by coding alone ---- */

/* The least is of the strongest values, and of pruned and shared ones alone
 * nothing need be known. */
enum { STRONGEST = 2 };
static void keep_strongest(struct ctt_sensitivity *s)
{
    for (int i = 0; i < s->points; i++) {
        struct ctt_sensitivity_point *p = &s->point[i];

        if (ctt_sensitivity_step(p) < p->ladder->values - STRONGEST)
            snprintf(p->why, CTT_REASON, "is milder");
        if (p->why[0] || strncmp(p->ladder->name, "prune", 5) == 0 ||
            strcmp(p->ladder->name, "share") == 0)
            p->done = 1;
    }
}

/* What is known of points by now; the others are coded. */
static int code(struct ctt_budget_run *c, const struct ctt_sensitivity *known)
{
    int rc;

    CTT_TRY(ctt_sensitivity_new(c->j->m, &c->s));
    for (int i = 0; i < c->s->points; i++)
        if (known->point[i].done && !known->point[i].why[0]) {
            c->s->point[i] = known->point[i];    /* but for what it harms */
            memset(&c->s->point[i].change, 0, sizeof(c->s->point[i].change));
        }
    ctt_budget_leave_out(c);
    keep_strongest(c->s);
    CTT_TRY(ctt_compress_code(c->j, c->s));
    CTT_TRY(ctt_budget_untimed(c));
    CTT_TRY(ctt_budget_offer(c));
out:
    return rc;
}

/* Whether the log has a mix within the limits. */
static int is_had(const struct ctt_budget_run *r)
{
    for (int i = 0; i < r->rows.rows; i++)
        if (r->rows.row[i].how == r->how &&
            r->rows.row[i].kind == CTT_BUDGET_TRIED &&
            ctt_budget_meets(r->b.most, r->rows.row[i].costs.cost))
            return 1;
    return 0;
}

/* With a run of its own, whose rows are forgotten: of the limits of bytes and
 * of multiplications. */
static int check_coded(struct ctt_budget_run *r)
{
    struct ctt_budget_run c = *r;
    int rc = 0, rows = r->rows.rows;

    c.s = NULL;
    c.log = NULL;
    c.timed = 0;
    c.b.most[CTT_COST_MS] = c.b.most[CTT_COST_RAM] = INFINITY;
    if (!ctt_budget_has_cost(&c.b) || is_had(&c))
        goto out;
    CTT_TRY(code(&c, r->s));
    CTT_TRY(ctt_budget_possible(&c));
out:
    ctt_budget_rows_cut(&c.rows, rows);
    r->rows = c.rows;
    ctt_budget_offer_free(&c);
    ctt_sensitivity_free(&c.s);
    return rc;
}

/* ---- by the strongest options ---- */

/* Weights by themselves may come to less than the best of these mixes, and
 * times vary: what is above this share is left to what is measured. */
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

static int is_of(const struct ctt_sensitivity_point *p, const char *name)
{
    const struct ctt_ladder *l = p->ladder;

    return name && strcmp(l->name, name) == 0 &&
           p->value == l->value[l->values - 1];
}

static void fill(const struct ctt_sensitivity *s, const struct strong *o,
                 struct ctt_part *part)
{
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];
        struct ctt_part *to = &part[p->weight];

        if (is_of(p, o->form))
            to->form = p;
        else if (is_of(p, o->prune))
            to->prune = p;
        else if (o->int8 && is_of(p, "int8"))
            to->int8 = p;
    }
}

static int try_strong(struct ctt_budget_run *r, const struct strong *o,
                      double least[CTT_COSTS])
{
    struct ctt_recipe_calls calls = ctt_compress_calls(r->j);
    struct ctt_part *part = ctt_calloc((size_t)r->s->weights, sizeof(*part));
    struct ctt_assignment_recipe *mix = NULL;
    struct ctt_costs is;
    int rc = part ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    fill(r->s, o, part);
    CTT_TRY(ctt_budget_recipe(r, o->thin, part, &r->j->c.recipe, &mix));
    CTT_TRY(ctt_assignment_try(r->j->m, ctt_assignment_settings(mix), &calls,
                               r->j->path, r->j->c.out, &is));
    for (int k = 0; k < CTT_COSTS; k++)
        least[k] = fmin(least[k], is.cost[k]);
out:
    ctt_assignment_recipe_free(&mix);
    ctt_free(part);
    return rc;
}

static int try_all(struct ctt_budget_run *r, double least[CTT_COSTS])
{
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(strong); i++) {
        ctt_tool_progress(0, "trying the strongest options, %zu of %zu", i + 1,
                          CTT_LEN(strong));
        rc = try_strong(r, &strong[i], least);
        CTT_TRY(strong[i].thin > 0 && (rc == CTT_EUNSUP || rc == CTT_EINVAL)
                ? 0 : rc);
        CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "stopped; nothing is written");
    }
    rc = 0;
out:
    return rc;
}

static int check_strong(struct ctt_budget_run *r)
{
    double least[CTT_COSTS] = { INFINITY, INFINITY, INFINITY, INFINITY };
    int rc, status = r->j->status;

    CTT_TRY(try_all(r, least));
    r->j->status = CTT_EXIT_USAGE;
    for (int k = 0; k < CTT_COSTS; k++)
        CTT_CHECK(isinf(r->b.most[k]) || !(r->b.most[k] < FAR * least[k]),
                  CTT_EINVAL, "--budget: %s=%g cannot be met: with the "
                  "strongest options for all weights it is %.6g, most %s of %s",
                  ctt_cost_words[k], r->b.most[k], least[k],
                  k == CTT_COST_MS ? "multiplications" : "of it",
                  largest(r->s, (enum ctt_cost)k, least[k]));
    r->j->status = status;
out:
    return rc;
}

int ctt_budget_far(struct ctt_budget_run *r)
{
    int rc = 0, known = r->rows.rows > 0;

    r->far = 1;
    CTT_TRY(check_coded(r));
    if (!known && (!isinf(r->b.most[CTT_COST_MS]) ||
                   !isinf(r->b.most[CTT_COST_RAM])))
        CTT_TRY(check_strong(r));
out:
    return rc;
}
