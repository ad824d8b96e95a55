/* SPDX-License-Identifier: Apache-2.0
 * budget_front.c: what a search has tried and retrained, as CSV and as a
 * picture of accuracy against bytes and time. */
#include "tools/budget_run.h"
#include "tools/svg.h"
#include "net/newfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Top-1 of a half at the end of its clips, in percent. */
static double top1(const struct ctt_budget_row *row, int half)
{
    const struct ctt_paired *t = &row->seen[half][CTT_ACCURACIES - 1];

    return t->clips > 0 ? 100 * (double)t->is / (double)t->clips : NAN;
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

/* Whether none of the others is as good in both and better in one (Pareto). */
static int is_front(const struct ctt_budget_run *r, int i, enum ctt_cost cost)
{
    const struct ctt_budget_row *a = &r->rows.row[i];

    for (int k = 0; k < r->rows.rows; k++) {
        const struct ctt_budget_row *b = &r->rows.row[k];
        double more = mean_top1(b) - mean_top1(a);
        double less = a->costs.cost[cost] - b->costs.cost[cost];

        if (b->kind == CTT_BUDGET_TRAINED && more >= 0 && less >= 0 &&
            more + less > 0)
            return 0;
    }
    return a->kind == CTT_BUDGET_TRAINED && !isnan(a->costs.cost[cost]);
}

/* ---- CSV ---- */

static void print_number(FILE *f, double x)
{
    if (!isnan(x))
        fprintf(f, "%.6g", x);
    fprintf(f, ",");
}

static int print_csv(FILE *f, const void *arg)
{
    const struct ctt_budget_run *r = arg;

    static const char *const kinds[] = { "tried", "retrained", "short" };

    fprintf(f, CTT_BUDGET_CSV_BEGIN "search25,search50,search100,accept25,"
            "accept50,accept100,loss,steps,front_bytes,front_ms,mix\n");
    for (int i = 0; i < r->rows.rows; i++) {
        const struct ctt_budget_row *row = &r->rows.row[i];

        fprintf(f, "%s,", kinds[row->kind]);
        for (int k = 0; k < CTT_COSTS; k++)
            print_number(f, row->costs.cost[k]);
        for (int k = 0; k < 2 * CTT_ACCURACIES; k++) {
            const struct ctt_paired *t = &row->seen[k / CTT_ACCURACIES]
                                                   [k % CTT_ACCURACIES];

            print_number(f, t->clips > 0 ? 100 * (double)t->is /
                                           (double)t->clips : NAN);
        }
        print_number(f, row->loss);
        fprintf(f, "%d,%d,%d,\"%s\"\n", row->steps,
                is_front(r, i, CTT_COST_BYTES), is_front(r, i, CTT_COST_MS),
                row->mix);
    }
    return 0;
}

int ctt_budget_csv(const struct ctt_budget_run *r, const char *path)
{
    return ctt_file_print(path, print_csv, r);
}

/* ---- the picture ---- */

enum { WIDTH = 420, HEIGHT = 300, LEFT = 50, TOP = 40, RIGHT = 20,
       BOTTOM = 46 };

/* A panel of accuracy against a cost, on a logarithmic scale. */
struct panel {
    const struct ctt_budget_run *r;
    FILE         *f;
    enum ctt_cost cost;
    const char   *words;
    double        x0, low, high, least, most;    /* of cost, and of top-1 */
};

static double x_of(const struct panel *p, double cost)
{
    double span = log(p->high / p->low);

    return p->x0 + LEFT + (WIDTH - LEFT - RIGHT) * log(cost / p->low) / span;
}

static double y_of(const struct panel *p, double top)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (p->most - top) /
           (p->most - p->least);
}

static int is_shown(const struct panel *p, int i)
{
    const struct ctt_budget_row *row = &p->r->rows.row[i];

    return row->kind == CTT_BUDGET_TRAINED && row->costs.cost[p->cost] > 0 &&
           !isnan(mean_top1(row));
}

static void find_ranges(struct panel *p)
{
    p->low = p->least = INFINITY;
    p->high = p->most = -INFINITY;
    for (int i = 0; i < p->r->rows.rows; i++) {
        const struct ctt_budget_row *row = &p->r->rows.row[i];

        if (!is_shown(p, i))
            continue;
        p->low = fmin(p->low, row->costs.cost[p->cost]);
        p->high = fmax(p->high, row->costs.cost[p->cost]);
        p->least = fmin(p->least, mean_top1(row));
        p->most = fmax(p->most, mean_top1(row));
    }
    p->low *= 0.8;
    p->high *= 1.25;
    p->least -= 2;
    p->most += 2;
}

static void draw_frame(const struct panel *p)
{
    double right = p->x0 + WIDTH - RIGHT, bottom = HEIGHT - BOTTOM;
    char words[64];

    ctt_svg_text(p->f, p->x0 + WIDTH / 2.0, HEIGHT - 10, "middle", p->words);
    for (int k = 0; k <= 4; k++) {
        double top = p->least + (p->most - p->least) * k / 4;
        double cost = p->low * pow(p->high / p->low, k / 4.0);

        ctt_svg_line(p->f, p->x0 + LEFT, y_of(p, top), right, y_of(p, top),
                     "stroke=\"#ddd\"");
        snprintf(words, sizeof(words), "%.1f", top);
        ctt_svg_text(p->f, p->x0 + LEFT - 4, y_of(p, top) + 4, "end", words);
        snprintf(words, sizeof(words), "%.3g", cost);
        ctt_svg_text(p->f, x_of(p, cost), bottom + 16, "middle", words);
    }
}

/* Points of the front are filled. */
static void draw_points(const struct panel *p)
{
    for (int i = 0; i < p->r->rows.rows; i++) {
        const struct ctt_budget_row *row = &p->r->rows.row[i];

        if (!is_shown(p, i))
            continue;
        fprintf(p->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" stroke=\"%s\" "
                "fill=\"%s\"><title>%.1f%% on the others: %s</title></circle>"
                "\n", x_of(p, row->costs.cost[p->cost]),
                y_of(p, mean_top1(row)), ctt_svg_colour(0),
                is_front(p->r, i, p->cost) ? ctt_svg_colour(0) : "none",
                top1(row, 1), row->mix);
    }
}

static int print_svg(FILE *f, const void *arg)
{
    static const struct { enum ctt_cost cost; const char *words; } of[] = {
        { CTT_COST_BYTES, "bytes of the file" },
        { CTT_COST_MS, "milliseconds per frame" },
    };

    ctt_svg_begin(f, WIDTH * (int)CTT_LEN(of), HEIGHT);
    ctt_svg_text(f, 10, 18, "start", "top-1 %, mean after 25, 50 and 100% of "
                 "the clips of the search; filled: not dominated");
    for (size_t k = 0; k < CTT_LEN(of); k++) {
        struct panel p = { .r = arg, .f = f, .cost = of[k].cost,
                           .words = of[k].words, .x0 = (double)k * WIDTH };

        find_ranges(&p);
        if (isinf(p.low))
            continue;
        draw_frame(&p);
        draw_points(&p);
    }
    ctt_svg_end(f);
    return 0;
}

int ctt_budget_plot(const struct ctt_budget_run *r, const char *path)
{
    return ctt_file_print(path, print_svg, r);
}
