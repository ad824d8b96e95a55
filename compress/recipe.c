/* SPDX-License-Identifier: Apache-2.0
 * recipe.c: the stages in order; after each round of one the model is tested,
 * retrained, tested again and measured. */
#include "base/limits.h"
#include "base/statistics/statistics.h"
#include "compress/stage/choose.h"
#include "compress/recipe_state.h"
#include "base/newfile.h"
#include "net/file/card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct run {
    struct ctt_walk         k;
    struct ctt_recipe       o;       /* k.o, as it is chosen */
    const struct ctt_recipe *given;
    int                     chosen;  /* choices are made */
    struct ctt_recipe_state at;
    int                     skip;    /* rounds that an earlier run has done */
};

/* ---- one round ---- */

/* Adds a line to the history. */
static int add_history(struct ctt_model *m, const char *line)
{
    const char *old = m->history ? m->history : "";
    size_t n = strlen(old), size = n + strlen(line) + 3;
    char *s = ctt_calloc(size, 1);

    if (!s)
        return CTT_ENOMEM;
    snprintf(s, size, "%s%s%s\n", old, n && old[n - 1] != '\n' ? "\n" : "",
             line);
    ctt_free(m->history);
    m->history = s;
    return 0;
}

/* Adds what a round that is not retrained makes of the accuracy, or that it is
 * not known: the last score of a history is the model's. */
static int note_score(const struct ctt_walk *k, const struct ctt_score *s)
{
    double score = s->top1[CTT_ACCURACIES - 1];
    char line[CTT_NAME + 40];

    if (k->same)
        return 0;
    if (isnan(score))
        snprintf(line, sizeof(line), "%s: " CTT_CARD_UNVALIDATED, k->name);
    else
        snprintf(line, sizeof(line), "%s: val_%s=%.4f", k->name,
                 (*k->m)->g->several ? "map" : "top1", score);
    return add_history(*k->m, line);
}

/* Adds a row to the report, measured on the saved model, whose file is then
 * dropped. */
static int measure_stage(struct run *a, struct ctt_stage_row **row)
{
    struct ctt_newfile *f = NULL;
    struct ctt_walk *k = &a->k;
    struct ctt_speed speed;
    const char *temp;
    int rc = 0;

    CTT_TRY(ctt_newfile_open(a->k.path, &f));
    temp = ctt_newfile_temp(f);
    CTT_TRY(ctt_model_put(f, *k->m));
    CTT_TRY(ctt_report_stage(k->r, k->name, *k->m, temp, row));
    CTT_TRY(ctt_report_stored(k->r, temp));
    if (k->o->prune.share > 0)
        (*row)->prunable = ctt_pruned(*k->m, &k->o->prune);
    if (k->calls->time)
        CTT_TRY(k->calls->time(k->calls->arg, temp, &speed));
    if (k->calls->time)
        ctt_report_speed(k->r, &speed, *row);
out:
    ctt_newfile_drop(&f);
    return rc;
}

/* Without a row, if an earlier run has done all rounds. */
static int measure_stored(struct run *a)
{
    struct ctt_newfile *f = NULL;
    int rc;

    CTT_TRY(ctt_newfile_open(a->k.path, &f));
    CTT_TRY(ctt_model_put(f, *a->k.m));
    CTT_TRY(ctt_report_stored(a->k.r, ctt_newfile_temp(f)));
out:
    ctt_newfile_drop(&f);
    return rc;
}

/* Saves where the recipe is, if it may go on from there. */
static int save(struct run *a)
{
    struct ctt_walk *k = &a->k;
    char *place = NULL;
    int rc = 0;

    if (!k->calls->save)
        goto out;
    a->at.start = k->start;
    memcpy(a->at.name, k->name, sizeof(a->at.name));
    CTT_TRY(ctt_recipe_state_print(&a->at, a->given, k->r, &place));
    CTT_TRY(k->calls->save(k->calls->arg, *k->m, place));
out:
    ctt_free(place);
    return rc;
}

/* ---- retraining ---- */

/* The epochs of the n-th retraining of this round. */
static int epochs_of(const struct run *a, int n)
{
    return ctt_retraining_epochs(a->k.o, a->at.rounds, n);
}

/* The mean top-1 that is missing, 0..1. */
static double missing(const struct run *a, const struct ctt_score *s)
{
    const double *was = a->k.r->stage[0].after.top1;
    double sum = 0;

    for (int i = 0; i < CTT_ACCURACIES; i++)
        sum += was[i] - s->top1[i];
    return sum / CTT_ACCURACIES;
}

/* The clips that may be missing: of few, one is more than the points. */
static double may_miss(const struct run *a)
{
    return fmax(a->k.o->within / 100.0 * a->k.calls->clips, 1);
}

static int is_back(const struct run *a, const struct ctt_score *s)
{
    return missing(a, s) * a->k.calls->clips <= may_miss(a) + 1e-6;
}

/* How a retraining that may be repeated ended.  IDLE: repetitions in a row that
 * gained nothing, after which a longer one hardly would. */
enum end { NONE, BACK, NO_GAIN, LIMIT };
enum { IDLE = 2 };

/* Counts repetitions since the least was missing. */
static void count_idle(struct run *a, double miss)
{
    int gain = a->at.begun == 1 || miss < a->at.least - 1e-9;

    a->at.idle = gain ? 0 : a->at.idle + 1;
    if (gain)
        a->at.least = miss;
}

/* For the user and for the history of the model. */
static int say_end(const struct run *a, enum end end, double miss)
{
    static const char *const why[] = { [NO_GAIN] = "the last two repetitions "
        "gained nothing", [LIMIT] = "the limit (--retrain-limit)" };
    const struct ctt_walk *k = &a->k;
    int64_t spent = ctt_epochs_before(k->o, a->at.begun + 1);
    int clips = k->calls->clips;
    char line[CTT_NAME + 200];
    int n;

    if (end == BACK) {
        n = snprintf(line, sizeof(line), "%s: validation accuracy is back "
                     "after %lld epochs of retraining, within %.1f points in "
                     "the mean",
                     k->name,
                     (long long)spent, 100 * may_miss(a) / clips);
        if (!(*k->m)->g->several)    /* a clip is right or wrong */
            snprintf(line + n, sizeof(line) - (size_t)n, ": on %d clips a loss "
                     "below %.1f may be chance", clips,
                     100 * ctt_mcnemar_least(clips));
    } else
        snprintf(line, sizeof(line), "%s: %.1f points of %s are missing after "
                 "%lld epochs of retraining: %s", k->name, 100 * miss,
                 ctt_report_score(k->r), (long long)spent, why[end]);
    if (k->calls->say)
        k->calls->say(k->calls->arg, line);
    return add_history(*k->m, line);
}

/* Whether to retrain once more after a->at.begun times; says why not. */
static int goes_on(struct run *a, const struct ctt_score *s)
{
    const struct ctt_recipe *o = a->k.o;
    double miss = missing(a, s);
    enum end end;

    if (!o->automatic || a->at.rounds != ctt_recipe_last(o) || isnan(miss))
        return 0;
    count_idle(a, miss);
    end = is_back(a, s) ? BACK : a->at.idle >= IDLE ? NO_GAIN :
          a->at.begun >= CTT_RETRAININGS ||
          epochs_of(a, a->at.begun + 1) <= 0 ? LIMIT : NONE;
    return end == NONE ? 1 : say_end(a, end, miss);
}

/* The a->at.begun-th retraining of a round. */
static int retrain_once(struct run *a, const struct ctt_changes *c,
                        struct ctt_score *after)
{
    struct ctt_walk *k = &a->k;
    struct ctt_epochs span = ctt_epochs_at(k->o, a->at.rounds, a->at.begun);
    int rc = 0, first = a->at.begun == 1;

    if (k->calls->span)
        k->calls->span(k->calls->arg, &span);
    CTT_TRY(k->calls->retrain(k->calls->arg, k->name,
                              epochs_of(a, a->at.begun),
                              first && c->due ? c : NULL, *k->m));
    CTT_TRY(ctt_walk_accuracy(k, k->name, *k->m, after));
out:
    return rc;
}

static int retrain_stage(struct run *a, const struct ctt_changes *c,
                         struct ctt_score *after)
{
    int rc = 0;

    if (!a->at.begun) {
        a->at.begun = 1;
        CTT_TRY(save(a));
    }
    CTT_TRY(retrain_once(a, c, after));
    while ((rc = goes_on(a, after)) > 0) {
        a->at.begun++;
        CTT_TRY(save(a));
        CTT_TRY(retrain_once(a, c, after));
    }
out:
    return rc;
}

/* Whether a round is retrained.  One that changed nothing is not, unless it is
 * the last: its epochs are also for the rounds before it. */
static int retrains(const struct run *a)
{
    const struct ctt_walk *k = &a->k;
    char line[CTT_NAME + 64];

    if (k->epochs <= 0)
        return 0;
    if (!k->same || (a->at.rounds > 0 &&
                     a->at.rounds == ctt_recipe_last(k->o)))
        return 1;
    snprintf(line, sizeof(line), "%s, so it is not retrained", k->name);
    if (k->calls->say)
        k->calls->say(k->calls->arg, line);
    return 0;
}

/* Whether a round that may lose some top-1 has lost more; says so if not. */
static int is_hurt(const struct run *a, const struct ctt_stage *s,
                   const struct ctt_score *now)
{
    const struct ctt_walk *k = &a->k;
    const double *was = k->r->stage[k->r->stages - 1].after.top1;
    double lost = 0;
    char line[CTT_NAME + 80];

    if (!s->harm || a->at.begun || s->harm(k->o) < 0)
        return 1;
    if (k->o->automatic && a->at.rounds == ctt_recipe_last(k->o))
        return !is_back(a, now);
    for (int i = 0; i < CTT_ACCURACIES; i++)
        lost += (was[i] - now->top1[i]) / CTT_ACCURACIES;
    if (!(lost <= s->harm(k->o)))
        return 1;
    snprintf(line, sizeof(line), "%s: %.1f points of mean %s lost, so it is "
             "not retrained", k->name, 100 * lost, ctt_report_score(k->r));
    if (k->calls->say)
        k->calls->say(k->calls->arg, line);
    return 0;
}

/* Tests a model before it is retrained, unless that changes it too.  changed: a
 * stage has changed its weights. */
static int test_stage(struct run *a, int changed, struct ctt_score *s)
{
    struct ctt_walk *k = &a->k;
    int rc = 0;

    if (changed && k->calls->norms)
        CTT_TRY(k->calls->norms(k->calls->arg, k->name, *k->m));
    CTT_TRY(ctt_walk_accuracy(k, k->name, *k->m, s));
    memcpy(a->at.before, s->top1, sizeof(a->at.before));
out:
    return rc;
}

/* Tests, retrains and measures; a round that an earlier run has begun was
 * tested then.  s: the stage; NULL: the model is as given. */
static int finish_round(struct run *a, const struct ctt_stage *s)
{
    struct ctt_score after = { .top1 = { NAN, NAN, NAN } };
    struct ctt_changes c = { .due = NULL };
    struct ctt_walk *k = &a->k;
    struct ctt_stage_row *row;
    int rc = 0, more = s && retrains(a);

    if (s && s->during)
        s->during(k, &c);
    if (!a->at.begun)
        memcpy(a->at.before, after.top1, sizeof(a->at.before));
    if (!a->at.begun && !c.due)
        CTT_TRY(test_stage(a, s && !k->same, &after));
    more = more && is_hurt(a, s, &after);
    if (more)
        CTT_TRY(retrain_stage(a, &c, &after));
    else if (s)
        CTT_TRY(note_score(k, &after));
    CTT_TRY(measure_stage(a, &row));
    row->after = after;
    if (more)
        memcpy(row->before, a->at.before, sizeof(row->before));
out:
    return rc;
}

/* ---- all ---- */

static int run_round(struct run *a, const struct ctt_stage *s, int i)
{
    int rc = 0;

    if (a->skip > 0) {
        a->skip--;
        goto out;
    }
    a->k.epochs = a->k.calls->retrain ? ctt_recipe_epochs(a->k.o, a->at.rounds)
                                      : 0;
    if (!a->at.begun) {
        a->k.start = i == 1 ? 0 : a->k.start;
        a->k.same = 0;
        CTT_TRY(s->run(&a->k, i));
        CTT_TRY(add_history(*a->k.m, a->k.line));
    }
    CTT_TRY(finish_round(a, s));
    a->at.rounds++;
    a->at.begun = 0;
    CTT_TRY(save(a));
out:
    return rc;
}

/* Before the first stage that needs it; saved at once, as times are never the
 * same twice: a run that goes on knows it. */
static int choose_options(struct run *a, const struct ctt_stage *s)
{
    struct ctt_walk *k = &a->k;
    int rc = 0;

    if (!s->choice || !s->asked(k->o) || a->chosen)
        goto out;
    CTT_CHECK(!a->skip && !a->at.begun, CTT_EFORMAT,
              "the checkpoint is damaged: it has no choices");
    CTT_TRY(ctt_choose(k, &a->o));
    a->chosen = 1;
    if (k->line[0]) {
        CTT_TRY(add_history(*k->m, k->line));
        if (k->calls->say)
            k->calls->say(k->calls->arg, k->line);
    }
    if (k->r->choices > 1)
        CTT_TRY(save(a));
out:
    return rc;
}

static int run_stage(struct run *a, const struct ctt_stage *s)
{
    int rc;

    CTT_TRY(choose_options(a, s));
    for (int i = 1; i <= ctt_stage_rounds(s, a->k.o); i++) {
        /* Training and tests look themselves, and can go on later. */
        CTT_CHECK(!ctt_stopped() || a->k.calls->retrain, CTT_ESTOP,
                  "stopped; nothing is written");
        CTT_TRY(run_round(a, s, i));
    }
out:
    return rc;
}

static int same_labels(const struct ctt_model *a, const struct ctt_model *b)
{
    int same = a->labels == b->labels;

    for (int i = 0; same && i < a->labels; i++)
        same = strcmp(a->label[i], b->label[i]) == 0;
    return same;
}

static int same_output(const struct ctt_graph *a, const struct ctt_graph *b)
{
    const struct ctt_tensor *x = &a->node[ctt_graph_output(a)].out;
    const struct ctt_tensor *y = &b->node[ctt_graph_output(b)].out;

    return x->d == y->d && x->h == y->h && x->w == y->w && x->c == y->c;
}

/* No stage changes what a model takes and answers, so another input, output or
 * class is not of its checkpoint. */
static int check_from(const struct ctt_model *given, const struct ctt_model *m)
{
    const struct ctt_graph *a = given->g, *b = m->g;
    int rc = 0;

    CTT_CHECK(ctt_graph_inputs(b) == ctt_graph_inputs(a) &&
              memcmp(&a->node[ctt_graph_input(a)].attr.input,
                     &b->node[ctt_graph_input(b)].attr.input,
                     sizeof(struct ctt_input)) == 0, CTT_EFORMAT,
              "the checkpoint is damaged: its model takes other frames");
    CTT_CHECK(same_output(a, b), CTT_EFORMAT,
              "the checkpoint is damaged: its model has another output");
    CTT_CHECK(same_labels(given, m), CTT_EFORMAT,
              "the checkpoint is damaged: its model has other labels");
out:
    return rc;
}

/* Takes over the place and the model of an earlier run. */
static int go_on(struct run *a, struct ctt_recipe_from *from)
{
    struct ctt_walk *k = &a->k;
    int rc;

    CTT_TRY(ctt_recipe_state_read(from->place, a->given, &a->at, k->r));
    ctt_choose_again(k->r, &a->o);
    a->chosen = ctt_report_form(k->r) != NULL;
    CTT_TRY(check_from(*k->m, from->m));
    a->skip = a->at.rounds;
    k->start = a->at.start;
    memcpy(k->name, a->at.name, sizeof(k->name));
    ctt_model_free(k->m);
    *k->m = from->m;
    from->m = NULL;
    if (!a->at.begun)
        ctt_state_free(&(*k->m)->train);
out:
    return rc;
}

int ctt_recipe_check(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int asked = 0, rc = 0;

    for (int i = 0; ctt_stages[i]; i++)
        asked |= ctt_stages[i]->asked(o);
    CTT_CHECK(asked, CTT_EINVAL, "nothing to do: no stage is asked");
    for (int i = 0; ctt_stages[i]; i++)
        CTT_TRY(ctt_stages[i]->check(o, m));
out:
    return rc;
}

int ctt_recipe_run(const struct ctt_recipe *o,
                   const struct ctt_recipe_calls *calls, const char *path,
                   struct ctt_recipe_from *from, struct ctt_model **m,
                   struct ctt_report **out)
{
    struct run a = { .k = { .stages = ctt_stages, .calls = calls,
                            .path = path, .m = m,
                            .name = "original" }, .o = *o, .given = o };
    int rc = 0;

    a.k.o = &a.o;
    CTT_TRY(ctt_recipe_check(o, *m));
    CTT_TRY(ctt_recipe_state_given(*m, &a.at));
    CTT_TRY(ctt_report_new(*m, &a.k.r));
    CTT_TRY(from ? go_on(&a, from) : finish_round(&a, NULL));
    for (int i = 0; ctt_stages[i]; i++)
        CTT_TRY(run_stage(&a, ctt_stages[i]));
    if (!a.k.r->stored)
        CTT_TRY(measure_stored(&a));
    CTT_TRY(ctt_report_entropy(a.k.r, *m));
    CTT_TRY(ctt_model_save(path, *m));
    *out = a.k.r;
    a.k.r = NULL;
out:
    ctt_report_free(&a.k.r);
    return rc;
}
