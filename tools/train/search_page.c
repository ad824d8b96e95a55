/* SPDX-License-Identifier: Apache-2.0
 * search_page.c: the trials of a search, as a section of the page. */
#include "libtrain/search/search.h"
#include "tools/report/page.h"
#include "tools/train/train_page.h"

#include <math.h>

/* Of trials: trained to the end, stopped before, the best. */
enum { KINDS = 3 };

struct dots { double *x[KINDS], *y[KINDS]; int n[KINDS]; };

static const char *score_name(const struct ctt_search *s)
{
    return s->cfg->task == CTT_PREDICT ? "MSE" : "top-1";
}

static void add_dot(const struct ctt_search *s, int i, double x,
                    struct dots *d)
{
    const struct ctt_trial *t = ctt_search_at(s, i, 0);
    int kind = i == s->won[0] ? 2 : t->rung < s->rungs - 1;

    if (t->rung < 0 || isnan(x))
        return;
    d->x[kind][d->n[kind]] = x;
    d->y[kind][d->n[kind]++] = ctt_trial_score(s, t, t->epochs, NULL);
}

static void put_dots(FILE *f, const struct ctt_search *s, struct dots *d,
                     struct ctt_chart chart)
{
    static const char *const name[KINDS] = { "trained to the end",
                                             "stopped before", "the best" };
    struct ctt_series of[KINDS];

    for (int k = 0; k < KINDS; k++) {
        of[k] = (struct ctt_series){ name[k], d->n[k], d->x[k], d->y[k], NULL,
                                     NULL, 1 };
        d->n[k] = 0;
    }
    chart.of = of;
    chart.series = KINDS;
    chart.y = score_name(s);
    chart.percent = s->cfg->task != CTT_PREDICT;
    chart.low = chart.high = NAN;
    ctt_page_chart(f, &chart);
}

/* The value of a setting in a trial, of a choice its number; NAN: not used. */
static double value_of(const struct ctt_setting *x, double at)
{
    if (x->choices)
        return isnan(at) ? NAN : fmin(floor(at * x->choices), x->choices - 1);
    if (x->kind == CTT_SETTING_LOG)
        return x->low * pow(x->high / x->low, at);
    return x->low + at * (x->high - x->low);
}

static void put_setting(FILE *f, const struct ctt_search *s, int k,
                        struct dots *d)
{
    const struct ctt_setting *x = &s->space->setting[k];
    char title[96];

    for (int i = 0; i < s->cfg->trials; i++)
        add_dot(s, i, value_of(x, s->draw[i].at[k]), d);
    snprintf(title, sizeof(title), "Trials by %s%s%s",
             ctt_setting_named(x) ? "" : "--", x->opt->name,
             x->when.of >= 0 ? ", where it is used" : "");
    put_dots(f, s, d, (struct ctt_chart){ .title = title, .x = x->opt->name,
        .names = x->choices ? x->choice : NULL, .count = x->choices,
        .log_x = x->kind == CTT_SETTING_LOG });
}

static int put_importance(FILE *f, const struct ctt_search *s)
{
    static const struct ctt_bars column = { "explains", "%.0f%%" };
    const char *name[CTT_SETTINGS];
    struct ctt_weighed w;
    int rc;

    CTT_TRY(ctt_search_weigh(s, &w));
    for (int k = 0; k < s->space->count; k++) {
        name[k] = s->space->setting[k].opt->name;
        w.share[k] *= 100;
    }
    ctt_page_bars(f, "What each setting alone explains of the ranks of the "
                  "trials (-: too few trials)", name, s->space->count, &column,
                  1, w.share);
out:
    return rc;
}

static int put_trials(FILE *f, const struct ctt_search *s)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char text[512], score[CTT_PAGE_NUMBER];
    int rc;

    ctt_table_row(&t, "trial\tepochs\t%s\tsettings", score_name(s));
    for (int i = 0; i < s->cfg->trials && i < 200; i++) {
        const struct ctt_trial *of = ctt_search_at(s, i, 0);

        ctt_draw_text(s->space, &s->draw[i], text, sizeof(text));
        ctt_page_number(ctt_trial_score(s, of, of->epochs, NULL),
                        s->cfg->task != CTT_PREDICT, score);
        ctt_table_row(&t, "%d%s\t%d\t%s\t%s", i + 1, i == s->won[0] ?
                      " (best)" : "", of->epochs, of->failed ? "-" : score,
                      text);
    }
    CTT_TRY(t.rc);
    ctt_page_table(f, s->cfg->trials > 200 ? "The first 200 trials" : "Trials",
                   &t);
out:
    ctt_table_free(&t);
    return rc;
}

int ctt_search_put(FILE *f, const struct ctt_search *s)
{
    size_t n = (size_t)s->cfg->trials;
    double *room = ctt_calloc(n, 2 * KINDS * sizeof(*room));
    struct dots d = { { room, room + n, room + 2 * n },
                      { room + 3 * n, room + 4 * n, room + 5 * n }, { 0 } };
    int rc = room ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    ctt_page_section(f, "Search of settings", NULL);
    for (int i = 0; i < s->cfg->trials; i++)
        add_dot(s, i, i + 1, &d);
    put_dots(f, s, &d, (struct ctt_chart){ .title = "Trials in their order",
                                           .x = "trial" });
    for (int k = 0; k < s->space->count; k++)
        put_setting(f, s, k, &d);
    CTT_TRY(put_importance(f, s));
    CTT_TRY(put_trials(f, s));
out:
    ctt_free(room);
    return rc;
}
