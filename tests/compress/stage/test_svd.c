/* SPDX-License-Identifier: Apache-2.0
 * test_svd.c: whole models with their weights as two convs each: the answers,
 * what is lost, and what is left as it is. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/stage.h"
#include "compress/stage/svd.h"
#include "base/random.h"

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
    "input x h=9 w=8 c=12\nconv a in=x out=16 kernel=3 stride=2 after=1\n"
    "conv y in=a out=20 kernel=3 pad=2 after=1 dilation=2\n",
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
        CHECK_OK(ctt_svd_model(m, &o, NULL, r, &c));
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
        CHECK_OK(ctt_svd_model(m, &o, NULL, r, &c));
        error = distance(m, c);
        CU_ASSERT_DOUBLE_EQUAL(error, r->weight[0].error, 1e-6);
        CU_ASSERT(1 - error * error >= (double)energy[i]);
        CU_ASSERT_FATAL(r->weight[0].rank[0] > 1);
        o = (struct ctt_svd){ .rank = r->weight[0].rank[0] - 1 };
        ctt_report_free(&r);
        ctt_model_free(&c);
        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_svd_model(m, &o, NULL, r, &c));
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
    struct ctt_walk k = { .o = &o, .calls = &none, .m = &m };
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

/* ---- on responses ---- */

static struct ctt_model *lowered(const struct ctt_model *m, int rank, int on,
                                 const char *except, double *error)
{
    int clips = 7;
    struct ctt_recipe_calls calls = { .arg = &clips, .sample = small_sample };
    struct ctt_svd o = { .rank = rank, .on = on, .clips = clips,
                         .except = except };
    struct ctt_report *r = NULL;
    struct ctt_model *c = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_svd_model(m, &o, &calls, r, &c));
    for (int k = 0; k < r->weights; k++)
        if (r->weight[k].cores > 1)
            *error = r->weight[k].error;
    CU_ASSERT_EQUAL_FATAL(factorised(r), 1);
    ctt_report_free(&r);
    return c;
}

static const char *const lone[] = {
    "input x h=6 w=7 c=12\nconv y in=x out=20 kernel=1,3,3 pad=0,1,1 bias=0\n",
    "input x h=6 w=6 c=12\nconv a in=x out=16\nact r in=a kind=relu\n"
    "conv y in=r out=18 kernel=1,3,3 stride=1,2,2 bias=0\n",
    "input x h=5 w=5 c=16\ndeconv y in=x out=16 kernel=1,4,4 stride=1,2,2 "
    "pad=0,1,1 bias=0\n",
    "input x h=9 w=8 c=12\nconv y in=x out=20 kernel=3 pad=2 after=1 "
    "dilation=2 bias=0\n",
};

/* On the data it saw, the squared error is the sum of the eigenvalues that
 * were dropped, the mean stays, and the SVD of the weights loses more. */
static void test_responses(void)
{
    for (size_t i = 0; i < CTT_LEN(lone); i++)
        for (int rank = 1; rank <= 5; rank += 2) {
            struct ctt_model *m = small_model(lone[i], 3), *c, *w;
            double all = small_variance(m), error = 0, other, bias, lost, worse;

            c = lowered(m, rank, CTT_ON_RESPONSES, "a", &error);
            w = lowered(m, rank, CTT_ON_WEIGHTS, "a", &other);
            lost = small_loss(m, c, &bias);
            CU_ASSERT(bias < 1e-5);
            CU_ASSERT_DOUBLE_EQUAL(lost / all, error * error, 1e-5);
            worse = small_loss(m, w, &bias);
            CU_ASSERT(lost < worse);
            CU_ASSERT_EQUAL(c->g->node[ctt_graph_output(c->g)].nw, 2);
            ctt_model_free(&m);
            ctt_model_free(&c);
            ctt_model_free(&w);
        }
}

/* The second weight keeps most of the answers that it had with the inputs that
 * it has now: its error is that of the model. */
static void test_behind(void)
{
    static const char net[] =
        "input x h=6 w=6 c=12\nconv a in=x out=24 kernel=1,3,3 pad=0,1,1\n"
        "act r in=a kind=relu\nconv y in=r out=18 kernel=1,3,3 bias=0\n";
    struct ctt_recipe_calls calls = { .sample = small_sample };

    for (int rank = 1; rank <= 5; rank += 2) {
        struct ctt_svd o = { .rank = rank, .on = CTT_ON_RESPONSES };
        struct ctt_model *m = small_model(net, 3), *c = NULL;
        struct ctt_report *r = NULL;
        double lost, bias;

        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_svd_model(m, &o, &calls, r, &c));
        CU_ASSERT_EQUAL(factorised(r), 2);
        lost = small_loss(m, c, &bias);
        CU_ASSERT(bias < 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(sqrt(lost / small_variance(m)),
                               r->weight[1].error, 1e-3);
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&c);
    }
}

/* Bias, second input and an activation inside are no part of the response. */
static void test_plus(void)
{
    static const char net[] =
        "input x h=6 w=6 c=12\nconv b in=x out=20\n"
        "conv y in=x plus=b out=20 kernel=1,3,3 pad=0,1,1\n";
    struct ctt_model *m = small_model(net, 3), *c;
    double error = 0, bias, lost;

    c = lowered(m, 3, CTT_ON_RESPONSES, "b", &error);
    lost = small_loss(m, c, &bias);
    CU_ASSERT(bias < 1e-5);
    CU_ASSERT(lost > 0 && error > 0 && error < 1);
    ctt_model_free(&c);
    /* Another bias and second input: the same loss. */
    for (int64_t k = 0; k < 20; k++)
        m->w[node(m, "y")->at[1] + k] += 3;
    for (int64_t k = 0; k < 12 * 20; k++)
        m->w[node(m, "b")->at[0] + k] *= -2;
    c = lowered(m, 3, CTT_ON_RESPONSES, "b", &error);
    CU_ASSERT_DOUBLE_EQUAL(small_loss(m, c, &bias), lost, 1e-5 * (1 + lost));
    CU_ASSERT(bias < 1e-5);
    ctt_model_free(&c);
    ctt_model_free(&m);
}

static void test_no_clips(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_svd o = { .rank = 2, .on = CTT_ON_RESPONSES, .clips = 1 };
    struct ctt_model *m = small_model(lone[0], 8), *c = NULL;
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    CU_ASSERT_EQUAL(ctt_svd_model(m, &o, &none, r, &c), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "no clips") == ctt_errmsg());
    none.sample = small_sample;
    m->w[m->g->node[1].at[0] + 5] = NAN;
    CU_ASSERT_EQUAL(ctt_svd_model(m, &o, &none, r, &c), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "y: a response is not") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* ---- ranks under a budget ---- */

enum { LAYERS = 3, MOST = 5 };

static double product(const struct ctt_svd_layer *l, const int rank[LAYERS])
{
    double log_kept = 0;

    for (int k = 0; k < LAYERS; k++) {
        double sum = 0;
        for (int i = 0; i < rank[k]; i++)
            sum += l[k].energy[i];
        log_kept += log(sum / l[k].all);
    }
    return log_kept;
}

/* The best product of kept shares with `ranks` ranks in all, by trying all. */
static double best_product(const struct ctt_svd_layer *l, int ranks)
{
    double best = -INFINITY;
    int r[LAYERS];

    for (r[0] = 1; r[0] <= MOST; r[0]++)
        for (r[1] = 1; r[1] <= MOST; r[1]++) {
            r[2] = ranks - r[0] - r[1];
            if (r[2] >= 1 && r[2] <= MOST && product(l, r) > best)
                best = product(l, r);
        }
    return best;
}

/* Where a rank costs the same everywhere, the greedy choice is the best one. */
static void test_budget(void)
{
    double energy[LAYERS][MOST];
    struct ctt_svd_layer l[LAYERS] = { { NULL } };

    for (int seed = 0; seed < 20; seed++)
        for (int ranks = LAYERS; ranks < LAYERS * MOST; ranks++) {
            int r[LAYERS], sum = 0;
            for (int k = 0; k < LAYERS; k++) {
                double e = 1;
                l[k] = (struct ctt_svd_layer){ .energy = energy[k],
                    .most = MOST, .whole = 100 * MOST + 1, .unit = 100 };
                for (int i = 0; i < MOST; i++) {
                    energy[k][i] = e;
                    l[k].all += e;
                    e *= ctt_random((uint64_t)(seed * LAYERS + k),
                                    (uint64_t)i) / 4294967296.0;
                }
            }
            CU_ASSERT(ctt_svd_ranks(l, LAYERS, 10000, (10000 - 1503 + 100 *
                                                       ranks + 0.5) / 10000) <=
                      10000 - 1503 + 100 * ranks);
            for (int k = 0; k < LAYERS; k++)
                sum += r[k] = l[k].rank ? l[k].rank : MOST;
            CU_ASSERT_EQUAL(sum, ranks);
            CU_ASSERT_DOUBLE_EQUAL(product(l, r), best_product(l, ranks),
                                   1e-9);
        }
    CU_ASSERT_EQUAL(ctt_svd_ranks(l, LAYERS, 10000, 0.1), 8797);
}

/* The highest rank of the first weight saves 5 multiplications and loses much:
 * lower ones are better, and the second weight is not emptied before. */
static void test_first_step(void)
{
    static const double flat[] = { 1, 1, 1, 1, 1 },
                        steep[] = { 1, 0.5, 0.25, 0.125, 0.0625 };
    struct ctt_svd_layer l[] = {
        { flat, 5, 4, 405, 100, 0 }, { steep, 1.9375, 5, 501, 100, 0 },
    };

    CU_ASSERT(ctt_svd_ranks(l, 2, 1000, 0.501) <= 501);
    CU_ASSERT(l[0].rank == 2 || l[0].rank == 3);
    CU_ASSERT_EQUAL(l[0].rank + l[1].rank, 4);
}

static int64_t all_macs(const struct ctt_graph *g)
{
    int64_t sum = 0;

    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_CONV)
            sum += ctt_node_macs(g, i);
    return sum;
}

static void test_macs(void)
{
    static const float share[] = { 0.8f, 0.5f, 0.3f };
    struct ctt_model *m = small_model(models[2], 4);
    struct ctt_report *r = NULL;
    struct ctt_model *c = NULL;
    struct ctt_svd o;

    for (size_t i = 0; i < CTT_LEN(share); i++) {
        double is;

        o = (struct ctt_svd){ .macs = share[i] };
        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_svd_model(m, &o, NULL, r, &c));
        is = (double)all_macs(c->g) / (double)all_macs(m->g);
        CU_ASSERT(is <= (double)share[i]);
        CU_ASSERT(is > (double)share[i] - 0.15);
        ctt_model_free(&c);
        ctt_report_free(&r);
    }
    o.macs = 0.01f;
    CHECK_OK(ctt_report_new(m, &r));
    CU_ASSERT_EQUAL(ctt_svd_model(m, &o, NULL, r, &c), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "--svd-macs=0.01 cannot") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    ctt_report_free(&r);
    CU_ASSERT_EQUAL(ctt_stage_svd.check(&(struct ctt_recipe){
        .svd = { .macs = 0.5f, .rank = 3 } }, m), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "excludes --svd-rank") != NULL);
    ctt_model_free(&m);
}

static void test_bad(void)
{
    struct ctt_recipe o = { .svd = { .rank = 2 } };
    struct ctt_model *m = small_model(models[0], 8), *c = NULL;
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    m->w[m->g->node[1].at[0] + 5] = NAN;
    CU_ASSERT_EQUAL(ctt_svd_model(m, &o.svd, NULL, r, &c), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "y: ") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    o.svd.least = 1 << 20;
    CHECK_OK(ctt_svd_model(m, &o.svd, NULL, r, &c));
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
static void fail_each(const char *net, int on)
{
    struct ctt_recipe_calls calls = { .sample = small_sample };
    struct ctt_model *m = small_model(net, 9), *c = NULL;
    struct ctt_svd o = { .rank = 4, .on = on, .clips = 1 };
    struct ctt_report *r = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = ctt_report_new(m, &r);
        if (rc >= 0)
            rc = ctt_svd_model(m, &o, &calls, r, &c);
        ctt_fail_alloc(0);
        ctt_report_free(&r);
        CU_ASSERT(rc >= 0 || rc == CTT_ENOMEM);
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    ctt_model_free(&c);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_alloc(void)
{
    fail_each(models[4], CTT_ON_WEIGHTS);
    fail_each(models[1], CTT_ON_RESPONSES);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "exact", test_exact },
        { "energy", test_energy },
        { "then tensor trains", test_trains },
        { "responses", test_responses },
        { "behind an SVD", test_behind },
        { "plus", test_plus },
        { "no clips", test_no_clips },
        { "budget", test_budget },
        { "first step", test_first_step },
        { "multiplications", test_macs },
        { "bad", test_bad },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "SVD", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
