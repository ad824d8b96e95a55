/* SPDX-License-Identifier: Apache-2.0
 * svd.c: the stage "SVD": replaces a conv by one with fewer channels and a conv
 * of one pixel that mixes these. */
#include "compress/stage/chain.h"
#include "compress/stage/responses.h"
#include "compress/stage.h"
#include "compress/stage/svd.h"
#include "net/op.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Energies below this share of the first are rounding errors of zero. */
static const double least_share = 1e-12;

static void free_spectrum(struct ctt_spectrum *s)
{
    ctt_free(s->u);
    ctt_free(s->energy);
    ctt_free(s->mean);
    ctt_free(s->was);
    ctt_free(s->w);
    *s = (struct ctt_spectrum){ .u = NULL };
}

/* ---- directions and energies ---- */

static int of_weights(struct ctt_spectrum *s, const float *w)
{
    size_t d = (size_t)s->d, taps = (size_t)s->taps, n = d < taps ? d : taps;
    double *a = ctt_calloc(d * taps, sizeof(*a));
    double *vt = ctt_calloc(n * taps, sizeof(*vt));
    int rc = 0;

    s->u = ctt_calloc(d * n, sizeof(*s->u));
    s->energy = ctt_calloc(n, sizeof(*s->energy));
    CTT_TRY(a && vt && s->u && s->energy ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < d * taps; i++)
        a[i] = w[i];
    s->n = (int)n;
    CTT_TRY(ctt_svd(s->d, s->taps, a, s->u, s->energy, vt));
    for (size_t i = 0; i < n; i++)
        s->energy[i] *= s->energy[i];
out:
    ctt_free(a);
    ctt_free(vt);
    return rc;
}

int ctt_spectrum_of(struct ctt_spectrum *s, double *cov)
{
    size_t d = (size_t)s->d;
    int rc = 0;

    s->n = s->d;
    ctt_free(s->u);
    ctt_free(s->energy);
    s->u = ctt_calloc(d * d, sizeof(*s->u));
    s->energy = ctt_calloc(d, sizeof(*s->energy));
    CTT_TRY(s->u && s->energy ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_eigen(s->d, cov, s->energy));
    for (size_t k = 0; k < d; k++)
        for (size_t o = 0; o < d; o++)
            s->u[o * d + k] = cov[(d - 1 - k) * d + o];
    for (size_t k = 0; k < d / 2; k++) {
        double e = s->energy[k];
        s->energy[k] = s->energy[d - 1 - k];
        s->energy[d - 1 - k] = e;
    }
    for (size_t k = 0; k < d; k++)
        s->energy[k] = s->energy[k] > 0 ? s->energy[k] : 0;
out:
    return rc;
}

/* p: the moments of its responses, or NULL. */
static int analyse(const struct ctt_model *m, int i, struct ctt_moments *p,
                   struct ctt_spectrum *s)
{
    const struct ctt_node *n = &m->g->node[i];
    int64_t all = ctt_volume(&n->w[0]);
    int rc = 0;

    CTT_CHECK(all <= INT_MAX, CTT_EUNSUP, "%s: too large for singular values",
              n->name);
    s->node = i;
    s->d = (int)n->w[0].n;
    s->taps = (int)(all / n->w[0].n);
    rc = p ? ctt_spectrum_of(s, p->cov) : of_weights(s, m->w + n->at[0]);
    if (rc == CTT_ENAN || rc == CTT_EUNSUP)
        rc = ctt_error(rc, "%s: %s", n->name, ctt_errmsg());
    CTT_TRY(rc);
    if (p) {
        s->mean = p->sum;
        p->sum = NULL;
    }
    s->all = 0;
    for (int k = 0; k < s->n; k++)
        s->all += s->energy[k];
out:
    return rc;
}

/* ---- ranks ---- */

/* The lowest rank that keeps the share o->energy, at most o->rank or what
 * o->each says. */
static int choose_rank(const struct ctt_spectrum *s, const struct ctt_svd *o,
                       const char *name)
{
    double most = o->rank;
    double lost = 0, may = o->energy > 0 ? (1 - (double)o->energy) * s->all : 0;
    int r = s->n;

    while (r > 1 && s->energy[r - 1] <= least_share * s->energy[0])
        lost += s->energy[--r];
    while (r > 1 && lost + s->energy[r - 1] <= may)
        lost += s->energy[--r];
    ctt_names_number(o->each, name, &most);
    return most > 0 && r > (int)most ? (int)most : r;
}

static double error_of(const struct ctt_spectrum *s)
{
    double lost = s->all;

    for (int k = 0; k < s->rank; k++)
        lost -= s->energy[k];
    return s->all > 0 && lost > 0 ? sqrt(lost / s->all) : 0;
}

/* ---- the two cores ---- */

static void shape(const struct ctt_graph *g, const struct ctt_spectrum *s,
                  struct ctt_chain *c)
{
    const struct ctt_node *n = &g->node[s->node];
    const struct ctt_tensor *k = &n->w[0];

    memcpy(c->dim, (int[]){ (int)k->c, (int)k->d, (int)k->h, (int)k->w,
                            (int)k->n }, sizeof(c->dim));
    c->cores = 2;
    memcpy(c->first, (int[]){ 0, CTT_MODES - 1, CTT_MODES }, 3 * sizeof(int));
    memcpy(c->rank, (int[]){ 1, s->rank, 1 }, 3 * sizeof(int));
    c->error = error_of(s);
    c->fitted = s->mean != NULL;
    ctt_chain_count(c, g, n);
}

/* The first core is u' w, the second u; row and column k get the same norm, as
 * training preserves the differences of squared norms (Du and others 2018). */
static int fill_pair(const struct ctt_spectrum *s, const float *w,
                     struct ctt_chain *c)
{
    double *row = ctt_calloc((size_t)s->taps, sizeof(*row));
    int r = s->rank, rc = 0;

    c->w[0] = ctt_calloc((size_t)r * (size_t)s->taps, sizeof(float));
    c->w[1] = ctt_calloc((size_t)s->d * (size_t)r, sizeof(float));
    CTT_TRY(row && c->w[0] && c->w[1] ? 0 : CTT_ENOMEM);
    for (int k = 0; k < r; k++) {
        double norm2 = 0, split;

        memset(row, 0, (size_t)s->taps * sizeof(*row));
        for (int o = 0; o < s->d; o++)
            for (int t = 0; t < s->taps; t++)
                row[t] += s->u[(size_t)o * (size_t)s->n + (size_t)k] *
                          (s->w ? s->w[(size_t)o * (size_t)s->taps + (size_t)t]
                           : (double)w[(size_t)o * (size_t)s->taps +
                                       (size_t)t]);
        for (int t = 0; t < s->taps; t++)
            norm2 += row[t] * row[t];
        split = norm2 > 0 ? sqrt(sqrt(norm2)) : 1;
        for (int t = 0; t < s->taps; t++)
            c->w[0][(size_t)k * (size_t)s->taps + (size_t)t] =
                (float)(row[t] / split);
        for (int o = 0; o < s->d; o++)
            c->w[1][(size_t)o * (size_t)r + (size_t)k] =
                (float)(s->u[(size_t)o * (size_t)s->n + (size_t)k] * split);
    }
out:
    ctt_free(row);
    return rc;
}

/* b + mean - u u' was, so that the mean of the answers stays. */
static int fill_bias(const struct ctt_spectrum *s, const float *bias,
                     struct ctt_chain *c)
{
    c->bias = ctt_calloc((size_t)s->d, sizeof(*c->bias));
    if (!c->bias)
        return CTT_ENOMEM;
    for (int o = 0; o < s->d; o++)
        c->bias[o] = bias ? bias[o] : 0;
    for (int o = 0; o < s->d; o++) {
        double sum = s->mean[o];

        for (int k = 0; k < s->rank; k++) {
            const double *u = s->u + k;
            double dot = 0;

            for (int i = 0; i < s->d; i++)
                dot += u[(size_t)i * (size_t)s->n] *
                       (s->was ? s->was : s->mean)[i];
            sum -= dot * u[(size_t)o * (size_t)s->n];
        }
        c->bias[o] += (float)sum;
    }
    return 0;
}

/* *out stays NULL if the weight stays whole. */
static int build(const struct ctt_model *m, const struct ctt_spectrum *s,
                 struct ctt_weight_row *row, struct ctt_chain **out)
{
    const struct ctt_node *n = &m->g->node[s->node];
    struct ctt_chain *c = ctt_calloc(1, sizeof(*c));
    int rc = 0;

    CTT_TRY(c ? 0 : CTT_ENOMEM);
    if (s->rank == 0) {
        snprintf(row->reason, CTT_REASON, "whole: other weights lose less, or "
                 "two would save nothing");
        goto out;
    }
    shape(m->g, s, c);
    if (!ctt_chain_pays(c, row))
        goto out;
    CTT_TRY(fill_pair(s, m->w + n->at[0], c));
    if (s->mean)
        CTT_TRY(fill_bias(s, n->nw > 1 ? m->w + n->at[1] : NULL, c));
    ctt_chain_tell(c, row);
    *out = c;
    c = NULL;
out:
    ctt_chain_free(&c);
    return rc;
}

/* ---- the model ---- */

/* All weights that may become two, in the order of the graph. */
struct candidates {
    int                count;
    int               *node;
    struct ctt_moments *moments;    /* NULL: not measured */
    struct ctt_spectrum   *s;
};

static void close_spectra(struct candidates *a)
{
    for (int k = 0; k < a->count; k++) {
        if (a->moments)
            ctt_moments_free(&a->moments[k]);
        if (a->s)
            free_spectrum(&a->s[k]);
    }
    ctt_free(a->node);
    ctt_free(a->moments);
    ctt_free(a->s);
}

static int open_spectra(struct candidates *a, const struct ctt_model *m,
                        const struct ctt_svd *o,
                        const struct ctt_recipe_calls *calls,
                        struct ctt_report *r)
{
    size_t nodes = (size_t)m->g->count;
    int rc = 0;

    a->node = ctt_calloc(nodes, sizeof(*a->node));
    a->s = ctt_calloc(nodes, sizeof(*a->s));
    CTT_TRY(a->node && a->s ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++) {
        struct ctt_weight_row *row = ctt_chain_row(r, m->g->node[i].name);
        if (row && ctt_chain_may(m->g, i, o->least, o->except, row))
            a->node[a->count++] = i;
    }
    if (o->on == CTT_ON_RESPONSES) {
        a->moments = ctt_calloc(nodes, sizeof(*a->moments));
        CTT_TRY(a->moments ? 0 : CTT_ENOMEM);
        CTT_TRY(ctt_responses(m, calls, o->clips, a->node, a->count,
                              a->moments));
    }
    for (int k = 0; k < a->count; k++) {
        struct ctt_moments *p = a->moments ? &a->moments[k] : NULL;

        CTT_TRY(analyse(m, a->node[k], p, &a->s[k]));
        a->s[k].rank = choose_rank(&a->s[k], o,
                                     m->g->node[a->node[k]].name);
        if (p)
            ctt_moments_free(p);
    }
out:
    return rc;
}

/* The highest rank at which the two cores have fewer parameters and
 * multiplications than the weight; both are proportional to the rank. */
static void costs(const struct ctt_graph *g, struct ctt_spectrum *s,
                  struct ctt_svd_layer *l)
{
    int64_t params = (int64_t)s->d * s->taps, most;
    struct ctt_chain c = { .w = { NULL } };

    s->rank = 1;
    shape(g, s, &c);
    l->energy = s->energy;
    l->all = s->all;
    l->whole = ctt_node_macs(g, s->node);
    l->unit = c.macs;
    most = (l->whole - 1) / c.macs;
    most = (params - 1) / c.params < most ? (params - 1) / c.params : most;
    l->most = most < s->n ? (int)most : s->n;
}

static int64_t conv_macs(const struct ctt_graph *g)
{
    int64_t all = 0;

    for (int i = 0; i < g->count; i++)
        if (ctt_is_conv(&g->node[i]))
            all += ctt_node_macs(g, i);
    return all;
}

/* must: a share that cannot be reached is an error; else the ranks are then the
 * lowest. */
static int choose_ranks(struct candidates *a, const struct ctt_graph *g,
                        double share, int must)
{
    struct ctt_svd_layer *l = ctt_calloc((size_t)a->count + 1, sizeof(*l));
    int64_t all = conv_macs(g), left;
    int rc = 0;

    CTT_TRY(l ? 0 : CTT_ENOMEM);
    for (int k = 0; k < a->count; k++)
        costs(g, &a->s[k], &l[k]);
    left = ctt_svd_ranks(l, a->count, all, share);
    CTT_CHECK(!must || (double)left <= share * (double)all, CTT_EINVAL,
              "--svd-macs=%g cannot be reached: with the lowest ranks %.4f of "
              "the multiplications are left", share,
              (double)left / (double)all);
    for (int k = 0; k < a->count; k++)
        a->s[k].rank = l[k].rank;
out:
    ctt_free(l);
    return rc;
}

int ctt_svd_model(const struct ctt_model *m, const struct ctt_svd *o,
                  const struct ctt_recipe_calls *calls, struct ctt_report *r,
                  struct ctt_model **out)
{
    struct ctt_chain **chain = ctt_calloc((size_t)m->g->count, sizeof(*chain));
    struct candidates a = { 0 };
    int rc = 0;

    CTT_TRY(chain ? 0 : CTT_ENOMEM);
    CTT_TRY(open_spectra(&a, m, o, calls, r));
    /* Weights retrained in an earlier round are not given up. */
    if (o->macs > 0)
        CTT_TRY(choose_ranks(&a, m->g, (double)o->macs,
                             r->stages <= 1 || !calls || !calls->retrain));
    for (int k = 0; k < a.count; k++) {
        if (o->on == CTT_ON_RESPONSES && a.s[k].rank > 0)
            CTT_TRY(ctt_svd_follow(m, chain, o->clips, calls, &a.s[k]));
        CTT_TRY(build(m, &a.s[k],
                      ctt_chain_row(r, m->g->node[a.node[k]].name),
                      &chain[a.node[k]]));
    }
    CTT_TRY(ctt_chain_replace(m, chain, out));
out:
    close_spectra(&a);
    for (int i = 0; chain && i < m->g->count; i++)
        ctt_chain_free(&chain[i]);
    ctt_free(chain);
    return rc;
}

/* ---- the stage ---- */

#define FIELD(f) offsetof(struct ctt_recipe, svd.f)

static const char *const ons[] = { "weights", "responses", NULL };

#define ASKED "svd-rank|svd-energy|svd-macs"

static const struct ctt_opt options[] = {
    { .name = "svd-rank", .type = CTT_INT, .off = FIELD(rank), .dflt = "0",
      .help = "largest rank of a weight as a matrix; 0: no limit", .max = 4096,
      .arg = "R" },
    { .name = "svd-energy", .type = CTT_FLOAT, .off = FIELD(energy),
      .dflt = "0", .help = "lowest rank that keeps this share of the sum of "
      "squared singular values; 0: no limit", .max = 0.999999,
      .arg = "SHARE" },
    { .name = "svd-macs", .type = CTT_FLOAT, .off = FIELD(macs), .dflt = "0",
      .help = "ranks that leave this share of all multiplications and keep "
      "the most energy; 0: no limit; where the lowest ranks leave more, they "
      "are taken after a retraining of --thin, else it is an error",
      .max = 0.9999, .arg = "SHARE" },
    { .name = "svd-on", .type = CTT_CHOICE, .off = FIELD(on),
      .dflt = "weights", .help = "keep most of each weight, or of the variance "
      "of its results on training clips", .choices = ons,
      .needs = ASKED "|budget data" },
    { .name = "calibrate", .type = CTT_INT, .off = FIELD(clips), .dflt = "0",
      .help = "training clips on which responses, and ranges for --int8, are "
      "measured; 0: as many as have 3,000 frames", .max = 1 << 20,
      .arg = "CLIPS",
      .needs = "thin-score|svd-on|tt-on|int8!=none|budget data" },
    { .name = "svd-least", .type = CTT_INT, .off = FIELD(least),
      .dflt = "4096", .help = "do not factorise weights with fewer values",
      .max = 1 << 30, .arg = "N", .needs = ASKED },
    { .name = "svd-except", .type = CTT_STRING, .off = FIELD(except),
      .dflt = "", .help = "weights not to factorise", .arg = "PATTERNS",
      .needs = ASKED },
    { .name = "svd-each", .type = CTT_STRING, .off = FIELD(each), .dflt = "",
      .help = "ranks of some weights in place of --svd-rank: h.*=8,y=4",
      .arg = "NAME=R,..", .needs = "svd-rank" },
    { .name = NULL }
};

static int svd_asked(const struct ctt_recipe *o)
{
    return o->svd.rank > 0 || o->svd.energy > 0 || o->svd.macs > 0;
}

static int check_svd(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc;

    CTT_CHECK(o->svd.macs == 0 || (o->svd.rank == 0 && o->svd.energy == 0),
              CTT_EINVAL, "--svd-macs chooses ranks: it excludes --svd-rank "
              "and --svd-energy");
    CTT_TRY(ctt_names_check(m, o->svd.except));
    CTT_TRY(ctt_names_check_numbers(m, "svd-each", o->svd.each, 1, 4096));
    if (svd_asked(o))
        CTT_TRY(ctt_chain_check(m, o->svd.least, o->svd.except, "an SVD",
                                "svd-except"));
out:
    return rc;
}

/* Tells that --svd-macs is not reached: `left` of the multiplications remain.
 * */
static void tell_missed(const struct ctt_walk *k, double left,
                        char missed[48])
{
    char line[160];

    missed[0] = '\0';
    if (k->o->svd.macs == 0 || left <= (double)k->o->svd.macs)
        return;
    snprintf(missed, 48, " (the lowest ranks leave %.4f)", left);
    snprintf(line, sizeof(line), "SVD: --svd-macs=%g is not reached%s",
             (double)k->o->svd.macs, missed);
    if (k->calls->say)
        k->calls->say(k->calls->arg, line);
}

static int factorise_svd(struct ctt_walk *k, int round)
{
    const struct ctt_svd *o = &k->o->svd;
    struct ctt_model *m = NULL;
    double was = (double)conv_macs((*k->m)->g);
    char missed[48];
    int rc;

    (void)round;
    CTT_TRY(ctt_svd_model(*k->m, o, k->calls, k->r, &m));
    tell_missed(k, (double)conv_macs(m->g) / was, missed);
    ctt_model_free(k->m);
    *k->m = m;
    if (!ctt_chain_rows(k->r)) {
        ctt_walk_same(k, "SVD");
        goto out;
    }
    snprintf(k->name, sizeof(k->name), "SVD");
    snprintf(k->line, sizeof(k->line), "SVD on %s: rank %d, energy %g, "
             "multiplications %g%s, %d of %d weights", ons[o->on], o->rank,
             (double)o->energy, (double)o->macs, missed, ctt_chain_rows(k->r),
             k->r->weights);
out:
    return rc;
}

/* Takes a third of the epochs if later stages are retrained as well. */
static const double of_rank[] = { 0.75, 0.5, 0.25, 0.125 };

static const struct ctt_ladder ladders[] = {
    { .name = "svd", .kind = CTT_OPTION_FORM, .option = "svd-rank",
      .unit = "share of the rank", .also = "svd-least=1",
      .except = "svd-except", .stage = &ctt_stage_svd, .of_rank = 1,
      CTT_LADDER_VALUES(of_rank) },
    { .name = NULL }
};

const struct ctt_stage ctt_stage_svd = {
    .section = "SVD", .options = options,
    .ask = "--svd-rank, --svd-energy or --svd-macs",
    .epochs = 1.0 / 3, .asked = svd_asked, .check = check_svd,
    .run = factorise_svd, .ladders = ladders,
};
