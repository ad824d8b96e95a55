/* SPDX-License-Identifier: Apache-2.0
 * explain_plot.c: a picture of what each part of a compression costs and
 * saves. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/picture.h"
#include "base/newfile.h"

#include <math.h>
#include <stdio.h>

/* Sizes in the units of the picture. */
enum { NAMES = 210, PANEL = 230, INNER = 170, ROW = 18, TOP = 76, PANELS = 3,
       KINDS = 32 };

/* What bars show; value: NAN if a point has none. */
struct panel {
    const char *title;
    double    (*value)(const struct ctt_explain_point *p);
    const char *form;
};

static double saved_bytes(const struct ctt_explain_point *p)
{
    return isnan(ctt_explain_cost(p)) ? NAN : (double)p->bytes;
}

/* Of the time of a frame without it. */
static double time_of(const struct ctt_explain_point *p)
{
    return 100 * (1 - 1 / p->faster);
}

static const struct panel panels[PANELS] = {
    { "costs: divergence, nats", ctt_explain_cost, "%.4f" },
    { "saves: bytes", saved_bytes, "%.0f" },
    { "saves: % of a frame's time", time_of, "%.1f" },
};

struct plot {
    const struct ctt_explain *e;
    const int                *order;
    int                       rows;
};

/* The least and the largest value, 0 among them. */
static void range(const struct plot *p, const struct panel *of, double *least,
                  double *most)
{
    *least = *most = 0;
    for (int i = 0; i < p->rows; i++) {
        double x = of->value(&p->e->point[p->order[i]]);

        if (!isnan(x)) {
            *least = fmin(*least, x);
            *most = fmax(*most, x);
        }
    }
    if (*most - *least <= 0)
        *most = *least + 1;
}

static void draw_bar(FILE *f, const struct panel *of,
                     const struct ctt_explain_point *q, double x, double y,
                     double zero, double unit)
{
    double v = of->value(q), w = isnan(v) ? 0 : v * unit;
    char words[32];

    if (isnan(v)) {
        ctt_svg_text(f, x + zero + 4, y + 12, "start", "-");
        return;
    }
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
            "fill=\"%s\"/>\n", x + zero + fmin(w, 0), y + 2, fabs(w), ROW - 5,
            ctt_svg_colour(q->kind));
    snprintf(words, sizeof(words), of->form, v);
    ctt_svg_text(f, x + zero + fmax(w, 0) + 4, y + 12, "start", words);
}

static void draw_panel(const struct plot *p, int k, FILE *f)
{
    double x = NAMES + k * PANEL, least, most, unit;

    range(p, &panels[k], &least, &most);
    unit = INNER / (most - least);
    ctt_svg_text(f, x, TOP - 12, "start", panels[k].title);
    ctt_svg_line(f, x - least * unit, TOP, x - least * unit,
                 TOP + p->rows * ROW, "stroke=\"#888\"");
    for (int i = 0; i < p->rows; i++)
        draw_bar(f, &panels[k], &p->e->point[p->order[i]], x,
                 TOP + i * ROW, -least * unit, unit);
}

/* The colours of the kinds that the picture has. */
static void draw_key(const struct plot *p, FILE *f)
{
    char seen[KINDS] = { 0 };
    int x = 10;

    for (int i = 0; i < p->rows; i++) {
        const struct ctt_explain_point *q = &p->e->point[p->order[i]];

        if (seen[q->kind % KINDS]++)
            continue;
        fprintf(f, "<rect x=\"%d\" y=\"30\" width=\"12\" height=\"12\" "
                "fill=\"%s\"/>\n", x, ctt_svg_colour(q->kind));
        ctt_svg_text(f, x + 17, 40, "start", ctt_explain_kind_name(q));
        x += 110;
    }
}

static int print_svg(FILE *f, const void *arg)
{
    const struct plot *p = arg;
    char words[2 * CTT_NAME];

    ctt_svg_begin(f, NAMES + PANELS * PANEL + 20, TOP + p->rows * ROW + 20);
    ctt_svg_text(f, 10, 18, "start", "what each thing that was done to a "
                 "weight costs and saves: it alone is undone");
    draw_key(p, f);
    for (int i = 0; i < p->rows; i++) {
        const struct ctt_explain_point *q = &p->e->point[p->order[i]];

        snprintf(words, sizeof(words), "%s, %s",
                 ctt_explain_weight_name(p->e, q), ctt_explain_kind_name(q));
        ctt_svg_text(f, NAMES - 8, TOP + i * ROW + 12, "end", words);
    }
    for (int k = 0; k < PANELS; k++)
        draw_panel(p, k, f);
    ctt_svg_end(f);
    return 0;
}

int ctt_explain_plot(const struct ctt_explain *e, const char *path)
{
    int *order = ctt_calloc((size_t)e->points + 1, sizeof(*order));
    struct plot p = { e, order, 0 };
    int rc = order ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p.rows = ctt_explain_sort(e, 0, order);
    CTT_TRY(ctt_file_print(path, print_svg, &p));
out:
    ctt_free(order);
    return rc;
}
