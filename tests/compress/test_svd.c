/* SPDX-License-Identifier: Apache-2.0
 * test_svd.c: whole models with their weights as two convs each: the answers,
 * what is lost, and what is left as it is. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const models[] = {
    "input x h=6 w=7 c=12\nconv y in=x out=20 kernel=3 pad=1\n",
    "input x h=13 w=12 c=10\nconv a in=x out=16 kernel=1,5,5 stride=1,2,2 "
    "pad=0,2,2 bias=0\nnorm n in=a kind=batch\nact r in=n kind=relu\n"
    "conv b in=x out=16 kernel=1,3,3 stride=1,2,2 pad=0,1,1\n"
    "conv y in=r plus=b out=16 kernel=1,3,3 pad=0,1,1\n",
    "input x h=6 w=6 c=8\nconv a in=x out=16 kernel=1,3,3 pad=0,1,1\n"
    "clip\nwindow v in=a steps=4\n"
    "conv b in=v out=24 kernel=3 stride=1,2,2 pad=1\nact r in=b kind=tanh\n"
    "conv c in=r out=24 kernel=3,1,1\npool p in=c kind=avg\n"
    "conv y in=p out=5\n",
    "input x h=5 w=5 c=16\ndeconv a in=x out=16 kernel=1,4,4 stride=1,2,2 "
    "pad=0,1,1\ndeconv y in=a out=16 stride=1,2,2\n",
    "input x h=6 w=6 c=16\nconvlstm h in=x hidden=12 kernel=3\n"
    "pool p in=h kind=avg\nlstm l in=p hidden=16\nconv y in=l out=7\n",
    "input x h=1 w=1 c=30\nconv y in=x out=20\n",
};

static int factorised(const struct ctt_report *r)
{
    int n = 0;

    for (int k = 0; k < r->weights; k++)
        n += r->weight[k].cores > 1;
    return n;
}

/* Weights of rank 2 are found to be that, and the model answers the same. */
static void test_exact(void)
{
    for (size_t i = 0; i < CTT_LEN(models); i++) {
        struct ctt_model *m = small_model(models[i], 4), *c = NULL;
        struct ctt_svd o = { .rank = 4 };
        struct ctt_report *r = NULL;

        small_rank(m, 2);
        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_svd_model(m, &o, r, &c));
        small_compare(m, c, 5, 2e-5);
        CU_ASSERT(factorised(r) >= 1);
        for (int k = 0; k < r->weights; k++) {
            const struct ctt_weight_row *w = &r->weight[k];
            CU_ASSERT((w->cores > 1) == !w->reason[0]);
            if (w->cores == 1)
                continue;
            CU_ASSERT_EQUAL(w->cores, 2);
            CU_ASSERT(w->rank[0] >= 1 && w->rank[0] <= 2);
            CU_ASSERT(w->error < 1e-5);
            CU_ASSERT(w->macs_after < w->macs);
            CU_ASSERT(w->params_after < w->params);
        }
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&c);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static const struct ctt_node *node(const struct ctt_model *m, const char *name)
{
    int at = ctt_graph_find(m->g, name);

    CU_ASSERT_FATAL(at >= 0);
    return &m->g->node[at];
}

/* |w - w2 w1| / |w| of the weight y. */
static double distance(const struct ctt_model *m, const struct ctt_model *c)
{
    const struct ctt_node *a = node(m, "y"), *p = node(c, "y.t1"),
                          *q = node(c, "y");
    const float *w = m->w + a->at[0], *w1 = c->w + p->at[0],
                *w2 = c->w + q->at[0];
    int64_t d = a->w[0].n, taps = ctt_volume(&a->w[0]) / d, r = p->w[0].n;
    double lost = 0, all = 0;

    for (int64_t o = 0; o < d; o++)
        for (int64_t t = 0; t < taps; t++) {
            double x = w[o * taps + t], e = x;
            for (int64_t k = 0; k < r; k++)
                e -= (double)w2[o * r + k] * (double)w1[k * taps + t];
            lost += e * e;
            all += x * x;
        }
    return sqrt(lost / all);
}

/* The error is the one that the report says, and the rank is the lowest that
 * keeps the energy. */
static void test_energy(void)
{
    static const float energy[] = { 0.3f, 0.5f, 0.7f };

    for (size_t i = 0; i < CTT_LEN(energy); i++) {
        struct ctt_model *m = small_model(models[0], 9), *c = NULL;
        struct ctt_svd o = { .energy = energy[i] };
        struct ctt_report *r = NULL;
        double error;

        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_svd_model(m, &o, r, &c));
        error = distance(m, c);
        CU_ASSERT_DOUBLE_EQUAL(error, r->weight[0].error, 1e-6);
        CU_ASSERT(1 - error * error >= (double)energy[i]);
        CU_ASSERT_FATAL(r->weight[0].rank[0] > 1);
        o = (struct ctt_svd){ .rank = r->weight[0].rank[0] - 1 };
        ctt_report_free(&r);
        ctt_model_free(&c);
        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_svd_model(m, &o, r, &c));
        CU_ASSERT_EQUAL(node(c, "y.t1")->w[0].n, o.rank);
        error = distance(m, c);
        CU_ASSERT(1 - error * error < (double)energy[i]);
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&c);
    }
}

/* A tensor train after it takes the other weights, and no core. */
static void test_trains(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o = { .svd = { .rank = 2, .except = "b" },
                            .tt = { .rank = 2 } };
    struct ctt_model *m = small_model(models[2], 4);
    struct ctt_report *r = NULL;
    struct ctt_walk k = { &o, &none, &m, NULL, 0, "", "" };
    char *net;

    CHECK_OK(ctt_report_new(m, &r));
    k.r = r;
    CHECK_OK(ctt_stage_svd.check(&o, m));
    CHECK_OK(ctt_stage_svd.run(&k, 1));
    CU_ASSERT(strstr(k.line, "rank 2") != NULL);
    CU_ASSERT(strstr(k.line, "3 of 4 weights") != NULL);
    CHECK_OK(ctt_stage_tt.run(&k, 1));
    CU_ASSERT(strstr(k.line, "1 of 4 weights") != NULL);
    net = ctt_net_print(m->g);
    CU_ASSERT(strstr(net, " b.t2 ") != NULL);
    CU_ASSERT(strstr(net, ".t1.t1 ") == NULL);
    CU_ASSERT(strstr(net, " a.t2 ") == NULL);
    ctt_free(net);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

static void test_bad(void)
{
    struct ctt_recipe o = { .svd = { .rank = 2 } };
    struct ctt_model *m = small_model(models[0], 8), *c = NULL;
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    m->w[m->g->node[1].at[0] + 5] = NAN;
    CU_ASSERT_EQUAL(ctt_svd_model(m, &o.svd, r, &c), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "y: ") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    o.svd.least = 1 << 20;
    CHECK_OK(ctt_svd_model(m, &o.svd, r, &c));
    CU_ASSERT(strstr(r->weight[0].reason, "has fewer than") != NULL);
    ctt_model_free(&c);
    o.svd.least = 0;
    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    m->constraint.keep[m->g->node[1].at[0] + 5] = 0;
    CU_ASSERT_EQUAL(ctt_stage_svd.check(&o, m), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "y is pruned or shared, and an SVD of it") ==
              ctt_errmsg());
    o.svd.except = "y";
    CHECK_OK(ctt_stage_svd.check(&o, m));
    o.svd.except = "q";
    CU_ASSERT_EQUAL(ctt_stage_svd.check(&o, m), CTT_EINVAL);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* Every allocation may fail. */
static void test_alloc(void)
{
    struct ctt_model *m = small_model(models[4], 9), *c = NULL;
    struct ctt_svd o = { .rank = 4 };
    struct ctt_report *r = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = ctt_report_new(m, &r);
        if (rc >= 0)
            rc = ctt_svd_model(m, &o, r, &c);
        ctt_fail_alloc(0);
        ctt_report_free(&r);
        CU_ASSERT(rc >= 0 || rc == CTT_ENOMEM);
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    ctt_model_free(&c);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "exact", test_exact },
        { "energy", test_energy },
        { "then tensor trains", test_trains },
        { "bad", test_bad },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "SVD", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
