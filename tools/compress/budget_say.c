/* SPDX-License-Identifier: Apache-2.0
 * budget_say.c: what --budget prints: plans, rounds, and what was expected and
 * measured. */
#include "compress/search/budget_run.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 64 };

const char *ctt_budget_costs(const double cost[CTT_COSTS], char *text,
                             size_t size)
{
    char macs[CELL];
    size_t n = (size_t)snprintf(text, size, "%.0f bytes",
                                cost[CTT_COST_BYTES]);

    if (!isnan(cost[CTT_COST_MS]) && n < size)
        n += (size_t)snprintf(text + n, size - n, ", %.4g ms",
                              cost[CTT_COST_MS]);
    if (!isnan(cost[CTT_COST_RAM]) && n < size)
        n += (size_t)snprintf(text + n, size - n, ", %.0f kB of memory",
                              cost[CTT_COST_RAM] / 1000);
    if (n < size)
        snprintf(text + n, size - n, ", %s multiplications",
                 ctt_tool_count(cost[CTT_COST_MACS], macs, sizeof(macs)));
    return text;
}

const char *ctt_budget_number(double x, char text[CTT_BUDGET_CELL])
{
    snprintf(text, CTT_BUDGET_CELL, isnan(x) ? "-" : "%.3f", x);
    return text;
}

/* ---- a plan ---- */

static const char *print_point(const struct ctt_sensitivity_point *p, int name,
                               char text[CELL])
{
    if (!p)
        return "-";
    if (p->ladder->word)
        return p->ladder->word;
    snprintf(text, CELL, "%s%s%g", name ? p->ladder->name : "",
             name ? " " : "", p->value);
    return text;
}

static void add_row(const struct ctt_sensitivity *s, int i,
                    const struct ctt_part *p, struct ctt_table *t)
{
    char a[CELL], b[CELL], c[CELL];

    ctt_table_row(t, "%s\t%" PRId64 "\t%s\t%s\t%s\t%s\t%.4f",
                  s->weight[i].name, s->weight[i].params,
                  print_point(p->form, 1, a), print_point(p->prune, 1, b),
                  print_point(p->share, 0, c), p->int8 ? "yes" : "-",
                  ctt_part_harms(s, p));
}

int ctt_budget_say_plan(const struct ctt_budget_run *r,
                        const struct ctt_budget_plan *p)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char costs[CELL * 3];
    int rc;

    if (p->thin > 0)
        ctt_tool_say("\nthinned first: %g%% of the channels are removed",
                     100 * p->thin);
    ctt_table_row(&t, "weight\tvalues\tfactors\tpruned\tbits\tint8\tKL");
    for (int i = 0; i < r->s->weights; i++)
        add_row(r->s, i, &p->part[i], &t);
    ctt_tool_say("\nthe mix, and what each weight is expected to cost (nats); "
                 "pruned is the share of all that are, together:");
    CTT_TRY(ctt_table_print(&t));
    ctt_tool_say("without retraining it has %s",
                 ctt_budget_costs(p->tried.cost, costs, sizeof(costs)));
out:
    ctt_table_free(&t);
    return rc;
}

/* ---- a round ---- */

static void print_loss(const struct ctt_paired *t, char *text, size_t size)
{
    double n = t->clips > 0 ? (double)t->clips : 1;

    snprintf(text, size, "%+.1f", 100 * (double)(t->is - t->was) / n);
}

void ctt_budget_say_round(int n, const struct ctt_budget_row *row,
                          const char *why)
{
    char costs[CELL * 3], points[2][CTT_ACCURACIES][CELL];

    for (int h = 0; h < 2; h++)
        for (int k = 0; k < CTT_ACCURACIES; k++)
            print_loss(&row->seen[h][k], points[h][k], CELL);
    ctt_tool_say("round %d: %s; top-1 %s, %s, %s points at 25, 50, 100%% on "
                 "the %" PRId64 " clips of the search, %s, %s, %s on %" PRId64
                 " others: %s", n, ctt_budget_costs(row->costs.cost, costs,
                 sizeof(costs)), points[0][0], points[0][1], points[0][2],
                 row->seen[0][0].clips, points[1][0], points[1][1],
                 points[1][2], row->seen[1][0].clips, why ? why : "accepted");
}

static void print_interval(const struct ctt_paired *t, char *text, size_t size)
{
    double n = t->clips > 0 ? (double)t->clips : 1, low, high;

    ctt_paired_interval(t, &low, &high);
    snprintf(text, size, "%+.1f (%+.1f to %+.1f)",
             100 * (double)(t->is - t->was) / n, 100 * low, 100 * high);
}

void ctt_budget_say_top1(const struct ctt_budget_row *row)
{
    char gains[CTT_ACCURACIES][CELL];

    for (int k = 0; k < CTT_ACCURACIES; k++)
        print_interval(&row->seen[1][k], gains[k], CELL);
    ctt_tool_say("top-1 on the %" PRId64 " that did not choose: %s, %s, %s "
                 "points at 25, 50, 100%% (95%% confidence)",
                 row->seen[1][0].clips, gains[0], gains[1], gains[2]);
}

/* ---- expected and measured ---- */

/* What is predicted: bytes as a short retraining has left them and what a whole
 * one adds, which was 0.6 to 2.3% in six runs (doc/bench/search.md); the rest
 * as tried. */
#define ADDED 1.015
static double predicted(const struct ctt_budget_plan *p, int cost)
{
    return cost == CTT_COST_BYTES && !isnan(p->bytes) ? p->bytes * ADDED
                                                      : p->tried.cost[cost];
}

int ctt_budget_say_costs(const struct ctt_budget_run *r,
                         const struct ctt_budget_plan *p,
                         const struct ctt_budget_row *row)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char more[64] = "";
    int rc;

    ctt_table_row(&t, "cost\tlimit\tby the table\tover it %%\ttried\t"
                  "predicted\tretrained\tover predicted %%");
    for (int k = 0; k < CTT_COSTS; k++) {
        double is = row->costs.cost[k], was = predicted(p, k);
        double table = p->expected[k] * p->left[k];
        char most[CELL] = "-", of[2][CELL] = { "-", "-" };

        if (isnan(is))
            continue;
        if (!isinf(r->b.most[k]))
            snprintf(most, sizeof(most), "%.6g", r->b.most[k]);
        if (table > 0) {    /* and not NAN */
            snprintf(of[0], CELL, "%.6g", table);
            snprintf(of[1], CELL, "%+.1f", 100 * (is / table - 1));
        }
        ctt_table_row(&t, "%s\t%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t%+.1f",
                      ctt_cost_words[k], most, of[0], of[1], p->tried.cost[k],
                      was, is, was > 0 ? 100 * (is / was - 1) : 0);
    }
    if (!isnan(p->bytes))
        snprintf(more, sizeof(more), ", bytes by a short retraining and "
                 "%.1f%% more", 100 * (ADDED - 1));
    ctt_tool_say("\ncosts: the sum of what each weight was expected to cost "
                 "and how far the result is above it, the mix as tried before "
                 "retraining, what that predicts%s, and the result:", more);
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}
