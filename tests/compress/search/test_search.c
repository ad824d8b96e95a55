/* SPDX-License-Identifier: Apache-2.0
 * test_search.c: the search of --budget with a training that does nothing and
 * tests whose results are known functions of the model: which assignments it
 * trains, accepts, corrects and refuses, and that it trains none twice. */
#include "compress/search/search.h"
#include "net/op.h"
#include "tests/lib/sensed.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char net[] =
    "input x h=8 w=8 c=4 mean=0.5 std=0.2\n"
    "conv a in=x out=12 kernel=3 pad=1\nact r in=a kind=relu\n"
    "convlstm h in=r hidden=8 kernel=3\n"
    "pool p in=h kind=avg\nconv y in=p out=5\n";

#define OUT "test_search.out.h5"
#define GIVEN "test_search.given.h5"

enum { CLIPS = 400, RIGHT = 360, STEPS = 4, LOGGED = 256 };

/* A search, and counts of its calls. */
struct scene {
    struct ctt_budget_run   r;
    struct ctt_budget_calls calls;
    struct ctt_recipe_calls recipe;
    struct ctt_model       *m;
    int64_t params;             /* of m */
    int     shorts, wholes, tests, refusals, proofs, logged;
    float   unpruned;           /* by which the first whole one prunes less */
    int     lost_first;         /* clips that the first whole one loses */
    double  zero_harm, factor_harm;
    int     slow, steps;        /* steps after which zeros do no harm, 0: none;
                                   of the last retraining */
    char    mix[LOGGED][400];   /* what was logged */
};

/* ---- fakes ---- */

static int fake_retrain(void *arg, const char *stage, int epochs,
                        const struct ctt_changes *during, struct ctt_model *m)
{
    (void)arg;
    (void)stage;
    (void)epochs;
    (void)during;
    (void)m;
    return 0;
}

static int fake_train(void *arg, const struct ctt_recipe *o, int steps,
                      const char *what, const char *path, struct ctt_model **m,
                      struct ctt_report **report)
{
    struct scene *x = arg;
    struct ctt_recipe_calls calls = { .retrain = fake_retrain };
    struct ctt_recipe with;

    (void)what;
    x->shorts += steps > 0;
    x->wholes += !steps;
    x->steps = steps;
    if (!o)
        return ctt_model_save(path, *m);
    with = *o;
    with.prune.rounds = 1;
    if (!steps && x->wholes == 1)
        with.prune.share -= x->unpruned;
    return ctt_recipe_run(&with, &calls, path, NULL, m, report);
}

/* Harm grows with pruned values, and with values that factors leave out. */
static double harm_of(const struct scene *x, const struct ctt_model *m)
{
    int64_t all = 0, zero = 0;

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int64_t count = ctt_is_conv(n) ? ctt_volume(&n->w[0]) : 0;

        all += count;
        for (int64_t k = 0; k < count; k++)
            zero += m->w[n->at[0] + k] == 0;
    }
    if (x->slow && (!x->steps || x->steps > x->slow))
        zero = 0;
    return x->zero_harm * (double)zero / (double)all +
           x->factor_harm * log((double)x->params / (double)all);
}

static int fake_test(void *arg, const struct ctt_model *m, int half,
                     double *loss, struct ctt_paired seen[CTT_ACCURACIES])
{
    struct scene *x = arg;
    double harm = fmax(0, harm_of(x, m));
    int64_t lost = (int64_t)(200 * harm);

    (void)half;
    x->tests++;
    if (x->wholes == 1 && x->lost_first)
        lost = x->lost_first;
    lost = lost > RIGHT ? RIGHT : lost;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        seen[k] = (struct ctt_paired){ CLIPS, RIGHT, RIGHT - lost, lost, 0 };
    if (loss)
        *loss = 0.5 + harm;
    return 0;
}

static int fake_log(void *arg, const struct ctt_budget_row *row)
{
    struct scene *x = arg;
    char *to = x->mix[x->logged];

    snprintf(to, sizeof(x->mix[0]), "%d %d %s", (int)row->kind, row->steps,
             row->mix);
    for (int i = 0; i < x->logged; i++)    /* nothing is measured twice */
        CU_ASSERT(strcmp(x->mix[i], to) != 0);
    CU_ASSERT_FATAL(++x->logged < LOGGED);
    return 0;
}

static int fake_progress(void *arg, const char *line)
{
    (void)arg;
    (void)line;
    return 0;
}

static void fake_say(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static int fake_table(void *arg, const char *title, const char *rows)
{
    (void)arg;
    CU_ASSERT(title[0] && strchr(rows, '\t') && strchr(rows, '\n'));
    return 0;
}

static void fake_refused(void *arg)
{
    struct scene *x = arg;

    x->refusals++;
}

static int fake_prove(void *arg, const struct ctt_model *m,
                      const struct ctt_budget_row *row)
{
    struct scene *x = arg;

    x->proofs++;
    CU_ASSERT(m && row->kind == CTT_BUDGET_TRAINED);
    return 0;
}

/* ---- a scene ---- */

/* Measured once: no search depends on what another one has set of it. */
static struct ctt_sensitivity *measured;

/* Stronger values, and larger weights, are expected to do more harm. */
static void set_harm(struct ctt_sensitivity *s)
{
    for (int i = 0; i < s->points; i++) {
        struct ctt_sensitivity_point *p = &s->point[i];
        double kl = 0.02 * (1 + ctt_sensitivity_step(p)) *
                    log10((double)s->weight[p->weight].params);

        p->change = (struct ctt_change){ { kl, kl, kl }, { 0 } };
    }
    ctt_sensitivity_fit(s);
}

static void open_scene(struct scene *x, const char *limits)
{
    struct ctt_budget_run *r = &x->r;

    *x = (struct scene){ .m = small_model(net, 3), .zero_harm = 0.05,
                         .factor_harm = 0.01 };
    remove(OUT);
    CHECK_OK(ctt_model_save(GIVEN, x->m));
    x->calls = (struct ctt_budget_calls){ x, &x->recipe, fake_train, fake_test,
        fake_log, fake_progress, fake_say, fake_table, fake_refused,
        fake_prove };
    *r = (struct ctt_budget_run){ .calls = &x->calls, .m = x->m, .path = GIVEN,
        .out = OUT, .o = defaults(), .how = 7,
        .steps = STEPS, .classes = 5 };
    if (!measured)
        measured = sensed(x->m);
    r->s = measured;
    r->o.epochs = 3;
    r->o.share.epochs = 1;
    CHECK_OK(ctt_budget_read(limits, &r->b));
    for (int i = 0; i < r->s->weights; i++)
        x->params += r->s->weight[i].params;
    set_harm(r->s);
}

static void close_scene(struct scene *x)
{
    ctt_budget_rows_free(&x->r.rows);
    ctt_model_free(&x->m);
    remove(GIVEN);
    remove(OUT);
}

static int search(struct scene *x)
{
    int rc = ctt_budget_begin(&x->r);

    return rc < 0 ? rc : ctt_budget_search(&x->r);
}

/* Row n, from 0, of the whole retrainings. */
static const struct ctt_budget_row *whole_row(const struct scene *x, int n)
{
    for (int i = 0; i < x->r.rows.rows; i++)
        if (x->r.rows.row[i].kind == CTT_BUDGET_TRAINED && n-- == 0)
            return &x->r.rows.row[i];
    CU_FAIL_FATAL("no such row");
    return NULL;
}

static double bytes_of(const struct ctt_budget_row *row)
{
    return row->costs.cost[CTT_COST_BYTES];
}

static int64_t file_bytes(void)
{
    FILE *f = fopen(OUT, "rb");
    long n;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    fclose(f);
    return n;
}

/* ---- limits of bytes ---- */

/* The first round is accepted: one whole retraining, whose file is written. */
static void test_bytes(void)
{
    struct scene x;

    open_scene(&x, "bytes=2500,top1=-20");
    CHECK_OK(search(&x));
    CU_ASSERT_EQUAL(x.wholes, 1);
    CU_ASSERT(x.shorts > 5 && x.proofs == 1 && !x.refusals);
    CU_ASSERT(bytes_of(whole_row(&x, 0)) <= 2500);
    CU_ASSERT(bytes_of(whole_row(&x, 0)) > 0.95 * 2500);
    CU_ASSERT_EQUAL(file_bytes(), (int64_t)bytes_of(whole_row(&x, 0)));
    CU_ASSERT(access(OUT ".try1", F_OK) != 0);
    close_scene(&x);
}

/* The best of the short retrainings with so many steps, and how many there
 * are. */
static const struct ctt_budget_row *best_of(const struct scene *x, int steps,
                                            int *n)
{
    const struct ctt_budget_row *best = NULL;

    *n = 0;
    for (int i = 0; i < x->r.rows.rows; i++) {
        const struct ctt_budget_row *row = &x->r.rows.row[i];

        if (row->kind != CTT_BUDGET_SHORT || row->steps != steps)
            continue;
        best = best && best->loss <= row->loss ? best : row;
        ++*n;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(best);
    return best;
}

/* What is pruned recovers in the second rung, which has the best two of four
 * with the bytes that are left, and wins. */
static void test_race(void)
{
    const struct ctt_budget_row *first, *last;
    struct scene x;
    int four, two;

    open_scene(&x, "bytes=2500,top1=-90");
    x.zero_harm = 0.05;
    x.factor_harm = 0.05;
    x.slow = 2 * STEPS;
    CHECK_OK(search(&x));
    first = best_of(&x, 2 * STEPS, &four);
    last = best_of(&x, 4 * STEPS, &two);
    CU_ASSERT(four > 2 && two == 2);
    CU_ASSERT_PTR_NULL(strstr(first->mix, "prune"));
    CU_ASSERT_PTR_NOT_NULL(strstr(last->mix, "prune"));
    CU_ASSERT_STRING_EQUAL(last->mix, whole_row(&x, 0)->mix);
    CU_ASSERT(bytes_of(last) <= 2500 && bytes_of(last) > 0.95 * 2500);
    close_scene(&x);
}

/* A plan is made, and nothing trained whole. */
static void test_dry_run(void)
{
    struct scene x;

    open_scene(&x, "bytes=2500,top1=-20");
    x.r.dry_run = 1;
    CHECK_OK(search(&x));
    CU_ASSERT(x.shorts > 5 && !x.wholes && !x.proofs);
    CU_ASSERT(access(OUT, F_OK) != 0);
    close_scene(&x);
}

/* Impossible limits are refused before anything is trained: at the start with
 * the least that was found, which can be had, else by plans. */
static void test_refused(void)
{
    struct scene x;
    const char *at;
    double least;

    open_scene(&x, "bytes=100,top1=-20");
    CU_ASSERT(fails(search(&x), CTT_EINVAL, "bytes=100 cannot be met: the "
                    "least found is "));
    at = strstr(ctt_errmsg(), "found is ");
    least = at ? strtod(at + strlen("found is "), NULL) : 0;
    CU_ASSERT(x.refusals == 1 && !x.logged && least > 100);
    CU_ASSERT(fails(ctt_budget_search(&x.r), CTT_EINVAL, "no assignment was "
                    "found that is within the limits: the nearest has "));
    CU_ASSERT(x.refusals == 2 && !x.shorts && !x.wholes && !x.tests);
    x.r.b.most[CTT_COST_BYTES] = 0.9 * least;
    CU_ASSERT(fails(ctt_budget_begin(&x.r), CTT_EINVAL, "cannot be met"));
    x.r.b.most[CTT_COST_BYTES] = 1.5 * least;
    CHECK_OK(search(&x));
    CU_ASSERT(bytes_of(whole_row(&x, 0)) <= 1.5 * least);
    close_scene(&x);
}

/* ---- corrections ---- */

/* A winner whose bytes whole retraining brings above the limit is not accepted,
 * and the next round plans for fewer. */
static void test_corrected(void)
{
    struct scene x;

    open_scene(&x, "bytes=2500,top1=-20");
    x.zero_harm = 0;
    x.factor_harm = 1;
    x.unpruned = 0.2f;
    CHECK_OK(search(&x));
    CU_ASSERT_EQUAL_FATAL(x.wholes, 2);
    CU_ASSERT(bytes_of(whole_row(&x, 0)) > 2500);
    CU_ASSERT(bytes_of(whole_row(&x, 1)) <=
              2500 * 2500 / bytes_of(whole_row(&x, 0)));
    CU_ASSERT(strcmp(whole_row(&x, 0)->mix, whole_row(&x, 1)->mix) != 0);
    close_scene(&x);
}

/* One that loses too much is followed by another assignment; if all do, nothing
 * is written and the message names the nearest. */
static void test_lost(void)
{
    struct scene x;

    open_scene(&x, "bytes=2500,top1=-20");
    x.lost_first = 150;
    CHECK_OK(search(&x));
    CU_ASSERT_EQUAL(x.wholes, 2);
    close_scene(&x);
    open_scene(&x, "bytes=2500,top1=-1");
    x.zero_harm = x.factor_harm = 1;
    CU_ASSERT(fails(search(&x), CTT_EUNSUP, "not met, and nothing is written"));
    CU_ASSERT(x.wholes >= 1 && x.wholes <= CTT_BUDGET_ROUNDS);
    CU_ASSERT(access(OUT, F_OK) != 0 && access(OUT ".try1", F_OK) != 0);
    close_scene(&x);
}

/* ---- top-1 alone ---- */

/* Bisection: the smallest of the accepted rounds is written, in four at most,
 * and rounds on both sides of the budget were tried. */
static void test_top1(void)
{
    int accepted = 0, refused = 0;
    double least = INFINITY;
    struct scene x;

    open_scene(&x, "top1=-2");
    x.zero_harm = 0.08;
    CHECK_OK(search(&x));
    CU_ASSERT(x.wholes >= 2 && x.wholes <= CTT_BUDGET_ROUNDS);
    for (int i = 0; i < x.wholes; i++) {
        const struct ctt_budget_row *row = whole_row(&x, i);
        int good = row->seen[0][2].lost <= 0.02 * CLIPS;

        accepted += good;
        refused += !good;
        least = good ? fmin(least, bytes_of(row)) : least;
    }
    CU_ASSERT(accepted > 0 && refused > 0);
    CU_ASSERT_EQUAL(file_bytes(), (int64_t)least);
    close_scene(&x);
}

/* ---- going on ---- */

/* With the rows of a run that was killed the rest is done, and with all of them
 * nothing; the file is the same. */
static void test_resumed(void)
{
    struct scene x, again;
    int64_t bytes;
    uint32_t model;

    open_scene(&x, "bytes=2500,top1=-20");
    CHECK_OK(search(&x));
    bytes = file_bytes();
    model = whole_row(&x, 0)->model;
    for (int part = 1; part <= 2; part++) {
        open_scene(&again, "bytes=2500,top1=-20");
        for (int i = 0; i < x.r.rows.rows / (3 - part); i++)
            CHECK_OK(ctt_budget_rows_add(&again.r.rows, &x.r.rows.row[i]));
        CHECK_OK(search(&again));
        CU_ASSERT_EQUAL(again.r.rows.rows, x.r.rows.rows);
        CU_ASSERT_EQUAL(whole_row(&again, 0)->model, model);
        CU_ASSERT_EQUAL(file_bytes(), bytes);
        CU_ASSERT(again.shorts < x.shorts);
        if (part == 2)    /* the file is gone, so that it is made again */
            CU_ASSERT(again.shorts + again.tests + again.logged == 0 &&
                      again.wholes == 1);
        if (part == 2)
            CHECK_OK(ctt_budget_search(&again.r));
        CU_ASSERT_EQUAL(again.wholes, 1);
        close_scene(&again);
    }
    close_scene(&x);
}

/* ---- recovery ---- */

static double fit_of(const struct scene *x, const char *option, double value)
{
    return point(x->r.s, "h.zx", option, value)->fit;
}

/* Of options that retraining repairs the expected harm falls, of others it
 * stays, and it rises along each ladder. */
static void test_recovery(void)
{
    struct scene x;
    double pruned, svd;

    open_scene(&x, "bytes=2500,top1=-20");
    x.zero_harm = 0;
    x.factor_harm = 5;
    CU_ASSERT(ctt_budget_begin(&x.r) >= 0);
    pruned = fit_of(&x, "prune any", 0.9);
    svd = fit_of(&x, "svd", 0.125);
    CHECK_OK(ctt_budget_recovery(&x.r));
    CU_ASSERT(x.shorts > 5 && x.tests == x.shorts && !x.wholes);
    CU_ASSERT(fit_of(&x, "prune any", 0.9) < 0.2 * pruned);
    CU_ASSERT_DOUBLE_EQUAL(fit_of(&x, "svd", 0.125), svd, 1e-9);
    for (int i = 1; i < x.r.s->points; i++) {
        const struct ctt_sensitivity_point *p = &x.r.s->point[i], *q = p - 1;

        if (p->ladder == q->ladder && p->weight == q->weight &&
            ctt_sensitivity_usable(p) && ctt_sensitivity_usable(q))
            CU_ASSERT(p->fit >= q->fit - 1e-12);
    }
    close_scene(&x);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "bytes", test_bytes },
        { "race", test_race },
        { "dry run", test_dry_run },
        { "refused", test_refused },
        { "corrected", test_corrected },
        { "lost", test_lost },
        { "top-1 alone", test_top1 },
        { "resumed", test_resumed },
        { "recovery", test_recovery },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "search", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    int rc = ctt_check_main(suites);

    ctt_sensitivity_free(&measured);
    return rc;
}
