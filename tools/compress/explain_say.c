/* SPDX-License-Identifier: Apache-2.0
 * explain_say.c: results of --explain: tables and CSV. */
#include "tools/compress/compress_tool.h"
#include "base/newfile.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { TEXT = 64 };

/* ---- tables ---- */

static double mean_share(const double x[CTT_ACCURACIES])
{
    return (x[0] + x[1] + x[2]) / CTT_ACCURACIES;
}

static const char *print_number(double x, const char *form, char text[TEXT])
{
    if (isnan(x))
        snprintf(text, TEXT, "-");
    else
        snprintf(text, TEXT, form, x);
    return text;
}

/* A mean divergence in nats, without the sign of a zero, and its standard
 * error. */
static const char *print_kl(const struct ctt_gain *g, char text[TEXT])
{
    if (isnan(g->kl[0]))
        snprintf(text, TEXT, "-");
    else
        snprintf(text, TEXT, "%.4f +-%.4f",
                 rint(1e4 * mean_share(g->kl)) / 1e4 + 0.0, g->kl_error);
    return text;
}

/* Points of top-1 and their standard error. */
static const char *print_points(const struct ctt_gain *g, int k,
                                char text[TEXT])
{
    if (isnan(g->kl[k]))
        snprintf(text, TEXT, "-");
    else
        snprintf(text, TEXT, "%.1f +-%.1f", 100 * g->top1[k],
                 100 * g->error[k]);
    return text;
}

static const struct ctt_gain *
main_gain(const struct ctt_explain_point *p, int steps)
{
    return steps > 0 ? &p->trained : &p->back;
}

static int is_measured(const struct ctt_explain_point *p)
{
    return !isnan(p->back.kl[0]) || !isnan(p->trained.kl[0]);
}

/* With a tab between two cells; "put back" has its own if it is not the only
 * way. */
static void add_point_row(const struct ctt_explain *e,
                          const struct ctt_explain_point *p, int steps,
                          struct ctt_table *t)
{
    const struct ctt_gain *g = main_gain(p, steps);
    char line[16 * TEXT], x[CTT_ACCURACIES][TEXT], kl[TEXT], faster[TEXT];
    int n = snprintf(line, sizeof(line), "%s\t%s\t%s\t%s\t%s\t%s",
                     ctt_explain_weight_name(e, p), ctt_explain_kind_name(p),
                     print_kl(g, kl),
                     print_points(g, 0, x[0]), print_points(g, 1, x[1]),
                     print_points(g, 2, x[2]));

    if (steps > 0)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "\t%s\t%s",
                      print_kl(&p->back, kl),
                      print_number(100 * mean_share(p->back.top1), "%.1f",
                                   x[0]));
    snprintf(line + n, sizeof(line) - (size_t)n, "\t%" PRId64 "\t%s",
             p->bytes, p->busy ? "busy" : print_number(p->faster, "%.2f",
                                                       faster));
    ctt_table_row(t, "%s", line);
}

static int say_table(const struct ctt_explain *e, int all, int steps)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    int *order = ctt_calloc((size_t)e->points + 1, sizeof(*order));
    int n, rc = order ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    n = ctt_explain_sort(e, all, order);
    ctt_table_row(&t, "%s", steps > 0
                  ? "weight\twhat\tcosts KL\tpoints at 25%\tat 50%\tat 100%\t"
                    "put back: KL\tpoints\tbytes saved\tfaster"
                  : "weight\twhat\tcosts KL\tpoints at 25%\tat 50%\tat 100%\t"
                    "bytes saved\tfaster");
    for (int i = 0; i < n; i++)
        if (is_measured(&e->point[order[i]]))
            add_point_row(e, &e->point[order[i]], steps, &t);
    if (t.rows > 1)
        CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    ctt_free(order);
    return rc < 0 ? rc : 0;
}

static void say_reasons(const struct ctt_explain *e)
{
    int said = 0;

    for (int i = 0; i < e->points; i++) {
        const struct ctt_explain_point *p = &e->point[i];

        if (!p->why[0])
            continue;
        if (!said++)
            ctt_tool_say("\nnot measured, or not put back:");
        ctt_tool_say("%s, %s: %s", ctt_explain_weight_name(e, p),
                     ctt_explain_kind_name(p), p->why);
    }
}

int ctt_explain_say(const struct ctt_explain *e, int steps)
{
    int rc;

    if (steps > 0)
        ctt_tool_say("\nwhat each costs: undone alone and its weight trained "
                     "for %d steps, against as many steps with it; and with "
                     "values of the dense model put back, nothing trained:",
                     steps);
    else
        ctt_tool_say("\nwhat each costs: undone alone, with values of the "
                     "dense model put back, nothing trained:");
    CTT_TRY(say_table(e, 0, steps));
    ctt_tool_say("\ntogether:");
    CTT_TRY(say_table(e, 1, steps));
    say_reasons(e);
out:
    return rc;
}

/* ---- CSV ---- */

static void put_numbers(FILE *f, const double x[CTT_ACCURACIES], double unit)
{
    for (int k = 0; k < CTT_ACCURACIES; k++)
        ctt_csv_real(f, unit * x[k]);
}

static void put_gain(FILE *f, const struct ctt_gain *g)
{
    put_numbers(f, g->kl, 1);
    ctt_csv_real(f, g->kl_error);
    put_numbers(f, g->top1, 100);
    put_numbers(f, g->error, 100);
}

static void put_point(FILE *f, const struct ctt_explain *e,
                      const struct ctt_explain_point *p)
{
    fprintf(f, "%s,%s,", ctt_explain_weight_name(e, p),
            ctt_explain_kind_name(p));
    put_gain(f, &p->trained);
    put_gain(f, &p->back);
    if (is_measured(p))
        fprintf(f, "%" PRId64, p->bytes);
    fprintf(f, ",");
    if (!isnan(p->faster))
        fprintf(f, "%.4f", p->faster);
    fprintf(f, ",");
    if (p->why[0]) {
        fprintf(f, "\"");
        for (const char *q = p->why; *q; q++)
            fprintf(f, *q == '"' ? "\"\"" : "%c", *q);
        fprintf(f, "\"");
    }
    fprintf(f, "\n");
}

static int print_points_csv(FILE *f, const void *arg)
{
    static const char *const of[] = { "trained", "back" };
    static const char *const what[] = { "kl25", "kl50", "kl100", "kl_error",
        "points25", "points50", "points100", "error25", "error50", "error100" };
    const struct ctt_explain *e = arg;

    fprintf(f, "weight,what,");
    for (size_t i = 0; i < CTT_LEN(of); i++)
        for (size_t j = 0; j < CTT_LEN(what); j++)
            fprintf(f, "%s_%s,", of[i], what[j]);
    fprintf(f, "bytes,faster,why\n");
    for (int i = 0; i < e->points; i++)
        put_point(f, e, &e->point[i]);
    return 0;
}

int ctt_explain_csv(const struct ctt_explain *e, const char *path)
{
    return ctt_file_print(path, print_points_csv, e);
}
