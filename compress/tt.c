/* SPDX-License-Identifier: Apache-2.0
 * tt.c: the stage "tensor trains": chooses weights to factorise and replaces
 * them by chains of small convs. */
#include "compress/chain.h"
#include "compress/stage.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* ---- which weights ---- */

/* *out stays NULL if the weight stays whole. */
static int choose(const struct ctt_model *m, int i,
                  const struct ctt_tt *o, struct ctt_weight_row *row,
                  struct ctt_chain **out)
{
    const struct ctt_node *n = &m->g->node[i];
    struct ctt_chain *c = NULL;
    int rc = 0;

    if (o->only && o->only != i + 1)
        return 0;
    if (!ctt_chain_may(m->g, i, o->least, o->except, row))
        return 0;
    if (o->cost && o->cost[i] > o->harm) {
        snprintf(row->reason, CTT_REASON, "alone costs %.1f points of top-1",
                 100 * (double)o->cost[i]);
        return 0;
    }
    CTT_TRY(ctt_chain_new(m->g, i, m->w + n->at[0], o, &c));
    if (ctt_chain_pays(c, row)) {
        ctt_chain_tell(c, row);
        *out = c;
        c = NULL;
    }
out:
    ctt_chain_free(&c);
    return rc;
}

int ctt_factorise(const struct ctt_model *m, const struct ctt_tt *o,
                  struct ctt_report *r, struct ctt_model **out)
{
    struct ctt_chain **chain = ctt_calloc((size_t)m->g->count, sizeof(*chain));
    int rc = 0;

    CTT_TRY(chain ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++) {
        struct ctt_weight_row *row = ctt_chain_row(r, m->g->node[i].name);
        if (row)
            CTT_TRY(choose(m, i, o, row, &chain[i]));
    }
    CTT_TRY(ctt_chain_replace(m, chain, out));
out:
    for (int i = 0; chain && i < m->g->count; i++)
        ctt_chain_free(&chain[i]);
    ctt_free(chain);
    return rc;
}

/* ---- the accuracy that one weight costs ---- */

/* The loss of top-1 on full clips if only node i is factorised, without
 * retraining.  0 if the node stays whole anyway. */
static int cost_alone(const struct ctt_walk *k, int i, double before,
                      float *cost)
{
    const struct ctt_model *given = *k->m;
    struct ctt_tt o = k->o->tt;
    struct ctt_model *m = NULL;
    struct ctt_report *r = NULL;
    struct ctt_score s;
    char name[CTT_NAME + 8];
    int rc = 0;

    o.only = i + 1;
    CTT_TRY(ctt_report_new(given, &r));
    CTT_TRY(ctt_factorise(given, &o, r, &m));
    *cost = 0;
    if (m->g->count == given->g->count)
        goto out;
    snprintf(name, sizeof(name), "%s alone", given->g->node[i].name);
    CTT_TRY(ctt_walk_accuracy(k, name, m, &s));
    *cost = (float)(before - s.top1[CTT_ACCURACIES - 1]);
out:
    ctt_report_free(&r);
    ctt_model_free(&m);
    return rc;
}

/* The cost by node.  Some weights tolerate no truncation: retraining would then
 * start from chance, and keeping them whole gives the better small model. */
static int costs(const struct ctt_walk *k, float *cost)
{
    const struct ctt_graph *g = (*k->m)->g;
    const struct ctt_score *s = &k->r->stage[k->r->stages - 1].after;
    double before = s->top1[CTT_ACCURACIES - 1];
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        if (ctt_chain_row(k->r, g->node[i].name))
            CTT_TRY(cost_alone(k, i, before, &cost[i]));
out:
    return rc;
}

/* ---- the stage ---- */

static const char *const forms[] = { "train", "window", "pair", NULL };

#define FIELD(f) offsetof(struct ctt_recipe, tt.f)

#define TRAINS "tt-rank|tt-tol"

static const struct ctt_opt options[] = {
    { .name = "tt-rank", .type = CTT_INT, .off = FIELD(rank), .dflt = "0",
      .help = "largest rank of a tensor train; 0: no limit", .max = 4096,
      .arg = "R", .tags = CTT_OPT_COMMON },
    { .name = "tt-tol", .type = CTT_FLOAT, .off = FIELD(tol), .dflt = "0",
      .help = "largest relative error of a weight; 0: no limit", .max = 0.9999,
      .arg = "E" },
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
    { .name = NULL }
};

static int asked(const struct ctt_recipe *o)
{
    return o->tt.rank > 0 || o->tt.tol > 0;
}

static int check(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc;

    CTT_TRY(ctt_names_check(m, o->tt.except));
    if (asked(o))
        CTT_TRY(ctt_chain_check(m, o->tt.least, o->tt.except,
                                "a tensor train", "tt-except"));
out:
    return rc;
}

static void tell(struct ctt_walk *k, int done)
{
    snprintf(k->name, sizeof(k->name), "tensor trains");
    snprintf(k->line, sizeof(k->line), "tensor trains: rank %d, tolerance %g, "
             "%d of %d weights", k->o->tt.rank, (double)k->o->tt.tol, done,
             k->r->weights);
}

static int run(struct ctt_walk *k, int round)
{
    struct ctt_tt o = k->o->tt;
    struct ctt_model *m = NULL;
    float *cost = NULL;
    int done = ctt_chain_rows(k->r), rc = 0;

    (void)round;
    if (k->calls->accuracy && o.harm > 0 && o.harm < 1) {
        cost = ctt_calloc((size_t)(*k->m)->g->count, sizeof(*cost));
        CTT_TRY(cost ? 0 : CTT_ENOMEM);
        CTT_TRY(costs(k, cost));
        o.cost = cost;
    }
    CTT_TRY(ctt_factorise(*k->m, &o, k->r, &m));
    ctt_model_free(k->m);
    *k->m = m;
    tell(k, ctt_chain_rows(k->r) - done);
out:
    ctt_free(cost);
    return rc;
}

/* Takes a third of the epochs if later stages are retrained as well. */
const struct ctt_stage ctt_stage_tt = {
    .section = "Tensor trains", .options = options,
    .ask = "--tt-rank or --tt-tol", .epochs = 1.0 / 3,
    .asked = asked, .check = check, .run = run,
};
