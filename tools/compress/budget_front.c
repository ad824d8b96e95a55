/* SPDX-License-Identifier: Apache-2.0
 * budget_front.c: what a search has tried and retrained, as CSV and as a
 * picture of accuracy against bytes and time. */
#include "compress/search/budget_run.h"
#include "tools/shared/picture.h"
#include "base/newfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

/* The row of the model as given, whose accuracy is known besides. */
static int is_given(const struct ctt_budget_run *r, int i)
{
    const struct ctt_budget_row *row = &r->rows.row[i];

    return row->kind == CTT_BUDGET_TRIED && row->how == r->how &&
           strcmp(row->mix, CTT_ASSIGNMENT_NONE) == 0;
}

/* Sets costs that are not known of a mix by those that it had when it was
 * tried. */
static void add_costs(const struct ctt_budget_run *r,
                      struct ctt_budget_row *row)
{
    struct ctt_budget_row like = { .kind = CTT_BUDGET_TRIED, .how = row->how };
    const size_t n = sizeof(CTT_BUDGET_AT_ONCE) - 1;
    const struct ctt_budget_row *tried;

    if (strncmp(row->mix, CTT_BUDGET_AT_ONCE, n) != 0)
        return;
    like.mix = row->mix + n;
    tried = ctt_budget_row_find(&r->rows, &like);
    for (int k = 0; tried && k < CTT_COSTS; k++)
        if (isnan(row->costs.cost[k]))
            row->costs.cost[k] = tried->costs.cost[k];
}

/* A row with all that is known of it. */
static struct ctt_budget_row row_at(const struct ctt_budget_run *r, int i)
{
    const struct ctt_data *of[] = { r->j->val, r->accept };
    struct ctt_budget_row row = r->rows.row[i];

    for (int h = 0; h < 2 && is_given(r, i); h++)
        ctt_budget_pair(r->was[h], r->was[h], ctt_data_clips(of[h]),
                        row.seen[h]);
    if (row.kind == CTT_BUDGET_SHORT)
        add_costs(r, &row);
    return row;
}

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

/* Whether a row is of a model that can be had. */
static int is_whole(const struct ctt_budget_run *r, int i)
{
    return r->rows.row[i].kind == CTT_BUDGET_TRAINED || is_given(r, i);
}

/* Of sums of the same numbers in another order. */
#define NOISE 1e-9

/* Whether none of the others is as good in both and better in one (Pareto). */
static int is_front(const struct ctt_budget_run *r, int i, enum ctt_cost cost)
{
    struct ctt_budget_row a = row_at(r, i), b;

    for (int k = 0; k < r->rows.rows; k++) {
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

static const char *kind_of(const struct ctt_budget_run *r, int i)
{
    static const char *const kinds[] = { "tried", "retrained", "short" };

    return is_given(r, i) ? "given" : kinds[r->rows.row[i].kind];
}

static void print_row(FILE *f, const struct ctt_budget_run *r, int i)
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
    const struct ctt_budget_run *r = arg;

    fprintf(f, CTT_BUDGET_CSV_BEGIN "search25,search50,search100,accept25,"
            "accept50,accept100,loss,steps,front_bytes,front_ms,mix\n");
    for (int i = 0; i < r->rows.rows; i++)
        if (r->rows.row[i].kind != CTT_BUDGET_PROVED)
            print_row(f, r, i);
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

/* Whether row i has a place; *row: all that is known of it. */
static int is_shown(const struct panel *p, int i, struct ctt_budget_row *row)
{
    *row = row_at(p->r, i);
    return row->kind != CTT_BUDGET_PROVED && row->costs.cost[p->cost] > 0 &&
           !isnan(mean_top1(row));
}

static void find_ranges(struct panel *p)
{
    struct ctt_budget_row row;

    p->low = p->least = INFINITY;
    p->high = p->most = -INFINITY;
    for (int i = 0; i < p->r->rows.rows; i++) {
        if (!is_shown(p, i, &row))
            continue;
        p->low = fmin(p->low, row.costs.cost[p->cost]);
        p->high = fmax(p->high, row.costs.cost[p->cost]);
        p->least = fmin(p->least, mean_top1(&row));
        p->most = fmax(p->most, mean_top1(&row));
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

/* The cheapest row of the front that costs more than that; 0: there is none. */
static int next_of_front(const struct panel *p, double cost,
                         struct ctt_budget_row *next)
{
    struct ctt_budget_row row;
    int found = 0;

    for (int i = 0; i < p->r->rows.rows; i++) {
        double is = p->r->rows.row[i].costs.cost[p->cost];

        if (!(is > cost) || (found && is >= next->costs.cost[p->cost]) ||
            !is_shown(p, i, &row) || !is_front(p->r, i, p->cost))
            continue;
        *next = row;
        found = 1;
    }
    return found;
}

/* The front is what can be had for a cost or less: steps. */
static void draw_front(const struct panel *p)
{
    double right = p->x0 + WIDTH - RIGHT, x = NAN, y = NAN, cost = 0;
    struct ctt_budget_row row = { .mix = NULL };
    char style[64];

    snprintf(style, sizeof(style), "stroke=\"%s\"", ctt_svg_colour(0));
    while (next_of_front(p, cost, &row)) {
        double was[] = { x, y };

        cost = row.costs.cost[p->cost];
        x = x_of(p, cost);
        y = y_of(p, mean_top1(&row));
        if (isnan(was[0]))
            continue;
        ctt_svg_line(p->f, was[0], was[1], x, was[1], style);
        ctt_svg_line(p->f, x, was[1], x, y, style);
    }
    if (!isnan(x))
        ctt_svg_line(p->f, x, y, right, y, style);
}

static void draw_points(const struct panel *p)
{
    struct ctt_budget_row row;

    for (int i = 0; i < p->r->rows.rows; i++) {
        int whole = is_whole(p->r, i);

        if (!is_shown(p, i, &row))
            continue;
        fprintf(p->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" "
                "stroke=\"%s\" fill=\"%s\"><title>%s", x_of(p,
                row.costs.cost[p->cost]), y_of(p, mean_top1(&row)),
                whole ? 4 : 3, ctt_svg_colour(is_given(p->r, i)),
                whole ? ctt_svg_colour(is_given(p->r, i)) : "none", row.mix);
        if (whole)
            fprintf(p->f, ": %.1f%% at the end of the other clips",
                    top1(&row, 1));
        fprintf(p->f, "</title></circle>\n");
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
                 "the clips of the search.  Filled: retrained, and as given; "
                 "hollow: after a few steps, before INT8.");
    for (size_t k = 0; k < CTT_LEN(of); k++) {
        struct panel p = { .r = arg, .f = f, .cost = of[k].cost,
                           .words = of[k].words, .x0 = (double)k * WIDTH };

        find_ranges(&p);
        if (isinf(p.low))
            continue;
        draw_frame(&p);
        draw_front(&p);
        draw_points(&p);
    }
    ctt_svg_end(f);
    return 0;
}

int ctt_budget_plot(const struct ctt_budget_run *r, const char *path)
{
    return ctt_file_print(path, print_svg, r);
}
