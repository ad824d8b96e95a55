/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_plot.c: a picture of what each weight bears. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/picture.h"
#include "base/newfile.h"

#include <math.h>
#include <stdio.h>

/* Sizes in the units of the picture, and its decades of nats. */
enum { PANEL_W = 260, PANEL_H = 236, LEFT = 56, TOP = 26, RIGHT = 14,
       BOTTOM = 54, ACROSS = 4, LOW = -5, HIGH = 1, ROW = 15, HEAD = 46 };

struct plot {
    const struct ctt_sensitivity *s;
    double                  kl;
    FILE                   *f;
    double                  x, y;    /* of the panel */
};

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

static void draw_axes(const struct plot *p, const struct ctt_ladder *l)
{
    double left = p->x + LEFT, right = p->x + PANEL_W - RIGHT;
    char words[64];

    ctt_svg_text(p->f, (left + right) / 2, p->y + TOP - 8, "middle", l->name);
    for (int d = LOW; d <= HIGH; d++) {
        double y = y_of(p, pow(10, d));

        ctt_svg_line(p->f, left, y, right, y, "stroke=\"#ddd\"");
        snprintf(words, sizeof(words), d == LOW ? "\u2264 1e%d" : "1e%d", d);
        ctt_svg_text(p->f, left - 4, y + 4, "end", words);
    }
    ctt_svg_line(p->f, left, y_of(p, p->kl), right, y_of(p, p->kl),
                 "stroke=\"#000\" stroke-dasharray=\"4 3\"");
    for (int k = 0; k < l->values; k++) {
        snprintf(words, sizeof(words), "%g", l->value[k]);
        /* Each second one is lower, so that they do not touch. */
        ctt_svg_text(p->f, x_of(p, l, k), p->y + PANEL_H - BOTTOM + 14 +
                     k % 2 * 12, "middle", l->word ? l->word : words);
    }
    ctt_svg_text(p->f, (left + right) / 2, p->y + PANEL_H - BOTTOM + 42,
                 "middle", l->unit);
}

/* The points of a weight on a ladder that were measured. */
static void draw_curve(const struct plot *p, const struct ctt_ladder *l,
                       int weight)
{
    int k = -1;

    fprintf(p->f, "<g stroke=\"%s\" fill=\"none\"%s><path d=\"",
            ctt_svg_colour(weight), ctt_svg_dash(weight));
    for (int pass = 0; pass < 2; pass++, k = -1) {
        char next = 'M';

        for (int i = 0; i < p->s->points; i++) {
            const struct ctt_sensitivity_point *q = &p->s->point[i];

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

        fprintf(p->f, "<g stroke=\"%s\" stroke-width=\"2\"%s>",
                ctt_svg_colour(i), ctt_svg_dash(i));
        ctt_svg_line(p->f, p->x, y - 4, p->x + 14, y - 4, "");
        fprintf(p->f, "</g>\n");
        ctt_svg_text(p->f, p->x + 18, y, "start", p->s->weight[i].name);
    }
}

static int print_svg(FILE *f, const void *arg)
{
    struct plot p = *(const struct plot *)arg;
    int panels = 0, height;
    char dashed[96];

    while (ctt_ladder(panels))
        panels++;
    height = (panels + ACROSS - 1) / ACROSS * PANEL_H + HEAD;
    if (height < p.s->weights * ROW + 40)
        height = p.s->weights * ROW + 40;
    p.f = f;
    ctt_svg_begin(f, ACROSS * PANEL_W + 160, height);
    ctt_svg_text(p.f, 10, 18, "start", "mean divergence of the answers (KL, "
                 "nats) if only this weight is changed, without retraining: "
                 "points measured, lines fitted");
    snprintf(dashed, sizeof(dashed), "dashed: %g nats, the most that tables "
             "call harmless (--sense-kl)", p.kl);
    ctt_svg_text(p.f, 10, 34, "start", dashed);
    for (int k = 0; k < panels; k++) {
        const struct ctt_ladder *l = ctt_ladder(k);

        p.x = k % ACROSS * PANEL_W;
        p.y = HEAD + k / ACROSS * PANEL_H;
        draw_axes(&p, l);
        for (int i = 0; i < p.s->weights; i++)
            draw_curve(&p, l, i);
    }
    p.x = ACROSS * PANEL_W;
    p.y = 20;
    draw_names(&p);
    ctt_svg_end(f);
    return 0;
}

int ctt_sensitivity_plot(const struct ctt_sensitivity *s, double kl,
                         const char *path)
{
    return ctt_file_print(path, print_svg, &(struct plot){ .s = s, .kl = kl });
}
