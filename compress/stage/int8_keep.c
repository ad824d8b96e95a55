/* SPDX-License-Identifier: Apache-2.0
 * int8_keep.c: the INT8 model, with convs that lose too much accuracy left in
 * floats.  This comes before retraining: it costs milliseconds a frame,
 * training minutes, and training cannot undo it. */
#include "compress/stage/int8_inside.h"
#include "compress/stage/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Clips on which results are compared. */
enum { FOLLOWED = 48 };

static struct ctt_blame *blame_row(const struct ctt_walk *k, const char *name)
{
    for (int i = 0; i < k->r->blames; i++)
        if (strcmp(k->r->blame[i].name, name) == 0)
            return &k->r->blame[i];
    return NULL;
}

struct following {
    struct ctt_int8_follow f;
    struct ctt_model      *now;
    double                *db;
};

static int follow_next(void *arg, int node, const struct ctt_kept *kept, int k)
{
    struct following *w = arg;

    return ctt_int8_follow(&w->f, node, kept, k, w->now, &w->db[node]);
}

/* Quantises the model; db[]: the ratio of each conv that reads bytes. */
static int quantise_convs(const struct ctt_walk *k,
                          const struct ctt_int8_plan *p, const char *take,
                          double *db, struct ctt_model **out)
{
    int rc = 0, clips = k->o->svd.clips ? k->o->svd.clips : FOLLOWED;
    struct following w = { { p->m, k->calls, clips, NULL, NULL }, NULL, db };

    CTT_TRY(ctt_quantise(p->m, take, p->form, &w.now));
    CTT_TRY(ctt_int8_each(p->m, take, k->calls, clips, follow_next, &w));
    *out = w.now;
    w.now = NULL;
out:
    ctt_model_free(&w.now);
    return rc;
}

static void set_rows(const struct ctt_walk *k, const struct ctt_int8_plan *p,
                     const double *db)
{
    for (int i = 0; i < p->m->g->count; i++) {
        struct ctt_blame *b = blame_row(k, p->m->g->node[i].name);

        if (b && p->take[i])
            b->behind = db[i];
    }
}

int ctt_int8_make(const struct ctt_walk *k, struct ctt_int8_plan *p,
                  struct ctt_model **out)
{
    double *db = ctt_calloc((size_t)p->m->g->count, sizeof(*db));
    int rc = 0;

    CTT_TRY(db ? 0 : CTT_ENOMEM);
    CTT_TRY(quantise_convs(k, p, p->take, db, out));
    set_rows(k, p, db);
out:
    ctt_free(db);
    return rc;
}

/* ---- convs in floats ---- */

/* A try with `out` convs in floats. */
struct try {
    int               out;
    char             *take;
    double           *db;
    struct ctt_loss   lost;
    struct ctt_model *m;
};

/* Standard errors beyond which a loss is significant: 95%, two-sided. */
static const double SURE = 1.96;

static void free_try(struct try *t)
{
    ctt_free(t->take);
    ctt_free(t->db);
    ctt_model_free(&t->m);
    *t = (struct try){ .m = NULL };
}

static int test_try(const struct ctt_walk *k, struct try *t)
{
    const double *was = k->r->stage[k->r->stages - 1].after.top1;
    struct ctt_score now;
    char name[CTT_NAME];
    int rc;

    snprintf(name, sizeof(name), t->out ? "int8, %d convs in floats" : "int8",
             t->out);
    t->lost = (struct ctt_loss){ 0, 0 };
    if (k->calls->loss)
        return k->calls->loss(k->calls->arg, name, t->m, &t->lost);
    CTT_TRY(ctt_walk_accuracy(k, name, t->m, &now));
    for (int i = 0; i < CTT_ACCURACIES; i++)
        t->lost.mean += (was[i] - now.top1[i]) / CTT_ACCURACIES;
out:
    return rc;
}

/* A try with the convs of the first `out` rows of blame in floats. */
static int try_without(const struct ctt_walk *k, const struct ctt_int8_plan *p,
                       int out, struct try *t)
{
    size_t count = (size_t)p->m->g->count;
    int rc = 0;

    free_try(t);
    t->out = out;
    t->take = ctt_calloc(count, 1);
    t->db = ctt_calloc(count, sizeof(*t->db));
    CTT_TRY(t->take && t->db ? 0 : CTT_ENOMEM);
    memcpy(t->take, p->take, count);
    for (int i = 0; i < out; i++)
        t->take[ctt_graph_find(p->m->g, k->r->blame[i].name)] = 0;
    CTT_TRY(quantise_convs(k, p, t->take, t->db, &t->m));
    CTT_TRY(test_try(k, t));
out:
    return rc;
}

/* Whether no loss above --int8-harm is significant. */
static int suffices(const struct ctt_walk *k, const struct try *t)
{
    return t->lost.mean - SURE * t->lost.error <= (double)k->o->int8.harm;
}

static void swap_tries(struct try *a, struct try *b)
{
    struct try t = *a;

    *a = *b;
    *b = t;
}

/* Finds the fewest convs, at most `most`, that suffice: *best has their try,
 * or, if none do, t the last one. */
static int search_fewest(const struct ctt_walk *k,
                         const struct ctt_int8_plan *p, int most,
                         struct try *best, struct try *t)
{
    int bad = 0, rc = 0;

    while (!best->m && bad < most) {
        int n = bad ? 2 * bad : 1;

        CTT_TRY(try_without(k, p, n < most ? n : most, t));
        if (suffices(k, t))
            swap_tries(best, t);
        else
            bad = t->out;
    }
    while (best->m && best->out - bad > 1) {
        CTT_TRY(try_without(k, p, (best->out + bad) / 2, t));
        if (suffices(k, t))
            swap_tries(best, t);
        else
            bad = t->out;
    }
out:
    return rc;
}

static void say_loss(const struct ctt_walk *k, const struct try *t, int most)
{
    char line[200];

    snprintf(line, sizeof(line), "int8: %.1f points of mean %s lost "
             "(standard error %.1f) even with %d convs in floats, so %s",
             100 * t->lost.mean, ctt_report_score(k->r), 100 * t->lost.error,
             most,
             k->o->int8.automatic ? "all stay in floats"
             : k->epochs > 0 ? "none stay there and training has to help"
             : "these stay there");
    if (k->calls->say)
        k->calls->say(k->calls->arg, line);
}

/* A loss that may be chance keeps INT8. */
static void say_chance(const struct ctt_walk *k, const struct try *t)
{
    char line[200];

    snprintf(line, sizeof(line), "int8: kept: %.1f points lost, but on %d "
             "clips up to %.1f may be chance (1.96 standard errors); more "
             "clips by --val tell, --int8 off keeps floats",
             100 * t->lost.mean, k->calls->clips,
             100 * SURE * t->lost.error);
    if (suffices(k, t) && t->lost.mean > (double)k->o->int8.harm &&
        k->calls->say)
        k->calls->say(k->calls->arg, line);
}

/* Takes over the result of a try. */
static void accept_try(const struct ctt_walk *k, struct ctt_int8_plan *p,
                       struct try *t, struct ctt_model **out)
{
    struct ctt_choice *c = ctt_report_form(k->r);

    if (c && c->int8)
        c->lost = t->lost.mean;
    for (int i = 0; i < t->out; i++)
        snprintf(k->r->blame[i].stays, sizeof(k->r->blame[i].stays),
                 "costs accuracy");
    memcpy(p->take, t->take, (size_t)p->m->g->count);
    set_rows(k, p, t->db);
    *out = t->m;
    t->m = NULL;
}

/* No conv reads bytes; `lost` stays that of all convs in INT8. */
static void give_up(const struct ctt_walk *k, struct try *t, int convs)
{
    char why[96];

    ctt_model_free(&t->m);
    t->out = convs;
    snprintf(why, sizeof(why), "costs %.1f points", 100 * t->lost.mean);
    ctt_report_give_up(k->r, why);
}

/* Gives up chosen INT8 whose gain with `out` convs in floats is too small. */
static int check_gain(const struct ctt_walk *k, struct ctt_int8_plan *p,
                      int out, struct ctt_model **m)
{
    int gains, rc = 0;

    if (!*m || out == 0 || !k->o->int8.automatic)
        goto out;
    CTT_TRY(gains = ctt_choose_int8(k, *k->m, *m));
    if (gains)
        goto out;
    ctt_model_free(m);
    memset(p->take, 0, (size_t)p->m->g->count);
    for (int i = out; i < k->r->blames; i++) {
        struct ctt_blame *b = &k->r->blame[i];

        b->behind = NAN;
        snprintf(b->stays, sizeof(b->stays), "too few are left");
    }
out:
    return rc;
}

int ctt_int8_keep(const struct ctt_walk *k, struct ctt_int8_plan *p,
                  struct ctt_model **out)
{
    struct try all = { .m = NULL }, best = { .m = NULL }, t = { .m = NULL };
    struct ctt_model *m = NULL;
    int convs = k->r->blames, most = k->epochs > 0 ? convs / 2 : convs - 1;
    int rc;

    ctt_report_sort_blame(k->r);
    if (k->calls->against)
        CTT_TRY(k->calls->against(k->calls->arg, "int8", p->m));
    CTT_TRY(try_without(k, p, 0, &all));
    if (!suffices(k, &all)) {
        CTT_TRY(search_fewest(k, p, most, &best, &t));
        if (!best.m)
            say_loss(k, t.m ? &t : &all, most);
        if (!best.m && k->o->int8.automatic)
            give_up(k, &all, convs);
        else if (!best.m && t.m && k->epochs <= 0)
            swap_tries(&best, &t);
    }
    say_chance(k, best.m ? &best : &all);
    accept_try(k, p, best.m ? &best : &all, &m);
    CTT_TRY(check_gain(k, p, best.out, &m));
    *out = m;
    m = NULL;
    rc = 0;
out:
    ctt_model_free(&m);
    free_try(&all);
    free_try(&best);
    free_try(&t);
    return rc;
}
