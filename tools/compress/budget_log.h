/* SPDX-License-Identifier: Apache-2.0
 * budget_log.h: what --budget has tried and trained, as lines of the log of
 * sensitivity. */
#ifndef CTT_TOOL_BUDGET_LOG_H
#define CTT_TOOL_BUDGET_LOG_H

#include "tools/compress/sensitivity_log.h"

/* A mix that was measured on the weights as they are, after retraining, or
 * after a few steps of it, when only the clips of the search have tested it; or
 * a model that was written, once split "test" has. */
enum ctt_budget_kind { CTT_BUDGET_TRIED, CTT_BUDGET_TRAINED, CTT_BUDGET_SHORT,
                       CTT_BUDGET_PROVED };

/* What it came to: seen[0] on the clips of the search (PROVED: of split "test")
 * and seen[1] on those that accept, after 25, 50 and 100%. */
struct ctt_budget_row {
    char            *mix;
    uint32_t         how;      /* CRC-32 of the settings; PROVED: of the
                                  clips */
    enum ctt_budget_kind kind;
    int              steps;    /* of a short retraining, else 0 */
    double           loss;     /* -log p(label) on the clips of the search, the
                                  mean over the shares; NAN: not measured */
    struct ctt_costs costs;
    uint32_t         model;    /* CRC-32 of its weights and text */
    struct ctt_paired seen[2][CTT_ACCURACIES];
};

struct ctt_budget_rows {
    struct ctt_budget_row *row;
    int                    rows, room;
};

/* Takes lines of a log; arg: a struct ctt_budget_rows. */
int  ctt_budget_row_read(void *arg, const char *line);

/* Adds a row with a copy of its mix, and to the log if there is one. */
int ctt_budget_row_add(struct ctt_budget_rows *all,
                       struct ctt_sensitivity_log *log,
                       const struct ctt_budget_row *row);

/* Forgets the rows after the first n. */
void ctt_budget_rows_cut(struct ctt_budget_rows *all, int n);
void ctt_budget_rows_free(struct ctt_budget_rows *all);

/* The last row with the mix, kind, steps and how of `like`; NULL: there is
 * none. */
const struct ctt_budget_row *ctt_budget_row_find(
    const struct ctt_budget_rows *all, const struct ctt_budget_row *like);

#endif
