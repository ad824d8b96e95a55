/* SPDX-License-Identifier: Apache-2.0
 * budget_prove.c: tests the result of --budget once on clips that chose
 * nothing. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <math.h>

/* The key of a proof: the model and the clips. */
static struct ctt_budget_row proof_row(const struct ctt_budget_row *row,
                                    const struct ctt_data *d)
{
    return (struct ctt_budget_row){ .kind = CTT_BUDGET_PROVED,
        .how = ctt_data_crc(d), .mix = row->mix, .model = row->model,
        .loss = NAN, .costs = { { NAN, NAN, NAN, NAN }, NAN } };
}

/* The row of the log with that model; *others: how many it has of others. */
static const struct ctt_budget_row *find_proof(const struct ctt_budget_job *r,
                                         const struct ctt_budget_row *like,
                                         int *others)
{
    const struct ctt_budget_row *found = NULL;

    *others = 0;
    for (int i = 0; i < r->s.rows.rows; i++) {
        const struct ctt_budget_row *is = &r->s.rows.row[i];

        if (is->kind != CTT_BUDGET_PROVED || is->how != like->how)
            continue;
        if (is->model == like->model)
            found = is;
        else
            ++*others;
    }
    return found;
}

static int test_both(struct ctt_budget_job *r, const struct ctt_model *m,
                 struct ctt_data *d, struct ctt_budget_row *row)
{
    struct ctt_metrics *was = NULL, *is = NULL;
    int rc;

    CTT_TRY(ctt_budget_test(r, r->j->m, d, &was));
    CTT_TRY(ctt_budget_test(r, m, d, &is));
    ctt_budget_pair(was, is, ctt_data_clips(d), row->seen[0]);
    CTT_TRY(ctt_budget_rows_add(&r->s.rows, row));
    CTT_TRY(ctt_budget_row_log(r->log, row));
out:
    ctt_metrics_free(&was);
    ctt_metrics_free(&is);
    return rc;
}

static int print_proof(const struct ctt_budget_job *r,
                       const struct ctt_budget_row *row, int known, int others)
{
    const struct ctt_paired *t = row->seen[0];
    double n = t->clips > 0 ? (double)t->clips / 100 : 1;
    struct ctt_table all = { NULL, 0, 0, 0 };
    int rc;

    ctt_table_row(&all, "top-1 %% of\tat 25%%\t50%%\t100%%");
    ctt_table_row(&all, "%s\t%.1f\t%.1f\t%.1f",
                  ctt_tool_given(r->j->path),
                  (double)t[0].was / n, (double)t[1].was / n,
                  (double)t[2].was / n);
    ctt_table_row(&all, "%s\t%.1f\t%.1f\t%.1f", r->s.out,
                  (double)t[0].is / n, (double)t[1].is / n,
                  (double)t[2].is / n);
    ctt_tool_say("\nsplit 'test', %" PRId64 " held-out clips, never used for "
                 "training or choices%s:",
                 t->clips, known ? ", as it was tested before" : "");
    CTT_TRY(ctt_table_print(&all));
    if (others)
        ctt_tool_say("these clips have tested %d other model%s of this log: "
                     "the best of several is flattered", others,
                     ctt_s(others));
out:
    ctt_table_free(&all);
    return rc;
}

int ctt_budget_prove(void *arg, const struct ctt_model *m,
                     const struct ctt_budget_row *row)
{
    struct ctt_budget_job *r = arg;
    const struct ctt_compress_job *j = r->j;
    const struct ctt_budget_row *known;
    struct ctt_budget_row now;
    struct ctt_data *d = NULL;
    int rc = 0, opened, others;

    opened = ctt_held_out_open(&j->c.train, m,
                               ctt_all_clips(j->whole, j->data), r->whole, &d);
    CTT_TRY(ctt_is_lack(opened) ? opened : 0);
    if (!d) {
        ctt_tool_say("\nno third set proves it: %s",
                     ctt_held_out_missing(opened));
        goto out;
    }
    now = proof_row(row, d);
    known = find_proof(r, &now, &others);
    if (!known)
        CTT_TRY(test_both(r, m, d, &now));
    CTT_TRY(print_proof(r, known ? known : &now, known != NULL, others));
out:
    ctt_data_close(&d);
    return rc;
}
