/* SPDX-License-Identifier: Apache-2.0
 * sense_plot.c: a picture of what each weight bears. */
#include "tools/sense_plot.h"
#include "net/newfile.h"

#include <math.h>
#include <stdio.h>

/* Sizes in the units of the picture, and its decades of nats. */
enum { PANEL_W = 250, PANEL_H = 220, LEFT = 46, TOP = 26, RIGHT = 10,
       BOTTOM = 40, ACROSS = 4, LOW = -5, HIGH = 1, ROW = 15 };

struct plot {
    const struct ctt_sense *s;
    double                  kl;
    FILE                   *f;
    double                  x, y;    /* of the panel */
};

/* The colours of weights; those behind the last one begin anew with dashes. */
static const char *const colours[] = { "#1f5fbf", "#e07b10", "#2a9d4a",
    "#c02a2a", "#7d4fc0", "#8c5a3c", "#d860b0", "#707070", "#b0a010",
    "#10a5b5" };

static const char *colour_of(int weight)
{
    return colours[(size_t)weight % CTT_LEN(colours)];
}

static const char *dash_of(int weight)
{
    return (size_t)weight < CTT_LEN(colours) ? ""
                                             : " stroke-dasharray=\"5 2\"";
}

static double x_of(const struct plot *p, const struct ctt_ladder *l, int k)
{
    double inner = PANEL_W - LEFT - RIGHT;

    return p->x + LEFT + inner * (l->values > 1 ? (double)k / (l->values - 1)
                                                : 0.5);
}

static double y_of(const struct plot *p, double kl)
{
    double decade = kl > 0 ? fmin(HIGH, fmax(LOW, log10(kl))) : LOW;

    return p->y + TOP + (PANEL_H - TOP - BOTTOM) * (HIGH - decade) /
           (HIGH - LOW);
}

static void text(const struct plot *p, double x, double y, const char *anchor,
                 const char *words)
{
    fprintf(p->f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
            x, y, anchor, words);
}

static void draw_line(const struct plot *p, double x0, double y0, double x1,
                      double y1, const char *style)
{
    fprintf(p->f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "%s/>\n", x0, y0, x1, y1, style);
}

static void draw_axes(const struct plot *p, const struct ctt_ladder *l)
{
    double left = p->x + LEFT, right = p->x + PANEL_W - RIGHT;
    char words[64];

    text(p, (left + right) / 2, p->y + TOP - 8, "middle", l->name);
    for (int d = LOW; d <= HIGH; d++) {
        double y = y_of(p, pow(10, d));

        draw_line(p, left, y, right, y, "stroke=\"#ddd\"");
        snprintf(words, sizeof(words), d == LOW ? "&#8804;1e%d" : "1e%d", d);
        text(p, left - 4, y + 4, "end", words);
    }
    draw_line(p, left, y_of(p, p->kl), right, y_of(p, p->kl),
              "stroke=\"#000\" stroke-dasharray=\"4 3\"");
    for (int k = 0; k < l->values; k++) {
        snprintf(words, sizeof(words), "%g", l->value[k]);
        text(p, x_of(p, l, k), p->y + PANEL_H - BOTTOM + 14, "middle",
             l->word ? l->word : words);
    }
    text(p, (left + right) / 2, p->y + PANEL_H - BOTTOM + 29, "middle",
         l->unit);
}

/* The points of a weight on a ladder that were measured. */
static void draw_curve(const struct plot *p, const struct ctt_ladder *l,
                       int weight)
{
    int k = -1;

    fprintf(p->f, "<g stroke=\"%s\" fill=\"none\"%s><path d=\"",
            colour_of(weight), dash_of(weight));
    for (int pass = 0; pass < 2; pass++, k = -1) {
        char next = 'M';

        for (int i = 0; i < p->s->points; i++) {
            const struct ctt_sense_point *q = &p->s->point[i];

            if (q->weight != weight || q->ladder != l || ++k < 0 ||
                isnan(q->fit))
                continue;
            if (pass)
                fprintf(p->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n",
                        x_of(p, l, k), y_of(p, ctt_change_mean(&q->change)));
            else
                fprintf(p->f, "%c%.1f %.1f ", next, x_of(p, l, k),
                        y_of(p, q->fit));
            next = 'L';
        }
        fprintf(p->f, pass ? "</g>\n" : "\"/>\n");
    }
}

static void draw_names(const struct plot *p)
{
    for (int i = 0; i < p->s->weights; i++) {
        double y = p->y + 20 + ROW * i;

        fprintf(p->f, "<g stroke=\"%s\" stroke-width=\"2\"%s>", colour_of(i),
                dash_of(i));
        draw_line(p, p->x, y - 4, p->x + 14, y - 4, "");
        fprintf(p->f, "</g>\n");
        text(p, p->x + 18, y, "start", p->s->weight[i].name);
    }
}

static int print_svg(FILE *f, const void *arg)
{
    struct plot p = *(const struct plot *)arg;
    int panels = 0, height, k = 0;

    for (const struct ctt_ladder *l = ctt_ladders; l->name; l++)
        panels++;
    height = (panels + ACROSS - 1) / ACROSS * PANEL_H + 30;
    if (height < p.s->weights * ROW + 40)
        height = p.s->weights * ROW + 40;
    p.f = f;
    fprintf(f, CTT_SVG_BEGIN " width=\"%d\" height=\"%d\" font-family=\""
            "sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\""
            "100%%\" fill=\"#fff\"/>\n", ACROSS * PANEL_W + 160, height);
    text(&p, 10, 18, "start", "mean divergence of the answers (KL, nats) if "
         "only this weight is changed, without retraining: points measured, "
         "lines fitted");
    for (const struct ctt_ladder *l = ctt_ladders; l->name; l++, k++) {
        p.x = k % ACROSS * PANEL_W;
        p.y = 30 + k / ACROSS * PANEL_H;
        draw_axes(&p, l);
        for (int i = 0; i < p.s->weights; i++)
            draw_curve(&p, l, i);
    }
    p.x = ACROSS * PANEL_W;
    p.y = 20;
    draw_names(&p);
    fprintf(f, "</svg>\n");
    return 0;
}

int ctt_sense_plot(const struct ctt_sense *s, double kl, const char *path)
{
    return ctt_file_print(path, print_svg, &(struct plot){ .s = s, .kl = kl });
}
