/* SPDX-License-Identifier: Apache-2.0
 * winner.c: which trial of a search has won, over its repeats. */
#include "libtrain/search/search.h"

#include <math.h>

int ctt_search_mean(const struct ctt_search *s, int trial, double *mean,
                    double *deviation)
{
    int last = s->rungs - 1, n = 0;
    double sum = 0, squares = 0;

    for (; n < s->cfg->repeats; n++) {
        const struct ctt_trial *t = ctt_search_at(s, trial, n);
        double x = ctt_trial_score(s, t, s->epochs[last], NULL);

        if (t->rung < last)
            break;
        if (isnan(x))
            return 0;
        sum += x;
        squares += x * x;
    }
    if (!n)
        return 0;
    *mean = sum / n;
    *deviation = n > 1 ? sqrt(fmax(0, (squares - sum * sum / n) / (n - 1)))
                       : NAN;
    return n;
}

/* Of the repeats of a trial. */
static int best_repeat(const struct ctt_search *s, int trial)
{
    int last = s->epochs[s->rungs - 1], best = 0;
    double score, loss, its;

    for (int k = 1; k < s->cfg->repeats; k++) {
        double now = ctt_trial_score(s, ctt_search_at(s, trial, k), last, &its);

        score = ctt_trial_score(s, ctt_search_at(s, trial, best), last, &loss);
        if (ctt_search_better(s, now, its, score, loss))
            best = k;
    }
    return best;
}

int ctt_search_winner(const struct ctt_search *s, struct ctt_search_job *out)
{
    int top[CTT_SEARCH_TOP], n = ctt_search_ranks(s, top, CTT_SEARCH_TOP);
    double best = NAN, mean, deviation;
    int won = -1;

    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)    /* of equal means the first */
        if (ctt_search_mean(s, top[i], &mean, &deviation) &&
            ctt_search_better(s, mean, 0, best, 0)) {
            best = mean;
            won = top[i];
        }
    if (won < 0)
        return 0;
    *out = (struct ctt_search_job){ won, best_repeat(s, won), s->rungs - 1 };
    return 1;
}
