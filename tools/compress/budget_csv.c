/* SPDX-License-Identifier: Apache-2.0
 * budget_csv.c: the results of a search as CSV. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"
#include "base/newfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct ctt_budget_row ctt_budget_result(const struct ctt_budget_job *r, int i,
                                        const char **kind)
{
    static const char *const kinds[] = { "tried", "retrained", "short",
                                         "proved" };
    struct ctt_budget_row row = r->s.rows.row[i];

    *kind = kinds[row.kind];
    if (row.kind != CTT_BUDGET_TRIED || row.how != r->s.how ||
        strcmp(row.mix, CTT_ASSIGNMENT_NONE) != 0)
        return row;
    *kind = "original";
    for (int h = 0; h < 2; h++)
        ctt_budget_pair(r->was[h], r->was[h], ctt_data_clips(r->half[h]),
                        row.seen[h]);
    return row;
}

static void print_result(FILE *f, const struct ctt_budget_job *r, int i)
{
    const char *kind;
    struct ctt_budget_row row = ctt_budget_result(r, i, &kind);

    fprintf(f, "%s,", kind);
    for (int k = 0; k < CTT_COSTS; k++)
        ctt_csv_real(f, row.costs.cost[k]);
    for (int k = 0; k < 2 * CTT_ACCURACIES; k++) {
        const struct ctt_paired *t = (const struct ctt_paired *)row.seen + k;

        ctt_csv_real(f, t->clips > 0 ? 100 * (double)t->is / (double)t->clips
                                   : NAN);
    }
    ctt_csv_real(f, row.loss);
    fprintf(f, "%d,\"%s\"\n", row.steps, row.mix);
}

/* But for what split "test" came to, which is of nobody's choice. */
static int print_results(FILE *f, const void *arg)
{
    const struct ctt_budget_job *r = arg;

    fprintf(f, CTT_BUDGET_CSV_BEGIN "search25,search50,search100,accept25,"
            "accept50,accept100,loss,steps,mix\n");
    for (int i = 0; i < r->s.rows.rows; i++)
        if (r->s.rows.row[i].kind != CTT_BUDGET_PROVED)
            print_result(f, r, i);
    return 0;
}

int ctt_budget_csv(const struct ctt_budget_job *r, const char *path)
{
    return ctt_file_print(path, print_results, r);
}
