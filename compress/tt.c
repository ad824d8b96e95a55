/* SPDX-License-Identifier: Apache-2.0
 * tt.c: the stage "tensor trains": chooses weights to factorise and replaces
 * them by chains of small convs. */
#include "compress/chain.h"
#include "compress/stage.h"
#include "net/edit.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

enum { LONG_NAME = CTT_NAME + 16 };

/* The last core keeps the name of the node, which other nodes read.  Returns
 * whether the name is short enough. */
static int core_name(const struct ctt_node *n, int k, int cores,
                     char name[LONG_NAME])
{
    int len = k < cores - 1
        ? snprintf(name, LONG_NAME, "%s.t%d", n->name, k + 1)
        : snprintf(name, LONG_NAME, "%s", n->name);

    return len < CTT_NAME;
}

/* ---- which weights ---- */

static struct ctt_weight_row *row_of(const struct ctt_report *r,
                                     const char *name)
{
    for (int i = 0; i < r->weights; i++)
        if (strcmp(r->weight[i].name, name) == 0)
            return &r->weight[i];
    return NULL;
}

/* Whether the names of the cores are unused; if not, the row gets the reason.
 */
static int names_free(const struct ctt_graph *g, const struct ctt_node *n,
                      struct ctt_weight_row *row)
{
    char name[LONG_NAME];

    for (int k = 0; k < CTT_MAX_CORES - 1; k++) {
        if (!core_name(n, k, CTT_MAX_CORES, name)) {
            snprintf(row->reason, CTT_REASON, "its name leaves no room for "
                     "those of cores");
            return 0;
        }
        if (ctt_graph_find(g, name) >= 0) {
            snprintf(row->reason, CTT_REASON, "factorised before: there is "
                     "%s", name);
            return 0;
        }
    }
    return 1;
}

static int pays(const struct ctt_chain *c, struct ctt_weight_row *row)
{
    if (c->cores > 1 && c->params < row->params && c->macs < row->macs)
        return 1;
    snprintf(row->reason, CTT_REASON, "a chain takes %lld parameters and %lld "
             "multiplications", (long long)c->params, (long long)c->macs);
    return 0;
}

static void fill_row(const struct ctt_chain *c, struct ctt_weight_row *row)
{
    row->cores = c->cores;
    for (int k = 1; k < c->cores; k++)
        row->rank[k - 1] = c->rank[k];
    ctt_chain_text(c, row->chain, sizeof(row->chain));
    row->reason[0] = '\0';
    row->error = c->error;
    row->params_after = c->params;
    row->macs_after = c->macs;
}

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
    if (ctt_name_matches(o->except, n->name)) {
        snprintf(row->reason, CTT_REASON, "excepted");
        return 0;
    }
    if (o->cost && o->cost[i] > o->harm) {
        snprintf(row->reason, CTT_REASON, "alone costs %.1f points of top-1",
                 100 * (double)o->cost[i]);
        return 0;
    }
    if (row->params < o->least) {
        snprintf(row->reason, CTT_REASON, "has fewer than %d numbers",
                 o->least);
        return 0;
    }
    if (!names_free(m->g, n, row))
        return 0;
    CTT_TRY(ctt_chain_new(m->g, i, m->w + n->at[0], o, &c));
    if (pays(c, row)) {
        fill_row(c, row);
        *out = c;
        c = NULL;
    }
out:
    ctt_chain_free(&c);
    return rc;
}

/* ---- the new model ---- */

/* Adds the line of core k of the chain that replaces node i. */
static int add_core(struct ctt_edit *e, const struct ctt_graph *g, int i,
                    const struct ctt_chain *c, int k)
{
    const struct ctt_node *n = &g->node[i];
    struct ctt_chain_conv r = ctt_chain_core(c, k, n);
    const int *f = r.kernel, *s = r.stride, *p = r.pad;
    int point = f[0] * f[1] * f[2] * s[0] * s[1] * s[2] == 1 &&
                p[0] + p[1] + p[2] == 0;
    int last = k == c->cores - 1, plus = last && n->plus;
    char name[LONG_NAME], in[LONG_NAME];

    core_name(n, k, c->cores, name);
    if (k > 0)
        core_name(n, k - 1, c->cores, in);
    /* A deconv that only mixes channels is a conv. */
    return ctt_edit_add(e, i, "%s %s in=%s%s%s out=%lld kernel=%d,%d,%d "
                        "stride=%d,%d,%d pad=%d,%d,%d bias=%d",
                        point ? "conv" : ctt_ops[n->op].name, name,
                        k > 0 ? in : g->node[n->in[0]].name,
                        plus ? " plus=" : "",
                        plus ? g->node[n->in[1]].name : "", (long long)r.out,
                        f[0], f[1], f[2], s[0], s[1], s[2], p[0], p[1], p[2],
                        last ? n->attr.conv.bias : 0);
}

/* Replaces nodes by their chains. */
static int add_chains(struct ctt_edit *e, const struct ctt_graph *g,
                      struct ctt_chain *const *chain)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        if (!chain[i])
            continue;
        for (int k = 0; k < chain[i]->cores; k++)
            CTT_TRY(add_core(e, g, i, chain[i], k));
        ctt_edit_remove(e, i);
    }
out:
    return rc;
}

/* Copies the weights of the cores. */
static int fill_cores(const struct ctt_graph *g,
                      struct ctt_chain *const *chain, struct ctt_model *to)
{
    char name[LONG_NAME];
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        for (int k = 0; chain[i] && k < chain[i]->cores; k++) {
            const struct ctt_node *d;
            int at;

            core_name(&g->node[i], k, chain[i]->cores, name);
            at = ctt_graph_find(to->g, name);
            CTT_CHECK(at >= 0, CTT_EFORMAT, "%s: lost on the way", name);
            d = &to->g->node[at];
            memcpy(to->w + d->at[0], chain[i]->w[k],
                   (size_t)ctt_volume(&d->w[0]) * sizeof(float));
        }
    }
out:
    return rc;
}

static int replace(const struct ctt_model *m, struct ctt_chain *const *chain,
                   struct ctt_model **out)
{
    struct ctt_edit *e = NULL;
    struct ctt_model *to = NULL;
    int rc = 0;

    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(add_chains(e, m->g, chain));
    CTT_TRY(ctt_edit_model(e, m, &to));
    CTT_TRY(fill_cores(m->g, chain, to));
    *out = to;
    to = NULL;
out:
    ctt_model_free(&to);
    ctt_edit_free(&e);
    return rc;
}

int ctt_factorise(const struct ctt_model *m, const struct ctt_tt *o,
                  struct ctt_report *r, struct ctt_model **out)
{
    struct ctt_chain **chain = ctt_calloc((size_t)m->g->count, sizeof(*chain));
    int rc = 0;

    CTT_TRY(chain ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++) {
        struct ctt_weight_row *row = row_of(r, m->g->node[i].name);
        if (row)
            CTT_TRY(choose(m, i, o, row, &chain[i]));
    }
    CTT_TRY(replace(m, chain, out));
out:
    for (int i = 0; chain && i < m->g->count; i++)
        ctt_chain_free(&chain[i]);
    ctt_free(chain);
    return rc;
}

/* ---- the accuracy that one weight costs ---- */

/* The loss of top-1 on full clips if only node i is factorised, without
 * retraining.  0 if the node stays whole anyway. */
static int cost_alone(const struct ctt_walk *k, int i, double as_given,
                      float *cost)
{
    const struct ctt_model *given = *k->m;
    struct ctt_tt o = k->o->tt;
    struct ctt_model *m = NULL;
    struct ctt_report *r = NULL;
    double top1[CTT_ACCURACIES];
    char name[CTT_NAME + 8];
    int rc = 0;

    o.only = i + 1;
    CTT_TRY(ctt_report_new(given, &r));
    CTT_TRY(ctt_factorise(given, &o, r, &m));
    *cost = 0;
    if (m->g->count == given->g->count)
        goto out;
    snprintf(name, sizeof(name), "%s alone", given->g->node[i].name);
    CTT_TRY(ctt_walk_accuracy(k, name, m, top1));
    *cost = (float)(as_given - top1[CTT_ACCURACIES - 1]);
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
    double as_given = k->r->stage[0].after[CTT_ACCURACIES - 1];
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        if (ctt_is_conv(&g->node[i]))
            CTT_TRY(cost_alone(k, i, as_given, &cost[i]));
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
      .arg = "E", .tags = CTT_OPT_COMMON },
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

/* Whether what pruning or sharing did to a weight would be lost. */
static int check_weight(const struct ctt_model *m, const struct ctt_node *n,
                        const struct ctt_tt *o)
{
    int rc = 0;

    if (!ctt_is_conv(n) || ctt_volume(&n->w[0]) < o->least ||
        ctt_name_matches(o->except, n->name))
        return 0;
    for (int64_t i = n->at[0]; i < n->at[0] + ctt_volume(&n->w[0]); i++)
        CTT_CHECK(!ctt_is_pruned(&m->constraint, i) &&
                  !ctt_code(&m->constraint, i), CTT_EINVAL, "%s is pruned or "
                  "shared, and a tensor train of it would be neither: give a "
                  "dense model, or --tt-except", n->name);
out:
    return rc;
}

static int check(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc;

    CTT_TRY(ctt_names_check(m, o->tt.except));
    for (int i = 0; asked(o) && i < m->g->count; i++)
        CTT_TRY(check_weight(m, &m->g->node[i], &o->tt));
out:
    return rc;
}

static void tell(struct ctt_walk *k)
{
    int done = 0;

    for (int i = 0; i < k->r->weights; i++)
        done += k->r->weight[i].cores > 1;
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
    int rc = 0;

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
    tell(k);
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
