/* SPDX-License-Identifier: Apache-2.0
 * prune.c: the stage "pruning": sets elements of the weights to zero for
 * good. */
#include "compress/stage.h"
#include "net/op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One element: its score and its offset in the flat block. */
struct item {
    double  score;
    int64_t at;
};

/* A weight: its `count` items from `first`, how many were pruned before, and
 * how many must stay. */
struct layer {
    int64_t at, count, first, gone, stay;
};

struct list {
    struct layer *layer;
    int           layers;
    struct item  *item;
    int64_t       items, gone, stay;
};

static int by_score(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;

    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int prunable(const struct ctt_node *n, const struct ctt_prune *o)
{
    if (!ctt_is_conv(n))
        return 0;
    return !o || (ctt_volume(&n->w[0]) >= o->least &&
                  !ctt_name_matches(o->except, n->name));
}

static int pruned(const struct ctt_model *m, int64_t at)
{
    return ctt_is_pruned(&m->constraint, at);
}

/* How many elements the weights that may be pruned have; returns how many of
 * them are pruned. */
static int64_t count_pruned(const struct ctt_model *m,
                            const struct ctt_prune *o, int64_t *all)
{
    int64_t gone = 0;

    *all = 0;
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (!prunable(n, o))
            continue;
        *all += ctt_volume(&n->w[0]);
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            gone += pruned(m, n->at[0] + k);
    }
    return gone;
}

double ctt_pruned(const struct ctt_model *m, const struct ctt_prune *o)
{
    int64_t all, gone = count_pruned(m, o, &all);

    return all ? (double)gone / (double)all : 0;
}

double ctt_prune_cubic(double s0, double s1, int round, int rounds)
{
    double left = 1 - (double)round / rounds;

    return s1 + (s0 - s1) * left * left * left;
}

/* ---- the list ---- */

static void add_layer(const struct ctt_model *m, const struct ctt_prune *o,
                      const struct ctt_node *n, struct list *l)
{
    struct layer *y = &l->layer[l->layers++];

    *y = (struct layer){ .at = n->at[0], .count = ctt_volume(&n->w[0]),
                         .first = l->items };
    for (int64_t k = 0; k < y->count; k++) {
        double x = m->w[y->at + k];
        int is_gone = pruned(m, y->at + k);
        /* Elements pruned before sort first, so that they stay pruned. */
        l->item[l->items++] = (struct item){ is_gone ? -1 : x * x,
                                             y->at + k };
        y->gone += is_gone;
    }
    y->stay = (int64_t)ceil((double)o->floor * (double)y->count);
    if (y->stay < 1)
        y->stay = 1;
    if (y->stay > y->count - y->gone)
        y->stay = y->count - y->gone;
    l->gone += y->gone;
    l->stay += y->stay;
    qsort(l->item + y->first, (size_t)y->count, sizeof(*l->item), by_score);
}

static int make_list(const struct ctt_model *m, const struct ctt_prune *o,
                     struct list *l)
{
    int64_t all = 0;
    int count = 0, rc = 0;

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (!prunable(n, o))
            continue;
        all += ctt_volume(&n->w[0]);
        count++;
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            CTT_CHECK(isfinite(m->w[n->at[0] + k]), CTT_ENAN,
                      "%s: a weight is not finite", n->name);
    }
    CTT_CHECK(count > 0, CTT_EINVAL, "the model has no weight to prune");
    l->layer = ctt_calloc((size_t)count, sizeof(*l->layer));
    l->item = ctt_calloc((size_t)all, sizeof(*l->item));
    CTT_TRY(l->layer && l->item ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++)
        if (prunable(&m->g->node[i], o))
            add_layer(m, o, &m->g->node[i], l);
out:
    return rc;
}

/* ---- scores that are comparable between weights ---- */

static void lamp(struct item *item, int64_t n)
{
    double sum = 0;

    for (int64_t k = n - 1; k >= 0; k--) {
        sum += item[k].score;
        if (sum > 0)
            item[k].score /= sum;
    }
}

static void magnitude(struct item *item, int64_t n)
{
    double sum = 0;

    for (int64_t k = 0; k < n; k++)
        sum += item[k].score;
    for (int64_t k = 0; k < n && sum > 0; k++)
        item[k].score *= (double)n / sum;
}

static void (*const scores[])(struct item *, int64_t) = {
    [CTT_SCORE_LAMP] = lamp, [CTT_SCORE_MAGNITUDE] = magnitude,
};

static void compare_all(struct list *l, int score)
{
    for (int i = 0; i < l->layers; i++) {
        struct layer *y = &l->layer[i];
        struct item *item = l->item + y->first;

        scores[score](item + y->gone, y->count - y->gone);
        for (int64_t k = y->count - y->stay; k < y->count; k++)
            item[k].score = HUGE_VAL;
    }
    qsort(l->item, (size_t)l->items, sizeof(*l->item), by_score);
}

/* ---- pruning ---- */

static void zero(struct ctt_model *m, const struct item *item, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        m->w[item[k].at] = 0;
        m->constraint.keep[item[k].at] = 0;
        if (m->constraint.share)
            m->constraint.share[item[k].at] = 0;
    }
}

static int64_t wanted(double share, int64_t count, int64_t gone, int64_t stay)
{
    int64_t n = (int64_t)llround(share * (double)count);

    n = n > count - stay ? count - stay : n;
    return n < gone ? gone : n;
}

int ctt_prune(struct ctt_model *m, const struct ctt_prune *o, double share)
{
    struct list l = { NULL };
    int rc = 0;

    CTT_TRY(make_list(m, o, &l));
    CTT_TRY(ctt_constraint_mask(&m->constraint, m->g->weights));
    if (o->scope == CTT_PRUNE_GLOBAL) {
        compare_all(&l, o->score);
        zero(m, l.item, wanted(share, l.items, l.gone, l.stay));
    }
    for (int i = 0; i < l.layers && o->scope == CTT_PRUNE_LAYER; i++) {
        const struct layer *y = &l.layer[i];
        zero(m, l.item + y->first, wanted(share, y->count, y->gone, y->stay));
    }
out:
    ctt_free(l.layer);
    ctt_free(l.item);
    return rc;
}

/* ---- the stage ---- */

static const char *const scope_words[] = { "global", "layer", NULL };
static const char *const score_words[] = { "lamp", "magnitude", NULL };

#define FIELD(f) offsetof(struct ctt_recipe, prune.f)

static const struct ctt_opt options[] = {
    { .name = "prune", .type = CTT_FLOAT, .off = FIELD(share), .dflt = "0",
      .help = "fraction of the prunable weights (of their cores, if "
      "factorised) to set to zero; --prune-least and --prune-except say which "
      "are prunable; 0: none", .max = 0.9999, .arg = "SHARE",
      .tags = CTT_OPT_COMMON },
    { .name = "prune-rounds", .type = CTT_INT, .off = FIELD(rounds),
      .dflt = "0", .help = "number of rounds of pruning and retraining; 0: one "
      "retraining, which prunes in --prune-steps steps",
      .max = 100, .arg = "N", .needs = "prune" },
    { .name = "prune-steps", .type = CTT_INT, .off = FIELD(steps),
      .dflt = "40", .help = "number of steps in which one retraining prunes, "
      "fastest at its start (Zhu and Gupta 2017)",
      .min = 1, .max = 100000, .arg = "N",
      .needs = "prune prune-rounds=0" },
    { .name = "prune-until", .type = CTT_FLOAT, .off = FIELD(until),
      .dflt = "0.6", .help = "fraction of this retraining after which nothing "
      "more is pruned", .max = 1, .arg = "SHARE",
      .needs = "prune prune-rounds=0" },
    { .name = "prune-scope", .type = CTT_CHOICE, .off = FIELD(scope),
      .dflt = "global", .help = "prune the smallest values of all weights "
      "together, or of each layer", .choices = scope_words,
      .needs = "prune" },
    { .name = "prune-score", .type = CTT_CHOICE, .off = FIELD(score),
      .dflt = "lamp", .help = "measure by which values of different weights "
      "are compared", .choices = score_words,
      .needs = "prune" },
    { .name = "prune-keep", .type = CTT_FLOAT, .off = FIELD(floor),
      .dflt = "0.02", .help = "fraction of each weight that is never pruned",
      .max = 1, .arg = "SHARE",
      .needs = "prune" },
    { .name = "prune-least", .type = CTT_INT, .off = FIELD(least),
      .dflt = "4096", .help = "do not prune weights and cores with fewer "
      "values", .max = 1 << 30, .arg = "N",
      .needs = "prune" },
    { .name = "prune-except", .type = CTT_STRING, .off = FIELD(except),
      .dflt = "", .help = "weights not to prune", .arg = "PATTERNS",
      .needs = "prune" },
    { .name = NULL }
};

static int asked(const struct ctt_recipe *o)
{
    return o->prune.share > 0;
}

static int check(const struct ctt_recipe *o, const struct ctt_model *m)
{
    const struct ctt_prune *p = &o->prune;
    int64_t all, gone = count_pruned(m, p, &all);
    int rc = 0;

    CTT_CHECK(p->share >= 0 && p->share < 1, CTT_EINVAL,
              "a share of %g cannot be pruned", (double)p->share);
    CTT_CHECK(p->share == 0 || p->rounds > 0 || p->steps > 0, CTT_EINVAL,
              "pruning takes at least one round or step");
    CTT_TRY(ctt_names_check(m, p->except));
    if (p->share == 0 || ctt_stage_tt.asked(o) || ctt_stage_svd.asked(o))
        goto out;    /* cores are not known yet */
    CTT_CHECK(all > 0, CTT_EINVAL, "the model has no weight to prune: none has "
              "%d values (--prune-least) or all are excepted", p->least);
    CTT_CHECK(gone == 0 || gone < llround((double)p->share * (double)all),
              CTT_EINVAL,
              "nothing to prune: %.2f%% of the prunable weights are pruned "
              "already, %g%% are asked", 100 * ctt_pruned(m, p),
              100 * (double)p->share);
out:
    return rc;
}

static int rounds(const struct ctt_recipe *o)
{
    return o->prune.rounds > 0 ? o->prune.rounds : 1;
}

/* The last round takes half of the epochs. */
static double spent(const struct ctt_recipe *o, int round, double all)
{
    return all * 0.5 * round / (o->prune.rounds - 1);
}

/* How many of the steps of pruning are done when batch `batch` of `batches`
 * begins. */
static int64_t steps_done(const struct ctt_prune *o, int64_t batch,
                          int64_t batches)
{
    int64_t until = (int64_t)((double)o->until * (double)batches);

    until = until < 1 ? 1 : until;
    return batch + 1 >= until ? o->steps : o->steps * (batch + 1) / until;
}

static int due(const void *arg, int64_t batch, int64_t batches)
{
    const struct ctt_prune *o = &((const struct ctt_walk *)arg)->o->prune;

    return steps_done(o, batch, batches) > (batch ? steps_done(o, batch - 1,
                                                               batches) : 0);
}

static int change(void *arg, struct ctt_model *m, int64_t batch,
                  int64_t batches)
{
    const struct ctt_walk *k = arg;
    const struct ctt_prune *o = &k->o->prune;
    int64_t step = steps_done(o, batch, batches);

    return ctt_prune(m, o, ctt_prune_cubic(k->start, (double)o->share,
                                           (int)step, o->steps));
}

/* Cores may all be too small to be pruned. */
static int has_prunable(const struct ctt_walk *k)
{
    int64_t all;

    count_pruned(*k->m, &k->o->prune, &all);
    return all > 0;
}

/* Whether this round is pruned while it is retrained. */
static int in_steps(const struct ctt_walk *k)
{
    return k->o->prune.rounds == 0 && k->epochs > 0 && has_prunable(k);
}

static void during(struct ctt_walk *k, struct ctt_changes *c)
{
    if (in_steps(k))
        *c = (struct ctt_changes){ k, due, change };
}

/* Only prepares the mask, as the retraining prunes. */
static int prepare(struct ctt_walk *k)
{
    const struct ctt_prune *o = &k->o->prune;
    int rc;

    CTT_TRY(ctt_prune(*k->m, o, k->start));
    snprintf(k->name, sizeof(k->name), "pruned");
    snprintf(k->line, sizeof(k->line), "pruned: in %d steps to %.2f%% of the "
             "prunable weights", o->steps, 100 * (double)o->share);
out:
    return rc;
}

static int prune_round(struct ctt_walk *k, int round)
{
    const struct ctt_prune *o = &k->o->prune;
    double was = ctt_pruned(*k->m, o);
    int all = rounds(k->o), rc = 0;
    char what[CTT_NAME];

    if (has_prunable(k))
        CTT_TRY(ctt_prune(*k->m, o, ctt_prune_cubic(k->start, (double)o->share,
                                                    round, all)));
    snprintf(k->name, sizeof(k->name), "pruned %d/%d", round, all);
    if (!(ctt_pruned(*k->m, o) > was)) {
        snprintf(what, sizeof(what), "%s", k->name);
        ctt_walk_same(k, what);
    }
    snprintf(k->line, sizeof(k->line), "%s: %.2f%% of all convolution weights, "
             "%.2f%% of the prunable ones", k->name,
             100 * ctt_pruned(*k->m, NULL), 100 * ctt_pruned(*k->m, o));
out:
    return rc;
}

static int run(struct ctt_walk *k, int round)
{
    if (round == 1)
        k->start = ctt_pruned(*k->m, &k->o->prune);
    return in_steps(k) ? prepare(k) : prune_round(k, round);
}

const struct ctt_stage ctt_stage_prune = {
    .section = "Pruning", .options = options, .ask = "--prune", .epochs = 1,
    .asked = asked, .check = check, .rounds = rounds, .spent = spent,
    .run = run, .during = during,
};
