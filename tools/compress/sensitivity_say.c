/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_say.c: results of --sense: tables and CSV. */
#include "tools/compress/compress_tool.h"
#include "base/newfile.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { TEXT = 64 };

/* ---- a weight ---- */

static const char *print_faster(const struct ctt_sensitivity_point *p,
                                char text[TEXT])
{
    snprintf(text, TEXT, p->busy ? "busy" : isnan(p->faster) ? "-" : "%.2f",
             p->faster);
    return text;
}

static const char *print_value(const struct ctt_sensitivity_point *p,
                               char text[TEXT])
{
    if (p->ladder->word)
        snprintf(text, TEXT, "%s", p->ladder->word);
    else
        snprintf(text, TEXT, "%g", p->value);
    return text;
}

static void add_point_row(const struct ctt_sensitivity *s,
                          const struct ctt_sensitivity_point *p,
                          struct ctt_table *t)
{
    const struct ctt_change *c = &p->change;
    char faster[TEXT], value[TEXT];

    if (p->why[0])
        return;
    ctt_table_row(t, "%s\t%s\t%.4f\t%.4f\t%.4f\t%.1f\t%.1f\t%.1f\t%" PRId64
                  "\t%s", p->ladder->name, print_value(p, value), c->kl[0],
                  c->kl[1], c->kl[2], 100 * c->lost[0], 100 * c->lost[1],
                  100 * c->lost[2], s->bytes - p->bytes,
                  print_faster(p, faster));
}

/* Why a ladder has no row, or not all. */
static void say_reasons(const struct ctt_sensitivity *s, int weight)
{
    const struct ctt_ladder *said = NULL;
    char value[TEXT];

    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->weight != weight || !p->why[0] || p->ladder == said)
            continue;
        ctt_tool_say("%s %s: %s", p->ladder->name, print_value(p, value),
                     p->why);
        said = p->ladder;
    }
}

static int say_weight(const struct ctt_sensitivity *s, int weight)
{
    const struct ctt_sensitivity_weight *w = &s->weight[weight];
    struct ctt_table t = { NULL, 0, 0, 0 };
    int rc = 0;

    ctt_tool_say("\n%s: %" PRId64 " values, %.1f%% of the multiplications:",
                 w->name, w->params, 100 * w->macs);
    ctt_table_row(&t, "option\tvalue\tKL at 25%%\t50%%\t100%%\tpoints lost at "
                  "25%%\t50%%\t100%%\tbytes saved\tfaster");
    for (int i = 0; i < s->points; i++)
        if (s->point[i].weight == weight)
            add_point_row(s, &s->point[i], &t);
    if (t.rows > 1)
        CTT_TRY(ctt_table_print(&t));
    say_reasons(s, weight);
out:
    ctt_table_free(&t);
    return rc;
}

/* ---- what all bear ---- */

/* The cells of a row, with a tab between two. */
static void print_borne(const struct ctt_sensitivity *s, int weight, double kl,
                        char *line, size_t size)
{
    const struct ctt_sensitivity_weight *w = &s->weight[weight];
    size_t n = (size_t)snprintf(line, size, "%s\t%.1f", w->name,
                                100 * w->macs);
    const struct ctt_ladder *l;

    for (int i = 0; (l = ctt_ladder(i)); i++) {
        const struct ctt_sensitivity_point *p =
            ctt_sensitivity_bears(s, weight, l, kl);
        char cell[TEXT];

        if (n < size)
            n += (size_t)snprintf(line + n, size - n, "\t%s",
                                  p ? print_value(p, cell) : "-");
    }
}

static int say_borne(const struct ctt_sensitivity *s, double kl)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char line[512] = "";
    size_t n = (size_t)snprintf(line, sizeof(line), "weight\tMACs %%");
    int rc;

    for (int i = 0; ctt_ladder(i); i++)
        if (n < sizeof(line))
            n += (size_t)snprintf(line + n, sizeof(line) - n, "\t%s",
                                  ctt_ladder(i)->name);
    ctt_table_row(&t, "%s", line);
    for (int i = 0; i < s->weights; i++) {
        print_borne(s, i, kl, line, sizeof(line));
        ctt_table_row(&t, "%s", line);
    }
    ctt_tool_say("\nthe strongest values, each alone and without retraining, "
                 "that change the answers by %g nats or less:", kl);
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

int ctt_sensitivity_say(const struct ctt_sensitivity *s, double kl)
{
    int rc = 0;

    for (int i = 0; i < s->weights; i++)
        CTT_TRY(say_weight(s, i));
    CTT_TRY(say_borne(s, kl));
out:
    return rc;
}

/* ---- CSV ---- */

static void print_point(FILE *f, const struct ctt_sensitivity *s,
                        const struct ctt_sensitivity_point *p)
{
    const struct ctt_change *c = &p->change;

    fprintf(f, "%s,%s,%g,", s->weight[p->weight].name, p->ladder->name,
            p->value);
    if (p->why[0]) {
        fprintf(f, ",,,,,,,,,\"");
        for (const char *q = p->why; *q; q++)
            fprintf(f, *q == '"' ? "\"\"" : "%c", *q);
        fprintf(f, "\"\n");
        return;
    }
    for (int k = 0; k < CTT_ACCURACIES; k++)
        fprintf(f, "%.6g,", c->kl[k]);
    fprintf(f, "%.6g,", p->fit);
    for (int k = 0; k < CTT_ACCURACIES; k++)
        fprintf(f, "%.4f,", 100 * c->lost[k]);
    fprintf(f, "%" PRId64 ",", p->bytes);
    if (!isnan(p->faster))
        fprintf(f, "%.4f", p->faster);
    fprintf(f, ",\n");
}

static int print_points_csv(FILE *f, const void *arg)
{
    const struct ctt_sensitivity *s = arg;

    fprintf(f, CTT_SENSITIVITY_CSV_BEGIN
            "kl50,kl100,fit,lost25,lost50,lost100,bytes,"
            "faster,why\n");
    for (int i = 0; i < s->points; i++)
        print_point(f, s, &s->point[i]);
    return 0;
}

int ctt_sensitivity_csv(const struct ctt_sensitivity *s, const char *path)
{
    return ctt_file_print(path, print_points_csv, s);
}
