/* SPDX-License-Identifier: Apache-2.0
 * recipe.c: the stages in order, each one measured and retrained: as given,
 * tensor trains, rounds of pruning. */
#include "compress/compress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct walk {
    const struct ctt_recipe       *o;
    const struct ctt_recipe_calls *calls;
    struct ctt_model             **m;
    struct ctt_report             *r;
    char                          *part;    /* where stages are measured */
    double                         start;   /* share pruned before us */
    int                            stage;
};

/* ---- one stage ---- */

/* A line of the history. */
static int note(struct ctt_model *m, const char *line)
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

static int accuracy(const struct walk *k, const char *name,
                    double top1[CTT_ACCURACIES])
{
    if (!k->calls->accuracy)
        return 0;
    return k->calls->accuracy(k->calls->arg, name, *k->m, top1);
}

/* What changed the model has been done: looks, retrains, looks again. */
static int finish(struct walk *k, const char *name, int epochs)
{
    double before[CTT_ACCURACIES] = { NAN, NAN, NAN };
    double after[CTT_ACCURACIES];
    struct ctt_stage_row *row;
    int rc = 0, retrain = epochs > 0 && k->calls->retrain;

    CTT_TRY(accuracy(k, name, before));
    memcpy(after, before, sizeof(after));
    if (retrain) {
        CTT_TRY(k->calls->retrain(k->calls->arg, name, epochs, *k->m));
        CTT_TRY(accuracy(k, name, after));
    }
    CTT_TRY(ctt_model_save(k->part, *k->m));
    CTT_TRY(ctt_report_stage(k->r, name, *k->m, k->part, &row));
    CTT_TRY(ctt_report_stored(k->r, k->part));
    memcpy(row->after, after, sizeof(after));
    if (k->stage > 0)
        memcpy(row->before, before, sizeof(before));
    if (k->calls->time)
        CTT_TRY(k->calls->time(k->calls->arg, k->part, &row->ms));
    k->stage++;
out:
    remove(k->part);
    return rc;
}

/* What it costs to factorise node i and nothing else, without retraining: the
 * fall of top-1 on full clips.  0 if the node would stay whole anyway. */
static int cost_alone(struct walk *k, int i, double as_given, float *cost)
{
    struct ctt_model **given = k->m, *m = NULL;
    struct ctt_lowrank o = k->o->lowrank;
    struct ctt_report *r = NULL;
    double top1[CTT_ACCURACIES];
    char name[CTT_NAME + 8];
    int rc = 0;

    o.only = i + 1;
    CTT_TRY(ctt_report_new(*given, &r));
    CTT_TRY(ctt_lowrank(*given, &o, r, &m));
    *cost = 0;
    if (m->g->count == (*given)->g->count)
        goto out;
    snprintf(name, sizeof(name), "%s alone", (*given)->g->node[i].name);
    k->m = &m;
    CTT_TRY(accuracy(k, name, top1));
    *cost = (float)(as_given - top1[CTT_ACCURACIES - 1]);
out:
    k->m = given;
    ctt_report_free(&r);
    ctt_model_free(&m);
    return rc;
}

/* By node.  Some weights bear no truncation at all: then retraining starts
 * from nothing, and a model that is whole there is the better small one. */
static int costs(struct walk *k, float *cost)
{
    const struct ctt_graph *g = (*k->m)->g;
    double as_given = k->r->stage[0].after[CTT_ACCURACIES - 1];
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_CONV || g->node[i].op == CTT_OP_DECONV)
            CTT_TRY(cost_alone(k, i, as_given, &cost[i]));
out:
    return rc;
}

static int do_lowrank(struct walk *k)
{
    struct ctt_lowrank given = k->o->lowrank, *o = &given;
    struct ctt_model *m = NULL;
    float *cost = NULL;
    int done = 0, rc = 0;
    char line[160];

    if (k->calls->accuracy && o->harm > 0 && o->harm < 1) {
        cost = ctt_calloc((size_t)(*k->m)->g->count, sizeof(*cost));
        CTT_TRY(cost ? 0 : CTT_ENOMEM);
        CTT_TRY(costs(k, cost));
        o->cost = cost;
    }
    CTT_TRY(ctt_lowrank(*k->m, o, k->r, &m));
    for (int i = 0; i < k->r->weights; i++)
        done += k->r->weight[i].cores > 1;
    snprintf(line, sizeof(line), "tensor trains: rank %d, tolerance %g, %d of "
             "%d weights", o->rank, (double)o->tol, done, k->r->weights);
    CTT_TRY(note(m, line));
    ctt_model_free(k->m);
    *k->m = m;
    m = NULL;
    CTT_TRY(finish(k, "tensor trains", ctt_recipe_epochs(k->o,
                                                         k->stage - 1)));
out:
    ctt_free(cost);
    ctt_model_free(&m);
    return rc;
}

static int do_prune(struct walk *k, int round)
{
    const struct ctt_recipe *o = k->o;
    double share = ctt_prune_cubic(k->start, o->share, round, o->rounds);
    char name[CTT_NAME], line[160];
    int rc = 0;

    CTT_TRY(ctt_prune(*k->m, &o->prune, share));
    snprintf(name, sizeof(name), "pruned %d/%d", round, o->rounds);
    snprintf(line, sizeof(line), "%s: %.2f%% of the weights are zero", name,
             100 * ctt_pruned(*k->m, &o->prune));
    CTT_TRY(note(*k->m, line));
    CTT_TRY(finish(k, name, ctt_recipe_epochs(o, k->stage - 1)));
out:
    return rc;
}

static int do_round(struct walk *k)
{
    char line[64];
    int rc = 0;

    ctt_round(*k->m, k->o->bits);
    snprintf(line, sizeof(line), "rounded: %d significant bits", k->o->bits);
    CTT_TRY(note(*k->m, line));
    CTT_TRY(finish(k, "rounded", 0));
out:
    return rc;
}

/* ---- all ---- */

static int has_lowrank(const struct ctt_recipe *o)
{
    return o->lowrank.rank > 0 || o->lowrank.tol > 0;
}

static int has_round(const struct ctt_recipe *o)
{
    return o->bits > 0 && o->bits < 24;
}

/* The share of the epochs that the stages before `stage` have. */
static double before(const struct ctt_recipe *o, int stage)
{
    double trains = !has_lowrank(o) ? 0 : o->share > 0 ? 1.0 / 3 : 1;
    int round = stage - has_lowrank(o);

    if (stage <= 0)
        return 0;
    if (o->share == 0 || round >= o->rounds)
        return 1;
    if (round <= 0)
        return trains;
    return trains + (1 - trains) * 0.5 * round / (o->rounds - 1);
}

int ctt_recipe_epochs(const struct ctt_recipe *o, int stage)
{
    return (int)(o->epochs * before(o, stage + 1) + 0.5) -
           (int)(o->epochs * before(o, stage) + 0.5);
}

/* A pattern that fits nothing is a mistake. */
static int check_patterns(const struct ctt_model *m, const char *patterns)
{
    char one[CTT_NAME];
    int rc = 0;

    for (const char *p = patterns; p && *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");
        int found = 0;

        CTT_CHECK(n < sizeof(one), CTT_EINVAL, "no weight matches '%.*s'",
                  (int)n, p);
        memcpy(one, p, n);
        one[n] = '\0';
        for (int i = 0; i < m->g->count; i++)
            found |= (m->g->node[i].op == CTT_OP_CONV ||
                      m->g->node[i].op == CTT_OP_DECONV) &&
                     ctt_name_matches(one, m->g->node[i].name);
        CTT_CHECK(found, CTT_EINVAL, "no weight matches '%s'", one);
        p += n;
    }
out:
    return rc;
}

static int check(const struct ctt_model *m, const struct ctt_recipe *o)
{
    int rc = 0;

    CTT_CHECK(has_lowrank(o) || o->share > 0 || has_round(o), CTT_EINVAL,
              "nothing to do: neither tensor trains nor pruning are asked");
    CTT_CHECK(o->bits >= 0 && o->bits <= 24, CTT_EINVAL,
              "a float has no %d significant bits", o->bits);
    CTT_CHECK(o->share >= 0 && o->share < 1, CTT_EINVAL,
              "a share of %g cannot be pruned", (double)o->share);
    CTT_CHECK(o->share == 0 || o->rounds > 0, CTT_EINVAL,
              "pruning takes at least one round, not %d", o->rounds);
    CTT_TRY(check_patterns(m, o->lowrank.except));
    CTT_TRY(check_patterns(m, o->prune.except));
out:
    return rc;
}

int ctt_recipe_run(const struct ctt_recipe *o,
                   const struct ctt_recipe_calls *calls, const char *path,
                   struct ctt_model **m, struct ctt_report **out)
{
    struct walk k = { .o = o, .calls = calls, .m = m };
    size_t size = strlen(path) + 8;
    int rc = 0;

    CTT_TRY(check(*m, o));
    CTT_TRY(ctt_report_new(*m, &k.r));
    k.part = ctt_calloc(size, 1);
    CTT_TRY(k.part ? 0 : CTT_ENOMEM);
    snprintf(k.part, size, "%s.part", path);
    CTT_TRY(finish(&k, "as given", 0));
    if (has_lowrank(o))
        CTT_TRY(do_lowrank(&k));
    k.start = ctt_pruned(*m, &o->prune);
    for (int i = 1; o->share > 0 && i <= o->rounds; i++)
        CTT_TRY(do_prune(&k, i));
    if (has_round(o))
        CTT_TRY(do_round(&k));
    CTT_TRY(ctt_model_save(path, *m));
    *out = k.r;
    k.r = NULL;
out:
    ctt_free(k.part);
    ctt_report_free(&k.r);
    return rc;
}
