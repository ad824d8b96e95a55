/* SPDX-License-Identifier: Apache-2.0
 * draw.c: the settings of a trial, drawn at random from a search space. */
#include "libtrain/search/search.h"
#include "libtrain/chance.h"
#include "net/code/zip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The value of a number at `at`, 0 to 1. */
static double even(const struct ctt_setting *k, double at)
{
    return k->low + at * (k->high - k->low);
}

static double logarithmic(const struct ctt_setting *k, double at)
{
    return exp(log(k->low) + at * (log(k->high) - log(k->low)));
}

/* Both ends as often as numbers between them. */
static double draw_whole(const struct ctt_setting *k, double at)
{
    return fmin(k->high, floor(k->low + at * (k->high - k->low + 1)));
}

static double (*const values[])(const struct ctt_setting *, double) = {
    [CTT_SETTING_RANGE] = even, [CTT_SETTING_LOG] = logarithmic,
    [CTT_SETTING_INT] = draw_whole,
};

/* Four digits say enough; rounding must not leave the range. */
static const char *print_number(const struct ctt_setting *k, double x,
                                char number[CTT_NUMBER])
{
    double got = 0;

    snprintf(number, CTT_NUMBER, k->kind == CTT_SETTING_INT ? "%.0f" : "%.4g",
             x);
    sscanf(number, "%lf", &got);
    return got < k->low ? k->words[0] : got > k->high ? k->words[1] : number;
}

static void draw_one(const struct ctt_space *s, int i, uint64_t key,
                     struct ctt_draw *out)
{
    const struct ctt_setting *k = &s->setting[i];
    const char *name = k->opt->name;
    double at = ctt_uniform(ctt_key(key, ctt_crc32_plain(0,
                            (const uint8_t *)name, (int64_t)strlen(name))), 0);

    out->number[i][0] = '\0';
    if (k->kind == CTT_SETTING_CHOICE) {
        int n = (int)(at * k->choices);

        out->text[i] = k->choice[n];
        out->at[i] = (n + 0.5) / k->choices;
        return;
    }
    if (k->kind == CTT_SETTING_INT) {    /* where the number lies */
        double x = draw_whole(k, at);

        out->text[i] = print_number(k, x, out->number[i]);
        out->at[i] = (x - k->low) / (k->high - k->low);
        return;
    }
    out->text[i] = print_number(k, values[k->kind](k, at), out->number[i]);
    out->at[i] = at;
}

/* 1 if the condition of setting i holds for the drawn values. */
static int holds(const struct ctt_space *s, int i, const struct ctt_draw *d)
{
    const struct ctt_when *w = &s->setting[i].when;
    const struct ctt_setting *of;
    double x;

    if (w->of < 0)
        return 1;
    if (!holds(s, w->of, d))
        return 0;
    of = &s->setting[w->of];
    if (of->kind == CTT_SETTING_CHOICE)
        return w->among >> (int)(d->at[w->of] * of->choices) & 1;
    x = 0;
    sscanf(d->text[w->of], "%lf", &x);
    return w->more ? x > w->bound : x < w->bound;
}

/* Writes --set; ctt_space_line() has looked that there is room. */
static void join_named(const struct ctt_space *s, struct ctt_draw *d)
{
    size_t n = 0;

    d->set[0] = '\0';
    for (int i = 0; i < s->count && n < sizeof(d->set); i++)
        if (ctt_setting_named(&s->setting[i]) && d->text[i])
            n += (size_t)snprintf(d->set + n, sizeof(d->set) - n, "%s%s=%s",
                                  n ? "," : "", s->setting[i].opt->name + 1,
                                  d->text[i]);
}

void ctt_space_draw(const struct ctt_space *s, uint64_t seed, int trial,
                    struct ctt_draw *out)
{
    uint64_t key = ctt_key(ctt_key(seed, CTT_KEY_SEARCH), (uint64_t)trial);
    struct ctt_draw all = { .text = { NULL } };

    for (int i = 0; i < s->count; i++)
        draw_one(s, i, key, &all);
    memcpy(out->number, all.number, sizeof(all.number));
    for (int i = 0; i < s->count; i++) {
        int is = holds(s, i, &all);

        out->at[i] = is ? all.at[i] : NAN;
        out->text[i] = !is ? NULL : all.text[i] == all.number[i]
                       ? out->number[i] : all.text[i];
    }
    join_named(s, out);
}

int ctt_space_apply(const struct ctt_space *s, const struct ctt_draw *d,
                    struct ctt_train_cfg *cfg)
{
    int rc = 0;

    for (int i = 0; i < s->count; i++)
        if (d->text[i] && !ctt_setting_named(&s->setting[i]))
            CTT_TRY(ctt_opt_set(ctt_train_opts, cfg, s->setting[i].opt->name,
                                d->text[i]));
    if (d->set[0])
        cfg->set = d->set;
out:
    return rc;
}

void ctt_draw_text(const struct ctt_space *s, const struct ctt_draw *d,
                   char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < s->count && n < size; i++)
        if (d->text[i])
            n += (size_t)snprintf(text + n, size - n, "%s%s=%s", n ? " " : "",
                                  s->setting[i].opt->name, d->text[i]);
}

/* ---- checks ---- */

int ctt_space_fits(const struct ctt_space *s, const struct ctt_graph *g)
{
    double is[CTT_MOSTS] = { 0 }, answer;

    ctt_graph_macs(g, &is[CTT_MOST_MACS], &answer);
    for (int i = 0; i < g->count; i++)
        is[CTT_MOST_PARAMS] += (double)ctt_node_params(&g->node[i]);
    for (int k = 0; k < CTT_MOSTS; k++)
        if (s->most[k] > 0 && is[k] > s->most[k])
            return 0;
    return 1;
}

int ctt_space_check_draw(const struct ctt_space *s, const struct ctt_draw *d,
                         const struct ctt_train_cfg *cfg, int trial)
{
    struct ctt_train_cfg c = *cfg;
    char text[512];
    int rc;

    c.checkpoint = NULL;    /* each trial has one of its own */
    CTT_TRY(ctt_space_apply(s, d, &c));
    CTT_TRY(ctt_train_check(&c));
out:
    if (rc < 0 && rc != CTT_ENOMEM) {
        ctt_draw_text(s, d, text, sizeof(text));
        rc = ctt_error(CTT_EINVAL, "%s: trial %d, %s: %s", s->path, trial + 1,
                       text, ctt_errmsg());
    }
    return rc;
}

int ctt_space_check(const struct ctt_space *s, const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    for (int i = 0; i < s->count; i++)
        CTT_CHECK(ctt_opt_is_default(s->setting[i].opt, cfg), CTT_EINVAL,
                  "%s:%d: --%s is given as well", s->path, s->setting[i].line,
                  ctt_setting_named(&s->setting[i]) ? "set"
                  : s->setting[i].opt->name);
    CTT_CHECK(cfg->seed <= 1000000000 - cfg->repeats, CTT_EINVAL, "--seed=%d: "
              "--repeats adds to it", cfg->seed);
    CTT_CHECK(cfg->search_first <= cfg->epochs, CTT_EINVAL, "--search-first="
              "%d: a trial has %d epochs", cfg->search_first, cfg->epochs);
    for (int i = 0; i < cfg->trials; i++) {
        struct ctt_draw d = { .text = { NULL } };

        ctt_space_draw(s, (uint64_t)cfg->seed, i, &d);
        CTT_TRY(ctt_space_check_draw(s, &d, cfg, i));
    }
out:
    return rc;
}
