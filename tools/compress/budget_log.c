/* SPDX-License-Identifier: Apache-2.0
 * budget_log.c: tries and trainings of --budget, as lines of the log of
 * sensitivity. */
#include "tools/compress/compress_tool.h"
#include "base/newfile.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const stems[] = { "tried", "trained", "short", "proved" };

/* The tests of a row are numbers in the order of struct ctt_paired. */
enum { NUMBERS = 2 * CTT_ACCURACIES * (sizeof(struct ctt_paired) /
                                       sizeof(int64_t)) };


/* ---- lines ---- */

static int print_result(FILE *f, const void *arg)
{
    struct ctt_budget_row r = *(const struct ctt_budget_row *)arg;
    struct ctt_json_out o = { f, "", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "budget", stems[r.kind]);
    ctt_json_put_crc(&o, "how", r.how);
    for (int k = 0; k < CTT_COSTS; k++)
        ctt_json_put_real(&o, ctt_cost_words[k], 17, r.costs.cost[k]);
    ctt_json_put_real(&o, "faster", 17, r.costs.faster);
    ctt_json_put_real(&o, "loss", 17, r.loss);
    ctt_json_put_int(&o, "steps", r.steps);
    ctt_json_put_crc(&o, "model", r.model);
    ctt_json_begin(&o, "seen", '[');
    for (int k = 0; k < NUMBERS; k++)
        ctt_json_put_int(&o, NULL, ((const int64_t *)r.seen)[k]);
    ctt_json_finish(&o, ']');
    ctt_json_put_text(&o, "mix", r.mix);
    ctt_json_finish(&o, '}');
    fputc('\n', f);
    return 0;
}

static int read_kind(const struct ctt_value *v, enum ctt_budget_kind *kind)
{
    const char *text = ctt_json_text(v);

    for (size_t k = 0; text && k < CTT_LEN(stems); k++)
        if (strcmp(text, stems[k]) == 0) {
            *kind = (enum ctt_budget_kind)k;
            return 1;
        }
    return 0;
}

static int read_numbers(const struct ctt_value *v, struct ctt_budget_row *r)
{
    const struct ctt_value *seen = ctt_json_get(v, "seen");
    int good = ctt_json_size(seen) == NUMBERS &&
               ctt_json_real(ctt_json_get(v, "faster"), NAN,
                             &r->costs.faster) &&
               ctt_json_real(ctt_json_get(v, "loss"), NAN, &r->loss) &&
               !(r->costs.faster < 0) && !(r->loss < 0) &&
               ctt_json_int(ctt_json_get(v, "steps"), 0, INT_MAX, &r->steps);

    for (int k = 0; k < CTT_COSTS && good; k++)
        good = ctt_json_real(ctt_json_get(v, ctt_cost_words[k]), NAN,
                             &r->costs.cost[k]) && !(r->costs.cost[k] < 0);
    for (int k = 0; k < NUMBERS && good; k++)
        good = ctt_json_int64(ctt_json_at(seen, k), 0, (int64_t *)r->seen + k);
    return good;
}

int ctt_budget_row_read(void *arg, const struct ctt_value *v)
{
    struct ctt_budget_row r = { .mix = NULL, .loss = NAN };
    const char *mix = ctt_json_text(ctt_json_get(v, "mix"));
    int rc = 0;

    if (!mix || !*mix || !read_kind(ctt_json_get(v, "budget"), &r.kind) ||
        !ctt_json_crc(ctt_json_get(v, "how"), &r.how) ||
        !ctt_json_crc(ctt_json_get(v, "model"), &r.model) ||
        !read_numbers(v, &r))
        return 0;
    r.mix = ctt_strdup(mix);
    CTT_TRY(r.mix ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_budget_rows_add(arg, &r));
    rc = 1;
out:
    ctt_free(r.mix);
    return rc;
}

int ctt_budget_row_log(struct ctt_sensitivity_log *log,
                       const struct ctt_budget_row *row)
{
    char *line = NULL;
    int rc;

    CTT_TRY(ctt_text_collect("--budget", print_result, row, &line));
    CTT_TRY(ctt_sensitivity_log_line(log, line));
out:
    ctt_free(line);
    return rc;
}
