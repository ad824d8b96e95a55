/* SPDX-License-Identifier: Apache-2.0
 * tt.c: the stage "tensor trains": chooses weights to factorise and replaces
 * them by chains of small convs. */
#include "compress/stage/chain.h"
#include "compress/stage/responses.h"
#include "compress/stage.h"
#include "net/op.h"

#include <stdio.h>

/* ---- choice of weights ---- */

/* Weights with more inputs a place are not fitted: their moments alone would
 * need more memory than a model. */
enum { MOST_INPUTS = 4096 };

static int64_t inputs_of(const struct ctt_node *n)
{
    return ctt_volume(&n->w[0]) / n->w[0].n;
}

/* Whether node i is fitted to its inputs if it becomes a chain. */
static int can_fit(const struct ctt_model *m, int i, const struct ctt_tt *o)
{
    return o->on == CTT_ON_RESPONSES &&
           inputs_of(&m->g->node[i]) <= MOST_INPUTS;
}

/* The chains of a model and their inputs. */
struct making {
    const struct ctt_model        *m;
    const struct ctt_tt           *o;
    const struct ctt_recipe_calls *calls;
    const struct ctt_walk         *k;    /* whose test may refuse chains; or
                                            NULL */
    struct ctt_report             *r;
    struct ctt_chain             **chain;    /* by node */
    int                            count;
};

/* *out stays NULL if the weight stays whole. */
static int choose_train(const struct making *a, int i,
                        const struct ctt_moments *inputs,
                        struct ctt_chain **out)
{
    const struct ctt_node *n = &a->m->g->node[i];
    struct ctt_fit_to to = { inputs, n->nw > 1 ? a->m->w + n->at[1] : NULL };
    struct ctt_chain *c = NULL;
    struct ctt_tt o = *a->o;
    double rank;
    int rc = 0;

    if (ctt_names_number(o.each, n->name, &rank))
        o.rank = (int)rank;
    CTT_TRY(ctt_chain_new(a->m->g, i, a->m->w + n->at[0], &o,
                          inputs ? &to : NULL, &c));
    if (ctt_chain_pays(c, ctt_chain_row(a->r, n->name))) {
        *out = c;
        c = NULL;
    }
out:
    ctt_chain_free(&c);
    return rc;
}

/* The chain of node i on its inputs in the given model. */
static int choose_alone(const struct making *a, int i, struct ctt_chain **out)
{
    struct ctt_moments s = { .d = 0 };
    int rc = 0, fits = can_fit(a->m, i, a->o);

    if (fits)
        CTT_TRY(ctt_inputs(a->m, a->calls, a->o->clips, &i, 1, &s));
    CTT_TRY(choose_train(a, i, fits ? &s : NULL, out));
out:
    ctt_moments_free(&s);
    return rc;
}

/* The chain of node i on its inputs behind the chains made so far, with its
 * answers in the given model. */
static int choose_behind(const struct making *a, int i,
                         struct ctt_chain **out)
{
    struct ctt_moments s = { .d = 0 };
    struct ctt_model *part = NULL;
    int rc = 0;

    CTT_TRY(ctt_chain_replace(a->m, a->chain, &part));
    CTT_TRY(ctt_two_responses(a->m, part, i, 1, a->calls, a->o->clips, &s));
    CTT_TRY(choose_train(a, i, &s, out));
out:
    ctt_moments_free(&s);
    ctt_model_free(&part);
    return rc;
}

/* ---- accuracy lost by one weight ---- */

/* The loss of top-1 on full clips if only node i is a chain, without
 * retraining. */
static int cost_alone(const struct ctt_walk *k, int i, struct ctt_chain *c,
                      double before, double *cost)
{
    const struct ctt_model *given = *k->m;
    size_t nodes = (size_t)given->g->count;
    struct ctt_chain **chain = ctt_calloc(nodes, sizeof(*chain));
    struct ctt_model *m = NULL;
    struct ctt_score s;
    char name[CTT_NAME + 48];
    int rc = 0;

    CTT_TRY(chain ? 0 : CTT_ENOMEM);
    chain[i] = c;
    CTT_TRY(ctt_chain_replace(given, chain, &m));
    snprintf(name, sizeof(name), "trial: only %s replaced by a tensor train",
             given->g->node[i].name);
    CTT_TRY(ctt_walk_accuracy(k, name, m, &s));
    *cost = before - s.top1[CTT_ACCURACIES - 1];
out:
    ctt_free(chain);
    ctt_model_free(&m);
    return rc;
}

/* Whether chain c of node i costs too much; the row then gets the reason.  Some
 * weights tolerate no truncation: retraining would then start from chance, and
 * keeping them whole gives the better small model. */
static int is_harmful(const struct making *a, int i, struct ctt_chain *c)
{
    const struct ctt_walk *k = a->k;
    double before, cost = 0;
    int rc = 0;

    before = k->r->stage[k->r->stages - 1].after.top1[CTT_ACCURACIES - 1];
    CTT_TRY(cost_alone(k, i, c, before, &cost));
    if (cost <= (double)a->o->harm)
        goto out;
    snprintf(ctt_chain_row(a->r, a->m->g->node[i].name)->reason, CTT_REASON,
             "alone costs %.1f points of top-1", 100 * cost);
    rc = 1;
out:
    return rc;
}

/* ---- the model ---- */

static void tell_row(const struct ctt_model *m, int i, const struct ctt_tt *o,
                     const struct ctt_chain *c, struct ctt_report *r)
{
    const struct ctt_node *n = &m->g->node[i];
    struct ctt_weight_row *row = ctt_chain_row(r, n->name);

    ctt_chain_tell(c, row);
    if (o->on == CTT_ON_RESPONSES && !c->fitted)
        snprintf(row->reason, CTT_REASON, "%lld inputs a place are too many "
                 "to fit", (long long)inputs_of(n));
}

/* The chain of node i, if it gets one.  A test of it alone needs the inputs of
 * the given model. */
static int make_one(struct making *a, int i)
{
    int tests = a->k && a->k->calls->accuracy && a->o->harm > 0 &&
                a->o->harm < 1;
    int behind = a->count > 0 && can_fit(a->m, i, a->o);
    struct ctt_chain *c = NULL;
    int rc = 0, harmful = 0;

    if (tests || !behind)
        CTT_TRY(choose_alone(a, i, &c));
    if (tests && c)
        CTT_TRY(harmful = is_harmful(a, i, c));
    rc = 0;
    if (behind && !harmful && (c || !tests)) {
        ctt_chain_free(&c);
        CTT_TRY(choose_behind(a, i, &c));
    }
    if (c && !harmful) {
        a->chain[i] = c;
        a->count++;
        c = NULL;
    }
out:
    ctt_chain_free(&c);
    return rc;
}

static int make_all(struct making *a)
{
    const struct ctt_graph *g = a->m->g;
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        struct ctt_weight_row *row = ctt_chain_row(a->r, g->node[i].name);

        if (row && !row->whole &&
            ctt_chain_may(g, i, a->o->least, a->o->except, row))
            CTT_TRY(make_one(a, i));
    }
    for (int i = 0; i < g->count; i++)
        if (a->chain[i])
            tell_row(a->m, i, a->o, a->chain[i], a->r);
out:
    return rc;
}

int ctt_tt_chains(const struct ctt_model *m, const struct ctt_tt *o,
                  struct ctt_report *r, struct ctt_chain **chain)
{
    struct ctt_tt weights = *o;
    struct making a = { m, &weights, NULL, NULL, r, chain, 0 };

    weights.on = CTT_ON_WEIGHTS;
    return make_all(&a);
}

static int factorise(struct making *a, struct ctt_model **out)
{
    const struct ctt_graph *g = a->m->g;
    int rc = 0;

    a->chain = ctt_calloc((size_t)g->count, sizeof(*a->chain));
    CTT_TRY(a->chain ? 0 : CTT_ENOMEM);
    CTT_TRY(make_all(a));
    CTT_TRY(ctt_chain_replace(a->m, a->chain, out));
out:
    for (int i = 0; a->chain && i < g->count; i++)
        ctt_chain_free(&a->chain[i]);
    ctt_free(a->chain);
    return rc;
}

int ctt_factorise(const struct ctt_model *m, const struct ctt_tt *o,
                  const struct ctt_recipe_calls *calls, struct ctt_report *r,
                  struct ctt_model **out)
{
    struct making a = { m, o, calls, NULL, r, NULL, 0 };

    return factorise(&a, out);
}

/* ---- the stage ---- */

static const char *const ons[] = { "weights", "responses", NULL };
static const char *const forms[] = { "train", "window", "pair", NULL };

#define FIELD(f) offsetof(struct ctt_recipe, tt.f)

#define TRAINS "tt-rank|tt-tol"

static const struct ctt_opt options[] = {
    { .name = "tt-rank", .type = CTT_INT, .off = FIELD(rank), .dflt = "0",
      .help = "replace weights by tensor trains of at most this rank; "
      "0: no limit", .max = 4096,
      .arg = "R", .tags = CTT_OPT_COMMON },
    { .name = "tt-tol", .type = CTT_FLOAT, .off = FIELD(tol), .dflt = "0",
      .help = "largest relative error of a weight; 0: no limit", .max = 0.9999,
      .arg = "E" },
    { .name = "tt-on", .type = CTT_CHOICE, .off = FIELD(on),
      .dflt = "weights", .help = "keep most of each weight, or of its results "
      "on training clips, with the ranks of the weight", .choices = ons,
      .needs = TRAINS "|budget data" },
    { .name = "tt-form", .type = CTT_CHOICE, .off = FIELD(form),
      .dflt = "train", .help = "where to split a weight: at each axis, around "
      "the window, or once, between rows and columns", .choices = forms,
      .needs = TRAINS },
    { .name = "tt-least", .type = CTT_INT, .off = FIELD(least),
      .dflt = "65536", .help = "do not factorise weights with fewer values",
      .max = 1 << 30, .arg = "N",
      .needs = TRAINS },
    { .name = "tt-harm", .type = CTT_FLOAT, .off = FIELD(harm), .dflt = "0.75",
      .help = "with --data: keep a weight whole if factorising it alone costs "
      "more top-1 than this; 1: never", .min = 0.001, .max = 1,
      .arg = "SHARE",
      .needs = TRAINS " data|val" },
    { .name = "tt-except", .type = CTT_STRING, .off = FIELD(except),
      .dflt = "", .help = "weights not to factorise", .arg = "PATTERNS",
      .needs = TRAINS },
    { .name = "tt-each", .type = CTT_STRING, .off = FIELD(each), .dflt = "",
      .help = "ranks of some weights in place of --tt-rank: h.*=8,y=4",
      .arg = "NAME=R,..", .needs = "tt-rank" },
    { .name = NULL }
};

static int trains_asked(const struct ctt_recipe *o)
{
    return o->tt.rank > 0 || o->tt.tol > 0;
}

static int check_trains(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc;

    CTT_TRY(ctt_names_check(m, o->tt.except));
    CTT_TRY(ctt_names_check_numbers(m, "tt-each", o->tt.each, 1, 4096));
    if (trains_asked(o))
        CTT_TRY(ctt_chain_check(m, o->tt.least, o->tt.except,
                                "a tensor train", "tt-except"));
out:
    return rc;
}

static void tell_trains(struct ctt_walk *k, int done)
{
    snprintf(k->name, sizeof(k->name), "tensor trains");
    snprintf(k->line, sizeof(k->line), "tensor trains%s: rank %d, tolerance "
             "%g, %d of %d weights", k->o->tt.on == CTT_ON_RESPONSES
             ? " on responses" : "", k->o->tt.rank, (double)k->o->tt.tol, done,
             k->r->weights);
}

static int factorise_trains(struct ctt_walk *k, int round)
{
    struct ctt_tt o = k->o->tt;
    struct ctt_model *m = NULL;
    int done = ctt_chain_rows(k->r), rc = 0;

    (void)round;
    o.clips = k->o->svd.clips;
    CTT_TRY(factorise(&(struct making){ *k->m, &o, k->calls, k, k->r, NULL,
                                        0 }, &m));
    ctt_model_free(k->m);
    *k->m = m;
    if (ctt_chain_rows(k->r) > done)
        tell_trains(k, ctt_chain_rows(k->r) - done);
    else
        ctt_walk_same(k, "tensor trains");
out:
    return rc;
}

/* Takes a third of the epochs if later stages are retrained as well. */
static const double ranks[] = { 32, 16, 8, 4 };

static const struct ctt_ladder ladders[] = {
    { .name = "tensor train", .kind = CTT_OPTION_FORM, .option = "tt-rank",
      .unit = "rank", .also = "tt-least=1", .except = "tt-except",
      .stage = &ctt_stage_tt, CTT_LADDER_VALUES(ranks) },
    { .name = NULL }
};

const struct ctt_stage ctt_stage_tt = {
    .section = "Tensor trains", .options = options,
    .ask = "--tt-rank or --tt-tol", .epochs = 1.0 / 3,
    .asked = trains_asked, .check = check_trains, .run = factorise_trains,
    .choice = 1, .ladders = ladders,
};
