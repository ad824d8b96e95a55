/* SPDX-License-Identifier: Apache-2.0
 * explain.c: the loss and the savings by each change of each weight of a
 * compressed model: a model in which it alone is undone is tested, stored and
 * timed. */
#include "compress/explain/explain.h"
#include "compress/trial.h"
#include "net/op.h"

#include <math.h>
#include <stdio.h>

/* ---- the points ---- */

void ctt_explain_free(struct ctt_explain **e)
{
    if (!*e)
        return;
    ctt_model_free(&(*e)->small);
    ctt_model_free(&(*e)->dense);
    ctt_free((*e)->weight);
    ctt_free((*e)->point);
    ctt_free(*e);
    *e = NULL;
}

static const struct ctt_gain unknown = { { NAN, NAN, NAN }, NAN,
    { NAN, NAN, NAN }, { NAN, NAN, NAN } };

static int is_known(const struct ctt_gain *g)
{
    return !isnan(g->kl[0]);
}

static void add_point(struct ctt_explain *e, int weight, int kind)
{
    struct ctt_explain_point *p = &e->point[e->points++];

    *p = (struct ctt_explain_point){ .weight = weight, .kind = kind,
        .back = unknown, .trained = unknown, .faster = NAN };
    if (kind == CTT_DONE_CHANNELS)
        snprintf(p->why, CTT_REASON, "channels went with those of other "
                 "weights, and their numbers with them");
}

static int count_bits(unsigned set)
{
    int n = 0;

    for (int k = 0; k < CTT_DONE_KINDS; k++)
        n += set >> k & 1;
    return n;
}

/* A point for each of a set, and one for all of them. */
static void add_points(struct ctt_explain *e, int weight, unsigned done)
{
    for (int k = 0; k < CTT_DONE_KINDS; k++)
        if (done & CTT_DONE(k))
            add_point(e, weight, k);
    if (count_bits(done & ~CTT_DONE(CTT_DONE_CHANNELS)) > 1)
        add_point(e, weight, CTT_DONE_KINDS);
}

static void list_weights(struct ctt_explain *e)
{
    const struct ctt_graph *g = e->dense->g;
    double macs = 0;
    unsigned any = 0;

    for (int i = 0; i < g->count; i++)
        macs += (double)ctt_node_macs(g, i);
    for (int i = 0; i < g->count; i++) {
        struct ctt_explain_weight *w = &e->weight[e->weights];

        if (!ctt_is_conv(&g->node[i]))
            continue;
        snprintf(w->name, sizeof(w->name), "%s", g->node[i].name);
        w->node = i;
        w->done = ctt_done_to(&e->origin, i);
        w->params = ctt_volume(&g->node[i].w[0]);
        w->macs = macs > 0 ? (double)ctt_node_macs(g, i) / macs : 0;
        any |= w->done;
        add_points(e, e->weights++, w->done);
    }
    if (any)
        add_points(e, CTT_EXPLAIN_ALL, any & ~CTT_DONE(CTT_DONE_CHANNELS));
}

int ctt_explain_new(const struct ctt_model *small,
                    const struct ctt_model *dense, struct ctt_explain **out)
{
    struct ctt_explain *e = ctt_calloc(1, sizeof(*e));
    size_t nodes = (size_t)dense->g->count + 1;
    int rc = e ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_model_copy(small, &e->small));
    CTT_TRY(ctt_lineage_fold(small, dense, &e->dense));
    CTT_TRY(ctt_lineage_of(e->small, e->dense, &e->origin));
    e->weight = ctt_calloc(nodes, sizeof(*e->weight));
    e->point = ctt_calloc(nodes * (CTT_DONE_KINDS + 1), sizeof(*e->point));
    CTT_TRY(e->weight && e->point ? 0 : CTT_ENOMEM);
    list_weights(e);
    CTT_CHECK(e->points, CTT_EINVAL, "nothing was done to its weights");
    *out = e;
    e = NULL;
out:
    ctt_explain_free(&e);
    return rc;
}

/* ---- results ---- */

static double mean_accuracy(const double x[CTT_ACCURACIES])
{
    double sum = 0;

    for (int k = 0; k < CTT_ACCURACIES; k++)
        sum += x[k];
    return sum / CTT_ACCURACIES;
}

double ctt_explain_cost(const struct ctt_explain_point *p)
{
    return mean_accuracy(is_known(&p->trained) ? p->trained.kl : p->back.kl);
}

static int is_sum(const struct ctt_explain_point *p)
{
    return p->weight == CTT_EXPLAIN_ALL || p->kind == CTT_DONE_KINDS;
}

/* Whether point x comes before y in the order of costs. */
static int costs_more(const struct ctt_explain_point *x,
                      const struct ctt_explain_point *y)
{
    double a = ctt_explain_cost(x), b = ctt_explain_cost(y);

    return !isnan(a) && (isnan(b) || a > b);
}

int ctt_explain_sort(const struct ctt_explain *e, int all, int *order)
{
    int n = 0;

    for (int i = 0; i < e->points; i++) {
        int k = n;

        if (is_sum(&e->point[i]) != all)
            continue;
        for (; k > 0 && costs_more(&e->point[i], &e->point[order[k - 1]]); k--)
            order[k] = order[k - 1];
        order[k] = i;
        n++;
    }
    return n;
}

const char *ctt_explain_weight_name(const struct ctt_explain *e,
                               const struct ctt_explain_point *p)
{
    return p->weight == CTT_EXPLAIN_ALL ? "all weights"
                                        : e->weight[p->weight].name;
}

const char *ctt_explain_kind_name(const struct ctt_explain_point *p)
{
    return p->kind == CTT_DONE_KINDS ? "everything" : ctt_done_words[p->kind];
}

/* ---- a point ---- */

/* A run over all points.  of: the weight for which the base was trained; -2:
 * none. */
struct explaining {
    struct ctt_explain             *e;
    const struct ctt_explain_calls *calls;
    const char                     *path;
    struct ctt_trial                base;
    int                             of;
    unsigned                       *undo, *none;    /* by dense node */
    char                           *train;          /* by dense node */
};

static void give_reason(struct ctt_explain_point *p, const char *why)
{
    if (!p->why[0])
        snprintf(p->why, sizeof(p->why), "%s", why);
}

/* Sets the changes that the point undoes and the weights trained for it. */
static void set_undone(const struct explaining *a,
                       const struct ctt_explain_point *p)
{
    const struct ctt_explain *e = a->e;

    for (int i = 0; i < e->weights; i++) {
        const struct ctt_explain_weight *w = &e->weight[i];
        unsigned all = w->done & ~CTT_DONE(CTT_DONE_CHANNELS);
        int mine = p->weight == i || p->weight == CTT_EXPLAIN_ALL;

        a->train[w->node] = (char)mine;
        a->undo[w->node] = !mine ? 0 : p->kind == CTT_DONE_KINDS ? all
            : all & CTT_DONE(p->kind);
    }
}

/* Reason why dense values cannot be put back; NULL: they can. */
static const char *back_why(const struct explaining *a)
{
    for (int i = 0; i < a->e->weights; i++) {
        int node = a->e->weight[i].node;
        const char *why = ctt_undo_why(&a->e->origin, node, a->undo[node]);

        if (why)
            return why;
    }
    return NULL;
}

/* The names of all nodes with weights but those that are trained, with a comma
 * between two; the caller frees it. */
static int list_frozen(const struct explaining *a, const struct ctt_model *m,
                       char **out)
{
    const struct ctt_graph *g = m->g;
    char *trained = ctt_calloc((size_t)g->count + 1, 1), *text = NULL;
    size_t size = (size_t)g->count * (CTT_NAME + 1) + 1, n = 0;
    int rc = trained ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY((text = ctt_calloc(size, 1)) ? 0 : CTT_ENOMEM);
    for (int i = 0; i < a->e->dense->g->count; i++) {
        struct ctt_parts p;

        if (!a->train[i])
            continue;
        ctt_parts_find(a->e->dense->g, i, g, &p);
        for (int k = 0; k < p.count; k++)
            trained[p.node[k]] = 1;
    }
    for (int i = 0; i < g->count; i++)
        if (g->node[i].nw && !trained[i])
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "," : "",
                                  g->node[i].name);
    *out = text;
    text = NULL;
out:
    ctt_free(text);
    ctt_free(trained);
    return rc;
}

/* Trains m, of which `undo` is undone. */
static int train(const struct explaining *a, const unsigned *undo,
                 struct ctt_model *m)
{
    char *frozen = NULL;
    int rc;

    CTT_TRY(list_frozen(a, m, &frozen));
    CTT_TRY(a->calls->train(a->calls->arg, frozen[0] ? frozen : NULL, m));
    ctt_undo_round(&a->e->origin, undo, a->train, m);
out:
    ctt_free(frozen);
    return rc;
}

/* Trains the base for this weight, or for all. */
static int train_base(struct explaining *a, int weight)
{
    struct ctt_model *m = NULL;
    int rc = 0;

    if (a->of == weight)
        goto out;
    a->of = -2;
    CTT_TRY(ctt_model_copy(a->e->small, &m));
    CTT_TRY(train(a, a->none, m));
    CTT_TRY(a->calls->keep(a->calls->arg, CTT_BASE_TRAINED, m));
    a->of = weight;
out:
    ctt_model_free(&m);
    return rc;
}

/* *m: the trained model.  If training or this model forbids it, p->why has the
 * reason. */
static int measure_trained(struct explaining *a, struct ctt_explain_point *p,
                           struct ctt_model **m)
{
    struct ctt_model *to = NULL;
    int rc;

    rc = ctt_undo(&a->e->origin, a->undo, 0, &to);
    if (rc >= 0)
        rc = train_base(a, p->weight);
    if (rc >= 0)
        rc = train(a, a->undo, to);
    if (rc == CTT_EINVAL || rc == CTT_EUNSUP || rc == CTT_ENAN) {
        give_reason(p, ctt_errmsg());
        rc = 0;
        goto out;
    }
    CTT_TRY(rc);
    CTT_TRY(a->calls->gain(a->calls->arg, CTT_BASE_TRAINED, to, &p->trained));
    ctt_model_free(m);
    *m = to;
    to = NULL;
out:
    ctt_model_free(&to);
    return rc;
}

static int measure_back(struct explaining *a, struct ctt_explain_point *p,
                        struct ctt_model **m)
{
    const char *why = back_why(a);
    int rc = 0;

    if (!why) {
        rc = ctt_undo(&a->e->origin, a->undo, 1, m);
        if (rc == CTT_EINVAL || rc == CTT_EUNSUP)
            why = ctt_errmsg();
    }
    if (why) {
        give_reason(p, why);
        rc = 0;
        goto out;
    }
    CTT_TRY(rc);
    CTT_TRY(a->calls->gain(a->calls->arg, CTT_BASE_GIVEN, *m, &p->back));
out:
    return rc;
}

/* Bytes and times of m, in which the point is undone. */
static int measure_file(const struct explaining *a,
                        struct ctt_explain_point *p, struct ctt_model *m)
{
    struct ctt_trial t = { .file = NULL };
    struct ctt_speed speed;
    int full, rc;

    ctt_undo_share(&a->e->origin, a->undo, m);
    CTT_TRY(full = ctt_trial_plain(m, a->path, &t));
    if (full) {
        give_reason(p, ctt_errmsg());
        goto out;
    }
    p->bytes = t.bytes - a->e->bytes;
    if (!a->calls->recipe->compare)
        goto out;
    CTT_TRY(full = ctt_trial_compare(a->calls->recipe, &a->base, &t, &speed));
    if (!full) {
        p->faster = speed.busy ? NAN : speed.slower;
        p->busy = speed.busy;
    }
out:
    ctt_trial_drop(&t);
    return rc < 0 ? rc : 0;
}

static int explain_point(struct explaining *a, int i)
{
    struct ctt_explain_point *p = &a->e->point[i];
    const struct ctt_explain_calls *c = a->calls;
    struct ctt_model *m = NULL;
    int rc = 0;

    if (c->begin)
        CTT_TRY(c->begin(c->arg, a->e, i));
    set_undone(a, p);
    if (p->kind != CTT_DONE_CHANNELS) {
        CTT_TRY(measure_back(a, p, &m));
        if (c->train)
            CTT_TRY(measure_trained(a, p, &m));
    }
    if (m)
        CTT_TRY(measure_file(a, p, m));
    p->done = 1;
    if (c->end)
        CTT_TRY(c->end(c->arg, a->e, i));
out:
    ctt_model_free(&m);
    return rc;
}

static int open_run(struct explaining *a)
{
    size_t nodes = (size_t)a->e->dense->g->count + 1;
    int full, rc;

    a->undo = ctt_calloc(nodes, sizeof(*a->undo));
    a->none = ctt_calloc(nodes, sizeof(*a->none));
    a->train = ctt_calloc(nodes, 1);
    CTT_TRY(a->undo && a->none && a->train ? 0 : CTT_ENOMEM);
    CTT_TRY(full = ctt_trial_plain(a->e->small, a->path, &a->base));
    CTT_TRY(full ? CTT_ENOMEM : 0);
    a->e->bytes = a->base.bytes;
    CTT_TRY(a->calls->keep(a->calls->arg, CTT_BASE_GIVEN, a->e->small));
out:
    return rc;
}

int ctt_explain_run(struct ctt_explain *e,
                    const struct ctt_explain_calls *calls, const char *path)
{
    struct explaining a = { .e = e, .calls = calls, .path = path, .of = -2 };
    int rc;

    CTT_TRY(open_run(&a));
    for (int i = 0; i < e->points; i++)
        if (!e->point[i].done)
            CTT_TRY(explain_point(&a, i));
out:
    ctt_trial_drop(&a.base);
    ctt_free(a.undo);
    ctt_free(a.none);
    ctt_free(a.train);
    return rc;
}
