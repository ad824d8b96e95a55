/* SPDX-License-Identifier: Apache-2.0
 * search_text.c: lines and tables of the search: plans, rounds and costs. */
#include "compress/search/search.h"
#include "net/append.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE = 1024, CELL = CTT_BUDGET_CELL };

void ctt_budget_say(const struct ctt_budget_run *r, const char *format, ...)
{
    char line[LINE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    r->calls->say(r->calls->arg, line);
}

int ctt_budget_add_row(char **rows, const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = ctt_append_line(rows, format, args);
    va_end(args);
    return rc;
}

const char *ctt_budget_number(double x, char text[CTT_BUDGET_CELL])
{
    snprintf(text, CTT_BUDGET_CELL, isnan(x) ? "-" : "%.3f", x);
    return text;
}

/* ---- a plan ---- */

static int add_weight_row(const struct ctt_budget_run *r,
                          const struct ctt_assignment *a, int weight,
                          char **rows)
{
    const struct ctt_assigned *w = &a->weight[weight];
    char form[CELL] = "-", prune[CELL] = "-", bits[CELL] = "-";

    if (w->form)
        snprintf(form, CELL, "%s %g", w->form->ladder->name, w->form->value);
    if (w->pruned)
        snprintf(prune, CELL, "%s %g", a->pruning->name, a->prune);
    if (w->share)
        snprintf(bits, CELL, "%g", w->share->value);
    return ctt_budget_add_row(rows, "%s\t%" PRId64 "\t%s\t%s\t%s\t%s\t%.4f",
                              r->s->weight[weight].name,
                              r->s->weight[weight].params, form, prune, bits,
                              w->int8 ? "yes" : "-",
                              ctt_assigned_harm(r->s, weight, w, a->pruning,
                                                a->prune));
}

int ctt_budget_tell_plan(const struct ctt_budget_run *r,
                         const struct ctt_budget_plan *p)
{
    char *rows = NULL, costs[3 * CELL];
    int rc;

    CTT_TRY(ctt_budget_add_row(&rows, "weight\tvalues\tfactors\tpruned\tbits\t"
                               "int8\tKL"));
    for (int i = 0; i < p->a->weights; i++)
        CTT_TRY(add_weight_row(r, p->a, i, &rows));
    if (p->a->thin > 0)
        ctt_budget_say(r, "\n%g%% of the channels are removed first",
                       100 * p->a->thin);
    CTT_TRY(r->calls->table(r->calls->arg, "the assignment and its expected "
                            "harm (nats); pruned: the share of all that are "
                            "pruned, together:", rows));
    ctt_budget_say(r, "without retraining it has %s",
                   ctt_costs_print(p->tried.cost, costs, sizeof(costs)));
out:
    ctt_free(rows);
    return rc;
}

/* ---- a round ---- */

static int tell_costs(const struct ctt_budget_run *r,
                      const struct ctt_budget_plan *p,
                      const struct ctt_budget_row *row)
{
    char *rows = NULL;
    int rc;

    CTT_TRY(ctt_budget_add_row(&rows, "cost\tlimit\texpected\ttried\tpredicted"
                               "\tretrained\tover predicted %%"));
    for (int k = 0; k < CTT_COSTS; k++) {
        double is = row->costs.cost[k], was = p->tried.cost[k];
        char most[CELL] = "-", expected[CELL] = "-";

        if (isnan(is))
            continue;
        if (k == CTT_COST_BYTES && !isnan(p->bytes))
            was = p->bytes;
        if (!isinf(r->b.most[k]))
            snprintf(most, CELL, "%.6g", r->b.most[k]);
        if (p->expected[k] > 0)
            snprintf(expected, CELL, "%.6g", p->expected[k]);
        CTT_TRY(ctt_budget_add_row(&rows, "%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t%+.1f",
                                   ctt_cost_words[k], most, expected,
                                   p->tried.cost[k], was, is,
                                   was > 0 ? 100 * (is / was - 1) : 0));
    }
    rc = r->calls->table(r->calls->arg, "costs: by the sum over the weights, "
                         "as tried without retraining, predicted by that and a "
                         "short retraining, and retrained:", rows);
out:
    ctt_free(rows);
    return rc;
}

static void print_points(const struct ctt_paired seen[CTT_ACCURACIES],
                         char text[CELL])
{
    size_t n = 0;

    for (int k = 0; k < CTT_ACCURACIES && n < CELL; k++)
        n += (size_t)snprintf(text + n, CELL - n, "%s%+.1f", k ? ", " : "",
                              100 * (double)(seen[k].is - seen[k].was) /
                              fmax(1, (double)seen[k].clips));
}

static void print_intervals(const struct ctt_paired seen[CTT_ACCURACIES],
                            char text[3 * CELL])
{
    size_t n = 0, size = 3 * CELL;

    for (int k = 0; k < CTT_ACCURACIES && n < size; k++) {
        double low, high;

        ctt_paired_interval(&seen[k], &low, &high);
        n += (size_t)snprintf(text + n, size - n, "%s%+.1f to %+.1f",
                              k ? ", " : "", 100 * low, 100 * high);
    }
}

int ctt_budget_tell_round(const struct ctt_budget_run *r, int n,
                         const struct ctt_budget_plan *p,
                         const struct ctt_budget_row *row, const char *why)
{
    char costs[3 * CELL], points[2][CELL], between[3 * CELL];
    int rc;

    CTT_TRY(tell_costs(r, p, row));
    print_points(row->seen[0], points[0]);
    print_points(row->seen[1], points[1]);
    print_intervals(row->seen[1], between);
    ctt_budget_say(r, "round %d: %s; top-1 %s points at 25, 50, 100%% on the %"
                   PRId64 " clips of the search, %s on %" PRId64 " others "
                   "(95%% confidence: %s): %s", n,
                   ctt_costs_print(row->costs.cost, costs, sizeof(costs)),
                   points[0], row->seen[0][0].clips, points[1],
                   row->seen[1][0].clips, between, why[0] ? why : "accepted");
out:
    return rc;
}
