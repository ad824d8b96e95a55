/* SPDX-License-Identifier: Apache-2.0
 * sensitivity.c: the loss by compressing each weight: for each option a model
 * in which it changes only this weight is tested, stored and timed. */
#include "compress/trial.h"
#include "net/rewrite/edit.h"
#include "net/op.h"
#include "net/rewrite/channel_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

void ctt_sensitivity_free(struct ctt_sensitivity **s)
{
    if (!*s)
        return;
    ctt_model_free(&(*s)->m);
    ctt_free((*s)->weight);
    ctt_free((*s)->point);
    ctt_free(*s);
    *s = NULL;
}

static struct ctt_sensitivity_weight weight_of(const struct ctt_graph *g,
                                               int node, double macs)
{
    const struct ctt_tensor *w = &g->node[node].w[0];
    struct ctt_sensitivity_weight x = { .node = node, .params = ctt_volume(w) };
    int64_t columns = x.params / w->n;

    x.rank = (int)(columns < w->n ? columns : w->n);
    x.macs = macs > 0 ? (double)ctt_node_macs(g, node) / macs : 0;
    snprintf(x.name, sizeof(x.name), "%s", g->node[node].name);
    return x;
}

static double all_macs(const struct ctt_graph *g)
{
    double sum = 0;

    for (int i = 0; i < g->count; i++)
        sum += (double)ctt_node_macs(g, i);
    return sum;
}

static void list_points(struct ctt_sensitivity *s, int weight)
{
    const struct ctt_ladder *l;

    for (int i = 0; (l = ctt_ladder(i)); i++)
        for (int k = 0; k < l->values; k++)
            s->point[s->points++] = (struct ctt_sensitivity_point){
                .weight = weight, .ladder = l, .value = l->value[k],
                .fit = NAN, .faster = NAN, .ram = NAN };
}

/* A copy without batch norms, which stand in the way of most stages. */
static int fold_norms(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_report *r = NULL;
    struct ctt_folded done;
    int rc = 0;

    CTT_TRY(ctt_report_new(m, &r));
    CTT_TRY(ctt_fold_model(m, CTT_FOLD_NORMS, r, &done, out));
out:
    ctt_report_free(&r);
    return rc;
}

int ctt_sensitivity_new(const struct ctt_model *m, struct ctt_sensitivity **out)
{
    struct ctt_sensitivity *s = ctt_calloc(1, sizeof(*s));
    const struct ctt_graph *g;
    size_t each = 0;
    double macs;
    int rc = 0;

    CTT_TRY(s ? 0 : CTT_ENOMEM);
    CTT_TRY(fold_norms(m, &s->m));
    g = s->m->g;
    macs = all_macs(g);
    for (int i = 0; ctt_ladder(i); i++)
        each += (size_t)ctt_ladder(i)->values;
    s->weight = ctt_calloc((size_t)g->count, sizeof(*s->weight));
    s->point = ctt_calloc((size_t)g->count * each, sizeof(*s->point));
    CTT_TRY(s->weight && s->point ? 0 : CTT_ENOMEM);
    for (int i = 0; i < g->count; i++)
        if (ctt_is_conv(&g->node[i])) {
            s->weight[s->weights] = weight_of(g, i, macs);
            list_points(s, s->weights++);
        }
    CTT_CHECK(s->weights, CTT_EUNSUP, "the model has no weights to compress");
    *out = s;
    s = NULL;
out:
    ctt_sensitivity_free(&s);
    return rc;
}

/* ---- the settings of a point ---- */

enum { VALUE = 32 };

/* Settings that change one weight; the texts are what they point to. */
struct point_recipe {
    struct ctt_recipe o;
    char              value[VALUE], also[128];
    char             *except;
};

/* Whether a node has channels that go with some of those of `node`. */
static int is_tied(const struct ctt_graph *g,
                   const struct ctt_channel_groups *t, int node, int other)
{
    for (int64_t i = 0; i < g->node[node].out.c; i++)
        for (int64_t j = 0; j < g->node[other].out.c; j++)
            if (ctt_tie(t, node, i) == ctt_tie(t, other, j))
                return 1;
    return 0;
}

/* Patterns of all other weights, with a comma between two.  ties: without
 * those whose channels go together; or NULL. */
static int list_others(const struct ctt_sensitivity *s, int weight,
                       const struct ctt_channel_groups *ties, char **out)
{
    const struct ctt_graph *g = s->m->g;
    size_t size = (size_t)s->weights * (CTT_NAME + 2), n = 0;
    char *text = ctt_calloc(size, 1);

    if (!text)
        return CTT_ENOMEM;
    for (int i = 0; i < s->weights; i++) {
        if (i == weight || (ties && is_tied(g, ties, s->weight[weight].node,
                                            s->weight[i].node)))
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s=%s", n ? "," : "",
                              s->weight[i].name);
    }
    *out = text;
    return 0;
}

static void print_value(const struct ctt_sensitivity_point *p,
                        const struct ctt_sensitivity_weight *w,
                        char text[VALUE])
{
    if (p->ladder->word)
        snprintf(text, VALUE, "%s", p->ladder->word);
    else
        snprintf(text, VALUE, "%g", ctt_sensitivity_number(p, w));
}

static int set_also(const struct ctt_opt *tab, struct point_recipe *x)
{
    struct ctt_opt_seen seen = { { 0 } };
    char *rest = NULL;
    int rc = 0;

    for (char *w = strtok_r(x->also, " ", &rest); w && rc >= 0;
         w = strtok_r(NULL, " ", &rest))
        rc = ctt_opt_word(tab, &x->o, w, &seen);
    return rc;
}

/* The caller frees x->except. */
static int set_point_recipe(const struct ctt_sensitivity *s,
                            const struct ctt_sensitivity_point *p,
                            struct point_recipe *x)
{
    const struct ctt_sensitivity_weight *w = &s->weight[p->weight];
    struct ctt_opt tab[CTT_OPT_MAX + 1] = { { .name = NULL } };
    struct ctt_channel_groups *ties = NULL;
    int rc = 0;

    CTT_TRY(ctt_recipe_options(0, tab, CTT_OPT_MAX));
    CTT_TRY(ctt_opt_defaults(tab, &x->o));
    if (p->ladder->kind == CTT_OPTION_THIN)
        CTT_TRY(ctt_channel_groups_new(s->m->g, &ties));
    CTT_TRY(list_others(s, p->weight, ties, &x->except));
    snprintf(x->also, sizeof(x->also), "%s", p->ladder->also);
    print_value(p, w, x->value);
    CTT_TRY(set_also(tab, x));
    if (x->except[0])
        CTT_TRY(ctt_opt_set(tab, &x->o, p->ladder->except, x->except));
    CTT_TRY(ctt_opt_set(tab, &x->o, p->ladder->option, x->value));
out:
    ctt_channel_groups_free(&ties);
    return rc;
}

/* ---- a point ---- */

/* State that all points of a run share. */
struct sensing {
    struct ctt_sensitivity             *s;
    const struct ctt_sensitivity_calls *calls;
    const char                   *path;
    struct ctt_trial              base;
};

static void give_reason(struct ctt_sensitivity_point *p, const char *why)
{
    snprintf(p->why, sizeof(p->why), "%s", why);
}

/* Why a stage left the model as it was, or "". */
static const char *unchanged(const struct ctt_sensitivity *s,
                             const struct ctt_sensitivity_point *p,
                             const struct ctt_walk *k)
{
    const char *name = s->weight[p->weight].name;

    if (!k->same)
        return "";
    for (int i = 0; i < k->r->weights; i++)
        if (ctt_row_has(&k->r->weight[i], name, "") &&
            k->r->weight[i].reason[0])
            return k->r->weight[i].reason;
    return "changes nothing";
}

/* Changes *m; stages neither test nor choose.  What does not go with this model
 * or weight is said in p->why. */
static int apply_option(const struct sensing *a,
                        struct ctt_sensitivity_point *p, struct ctt_model **m)
{
    const struct ctt_stage *stage = p->ladder->stage;
    const struct ctt_recipe_calls *c = a->calls->recipe;
    struct ctt_recipe_calls plain = { .arg = c->arg, .sample = c->sample,
                                      .slow_bytes = c->slow_bytes };
    struct point_recipe x = { .except = NULL };
    struct ctt_report *r = NULL;
    struct ctt_walk k = { .stages = ctt_stages, .o = &x.o, .calls = &plain,
                          .path = a->path, .m = m };
    int rc = 0;

    CTT_TRY(set_point_recipe(a->s, p, &x));
    CTT_TRY(ctt_report_new(*m, &r));
    k.r = r;
    rc = stage->check(&x.o, *m);
    if (rc >= 0)
        rc = stage->run(&k, 1);
    if (rc == CTT_EINVAL || rc == CTT_EUNSUP) {
        give_reason(p, ctt_errmsg());
        rc = 0;
        goto out;
    }
    CTT_TRY(rc);
    give_reason(p, unchanged(a->s, p, &k));
out:
    ctt_report_free(&r);
    ctt_free(x.except);
    return rc;
}

/* Whether an option changes what runs: shared values are decoded when a model
 * is opened, and a weight with few multiplications gains nothing that could be
 * told from chance. */
#define FEW 0.005
static int changes_time(const struct ctt_sensitivity *s,
                        const struct ctt_sensitivity_point *p)
{
    return p->ladder->kind != CTT_OPTION_SHARE &&
           s->weight[p->weight].macs >= FEW;
}

static int compare_times(const struct sensing *a,
                         struct ctt_sensitivity_point *p,
                         const struct ctt_trial *t)
{
    struct ctt_speed speed;
    int full, rc = 0;

    if (!a->calls->recipe->compare || !changes_time(a->s, p))
        goto out;
    CTT_TRY(full = ctt_trial_compare(a->calls->recipe, &a->base, t, &speed));
    rc = 0;
    if (!full) {
        p->faster = 1 / speed.slower;
        p->busy = speed.busy;
        p->ram = (double)speed.ram;
    }
out:
    return rc;
}

/* Bytes of the file with everything else as in that of the original: where one
 * weight is pruned or shared all are coded, which shortens others, too. */
static int64_t bytes_alone(const struct sensing *a,
                           const struct ctt_sensitivity_point *p,
                           const struct ctt_trial *t)
{
    const char *name = a->s->weight[p->weight].name;

    return p->ladder->kind != CTT_OPTION_PRUNE &&
           p->ladder->kind != CTT_OPTION_SHARE ? t->bytes
        : a->base.bytes - ctt_trial_named(&a->base, name) +
          ctt_trial_named(t, name);
}

/* m: the changed model. */
static int measure_changed(const struct sensing *a,
                           struct ctt_sensitivity_point *p,
                           const struct ctt_model *m)
{
    struct ctt_trial t = { .file = NULL };
    int full, rc = 0;

    CTT_TRY(full = ctt_trial_plain(m, a->path, &t));
    if (full) {
        give_reason(p, ctt_errmsg());
        goto out;
    }
    p->bytes = bytes_alone(a, p, &t);
    CTT_TRY(a->calls->change(a->calls->arg, m, &p->change));
    CTT_TRY(compare_times(a, p, &t));
out:
    ctt_trial_drop(&t);
    return rc < 0 ? rc : 0;
}

static int sense_point(const struct sensing *a, int i)
{
    struct ctt_sensitivity_point *p = &a->s->point[i];
    const struct ctt_sensitivity_calls *c = a->calls;
    struct ctt_model *m = NULL;
    int rc = 0;

    if (c->begin)
        CTT_TRY(c->begin(c->arg, a->s, i));
    if (p->ladder->kind == CTT_OPTION_INT8 && !c->recipe->sample)
        give_reason(p, "no training clips to measure ranges of values on");
    if (!p->why[0])
        CTT_TRY(ctt_model_copy(a->s->m, &m));
    if (!p->why[0])
        CTT_TRY(apply_option(a, p, &m));
    if (!p->why[0])
        CTT_TRY(measure_changed(a, p, m));
    p->done = 1;
    if (c->end)
        CTT_TRY(c->end(c->arg, a->s, i));
out:
    ctt_model_free(&m);
    return rc;
}

/* A point may have been measured where times were not wanted. */
static int is_known(const struct ctt_sensitivity *s,
                    const struct ctt_sensitivity_point *p, int timed)
{
    return p->done && (p->why[0] || !timed || !changes_time(s, p) ||
                       (!isnan(p->faster) && !isnan(p->ram)));
}

int ctt_sensitivity_missing(const struct ctt_sensitivity *s, int timed)
{
    int n = 0;

    for (int i = 0; i < s->points; i++)
        n += !is_known(s, &s->point[i], timed);
    return n;
}

/* Sets s->rest by a file in which all is coded. */
static int measure_rest(struct ctt_sensitivity *s, const char *path)
{
    struct ctt_opt tab[CTT_OPT_MAX + 1] = { { .name = NULL } };
    struct ctt_trial t = { .file = NULL };
    struct ctt_recipe o;
    int rc;

    CTT_TRY(ctt_recipe_options(0, tab, CTT_OPT_MAX));
    CTT_TRY(ctt_opt_defaults(tab, &o));
    CTT_TRY(ctt_trial_recipe(s->m, ctt_stages, NULL, &o, path, &t));
    s->rest = t.bytes;
    for (int i = 0; i < s->weights; i++)
        s->rest -= ctt_trial_named(&t, s->weight[i].name);
out:
    ctt_trial_drop(&t);
    return rc < 0 ? rc : 0;
}

int ctt_sensitivity_run(struct ctt_sensitivity *s,
                        const struct ctt_sensitivity_calls *calls,
                        const char *path)
{
    struct sensing a = { s, calls, path, { .file = NULL } };
    int full, rc = 0;

    CTT_TRY(full = ctt_trial_plain(s->m, path, &a.base));
    CTT_TRY(full ? CTT_ENOMEM : 0);
    s->bytes = a.base.bytes;
    CTT_TRY(measure_rest(s, path));
    for (int i = 0; i < s->points; i++)
        if (!is_known(s, &s->point[i], calls->recipe->compare != NULL))
            CTT_TRY(sense_point(&a, i));
    ctt_sensitivity_fit(s);
out:
    ctt_trial_drop(&a.base);
    return rc;
}
