/* SPDX-License-Identifier: Apache-2.0
 * search_plot.c: the trials of a search in parallel coordinates (Inselberg
 * 1985). */
#include "tools/train/train_tool.h"
#include "base/newfile.h"
#include "tools/shared/picture.h"

#include <math.h>
#include <stdio.h>

/* HIGH: of an axis.  OFF: below it, where a setting is not used. */
enum { STEP = 120, LEFT = 70, TOP = 60, HIGH = 260, OFF = 26, BOTTOM = 30 };

struct plot {
    const struct ctt_search *s;
    FILE  *f;
    double low, high;    /* of the scores */
};

static double x_of(int axis)
{
    return LEFT + (double)axis * STEP;
}

/* at: 0 is below, 1 above; NAN: not used. */
static double y_of(double at)
{
    return isnan(at) ? TOP + HIGH + OFF : TOP + HIGH * (1 - at);
}

static double score_of(const struct ctt_search *s, int trial)
{
    const struct ctt_trial *t = ctt_search_at(s, trial, 0);

    return ctt_trial_score(s, t, t->epochs, NULL);
}

/* The better the higher. */
static double score_at(const struct plot *p, double score)
{
    double at = (score - p->low) / (p->high - p->low);

    return p->s->cfg->task == CTT_PREDICT ? 1 - at : at;
}

static void find_range(struct plot *p)
{
    p->low = INFINITY;
    p->high = -INFINITY;
    for (int i = 0; i < p->s->cfg->trials; i++) {
        double score = score_of(p->s, i);

        if (!isnan(score)) {
            p->low = fmin(p->low, score);
            p->high = fmax(p->high, score);
        }
    }
    if (!(p->low < p->high)) {    /* none, or one value */
        p->low = isinf(p->low) ? 0 : p->low - 0.5;
        p->high = p->low + 1;
    }
}

static void draw_axis(const struct plot *p, int axis, const char *name)
{
    ctt_svg_line(p->f, x_of(axis), TOP, x_of(axis), TOP + HIGH,
                 "stroke=\"#999\"");
    ctt_svg_text(p->f, x_of(axis), TOP - 14, "middle", name);
}

static void draw_tick(const struct plot *p, int axis, double at,
                      const char *words)
{
    ctt_svg_line(p->f, x_of(axis) - 3, y_of(at), x_of(axis) + 3, y_of(at),
                 "stroke=\"#999\"");
    ctt_svg_text(p->f, x_of(axis) - 6, y_of(at) + 4, "end", words);
}

static void draw_setting(const struct plot *p, int k)
{
    const struct ctt_setting *x = &p->s->space->setting[k];
    char words[32];

    draw_axis(p, k, x->opt->name);
    for (int i = 0; i < x->choices; i++)
        draw_tick(p, k, (i + 0.5) / x->choices, x->choice[i]);
    for (int i = 0; i <= 4 && !x->choices; i++) {
        double at = i / 4.0, value = x->low + at * (x->high - x->low);

        if (x->kind == CTT_SETTING_LOG)
            value = x->low * pow(x->high / x->low, at);
        snprintf(words, sizeof(words), "%.3g", value);
        draw_tick(p, k, at, words);
    }
    if (x->when.of >= 0)
        draw_tick(p, k, NAN, "not used");
}

static void draw_scores(const struct plot *p)
{
    int axis = p->s->space->count;
    char words[32];

    draw_axis(p, axis, p->s->cfg->task == CTT_PREDICT ? "MSE" : "top-1");
    for (int i = 0; i <= 4; i++) {
        double score = p->low + (p->high - p->low) * i / 4;

        snprintf(words, sizeof(words), "%.3g", score);
        draw_tick(p, axis, score_at(p, score), words);
    }
    draw_tick(p, axis, NAN, "failed");
}

/* Grey is bad, blue good; trials trained to the end are bold. */
static void draw_trial(const struct plot *p, int i)
{
    const struct ctt_search *s = p->s;
    int whole = ctt_search_at(s, i, 0)->rung == s->rungs - 1;
    double score = score_of(s, i), at = isnan(score) ? 0 : score_at(p, score);
    char text[512], words[32];

    if (ctt_search_at(s, i, 0)->rung < 0)
        return;
    fprintf(p->f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" "
            "stroke-opacity=\"%.2f\" points=\"", i == s->won[0]
            ? ctt_svg_colour(1) : at > 0.5 ? ctt_svg_colour(0) : "#888",
            i == s->won[0] ? "3" : whole ? "1.6" : "0.8",
            i == s->won[0] ? 1 : 0.3 + 0.7 * fabs(at - 0.5) * 2 * (at > 0.5));
    for (int k = 0; k < s->space->count; k++)
        fprintf(p->f, "%.1f,%.1f ", x_of(k), y_of(s->draw[i].at[k]));
    ctt_draw_text(s->space, &s->draw[i], text, sizeof(text));
    fprintf(p->f, "%.1f,%.1f\"><title>trial %d: %s; %s</title></polyline>\n",
            x_of(s->space->count), y_of(isnan(score) ? NAN :
            score_at(p, score)), i + 1, ctt_search_score(s, score, words),
            text);
}

static int print_svg(FILE *f, const void *arg)
{
    struct plot p = { .s = arg, .f = f };
    int won = p.s->won[0];

    find_range(&p);
    ctt_svg_begin(f, LEFT + STEP * p.s->space->count + 40,
                  TOP + HIGH + OFF + BOTTOM);
    ctt_svg_text(f, 10, 18, "start", "a line per trial; bold: trained to the "
                 "end; thick: the best");
    for (int k = 0; k < p.s->space->count; k++)
        draw_setting(&p, k);
    draw_scores(&p);
    for (int i = 0; i < p.s->cfg->trials; i++)
        if (i != won)
            draw_trial(&p, i);
    if (won >= 0)
        draw_trial(&p, won);
    ctt_svg_end(f);
    return 0;
}

int ctt_search_plot(const struct ctt_search_run *r, const char *path)
{
    return ctt_file_print(path, print_svg, r->s);
}
