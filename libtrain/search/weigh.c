/* SPDX-License-Identifier: Apache-2.0
 * weigh.c: the importance of each setting alone for the scores of trials. */
#include "libtrain/search/search.h"

#include <math.h>

/* Trials that have a setting: where it lies, and their ranks. */
struct points { int n; double *x, *y; };

/* Fewer than so many more trials than terms say nothing. */
enum { SPARE = 4 };

static double sum_of(const double *a, const double *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Takes the mean out. */
static void centre(double *a, int n)
{
    double mean = 0;

    for (int i = 0; i < n; i++)
        mean += a[i] / n;
    for (int i = 0; i < n; i++)
        a[i] -= mean;
}

/* The part of y that b explains, which is removed; 0 terms if b is constant. */
static double explain(const double *b, double *y, int n, int *terms)
{
    double bb = sum_of(b, b, n), by = sum_of(b, y, n);

    if (bb < 1e-9 * n)
        return 0;
    for (int i = 0; i < n; i++)
        y[i] -= by / bb * b[i];
    ++*terms;
    return by * by / bb;
}

/* A quadratic curve, by terms that are orthogonal on the points. */
static double by_curve(const struct points *p, int *terms)
{
    double sum, cubes = 0, squares;

    centre(p->x, p->n);
    sum = explain(p->x, p->y, p->n, terms);
    if (!*terms)
        return 0;
    squares = sum_of(p->x, p->x, p->n);
    for (int i = 0; i < p->n; i++)
        cubes += p->x[i] * p->x[i] * p->x[i];
    for (int i = 0; i < p->n; i++)
        p->x[i] = p->x[i] * p->x[i] - cubes / squares * p->x[i];
    centre(p->x, p->n);
    return sum + explain(p->x, p->y, p->n, terms);
}

/* The means of the choices. */
static double by_choice(const struct points *p, int choices, int *terms)
{
    double sum = 0;

    for (int k = 0; k < choices; k++) {
        double y = 0;
        int n = 0;

        for (int i = 0; i < p->n; i++)
            if ((int)(p->x[i] * choices) == k) {
                y += p->y[i];
                n++;
            }
        if (n) {
            sum += y * y / n;
            ++*terms;
        }
    }
    --*terms;
    return sum;
}

static double share_of(const struct ctt_setting *k, const struct points *p)
{
    double all, explained;
    int terms = 0;

    if (p->n < SPARE)
        return NAN;
    centre(p->y, p->n);
    all = sum_of(p->y, p->y, p->n);
    explained = k->kind == CTT_SETTING_CHOICE
                ? by_choice(p, k->choices, &terms) : by_curve(p, &terms);
    if (all <= 0 || terms < 1 || p->n - terms - 1 < SPARE)
        return NAN;
    return fmax(0, 1 - (1 - explained / all) * (p->n - 1) /
                   (p->n - terms - 1));
}

/* The ranks of the trials with a result, equal ones the mean of theirs; rank:
 * NAN for the others. */
static void rank_scores(const struct ctt_search *s, int epochs, double *score,
                        double *rank)
{
    int n = s->cfg->trials;

    for (int i = 0; i < n; i++)
        score[i] = ctt_trial_score(s, ctt_search_at(s, i, 0), epochs, NULL);
    for (int i = 0; i < n; i++) {
        rank[i] = 0;
        for (int k = 0; k < n; k++)
            if (ctt_search_at(s, k, 0)->rung >= 0)
                rank[i] += ctt_search_better(s, score[i], 0, score[k], 0) -
                           ctt_search_better(s, score[k], 0, score[i], 0);
        if (ctt_search_at(s, i, 0)->rung < 0)
            rank[i] = NAN;
    }
}

/* The number of epochs after which all trials have a score. */
static int common(const struct ctt_search *s)
{
    int least = s->rungs - 1;

    for (int i = 0; i < s->cfg->trials; i++) {
        const struct ctt_trial *t = ctt_search_at(s, i, 0);

        if (t->rung >= 0 && !t->failed && t->rung < least)
            least = t->rung;
    }
    return s->epochs[least];
}

int ctt_search_weigh(const struct ctt_search *s, struct ctt_weighed *out)
{
    size_t n = (size_t)s->cfg->trials;
    double *room = ctt_calloc(4 * n, sizeof(*room)), *ranks;
    struct points p;
    int rc = room ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p = (struct points){ 0, room, room + n };
    ranks = room + 3 * n;
    *out = (struct ctt_weighed){ .epochs = common(s) };
    rank_scores(s, out->epochs, room + 2 * n, ranks);
    for (int k = 0; k < s->space->count; k++) {
        p.n = 0;
        for (size_t i = 0; i < n; i++)
            if (!isnan(ranks[i]) && !isnan(s->draw[i].at[k])) {
                p.x[p.n] = s->draw[i].at[k];
                p.y[p.n++] = ranks[i];
            }
        out->trials[k] = p.n;
        out->share[k] = share_of(&s->space->setting[k], &p);
    }
out:
    ctt_free(room);
    return rc;
}
