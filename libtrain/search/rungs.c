/* SPDX-License-Identifier: Apache-2.0
 * rungs.c: the next trial of a search: rungs, promotions, repeats. */
#include "libtrain/search/search.h"

#include <math.h>
#include <stdlib.h>

/* ---- the state ---- */

/* Before an eighth of the epochs most trials are near chance, and luck would
 * promote them. */
enum { FIRST_PART = 8 };
int ctt_search_first(const struct ctt_train_cfg *c)
{
    int first = c->epochs / FIRST_PART;

    if (c->search_first != CTT_OPT_WORD)
        return c->search_first;
    return first > 1 && c->search_method != CTT_SEARCH_RANDOM ? first : 1;
}

/* The last rung is --epochs; one that it is less than twice as far is left
 * out. */
static void make_rungs(struct ctt_search *s)
{
    const struct ctt_train_cfg *c = s->cfg;
    int64_t e = ctt_search_first(c);

    if (c->search_method != CTT_SEARCH_RANDOM)
        for (; 2 * e <= c->epochs; e *= c->search_factor)
            s->epochs[s->rungs++] = (int)e;
    s->epochs[s->rungs++] = c->epochs;
}

int ctt_search_new(const struct ctt_space *space,
                   const struct ctt_train_cfg *cfg, struct ctt_search **out)
{
    struct ctt_search *s = ctt_calloc(1, sizeof(*s));
    size_t n = (size_t)cfg->trials, all = n * (size_t)cfg->repeats;
    int rc = s ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    s->cfg = cfg;
    s->space = space;
    s->won[0] = s->won[1] = -1;
    make_rungs(s);
    s->draw = ctt_calloc(n, sizeof(*s->draw));
    s->trial = ctt_calloc(all, sizeof(*s->trial));
    CTT_TRY(s->draw && s->trial ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < n; i++)
        ctt_space_draw(space, (uint64_t)cfg->seed, (int)i, &s->draw[i]);
    for (size_t i = 0; i < all; i++)
        s->trial[i].rung = -1;
    *out = s;
    s = NULL;
out:
    ctt_search_free(&s);
    return rc;
}

void ctt_search_free(struct ctt_search **s)
{
    size_t n = *s && (*s)->trial ? (size_t)(*s)->cfg->trials *
                                   (size_t)(*s)->cfg->repeats : 0;

    for (size_t i = 0; i < n; i++) {
        ctt_free((*s)->trial[i].score);
        ctt_free((*s)->trial[i].loss);
        ctt_free((*s)->trial[i].failed);
    }
    if (*s) {
        ctt_free((*s)->trial);
        ctt_free((*s)->draw);
    }
    ctt_free(*s);
    *s = NULL;
}

struct ctt_trial *ctt_search_at(const struct ctt_search *s, int trial,
                                int repeat)
{
    return &s->trial[(size_t)trial * (size_t)s->cfg->repeats + (size_t)repeat];
}

/* ---- scores ---- */

static int fewer(int a, int b)
{
    return a < b ? a : b;
}

int ctt_search_better(const struct ctt_search *s, double score, double loss,
                      double than, double its_loss)
{
    if (isnan(score) || isnan(than))
        return !isnan(score) && isnan(than);
    if (score != than)
        return s->cfg->task == CTT_PREDICT ? score < than : score > than;
    return loss < its_loss;
}

int ctt_trial_best(const struct ctt_search *s, const struct ctt_trial *t,
                   int epochs)
{
    int n = fewer(epochs, t->epochs);
    int best = ctt_picks_last(s->cfg) ? n - 1 : 0;

    for (int i = best + 1; i < n; i++)
        if (ctt_search_better(s, t->score[i], t->loss[i], t->score[best],
                              t->loss[best]))
            best = i;
    return t->failed || n < 1 ? 0 : best + 1;
}

double ctt_trial_score(const struct ctt_search *s, const struct ctt_trial *t,
                       int epochs, double *loss)
{
    int best = ctt_trial_best(s, t, epochs);

    if (loss)
        *loss = best ? t->loss[best - 1] : INFINITY;
    return best ? t->score[best - 1] : NAN;
}

/* A trial and its sort keys. */
struct ranked { const struct ctt_search *s; int trial; double score, loss; };

static int by_score(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;

    if (ctt_search_better(a->s, a->score, a->loss, b->score, b->loss))
        return -1;
    if (ctt_search_better(a->s, b->score, b->loss, a->score, a->loss))
        return 1;
    return a->trial - b->trial;
}

/* The trials that are in the list, and have a score at the rung, the best
 * first; returns how many of them are no failures. */
static int rank_trials(const struct ctt_search *s, int rung,
                       struct ranked *list, int n)
{
    int good = 0;

    for (int i = 0; i < n; i++) {
        list[i].s = s;
        list[i].score = ctt_trial_score(s, ctt_search_at(s, list[i].trial, 0),
                                        s->epochs[rung], &list[i].loss);
        good += !isnan(list[i].score);
    }
    qsort(list, (size_t)n, sizeof(*list), by_score);
    return good;
}

/* Lists the trials that have reached a rung. */
static int reached(const struct ctt_search *s, int rung, struct ranked *list)
{
    int n = 0;

    for (int i = 0; i < s->cfg->trials; i++)
        if (ctt_search_at(s, i, 0)->rung >= rung)
            list[n++].trial = i;
    return n;
}

/* ---- methods ---- */

/* Each sets out and returns 1, or 0; list: room for all trials. */
static int go_on(int trial, int rung, struct ctt_search_job *out)
{
    *out = (struct ctt_search_job){ trial, 0, rung };
    return 1;
}

static int next_new(const struct ctt_search *s, struct ctt_search_job *out)
{
    for (int i = 0; i < s->cfg->trials; i++) {
        const struct ctt_trial *t = ctt_search_at(s, i, 0);

        if (t->rung < 0 && !t->running)
            return go_on(i, 0, out);
    }
    return 0;
}

/* The first of the best `count` that waits at the rung. */
static int next_of(const struct ctt_search *s, int rung,
                   const struct ranked *list, int count,
                   struct ctt_search_job *out)
{
    for (int i = 0; i < count; i++) {
        const struct ctt_trial *t = ctt_search_at(s, list[i].trial, 0);

        if (t->rung == rung && !t->running)
            return go_on(list[i].trial, rung + 1, out);
    }
    return 0;
}

static int next_asha(const struct ctt_search *s, struct ranked *list,
                     struct ctt_search_job *out)
{
    for (int k = s->rungs - 2; k >= 0; k--) {
        int n = reached(s, k, list), good = rank_trials(s, k, list, n);

        if (next_of(s, k, list, fewer(good, n / s->cfg->search_factor), out))
            return 1;
    }
    return next_new(s, out);
}

/* list: the trials of a rung, from the first rung on.  At least one of each
 * rung goes on. */
static int next_halving(const struct ctt_search *s, struct ranked *list,
                        struct ctt_search_job *out)
{
    int n = s->cfg->trials;

    if (next_new(s, out))
        return 1;
    for (int i = 0; i < n; i++)
        list[i].trial = i;
    for (int k = 0; k + 1 < s->rungs; k++) {
        int good;

        for (int i = 0; i < n; i++)
            if (ctt_search_at(s, list[i].trial, 0)->rung < k)
                return 0;
        good = rank_trials(s, k, list, n);
        n /= s->cfg->search_factor;
        n = fewer(good, n > 1 ? n : 1);
        if (next_of(s, k, list, n, out))
            return 1;
    }
    return 0;
}

static int next_random(const struct ctt_search *s, struct ranked *list,
                       struct ctt_search_job *out)
{
    (void)list;
    return next_new(s, out);
}

/* The mean score of the first epochs. */
static double running_mean(const struct ctt_trial *t, int epochs)
{
    int n = fewer(epochs, t->epochs);
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += t->score[i];
    return n && !t->failed ? sum / n : NAN;
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Compares trials that were at the rung before, so that later ones change
 * nothing. */
enum { MEDIAN_LEAST = 3 };

static int is_below(const struct ctt_search *s, const struct ctt_trial *t,
                    int rung, double *means)
{
    double score = ctt_trial_score(s, t, s->epochs[rung], NULL), median;
    int n = 0;

    for (int i = 0; i < s->cfg->trials; i++) {
        const struct ctt_trial *o = ctt_search_at(s, i, 0);
        double mean;

        if (o->rung < rung || o->order[rung] >= t->order[rung])
            continue;
        mean = running_mean(o, s->epochs[rung]);
        if (!isnan(mean))
            means[n++] = mean;
    }
    if (n < MEDIAN_LEAST)
        return isnan(score);
    qsort(means, (size_t)n, sizeof(*means), by_size);
    median = 0.5 * (means[n / 2] + means[(n - 1) / 2]);
    return ctt_search_better(s, median, 0, score, 0);
}

static int next_median(const struct ctt_search *s, struct ranked *list,
                       struct ctt_search_job *out)
{
    _Static_assert(sizeof(double) <= sizeof(*list), "room for numbers");

    for (int i = 0; i < s->cfg->trials; i++) {
        const struct ctt_trial *t = ctt_search_at(s, i, 0);

        if (!t->running && !t->failed && t->rung >= 0 &&
            t->rung + 1 < s->rungs &&
            !is_below(s, t, t->rung, (double *)(void *)list))
            return go_on(i, t->rung + 1, out);
    }
    return next_new(s, out);
}

static int (*const methods[])(const struct ctt_search *, struct ranked *,
                              struct ctt_search_job *) = {
    [CTT_SEARCH_ASHA] = next_asha, [CTT_SEARCH_HALVING] = next_halving,
    [CTT_SEARCH_MEDIAN] = next_median, [CTT_SEARCH_RANDOM] = next_random,
};

/* ---- the last trials ---- */

/* Whether one of the trials, no repeat, is being trained. */
static int trials_run(const struct ctt_search *s)
{
    for (int i = 0; i < s->cfg->trials; i++)
        if (ctt_search_at(s, i, 0)->running)
            return 1;
    return 0;
}

/* The number of trials to train to the end. */
static int wanted(const struct ctt_search *s)
{
    return s->cfg->repeats > 1 ? CTT_SEARCH_TOP : 1;
}

/* The number of trials that run to the last rung; -1: another trial runs, whose
 * result may matter to waiting ones. */
static int at_last(const struct ctt_search *s)
{
    int n = 0;

    for (int i = 0; i < s->cfg->trials; i++) {
        const struct ctt_trial *t = ctt_search_at(s, i, 0);

        if (t->running && t->rung != s->rungs - 2)
            return -1;
        n += t->running;
    }
    return n;
}

/* Fewer may have come to the end, of few trials, or of many that failed: then
 * the best of those that came furthest goes on. */
static int next_furthest(const struct ctt_search *s, struct ranked *list,
                         struct ctt_search_job *out)
{
    int last = s->rungs - 1, going = at_last(s);

    if (going < 0 || wanted(s) <=
        going + rank_trials(s, last, list, reached(s, last, list)))
        return 0;
    for (int k = last - 1; k >= 0; k--) {
        int good = rank_trials(s, k, list, reached(s, k, list));

        if (next_of(s, k, list, good, out))
            return 1;
    }
    return 0;
}

/* Once no trial is left: repeats of the best ones, at once to the end. */
static int next_repeat(const struct ctt_search *s, struct ctt_search_job *out)
{
    int top[CTT_SEARCH_TOP], n = ctt_search_ranks(s, top, CTT_SEARCH_TOP);

    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        for (int k = 1; k < s->cfg->repeats; k++) {
            const struct ctt_trial *t = ctt_search_at(s, top[i], k);

            if (t->rung >= 0 || t->running)
                continue;
            *out = (struct ctt_search_job){ top[i], k, s->rungs - 1 };
            return 1;
        }
    return 0;
}

int ctt_search_next(const struct ctt_search *s, struct ctt_search_job *out)
{
    struct ranked *list = ctt_calloc((size_t)s->cfg->trials, sizeof(*list));
    int rc = list ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    rc = methods[s->cfg->search_method](s, list, out);
    if (rc == 0)
        rc = next_furthest(s, list, out);
    if (rc == 0 && !trials_run(s))
        rc = next_repeat(s, out);
out:
    ctt_free(list);
    return rc;
}

/* ---- results ---- */

int ctt_search_ranks(const struct ctt_search *s, int *trial, int n)
{
    struct ranked *list = ctt_calloc((size_t)s->cfg->trials, sizeof(*list));
    int rc = list ? 0 : CTT_ENOMEM, last = s->rungs - 1;

    CTT_TRY(rc);
    rc = rank_trials(s, last, list, reached(s, last, list));
    rc = fewer(rc, n);
    for (int i = 0; i < rc; i++)
        trial[i] = list[i].trial;
out:
    ctt_free(list);
    return rc;
}

/* ---- work ---- */

/* The share of trials that is expected to go on from a rung. */
static double share(const struct ctt_search *s)
{
    return s->cfg->search_method == CTT_SEARCH_MEDIAN ? 0.5
           : 1.0 / s->cfg->search_factor;
}

/* Epochs of the trials that are trained, are being trained, or will be as no
 * trial is left out. */
static double begun(const struct ctt_search *s)
{
    double sum = 0;

    for (int i = 0; i < s->cfg->trials; i++) {
        const struct ctt_trial *t = ctt_search_at(s, i, 0);
        int goes = t->running || (t->rung < 0 && !t->failed);
        int rung = t->rung + (goes && t->rung + 1 < s->rungs);

        sum += rung >= 0 ? s->epochs[rung] : 0;
    }
    return sum;
}

void ctt_search_work(const struct ctt_search *s, double *done, double *all)
{
    int last = s->rungs - 1, was = 0, least = fewer(wanted(s), s->cfg->trials);
    double repeats = (double)fewer(CTT_SEARCH_TOP, s->cfg->trials) *
                     (s->cfg->repeats - 1) * s->epochs[last];
    size_t n = (size_t)s->cfg->trials * (size_t)s->cfg->repeats;
    double trials = s->cfg->trials;

    *done = *all = 0;
    for (size_t i = 0; i < n; i++)
        if (s->trial[i].rung >= 0)
            *done += s->epochs[s->trial[i].rung];
    for (int k = 0; k < s->rungs; k++) {
        *all += trials * (s->epochs[k] - was);
        was = s->epochs[k];
        trials = fmax(least, trials * share(s));
    }
    *all = fmax(*all, begun(s)) + repeats;
    *all = fmax(*all, *done);
}
