/* SPDX-License-Identifier: Apache-2.0
 * epochs.c: how many epochs a recipe retrains, and how far it is. */
#include "compress/stage.h"

#include <math.h>
#include <stdio.h>

int ctt_recipe_rounds(const struct ctt_recipe *o)
{
    int n = 0;

    for (int i = 0; ctt_stages[i]; i++)
        n += ctt_stage_rounds(ctt_stages[i], o);
    return n;
}

int ctt_recipe_last(const struct ctt_recipe *o)
{
    int last = -1, sum = 0;

    for (int i = 0, n = ctt_recipe_rounds(o); i < n; i++) {
        int e = ctt_recipe_epochs(o, i);

        if (e > 0 && (last < 0 || sum < o->epochs))
            last = i;
        sum += e;
    }
    return last;
}

int64_t ctt_epochs_before(const struct ctt_recipe *o, int n)
{
    int64_t sum = n < 2 ? 0 : (int64_t)o->epochs << (n - 2);

    return sum < o->limit ? sum : o->limit;
}

int ctt_retraining_epochs(const struct ctt_recipe *o, int round, int n)
{
    int64_t sum = ctt_epochs_before(o, n), left = o->limit - sum;

    return n < 2 ? ctt_recipe_epochs(o, round) : (int)(sum < left ? sum : left);
}

struct ctt_epochs ctt_epochs_at(const struct ctt_recipe *o, int round, int n)
{
    struct ctt_epochs s = { .now = ctt_retraining_epochs(o, round, n) };
    int rounds = ctt_recipe_rounds(o);

    for (int i = 0; i < round; i++)
        s.done += ctt_recipe_epochs(o, i);
    for (int i = 1; i < n; i++)
        s.done += ctt_retraining_epochs(o, round, i);
    for (int i = round + 1; i < rounds; i++)
        s.later += ctt_recipe_epochs(o, i);
    if (!o->automatic || round > ctt_recipe_last(o))
        return s;
    for (int i = 0; i < rounds; i++)
        s.most += ctt_recipe_epochs(o, i);
    s.most += o->limit - o->epochs;
    return s;
}

const char *ctt_epochs_text(const struct ctt_epochs *s, double part, char *text,
                            size_t size)
{
    int64_t all = s->done + s->now + s->later;
    double done = (double)s->done + part;
    char more[48] = "";

    if (s->most > all)
        snprintf(more, sizeof(more), " (at most %lld)",
                 (long long)s->most);
    snprintf(text, size, "; epoch %.0f of %lld in all%s",
             fmin(floor(done) + 1, (double)all), (long long)all, more);
    if (all == 0)
        *text = '\0';
    return text;
}
