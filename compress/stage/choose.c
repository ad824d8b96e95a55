/* SPDX-License-Identifier: Apache-2.0
 * choose.c: the choice of a recipe's pruning pattern and number type. */
#include "compress/stage/choose.h"
#include "compress/stage/range.h"
#include "compress/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const ctt_aims[] = {
    [CTT_AIM_BOTH] = "both", [CTT_AIM_BYTES] = "bytes", [CTT_AIM_MS] = "ms",
    NULL
};

/* Some are excluded without retraining, or without INT8.  Of equal ones the
 * first is taken: it keeps more of the weights. */
struct candidate { int form, int8; };
static const struct candidate candidates[] = {
    { CTT_PRUNE_ANY, 0 }, { CTT_PRUNE_ANY, 1 },
    { CTT_PRUNE_BLOCK, 0 }, { CTT_PRUNE_BLOCK, 1 },
};

/* ---- candidates ---- */

/* INT8 is a candidate if a stage for speed is requested. */
int ctt_recipe_opens_type(const struct ctt_recipe *o)
{
    int fast = ctt_stage_thin.asked(o) || ctt_stage_svd.asked(o) ||
               ctt_stage_tt.asked(o) || ctt_stage_prune.asked(o);

    return o->int8.method == CTT_INT8_AUTO && fast && !o->round.half;
}

/* Blocks lose more accuracy than single values; retraining regains it. */
static int opens_form(const struct ctt_recipe *o)
{
    return ctt_stage_prune.asked(o) && o->prune.form == CTT_PRUNE_AUTO &&
           o->epochs > 0;
}

int ctt_recipe_opens(const struct ctt_recipe *o, int clips)
{
    return ctt_stage_tt.asked(o) ||
           (clips && (opens_form(o) || ctt_recipe_opens_type(o)));
}

/* Clips give the ranges and the accuracy of INT8. */
static int may_read_bytes(const struct ctt_walk *k)
{
    return ctt_recipe_opens_type(k->o) && k->calls->sample &&
           k->calls->accuracy && ctt_int8_may(k->o, *k->m);
}

static int may_prune(const struct ctt_walk *k, int form)
{
    return form == CTT_PRUNE_ANY || (opens_form(k->o) && k->calls->retrain);
}

static int is_candidate(const struct ctt_walk *k, const struct candidate *c)
{
    const struct ctt_int8 *o = &k->o->int8;

    if (!may_prune(k, c->form))
        return 0;
    if (o->method != CTT_INT8_AUTO)
        return c->int8 == ctt_int8_given(o);
    return !c->int8 || may_read_bytes(k);
}

static void set_choice(const struct ctt_choice *c, struct ctt_recipe *o)
{
    if (o->prune.form == CTT_PRUNE_AUTO)
        o->prune.form = c->form;
    if (o->int8.method == CTT_INT8_AUTO) {
        o->int8.method = c->int8 ? 1 + CTT_RANGE_MSE : 0;
        o->int8.automatic = c->int8;
    }
}

/* As "block, int8", or "int8" without pruning. */
static void name_candidate(const struct ctt_recipe *o,
                           const struct candidate *c, char *text, size_t size)
{
    int form = o->prune.form == CTT_PRUNE_AUTO ? c->form : o->prune.form;
    int prunes = ctt_stage_prune.asked(o);

    snprintf(text, size, "%s%s%s", prunes ? ctt_prune_forms[form] : "",
             prunes ? ", " : "", c->int8 ? "int8" : "floats");
}

/* Adds a row for each candidate; returns their number. */
static int list_candidates(const struct ctt_walk *k)
{
    int n = 0, rc = 0;

    for (size_t i = 0; i < CTT_LEN(candidates); i++) {
        struct ctt_choice *row;
        char text[sizeof(row->name)];

        if (!is_candidate(k, &candidates[i]))
            continue;
        name_candidate(k->o, &candidates[i], text, sizeof(text));
        CTT_TRY(ctt_report_choice(k->r, CTT_CHOICE_FORM, text, &row));
        row->form = candidates[i].form;
        row->int8 = candidates[i].int8;
        n++;
    }
out:
    return rc < 0 ? rc : n;
}

/* ---- the pattern and the type ---- */

/* base: the reference candidate, whose trial is `first`; NULL: c is the first.
 * Returns 1 if c does not fit into memory. */
static int measure_choice(const struct ctt_choosing *a,
                          const struct ctt_model *m,
                          const struct ctt_trial *first,
                          struct ctt_choice *base, struct ctt_choice *c,
                          struct ctt_trial *t)
{
    const struct ctt_recipe_calls *calls = a->k->calls;
    struct ctt_recipe o = *a->o;
    struct ctt_speed s;
    int rc;

    set_choice(c, &o);
    CTT_TRY(ctt_trial_make(m, a->k->stages, &ctt_stage_tt, &o, a->rows,
                           a->k->path, t));
    if (rc > 0)
        goto out;
    c->bytes = t->bytes;
    if (!base || !calls->compare)
        goto out;
    CTT_TRY(ctt_trial_compare(calls, first, t, &s));
    if (rc > 0)
        goto out;
    if (isnan(base->ms)) {
        base->ms = s.ms / s.slower;
        base->busy = s.busy;
    }
    c->ms = base->ms * s.slower;
    c->busy = s.busy;
out:
    return rc;
}

/* Gives up candidates that do not fit into memory. */
static int measure_all(const struct ctt_choosing *a, const struct ctt_model *m,
                       struct ctt_choice *c, int n)
{
    struct ctt_trial first = { .file = NULL }, t = { .file = NULL };
    struct ctt_choice *base = NULL;
    int full, rc = 0;

    for (int i = 0; i < n; i++) {
        CTT_TRY(full = measure_choice(a, m, &first, base, &c[i],
                                      base ? &t : &first));
        if (full) {
            ctt_trial_say_full(a->k->calls, c[i].name);
            snprintf(c[i].given_up, sizeof(c[i].given_up), "does not fit "
                     "--memory");
        } else if (!base) {
            base = &c[i];
        }
        ctt_trial_drop(base ? &t : &first);
    }
    rc = 0;
out:
    ctt_trial_drop(&first);
    ctt_trial_drop(&t);
    return rc;
}

double ctt_choice_cost(const struct ctt_recipe *o, int64_t bytes, double ms)
{
    return (o->aim == CTT_AIM_MS ? 1 : (double)bytes) *
           (o->aim == CTT_AIM_BYTES ? 1 : ms);
}

static double cost(const struct ctt_recipe *o, const struct ctt_choice *c)
{
    return ctt_choice_cost(o, c->bytes, c->ms);
}

/* The ratio of costs to reach: INT8 is tested for accuracy later, blocks lose
 * an unknown amount. */
static double needed_ratio(const struct ctt_choice *c,
                           const struct ctt_choice *than)
{
    return c->form == than->form ? CTT_CHOICE_GAIN : CTT_CHOICE_BLOCK_GAIN;
}

/* The best of the candidates that fit into memory; if none does, the first. */
static int best_of(const struct ctt_recipe *o, struct ctt_choice *c, int n)
{
    int best = 0;

    while (best < n && c[best].given_up[0])
        best++;
    if (best == n) {
        c[0].given_up[0] = '\0';
        return 0;
    }
    for (int i = best + 1; i < n; i++)
        if (!c[i].given_up[0] &&
            cost(o, &c[i]) < needed_ratio(&c[i], &c[best]) * cost(o, &c[best]))
            best = i;
    return best;
}

/* Blocks gain in INT8, but hardly in tensor trains, whose cores are thin. */
static int by_rule(const struct ctt_walk *k, const struct ctt_choice *c, int n)
{
    int best = 0, thin = ctt_stage_tt.asked(k->o);

    for (int i = 1; i < n && !k->calls->slow_bytes; i++)
        if (c[i].int8 && (c[i].form == CTT_PRUNE_ANY || !thin))
            best = i;
    return best;
}

int ctt_choice_is_measured(const struct ctt_walk *k)
{
    return k->calls->compare || k->o->aim == CTT_AIM_BYTES;
}

/* m: the model with tensor trains.  Returns the number of candidates. */
static int choose_form(const struct ctt_choosing *a, struct ctt_recipe *o,
                       const struct ctt_model *m)
{
    int at = a->k->r->choices, measured = ctt_choice_is_measured(a->k);
    struct ctt_choice *c;
    int best, n, rc;

    CTT_TRY(n = list_candidates(a->k));
    c = a->k->r->choice + at;
    if (n > 1 && measured)
        CTT_TRY(measure_all(a, m, c, n));
    best = measured ? best_of(o, c, n) : by_rule(a->k, c, n);
    c[best].chosen = 1;
    set_choice(&c[best], o);
    rc = n;
out:
    return rc;
}

void ctt_choose_again(struct ctt_report *r, struct ctt_recipe *o)
{
    const struct ctt_choice *c = ctt_report_form(r);

    if (c)
        set_choice(c, o);
    ctt_choose_chains_again(r);
}

/* ---- all choices ---- */

/* Sets a->chain and a->rows. */
static int make_chains(struct ctt_choosing *a)
{
    size_t nodes = (size_t)(*a->k->m)->g->count;
    int rc;

    CTT_TRY(ctt_trial_rows(a->k->r, &a->rows));
    if (!ctt_stage_tt.asked(a->o) || !ctt_choice_is_measured(a->k))
        goto out;
    a->chain = ctt_calloc(nodes, sizeof(*a->chain));
    CTT_TRY(a->chain ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_tt_chains(*a->k->m, &a->o->tt, a->rows, a->chain));
out:
    return rc;
}

/* "; no tensor trains of a, b and 3 more" of the weights that stay whole. */
static void name_whole(const struct ctt_report *r, char *text, size_t size)
{
    size_t n = 0, room = size - sizeof(" and 1000000000 more");
    int more = 0;

    text[0] = '\0';
    for (int i = 0; i < r->weights; i++) {
        const struct ctt_weight_row *w = &r->weight[i];
        const char *before = n ? ", " : "; no tensor trains of ";

        if (!w->whole)
            continue;
        more += n + strlen(before) + strlen(w->name) >= room;
        if (!more)
            n += (size_t)snprintf(text + n, size - n, "%s%s", before, w->name);
    }
    if (more)
        snprintf(text + n, size - n, " and %d more", more);
}

static const char *const aim_words[] = {
    [CTT_AIM_BOTH] = "size and speed", [CTT_AIM_BYTES] = "size",
    [CTT_AIM_MS] = "speed",
};

static void tell_choice(struct ctt_walk *k, int candidates_of_form, int whole)
{
    const struct ctt_choice *c = ctt_report_form(k->r);
    int measured = ctt_choice_is_measured(k);
    char weights[112];

    name_whole(k->r, weights, sizeof(weights));
    k->line[0] = '\0';
    if (candidates_of_form > 1 || whole)
        snprintf(k->line, sizeof(k->line), "chosen %s%s: %s%s",
                 measured ? "for " : "by rule",
                 measured ? aim_words[k->o->aim] : "", c->name, weights);
}

int ctt_choose(struct ctt_walk *k, struct ctt_recipe *o)
{
    struct ctt_choosing a = { .k = k, .o = o };
    struct ctt_model *trains = NULL;
    int nodes = (*k->m)->g->count, forms, whole = 0, rc;

    CTT_TRY(make_chains(&a));
    if (a.chain)
        CTT_TRY(ctt_chain_replace(*k->m, a.chain, &trains));
    CTT_TRY(forms = choose_form(&a, o, trains ? trains : *k->m));
    if (a.chain)
        CTT_TRY(whole = ctt_choose_chains(&a));
    tell_choice(k, forms, whole);
    rc = 0;
out:
    ctt_model_free(&trains);
    for (int i = 0; a.chain && i < nodes; i++)
        ctt_chain_free(&a.chain[i]);
    ctt_free(a.chain);
    ctt_report_free(&a.rows);
    return rc;
}
