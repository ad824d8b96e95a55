/* SPDX-License-Identifier: Apache-2.0
 * compress_budget.h: convtt-compress --budget: the assignment of options to
 * weights that keeps a model within limits. */
#ifndef CTT_TOOL_COMPRESS_BUDGET_H
#define CTT_TOOL_COMPRESS_BUDGET_H

#include "tools/compress/budget_log.h"
#include "tools/compress/compress_calls.h"

/* A run: the search, its log, and the halves of the validation clips, those of
 * the search first, with the answers of the model as given. */
struct ctt_budget_job {
    struct ctt_compress_job    *j;
    struct ctt_budget_run           s;
    struct ctt_budget_calls     calls;
    struct ctt_recipe_calls     times;
    struct ctt_sensitivity_log *log;
    struct ctt_data            *whole, *half[2];
    struct ctt_metrics         *was[2];
};

/* ---- budget_check.c ---- */

/* CTT_EINVAL if the budget cannot be read, a setting has no effect beside it,
 * clips are missing, or a file is named twice. */
int ctt_compress_check_budget(struct ctt_compress_job *j);

/* Whether the files can be written, which are claimed. */
int ctt_budget_outputs(struct ctt_compress_job *j);

/* ---- compress_budget.c ---- */

/* Searches, prints, and writes the model if it is accepted. */
int ctt_compress_budget(struct ctt_compress_job *j);

/* Tests m on the clips of d; the caller frees *out. */
int ctt_budget_test(const struct ctt_budget_job *r, const struct ctt_model *m,
                    struct ctt_data *d, struct ctt_metrics **out);

/* Counts clips that both have read, of so many. */
void ctt_budget_pair(const struct ctt_metrics *was,
                     const struct ctt_metrics *is, int clips,
                     struct ctt_paired out[CTT_ACCURACIES]);

/* ---- budget_train.c ---- */

/* The call train() of struct ctt_budget_calls; arg: the job. */
int ctt_budget_train(void *arg, const struct ctt_recipe *o, int steps,
                     const char *what, const char *path, struct ctt_model **m,
                     struct ctt_report **report);

/* ---- budget_prove.c ---- */

/* Tests both models on the split "test", if there is one: m, of this row, and
 * the one as given.  The log keeps the result, and a model is tested once. */
int ctt_budget_prove(struct ctt_budget_job *r, const struct ctt_model *m,
                     const struct ctt_budget_row *row);

/* ---- budget_front.c ---- */

/* All rows of the log, and which are on the front of accuracy against bytes and
 * time. */
int ctt_budget_csv(const struct ctt_budget_job *r, const char *path);

/* How the file begins. */
#define CTT_BUDGET_CSV_BEGIN "what,bytes,ms,macs,ram,"

#endif
