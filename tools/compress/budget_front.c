/* SPDX-License-Identifier: Apache-2.0
 * budget_front.c: the results of a search as CSV. */
#include "tools/compress/compress_tool.h"
#include "base/newfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

/* The row of the model as given, whose accuracy is known besides. */
static int is_given(const struct ctt_budget_job *r, int i)
{
    const struct ctt_budget_row *row = &r->s.rows.row[i];

    return row->kind == CTT_BUDGET_TRIED && row->how == r->s.how &&
           strcmp(row->mix, CTT_ASSIGNMENT_NONE) == 0;
}

/* Sets costs that are not known of a mix by those that it had when it was
 * tried. */
static void add_costs(const struct ctt_budget_job *r,
                      struct ctt_budget_row *row)
{
    struct ctt_budget_row like = { .kind = CTT_BUDGET_TRIED, .how = row->how };
    const size_t n = sizeof(CTT_BUDGET_AT_ONCE) - 1;
    const struct ctt_budget_row *tried;

    if (strncmp(row->mix, CTT_BUDGET_AT_ONCE, n) != 0)
        return;
    like.mix = row->mix + n;
    tried = ctt_budget_rows_find(&r->s.rows, &like);
    for (int k = 0; tried && k < CTT_COSTS; k++)
        if (isnan(row->costs.cost[k]))
            row->costs.cost[k] = tried->costs.cost[k];
}

/* A row with all that is known of it. */
static struct ctt_budget_row row_at(const struct ctt_budget_job *r, int i)
{
    const struct ctt_data *of[] = { r->half[0], r->half[1] };
    struct ctt_budget_row row = r->s.rows.row[i];

    for (int h = 0; h < 2 && is_given(r, i); h++)
        ctt_budget_pair(r->was[h], r->was[h], ctt_data_clips(of[h]),
                        row.seen[h]);
    if (row.kind == CTT_BUDGET_SHORT)
        add_costs(r, &row);
    return row;
}

/* The mean top-1 of the clips of the search after 25, 50 and 100%. */
static double mean_top1(const struct ctt_budget_row *row)
{
    double sum = 0;

    for (int k = 0; k < CTT_ACCURACIES; k++) {
        const struct ctt_paired *t = &row->seen[0][k];

        sum += t->clips > 0 ? 100 * (double)t->is / (double)t->clips : NAN;
    }
    return sum / CTT_ACCURACIES;
}

/* Whether a row is of a model that can be had. */
static int is_whole(const struct ctt_budget_job *r, int i)
{
    return r->s.rows.row[i].kind == CTT_BUDGET_TRAINED || is_given(r, i);
}

/* Of sums of the same numbers in another order. */
#define NOISE 1e-9

/* Whether none of the others is as good in both and better in one (Pareto). */
static int is_front(const struct ctt_budget_job *r, int i, enum ctt_cost cost)
{
    struct ctt_budget_row a = row_at(r, i), b;

    for (int k = 0; k < r->s.rows.rows; k++) {
        double more, less;

        if (!is_whole(r, k))
            continue;
        b = row_at(r, k);
        more = mean_top1(&b) - mean_top1(&a);
        less = a.costs.cost[cost] - b.costs.cost[cost];
        if (more > -NOISE && less > -NOISE && (more > NOISE || less > NOISE))
            return 0;
    }
    return is_whole(r, i) && !isnan(a.costs.cost[cost]);
}

/* ---- CSV ---- */

static void print_number(FILE *f, double x)
{
    if (!isnan(x))
        fprintf(f, "%.6g", x);
    fprintf(f, ",");
}

static const char *kind_of(const struct ctt_budget_job *r, int i)
{
    static const char *const kinds[] = { "tried", "retrained", "short" };

    return is_given(r, i) ? "given" : kinds[r->s.rows.row[i].kind];
}

static void print_row(FILE *f, const struct ctt_budget_job *r, int i)
{
    struct ctt_budget_row row = row_at(r, i);

    fprintf(f, "%s,", kind_of(r, i));
    for (int k = 0; k < CTT_COSTS; k++)
        print_number(f, row.costs.cost[k]);
    for (int k = 0; k < 2 * CTT_ACCURACIES; k++) {
        const struct ctt_paired *t = &row.seen[k / CTT_ACCURACIES]
                                              [k % CTT_ACCURACIES];

        print_number(f, t->clips > 0 ? 100 * (double)t->is /
                                       (double)t->clips : NAN);
    }
    print_number(f, row.loss);
    fprintf(f, "%d,%d,%d,\"%s\"\n", row.steps,
            is_front(r, i, CTT_COST_BYTES), is_front(r, i, CTT_COST_MS),
            row.mix);
}

/* But for what split "test" came to, which is of nobody's choice. */
static int print_csv(FILE *f, const void *arg)
{
    const struct ctt_budget_job *r = arg;

    fprintf(f, CTT_BUDGET_CSV_BEGIN "search25,search50,search100,accept25,"
            "accept50,accept100,loss,steps,front_bytes,front_ms,mix\n");
    for (int i = 0; i < r->s.rows.rows; i++)
        if (r->s.rows.row[i].kind != CTT_BUDGET_PROVED)
            print_row(f, r, i);
    return 0;
}

int ctt_budget_csv(const struct ctt_budget_job *r, const char *path)
{
    return ctt_file_print(path, print_csv, r);
}
