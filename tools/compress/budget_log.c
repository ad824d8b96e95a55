/* SPDX-License-Identifier: Apache-2.0
 * budget_log.c: what --budget has tried and trained, as lines of the log of
 * sensitivity. */
#include "tools/compress/budget_log.h"
#include "tools/shared/line_log.h"
#include "base/newfile.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const stems[] = { "tried", "trained", "short",
                                    "proved" };
enum { NUMBERS = 2 * CTT_ACCURACIES * 5 };

void ctt_budget_rows_cut(struct ctt_budget_rows *all, int n)
{
    while (all->rows > n)
        ctt_free(all->row[--all->rows].mix);
}

void ctt_budget_rows_free(struct ctt_budget_rows *all)
{
    ctt_budget_rows_cut(all, 0);
    ctt_free(all->row);
    *all = (struct ctt_budget_rows){ NULL, 0, 0 };
}

const struct ctt_budget_row *ctt_budget_row_find(
    const struct ctt_budget_rows *all, const struct ctt_budget_row *like)
{
    for (int i = all->rows - 1; i >= 0; i--) {
        const struct ctt_budget_row *r = &all->row[i];

        if (r->kind == like->kind && r->how == like->how &&
            r->steps == like->steps && strcmp(r->mix, like->mix) == 0)
            return r;
    }
    return NULL;
}

/* The list takes over row->mix. */
static int append(struct ctt_budget_rows *all,
                  const struct ctt_budget_row *row)
{
    void *more = ctt_grown(all->row, &all->room, all->rows,
                           sizeof(*all->row));

    if (!more)
        return CTT_ENOMEM;
    all->row = more;
    all->row[all->rows++] = *row;
    return 0;
}

/* The numbers of the tests, in the order of a line. */
static int64_t *number_at(struct ctt_budget_row *r, int k)
{
    struct ctt_paired *t = &r->seen[k / (5 * CTT_ACCURACIES)]
                                   [k / 5 % CTT_ACCURACIES];
    int64_t *const of[] = { &t->clips, &t->was, &t->is, &t->lost, &t->won };

    return of[k % 5];
}

/* ---- lines ---- */

static void put_number(FILE *f, const char *name, double x)
{
    if (isnan(x))
        fprintf(f, ",\"%s\":null", name);
    else
        fprintf(f, ",\"%s\":%.17g", name, x);
}

static int print_row(FILE *f, const void *arg)
{
    struct ctt_budget_row r = *(const struct ctt_budget_row *)arg;

    fprintf(f, CTT_BUDGET_LINE "\"%s\",\"how\":\"%08" PRIx32 "\"",
            stems[r.kind], r.how);
    for (int k = 0; k < CTT_COSTS; k++)
        put_number(f, ctt_cost_words[k], r.costs.cost[k]);
    put_number(f, "faster", r.costs.faster);
    put_number(f, "loss", r.loss);
    fprintf(f, ",\"steps\":%d", r.steps);
    fprintf(f, ",\"model\":\"%08" PRIx32 "\",\"seen\":[", r.model);
    for (int k = 0; k < NUMBERS; k++)
        fprintf(f, k ? ",%" PRId64 : "%" PRId64, *number_at(&r, k));
    fprintf(f, "],\"mix\":\"%s\"}\n", r.mix);
    return 0;
}

static const char *take_number(const char *p, const char *name, double *x)
{
    p = ctt_log_pass(ctt_log_pass(ctt_log_pass(p, ",\""), name), "\":");
    return ctt_log_take(p, x);
}

static const char *take_crc(const char *p, const char *name, uint32_t *x)
{
    char *end;

    p = ctt_log_pass(ctt_log_pass(ctt_log_pass(p, ",\""), name), "\":\"");
    if (!p || strspn(p, "0123456789abcdef") != 8)
        return NULL;
    *x = (uint32_t)strtoul(p, &end, 16);
    return ctt_log_pass(end, "\"");
}

static const char *take_kind(const char *p, enum ctt_budget_kind *kind)
{
    for (size_t k = 0; k < CTT_LEN(stems); k++)
        if (ctt_log_pass(ctt_log_pass(p, stems[k]), "\"")) {
            *kind = (enum ctt_budget_kind)k;
            return p + strlen(stems[k]) + 1;
        }
    return NULL;
}

/* Passes a whole number. */
static const char *take_steps(const char *p, int *x)
{
    char *end;
    long n;

    p = ctt_log_pass(p, ",\"steps\":");
    n = p ? strtol(p, &end, 10) : -1;
    *x = (int)n;
    return p && end != p && n >= 0 && n <= INT_MAX ? end : NULL;
}

static const char *take_seen(const char *p, struct ctt_budget_row *r)
{
    p = ctt_log_pass(p, ",\"seen\":[");
    for (int k = 0; p && k < NUMBERS; k++) {
        char *end;

        *number_at(r, k) = strtoll(p, &end, 10);
        p = end == p ? NULL : k + 1 < NUMBERS ? ctt_log_pass(end, ",") : end;
        if (*number_at(r, k) < 0)
            return NULL;
    }
    return ctt_log_pass(p, "]");
}

static const char *take_mix(const char *p, struct ctt_budget_row *r)
{
    size_t n;

    p = ctt_log_pass(p, ",\"mix\":\"");
    n = p ? strcspn(p, "\"\\") : 0;
    if (!p || n == 0 || strcmp(p + n, "\"}") != 0)
        return NULL;
    r->mix = ctt_calloc(n + 1, 1);
    if (r->mix)
        memcpy(r->mix, p, n);
    return p;
}

int ctt_budget_row_read(void *arg, const char *line)
{
    struct ctt_budget_row r = { .mix = NULL, .loss = NAN };
    const char *p = ctt_log_pass(line, CTT_BUDGET_LINE "\"");
    int rc;

    p = take_crc(take_kind(p, &r.kind), "how", &r.how);
    for (int k = 0; k < CTT_COSTS; k++)
        p = take_number(p, ctt_cost_words[k], &r.costs.cost[k]);
    p = take_number(p, "faster", &r.costs.faster);
    p = take_steps(take_number(p, "loss", &r.loss), &r.steps);
    p = take_seen(take_crc(p, "model", &r.model), &r);
    if (!take_mix(p, &r))
        return 0;
    rc = r.mix ? append(arg, &r) : CTT_ENOMEM;
    if (rc < 0)
        ctt_free(r.mix);
    return rc < 0 ? rc : 1;
}

int ctt_budget_row_add(struct ctt_budget_rows *all,
                       struct ctt_sensitivity_log *log,
                       const struct ctt_budget_row *row)
{
    struct ctt_budget_row copy = *row;
    char *line = NULL;
    int rc = 0;

    copy.mix = ctt_strdup(row->mix);
    CTT_TRY(copy.mix ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_text_collect("--budget", print_row, row, &line));
    CTT_TRY(append(all, &copy));
    copy.mix = NULL;
    if (log)
        CTT_TRY(ctt_sensitivity_log_line(log, line));
out:
    ctt_free(line);
    ctt_free(copy.mix);
    return rc;
}
