/* SPDX-License-Identifier: Apache-2.0
 * stages.c: the stages of compression in the order in which a recipe runs
 * them, their options, and their shares of the epochs. */
#include "compress/stage.h"

#include <stdio.h>

/* Each preserves the results of earlier ones: what is factorised has the
 * channels that are left, a tensor train is made of what no SVD has replaced,
 * pruning works on cores, folding keeps zeros and drops the channels that
 * pruning left without use, what is pruned shares no value, and rounding keeps
 * zeros and equal values.  Folding stands before sharing, since
 * norms would end that, and before INT8, which quantises what convs then
 * read. */
const struct ctt_stage *const ctt_stages[] = {
    &ctt_stage_thin,
    &ctt_stage_svd,
    &ctt_stage_tt,
    &ctt_stage_prune,
    &ctt_stage_fold,
    &ctt_stage_share,
    &ctt_stage_int8,
    &ctt_stage_round,
    NULL
};

int ctt_stage_rounds(const struct ctt_stage *s, const struct ctt_recipe *o)
{
    if (!s->asked(o))
        return 0;
    return s->rounds ? s->rounds(o) : 1;
}

int ctt_recipe_options(size_t base, struct ctt_opt *tab, int room)
{
    int n = 0, rc = 0;

    for (int i = 0; ctt_stages[i]; i++)
        for (const struct ctt_opt *o = ctt_stages[i]->options; o->name; o++) {
            CTT_CHECK(n < room, CTT_EINVAL, "too many options");
            tab[n] = *o;
            tab[n].section = ctt_stages[i]->section;
            tab[n++].off += base;
        }
    rc = n;
out:
    return rc;
}

int ctt_recipe_asked(const struct ctt_recipe *o)
{
    char all[256] = "";
    size_t n = 0;

    for (int i = 0; ctt_stages[i]; i++) {
        const struct ctt_stage *s = ctt_stages[i];

        if (!s->ask)
            continue;
        if (s->given ? s->given(o) : s->asked(o))
            return 0;
        if (n < sizeof(all))
            n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s",
                                  n ? ", or " : "", s->ask);
    }
    return ctt_error(CTT_EINVAL, "nothing to do: give %s", all);
}

/* ---- epochs ---- */

/* Whether a stage after stage i is retrained as well. */
static int retrains_later(const struct ctt_recipe *o, int i)
{
    while (ctt_stages[++i])
        if (ctt_stages[i]->epochs > 0 && ctt_stages[i]->asked(o))
            return 1;
    return 0;
}

/* The share of the epochs that is spent after `rounds` rounds of all stages. */
static double spent(const struct ctt_recipe *o, int rounds)
{
    double start = 0;

    for (int i = 0; ctt_stages[i] && rounds > 0; i++) {
        const struct ctt_stage *s = ctt_stages[i];
        int mine = ctt_stage_rounds(s, o), later = retrains_later(o, i);
        double all = (1 - start) * (later ? s->epochs : 1);

        if (mine > 0 && s->epochs > 0) {
            if (rounds < mine)
                return start + s->spent(o, rounds, all);
            start = later ? start + all : 1;
        }
        rounds -= mine;
    }
    return start;
}

/* Rounds down: if there are few epochs, the last rounds get them.  EPSILON: of
 * the sum of shares, such as thirds. */
#define EPSILON 1e-9

/* The stage of a round. */
static const struct ctt_stage *stage_of(const struct ctt_recipe *o, int round)
{
    for (int i = 0; ctt_stages[i]; i++) {
        round -= ctt_stage_rounds(ctt_stages[i], o);
        if (round < 0)
            return ctt_stages[i];
    }
    return NULL;
}

int ctt_recipe_epochs(const struct ctt_recipe *o, int round)
{
    const struct ctt_stage *s = stage_of(o, round);

    if (s && s->own_epochs)
        return o->epochs > 0 ? s->own_epochs(o) : 0;
    return (int)(o->epochs * spent(o, round + 1) + EPSILON) -
           (int)(o->epochs * spent(o, round) + EPSILON);
}
