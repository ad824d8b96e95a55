/* SPDX-License-Identifier: Apache-2.0
 * prune.c: the stage "pruning": rounds or steps of pruning, and its options. */
#include "compress/stage.h"

#include <math.h>
#include <stdio.h>

static const char *const scope_words[] = { "global", "layer", NULL };
static const char *const score_words[] = { "lamp", "magnitude", NULL };
static const char *const form_words[] = {
    CTT_PRUNE_WORDS, [CTT_PRUNE_AUTO] = "auto", NULL
};

/* Names of the forms in the model's history. */
static const char *const form_text[CTT_PRUNE_FORMS] = {
    [CTT_PRUNE_ANY] = "", [CTT_PRUNE_BLOCK] = ", in blocks of 4 inputs",
    [CTT_PRUNE_ROW] = ", in rows of 16 outputs",
    [CTT_PRUNE_TWO] = ", two of each 4 inputs",
};

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
    { .name = "prune-form", .type = CTT_CHOICE, .off = FIELD(form),
      .dflt = "auto", .help = "prune single values; blocks of 4 neighbouring "
      "input channels, which one instruction multiplies in INT8; rows of 16 "
      "neighbouring output channels, which one instruction multiplies in "
      "floats; or, with --prune 0.5, two of each 4 neighbouring input channels "
      "(2:4), as sparse tensor cores read them; auto: --for decides between "
      "any and block (any without retraining)", .choices = form_words,
      .needs = "prune" },
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

static int pruning_asked(const struct ctt_recipe *o)
{
    return o->prune.share > 0;
}

static int check_pruning(const struct ctt_recipe *o, const struct ctt_model *m)
{
    const struct ctt_prune *p = &o->prune;
    int64_t all, gone = ctt_count_pruned(m, p, &all);
    int rc = 0;

    CTT_CHECK(p->share >= 0 && p->share < 1, CTT_EINVAL,
              "a share of %g cannot be pruned", (double)p->share);
    CTT_CHECK(p->share == 0 || p->rounds > 0 || p->steps > 0, CTT_EINVAL,
              "pruning takes at least one round or step");
    CTT_CHECK(p->form != CTT_PRUNE_TWO || p->share == 0.5f, CTT_EINVAL,
              "--prune-form 2:4 takes half of the weights, not %g: --prune 0.5",
              (double)p->share);
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

/* Number of pruning steps that are done before batch `batch` of `batches`. */
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

static int prune_step(void *arg, struct ctt_model *m, int64_t batch,
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

    ctt_count_pruned(*k->m, &k->o->prune, &all);
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
        *c = (struct ctt_changes){ k, due, prune_step };
}

/* Only prepares the mask, as the retraining prunes. */
static int prepare(struct ctt_walk *k)
{
    const struct ctt_prune *o = &k->o->prune;
    int rc;

    CTT_TRY(ctt_prune(*k->m, o, k->start));
    snprintf(k->name, sizeof(k->name), "pruned");
    snprintf(k->line, sizeof(k->line), "pruned: in %d steps to %.2f%% of the "
             "prunable weights%s", o->steps, 100 * (double)o->share,
             form_text[o->form]);
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
             "%.2f%% of the prunable ones%s", k->name,
             100 * ctt_pruned(*k->m, NULL), 100 * ctt_pruned(*k->m, o),
             form_text[o->form]);
out:
    return rc;
}

static int prune_weights(struct ctt_walk *k, int round)
{
    if (round == 1)
        k->start = ctt_pruned(*k->m, &k->o->prune);
    return in_steps(k) ? prepare(k) : prune_round(k, round);
}

static const double shares[] = { 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995 };

#define ALONE "prune-least=1 prune-keep=0 prune-scope=layer prune-form="

static const struct ctt_ladder ladders[] = {
    { .name = "prune any", .kind = CTT_OPTION_PRUNE, .option = "prune",
      .unit = "share pruned", .also = ALONE "any", .except = "prune-except",
      .stage = &ctt_stage_prune, .form = CTT_PRUNE_ANY,
      CTT_LADDER_VALUES(shares) },
    { .name = "prune block", .kind = CTT_OPTION_PRUNE, .option = "prune",
      .unit = "share pruned", .also = ALONE "block", .except = "prune-except",
      .stage = &ctt_stage_prune, .form = CTT_PRUNE_BLOCK,
      CTT_LADDER_VALUES(shares) },
    { .name = NULL }
};

const struct ctt_stage ctt_stage_prune = {
    .section = "Pruning", .options = options, .ask = "--prune", .epochs = 1,
    .asked = pruning_asked, .check = check_pruning, .rounds = rounds,
    .spent = spent, .run = prune_weights, .choice = 1, .during = during,
    .ladders = ladders,
};
