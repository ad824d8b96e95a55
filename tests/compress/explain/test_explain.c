/* SPDX-License-Identifier: Apache-2.0
 * test_explain.c: what each part of a compression costs: cores become one conv
 * again, everything undone is the dense model, the weight whose pruning
 * destroys the answers comes first, and what is trained for it. */
#include "compress/stage.h"
#include "net/op.h"
#include "net/quant.h"
#include "tests/lib/check.h"
#include "tests/lib/small.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- compressed models ---- */

static const char net[] =
    "input x h=8 w=8 c=4 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\nnorm n in=a kind=batch\n"
    "act r in=n kind=relu\nconvlstm h in=r hidden=16 kernel=3\n"
    "conv b in=h out=20 kernel=3 stride=2 pad=1\nact s in=b kind=relu\n"
    "pool p in=s kind=avg\nconv y in=p out=5\n";

static const char path[] = "test_explain.tmp";

/* The model that a recipe makes of m, which is freed. */
static struct ctt_model *made(const struct ctt_recipe *o,
                              const struct ctt_model *from)
{
    struct ctt_recipe_calls calls = { .sample = small_sample_any };
    struct ctt_report *r = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_model_copy(from, &m));
    CHECK_OK(ctt_recipe_run(o, &calls, path, NULL, &m, &r));
    ctt_report_free(&r);
    remove(path);
    return m;
}

#define ROUNDED .round = { .bits = 8, .bias_bits = 8 }
#define FOLDED .fold = { CTT_FOLD_NORMS }
#define PRUNED .prune = { .share = 0.6f, .rounds = 1, .floor = 0.02f,       \
                          .scope = CTT_PRUNE_LAYER }
#define SHARED .share = { .bits = "3", .least = 2 }
#define BYTES .int8 = { .method = 3, .slow = 1 }
#define SVD .svd = { .rank = 4, .least = 1 }
#define TRAIN(f) .tt = { .rank = 3, .form = f, .least = 1, .harm = 1 }

static const struct { const char *name; struct ctt_recipe o; } recipes[] = {
    { "rounding", { ROUNDED, .prune = { 0 } } },
    { "folded", { ROUNDED, FOLDED } },
    { "pruned", { PRUNED, FOLDED, ROUNDED } },
    { "not folded", { PRUNED, ROUNDED } },
    { "shared", { PRUNED, FOLDED, SHARED, ROUNDED } },
    { "int8", { FOLDED, BYTES, ROUNDED } },
    { "pruned, int8", { PRUNED, FOLDED, BYTES, ROUNDED } },
    { "shared, int8", { PRUNED, FOLDED, SHARED, BYTES, ROUNDED } },
    { "svd", { SVD, FOLDED, ROUNDED } },
    { "train", { TRAIN(CTT_TT_TRAIN), FOLDED, ROUNDED } },
    { "window", { TRAIN(CTT_TT_WINDOW), PRUNED, FOLDED, ROUNDED } },
    { "pair, int8", { TRAIN(CTT_TT_PAIR), PRUNED, FOLDED, BYTES, ROUNDED } },
    { "all", { SVD, PRUNED, FOLDED, SHARED, BYTES, ROUNDED } },
    { "no rounding", { PRUNED, SHARED, FOLDED } },
};

/* ---- undoing ---- */

/* Everything that was done to all weights. */
static void undo_all(const struct ctt_lineage *o, unsigned *undo)
{
    for (int i = 0; i < o->dense->g->count; i++)
        undo[i] = ctt_is_conv(&o->dense->g->node[i]) ? ctt_done_to(o, i) : 0;
}

/* With all undone it is the dense model; without dense values, and without
 * what quantises, the answers are those of the compressed one. */
static void check_undo(const struct ctt_recipe *recipe)
{
    struct ctt_model *given = small_model(net, 3), *dense = NULL, *m = NULL;
    struct ctt_model *small = made(recipe, given);
    struct ctt_lineage o;
    unsigned undo[64] = { 0 };

    CHECK_OK(ctt_lineage_fold(small, given, &dense));
    CHECK_OK(ctt_lineage_of(small, dense, &o));
    undo_all(&o, undo);
    CHECK_OK(ctt_undo(&o, undo, 1, &m));
    small_compare(given, m, 6, 1e-5);
    CU_ASSERT(ctt_constraint_shares(&m->constraint, m->g->weights) == 0);
    ctt_model_free(&m);
    for (int i = 0; i < o.dense->g->count; i++)
        undo[i] &= ~CTT_DONE(CTT_DONE_INT8);
    if (recipe->int8.method && (recipe->svd.rank || recipe->tt.rank))
        for (int i = 0; i < o.dense->g->count; i++)
            undo[i] &= ~CTT_DONE(CTT_DONE_FACTORS);    /* bytes between */
    CHECK_OK(ctt_undo(&o, undo, 0, &m));
    small_compare(small, m, 6, 1e-4);
    ctt_model_free(&m);
    ctt_model_free(&small);
    ctt_model_free(&dense);
    ctt_model_free(&given);
}

static void test_undo(void)
{
    for (size_t i = 0; i < CTT_LEN(recipes); i++)
        if (ctt_check_tries())
            check_undo(&recipes[i].o);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A product of cores, quantised values between them left out. */
static void check_product(const char *text, const struct ctt_recipe *recipe)
{
    struct ctt_model *given = small_model(text, 5), *m = NULL, *one = NULL;
    int many = 0;

    small_rank(given, 2);
    m = made(recipe, given);
    for (int i = 0; i < given->g->count; i++) {
        struct ctt_parts p;

        if (!ctt_is_conv(&given->g->node[i]))
            continue;
        ctt_parts_find(given->g, i, m->g, &p);
        many += p.count > 1;
        if (p.count < 2)
            continue;
        CHECK_OK(ctt_parts_multiply(m, &p, &one));
        CU_ASSERT_EQUAL(one->g->count, m->g->count - p.count + 1);
        small_compare(m, one, 6, 1e-4);
        ctt_model_free(&one);
    }
    CU_ASSERT(many > 0);
    ctt_model_free(&m);
    ctt_model_free(&given);
}

static void test_product(void)
{
    static const char *const texts[] = {
        "input x h=9 w=7 c=12\nconv a in=x out=16 kernel=1,3,5 "
        "stride=1,2,1 pad=0,1,2\nconv y in=a out=12 kernel=1,3,3\n",
        "input x d=5 h=6 w=6 c=8\nconv y in=x out=12 kernel=3 pad=1,0,1\n",
        "input x h=5 w=5 c=12\ndeconv y in=x out=10 kernel=4 stride=2 "
        "pad=1\n",
    };
    static const struct ctt_recipe o[] = {
        { SVD }, { TRAIN(CTT_TT_TRAIN) }, { TRAIN(CTT_TT_WINDOW) },
        { TRAIN(CTT_TT_PAIR) },
    };

    for (size_t i = 0; i < CTT_LEN(texts); i++)
        for (size_t k = 0; k < CTT_LEN(o); k++)
            check_product(texts[i], &o[k]);
}

/* What the dense model has no values for. */
static void test_reasons(void)
{
    static const struct ctt_recipe thin = {
        .thin = { .share = 0.4f, .rounds = 1, .multiple = 1 }, FOLDED,
        PRUNED, ROUNDED };
    struct ctt_model *given = small_model(net, 3), *dense = NULL;
    struct ctt_model *small = made(&thin, given);
    struct ctt_lineage o;
    int a;

    CHECK_OK(ctt_lineage_fold(small, given, &dense));
    CHECK_OK(ctt_lineage_of(small, dense, &o));
    a = ctt_graph_find(dense->g, "a");
    CU_ASSERT(ctt_done_to(&o, a) & CTT_DONE(CTT_DONE_CHANNELS));
    CU_ASSERT_PTR_NOT_NULL(ctt_undo_why(&o, a, CTT_DONE(CTT_DONE_PRUNING)));
    CU_ASSERT_PTR_NULL(ctt_undo_why(&o, a, CTT_DONE(CTT_DONE_INT8)));
    ctt_model_free(&small);
    ctt_model_free(&dense);
    small = made(&recipes[10].o, given);
    CHECK_OK(ctt_lineage_fold(small, given, &dense));
    CHECK_OK(ctt_lineage_of(small, dense, &o));
    CU_ASSERT_PTR_NOT_NULL(ctt_undo_why(&o, a, CTT_DONE(CTT_DONE_PRUNING)));
    CU_ASSERT_PTR_NULL(ctt_undo_why(&o, a, CTT_DONE(CTT_DONE_FACTORS)));
    ctt_model_free(&small);
    ctt_model_free(&dense);
    ctt_model_free(&given);
}

/* Models that were not made of each other. */
static void test_refused(void)
{
    struct ctt_model *given = small_model(net, 3), *small, *other;
    struct ctt_explain *e = NULL;

    small = made(&recipes[3].o, given);
    other = small_model(net, 4);
    ctt_check_refused(ctt_explain_new(small, other, &e), CTT_EINVAL,
                      "nothing in common");
    ctt_model_free(&other);
    other = small_model("input x h=8 w=8 c=4 mean=0.5 std=0.2\n"
                        "conv a in=x out=24 kernel=3 pad=1\n"
                        "pool p in=a kind=avg\nconv y in=p out=5\n", 3);
    ctt_check_refused(ctt_explain_new(small, other, &e), CTT_EINVAL,
                      "has no weight");
    ctt_check_refused(ctt_explain_new(other, small, &e), CTT_EINVAL,
                      "the other has none");
    ctt_check_refused(ctt_explain_new(given, given, &e), CTT_EINVAL,
                      "nothing was done");
    ctt_model_free(&other);
    other = small_model("input x h=8 w=8 c=3\nconv y in=x out=5\n", 3);
    ctt_check_refused(ctt_explain_new(small, other, &e), CTT_EINVAL,
                      "input lines differ");
    CU_ASSERT_PTR_NULL(e);
    ctt_model_free(&other);
    ctt_model_free(&small);
    ctt_model_free(&given);
}

/* ---- a run ---- */

enum { CLASSES = 5, ROWS = 64 };

/* Answers of the dense model and of the bases; what was asked for. */
struct asked {
    const struct ctt_explain *e;
    float was[ROWS * CLASSES], base[CTT_BASES][ROWS * CLASSES];
    int   begun, ended, trained, kept[CTT_BASES], stop;
};

struct rows { float *to; int count; };

static void take(void *to, int k, const float *row)
{
    struct rows *r = to;

    (void)k;
    if (r->count < ROWS)
        memcpy(r->to + CLASSES * r->count++, row, CLASSES * sizeof(*row));
}

static void answer(const struct ctt_model *m, float *to)
{
    struct rows r = { to, 0 };
    int out = ctt_graph_output(m->g);

    CHECK_OK(small_sample(NULL, m, 0, &out, 1, CTT_SAMPLE_VALUES, take, &r));
    CU_ASSERT_EQUAL(r.count, SMALL_FRAMES);
}

static double divergence(const struct asked *a, const float *is)
{
    double p[CLASSES], q[CLASSES], sum = 0;

    for (int i = 0; i < SMALL_FRAMES; i++)
        sum += ctt_divergence(CLASSES, a->was + i * CLASSES, is + i * CLASSES,
                              p, q);
    return sum / SMALL_FRAMES;
}

static int keep(void *arg, enum ctt_explain_base b, const struct ctt_model *m)
{
    struct asked *a = arg;

    answer(m, a->base[b]);
    a->kept[b]++;
    return 0;
}

static int gain(void *arg, enum ctt_explain_base b, const struct ctt_model *m,
                struct ctt_gain *out)
{
    struct asked *a = arg;
    float is[ROWS * CLASSES];

    answer(m, is);
    *out = (struct ctt_gain){ { 0 }, 0, { 0 }, { 0 } };
    for (int k = 0; k < CTT_ACCURACIES; k++)
        out->kl[k] = divergence(a, a->base[b]) - divergence(a, is);
    return 0;
}

/* Training that brings the dense values wherever it may. */
static int train(void *arg, const char *freeze, struct ctt_model *m)
{
    struct asked *a = arg;

    a->trained++;
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        char name[CTT_NAME + 2], list[1024];
        int at = ctt_graph_find(a->e->dense->g, n->name);

        snprintf(name, sizeof(name), ",%s,", n->name);
        snprintf(list, sizeof(list), ",%s,", freeze ? freeze : "");
        if (!ctt_is_conv(n) || strstr(list, name) || at < 0)
            continue;
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            if (!ctt_is_pruned(&m->constraint, n->at[0] + k))
                m->w[n->at[0] + k] =
                    a->e->dense->w[a->e->dense->g->node[at].at[0] + k];
    }
    return 0;
}

static int begin(void *arg, const struct ctt_explain *e, int point)
{
    struct asked *a = arg;

    if (a->stop && point == a->stop)
        return ctt_error(CTT_ESTOP, "stopped");
    CU_ASSERT(!e->point[point].done);
    a->begun = point + 1;
    return 0;
}

static int end(void *arg, const struct ctt_explain *e, int point)
{
    struct asked *a = arg;

    CU_ASSERT(e->point[point].done);
    CU_ASSERT_EQUAL(point + 1, a->begun);
    a->ended++;
    return 0;
}

static int run(struct ctt_explain *e, struct asked *a, int trains)
{
    static const struct ctt_recipe_calls recipe;
    struct ctt_explain_calls calls = { a, &recipe, keep, gain,
                                       trains ? train : NULL, begin, end };

    a->e = e;
    answer(e->dense, a->was);
    return ctt_explain_run(e, &calls, path);
}

/* Prunes all of a weight but every `each`-th number. */
static void prune(struct ctt_model *m, const char *name, int each)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, name)];

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
        if (each ? k % each : !(k % 7)) {
            m->constraint.keep[n->at[0] + k] = 0;
            m->w[n->at[0] + k] = 0;
        }
}

static const char plain[] =
    "input x h=6 w=6 c=8\nconv a in=x out=24 kernel=3 pad=1\n"
    "act r in=a kind=relu\nconv b in=r out=24 kernel=3 pad=1\n"
    "act s in=b kind=relu\nconv c in=s out=24 kernel=3 pad=1\n"
    "act t in=c kind=relu\npool p in=t kind=avg\nconv y in=p out=5\n";

/* b is left with hardly anything, a and c lose little. */
static struct ctt_explain *destroyed(void)
{
    struct ctt_model *dense = small_model(plain, 3), *small = NULL;
    struct ctt_explain *e = NULL;

    CHECK_OK(ctt_model_copy(dense, &small));
    prune(small, "a", 0);
    prune(small, "b", 500);
    prune(small, "c", 0);
    CHECK_OK(ctt_explain_new(small, dense, &e));
    ctt_model_free(&small);
    ctt_model_free(&dense);
    return e;
}

static const struct ctt_explain_point *first(const struct ctt_explain *e)
{
    int order[64], n = ctt_explain_sort(e, 0, order);

    CU_ASSERT_EQUAL_FATAL(n, 3);
    return &e->point[order[0]];
}

static void test_run(void)
{
    struct ctt_explain *e = destroyed();
    struct asked a = { .begun = 0 };
    const struct ctt_explain_point *p;

    CU_ASSERT_EQUAL_FATAL(e->weights, 4);
    CU_ASSERT_EQUAL_FATAL(e->points, 4);    /* and the pruning of all */
    CHECK_OK(run(e, &a, 0));
    CU_ASSERT_EQUAL(a.ended, e->points);
    CU_ASSERT_EQUAL(a.kept[CTT_BASE_GIVEN], 1);
    p = first(e);
    CU_ASSERT_STRING_EQUAL(ctt_explain_weight_name(e, p), "b");
    CU_ASSERT_STRING_EQUAL(ctt_explain_kind_name(p), "pruning");
    CU_ASSERT(p->bytes > 0 && isnan(p->faster) && isnan(p->trained.kl[0]));
    p = &e->point[3];    /* all that is lost comes back */
    CU_ASSERT_DOUBLE_EQUAL(ctt_explain_cost(p),
                           divergence(&a, a.base[CTT_BASE_GIVEN]), 1e-6);
    CU_ASSERT(ctt_explain_cost(p) > 0);
    ctt_explain_free(&e);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* As training here puts dense values where they may be, pruning costs what the
 * pruned ones would bring; each weight has a base of its own. */
static void test_trained(void)
{
    struct ctt_explain *e = destroyed();
    struct asked a = { .begun = 0 };

    CHECK_OK(run(e, &a, 1));
    CU_ASSERT_EQUAL(a.kept[CTT_BASE_TRAINED], 4);
    CU_ASSERT_EQUAL(a.trained, 8);
    CU_ASSERT_STRING_EQUAL(ctt_explain_weight_name(e, first(e)), "b");
    for (int i = 0; i < e->points; i++)
        CU_ASSERT_DOUBLE_EQUAL(e->point[i].trained.kl[0],
                               e->point[i].back.kl[0], 1e-6);
    ctt_explain_free(&e);
}

static void test_stop(void)
{
    struct ctt_explain *e = destroyed();
    struct asked a = { .stop = 2 }, rest = { .begun = 0 };

    CU_ASSERT_EQUAL(run(e, &a, 0), CTT_ESTOP);
    CU_ASSERT_EQUAL(a.ended, 2);
    CHECK_OK(run(e, &rest, 0));
    CU_ASSERT_EQUAL(rest.ended, e->points - 2);
    ctt_explain_free(&e);
}

/* One recipe in three: what is measured of each weight, or why it can't be. */
static void test_recipes(void)
{
    for (size_t i = 0; i < CTT_LEN(recipes); i += 3) {
        struct ctt_model *given, *small;
        struct ctt_explain *e = NULL;
        struct asked a = { .begun = 0 };

        if (!ctt_check_tries())
            continue;
        given = small_model(net, 3);
        small = made(&recipes[i].o, given);
        CHECK_OK(ctt_explain_new(small, given, &e));
        CHECK_OK(run(e, &a, 0));
        for (int k = 0; k < e->points; k++) {
            const struct ctt_explain_point *p = &e->point[k];

            CU_ASSERT(p->done);
            CU_ASSERT(isnan(p->back.kl[0]) == (p->why[0] != '\0'));
            if (p->kind == CTT_DONE_PRUNING && !p->why[0])
                CU_ASSERT(p->bytes > 0 || recipes[i].o.share.bits);
        }
        ctt_explain_free(&e);
        ctt_model_free(&small);
        ctt_model_free(&given);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "cores as one conv", test_product },
        { "everything undone", test_undo },
        { "what can't be", test_reasons },
        { "other models", test_refused },
        { "the worst first", test_run },
        { "trained", test_trained },
        { "stopped", test_stop },
        { "recipes", test_recipes },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "explain", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
