/* SPDX-License-Identifier: Apache-2.0
 * test_tt.c: whole models with their weights as chains: the answers, the
 * report, and what is left as it is. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/stage/chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const models[] = {
    "input x h=6 w=7 c=12\nconv y in=x out=20 kernel=3 pad=1\n",
    "input x h=6 w=6 c=24\nconv a in=x out=32\nact r in=a kind=relu\n"
    "conv y in=r out=24 bias=0\n",
    "input x h=13 w=12 c=10\nconv a in=x out=16 kernel=1,5,5 stride=1,2,2 "
    "pad=0,2,2\nnorm n in=a kind=batch\nact r in=n kind=relu\n"
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
    "conv y in=h out=3\n",
    "input x h=6 w=6 c=16\n"
    "convttlstm h in=x hidden=16 kernel=5 order=3 steps=4 rank=4\n"
    "pool p in=h kind=avg\nlstm l in=p hidden=16\nconv y in=l out=7\n",
    "input x h=8 w=8 c=8\nresblock a in=x out=16 stride=2\n"
    "resblock b in=a out=16\nconv y in=b out=4\n",
    "input x h=9 w=8 c=12\nconv a in=x out=16 kernel=3 stride=2 after=1\n"
    "conv y in=a out=20 kernel=3 pad=2 after=1 dilation=2\n",
};

static void same_rest(const struct ctt_model *a, const struct ctt_model *b)
{
    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];
        int at = ctt_graph_find(b->g, n->name);
        CU_ASSERT_FATAL(at >= 0);
        CU_ASSERT_EQUAL(ctt_volume(&b->g->node[at].out), ctt_volume(&n->out));
    }
    CU_ASSERT_STRING_EQUAL(a->g->node[ctt_graph_output(a->g)].name,
                           b->g->node[ctt_graph_output(b->g)].name);
    CU_ASSERT_EQUAL(a->labels, b->labels);
    CU_ASSERT_STRING_EQUAL(a->history, b->history);
}

/* Weights that are trains of rank 2 are found to be that, whatever stands
 * around them, and the model answers the same. */
static void test_exact(void)
{
    for (size_t i = 0; i < CTT_LEN(models); i++)
        for (int form = CTT_TT_TRAIN; form <= CTT_TT_PAIR; form++) {
            struct ctt_model *m = small_model(models[i], 4), *c = NULL;
            struct ctt_tt o = { .tol = 1e-5f, .form = form };
            struct ctt_report *r = NULL;
            int done = 0;

            small_rank(m, 2);
            m->history = ctt_strdup("made by hand\n");
            CHECK_OK(ctt_report_new(m, &r));
            CHECK_OK(ctt_factorise(m, &o, NULL, r, &c));
            same_rest(m, c);
            small_compare(m, c, 5, 2e-5);
            for (int k = 0; k < r->weights; k++) {
                const struct ctt_weight_row *w = &r->weight[k];
                CU_ASSERT((w->cores > 1) == !w->reason[0]);
                CU_ASSERT(w->error <= 1e-5);
                for (int j = 0; j < w->cores - 1; j++)
                    CU_ASSERT(w->rank[j] <= 4);
                done += w->cores > 1;
            }
            CU_ASSERT(done >= 1);
            ctt_report_free(&r);
            ctt_model_free(&m);
            ctt_model_free(&c);
        }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* What the report says of parameters and multiplications is what the graph
 * has. */
static void test_counts(void)
{
    for (size_t i = 0; i < CTT_LEN(models); i++) {
        struct ctt_model *m = small_model(models[i], 5), *c = NULL;
        struct ctt_tt o = { .rank = 3 };
        struct ctt_report *r = NULL;
        int64_t macs = 0, params = 0, macs_said = 0, params_said = 0;

        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_factorise(m, &o, NULL, r, &c));
        for (int k = 0; k < c->g->count; k++) {
            const struct ctt_node *n = &c->g->node[k];
            if (n->op != CTT_OP_CONV && n->op != CTT_OP_DECONV)
                continue;
            macs += ctt_node_macs(c->g, k);
            params += ctt_volume(&n->w[0]);
        }
        for (int k = 0; k < r->weights; k++) {
            const struct ctt_weight_row *w = &r->weight[k];
            macs_said += w->macs_after;
            params_said += w->params_after;
            CU_ASSERT(w->cores == 1 || w->macs_after < w->macs);
            CU_ASSERT(w->cores == 1 || w->params_after < w->params);
        }
        CU_ASSERT_EQUAL(macs, macs_said);
        CU_ASSERT_EQUAL(params, params_said);
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&c);
    }
}

static void reason(const char *text, int rank, const char *except,
                   const char *expected)
{
    struct ctt_model *m = small_model(text, 6), *c = NULL;
    struct ctt_tt o = { .rank = rank, .except = except, .least = 50 };
    struct ctt_report *r = NULL;
    char *before = ctt_net_print(m->g), *after;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_factorise(m, &o, NULL, r, &c));
    after = ctt_net_print(c->g);
    CU_ASSERT_STRING_EQUAL(before, after);
    CU_ASSERT_EQUAL(r->weight[0].cores, 1);
    if (!strstr(r->weight[0].reason, expected))
        printf("\n    %s", r->weight[0].reason);
    CU_ASSERT(strstr(r->weight[0].reason, expected) != NULL);
    ctt_free(before);
    ctt_free(after);
    ctt_report_free(&r);
    ctt_model_free(&m);
    ctt_model_free(&c);
}

static void test_reasons(void)
{
    reason("input x h=4 w=4 c=8\nconv y in=x out=8\n", 0, NULL,
           "128 parameters and 2048 mult");
    reason("input x h=4 w=4 c=8\nconv y in=x out=8\n", 5, NULL,
           "80 parameters");
    reason("input x h=8 w=8 c=16\nconv y in=x out=4 kernel=1,2,2 "
           "stride=1,8,8\n", 6, NULL, "a chain takes 272 parameters and");
    reason("input x h=4 w=4 c=7\nconv y in=x out=7\n", 2, NULL,
           "has fewer than 50 weights");
    reason("input x h=4 w=4 c=64\nconv y in=x out=64\n", 2, "z,y", "excepted");
    reason("input x h=4 w=4 c=64\nconv a.b2 in=x out=64\n", 2, "a.*",
           "excepted");
    reason("input x h=4 w=4 c=64\nconv y in=x out=64 groups=2\n", 2, NULL,
           "has groups");
    reason("input x h=4 w=4 c=64\nact y.t2 in=x kind=relu\n"
           "conv y in=y.t2 out=64\n", 2, NULL, "there is y.t2");
    reason("input x h=4 w=4 c=64\n"
           "conv a23456789a23456789a23456789a23456789a234567890 in=x out=64\n",
           2, NULL, "its name");
}

/* A model can be factorised again: what is left of it has no shorter chain,
 * or is left because the names are taken. */
static void test_again(void)
{
    struct ctt_model *m = small_model(models[0], 7), *a = NULL, *b = NULL;
    struct ctt_tt o = { .rank = 4 };
    struct ctt_report *r = NULL;
    char *ta, *tb;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_factorise(m, &o, NULL, r, &a));
    ctt_report_free(&r);
    CHECK_OK(ctt_report_new(a, &r));
    CU_ASSERT(r->weights > 1);
    CHECK_OK(ctt_factorise(a, &o, NULL, r, &b));
    ta = ctt_net_print(a->g);
    tb = ctt_net_print(b->g);
    CU_ASSERT_STRING_EQUAL(ta, tb);
    ctt_free(ta);
    ctt_free(tb);
    ctt_report_free(&r);
    ctt_model_free(&m);
    ctt_model_free(&a);
    ctt_model_free(&b);
}

static void test_names(void)
{
    CU_ASSERT(ctt_name_matches("y", "y"));
    CU_ASSERT(ctt_name_matches("a,y", "y.t2"));
    CU_ASSERT(ctt_name_matches("h.z*", "h.zx"));
    CU_ASSERT(ctt_name_matches("y.t2", "y.t2"));
    CU_ASSERT(!ctt_name_matches("y", "yy"));
    CU_ASSERT(!ctt_name_matches("y,", "z"));
    CU_ASSERT(!ctt_name_matches(NULL, "y"));
    CU_ASSERT(!ctt_name_matches("", "y"));
    CU_ASSERT(ctt_name_matches("a,=y", "y"));
    CU_ASSERT(!ctt_name_matches("=y", "y.t2"));
    CU_ASSERT(ctt_name_matches("=y.t2", "y.t2"));
    CU_ASSERT(!ctt_name_matches("=y*", "yy"));
}

/* ---- on responses ---- */

/* Without a part after clip, bias and second input. */
static const char *const lone[] = {
    "input x h=6 w=7 c=12\nconv y in=x out=20 kernel=1,3,3 pad=0,1,1 bias=0\n",
    "input x h=6 w=6 c=24\nconv a in=x out=20\nact r in=a kind=relu\n"
    "conv y in=r out=18 kernel=1,3,3 stride=1,2,2 bias=0\n",
    "input x h=5 w=5 c=16\ndeconv y in=x out=16 kernel=1,4,4 stride=1,2,2 "
    "pad=0,1,1 bias=0\n",
    "input x d=4 h=5 w=4 c=8\n"
    "conv y in=x out=12 kernel=3,3,3 stride=2,1,1 pad=1 bias=0\n",
    "input x d=3 h=3 w=4 c=8\ndeconv y in=x out=8 kernel=2,3,3 "
    "stride=2,2,1 pad=0,1,1 bias=0\n",
    "input x h=5 w=5 c=30\nconv y in=x out=20 bias=0\n",
    "input x h=9 w=8 c=12\nconv y in=x out=20 kernel=3 pad=2 after=1 "
    "dilation=2 bias=0\n",
};

static struct ctt_model *fitted(const struct ctt_model *m, int rank, int form,
                                int on, double *error)
{
    int clips = 7;
    struct ctt_recipe_calls calls = { .arg = &clips, .sample = small_sample };
    struct ctt_tt o = { .rank = rank, .form = form, .on = on, .clips = clips,
                        .except = "a" };
    struct ctt_report *r = NULL;
    struct ctt_model *c = NULL;
    int done = 0;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_factorise(m, &o, &calls, r, &c));
    for (int k = 0; k < r->weights; k++) {
        if (r->weight[k].cores == 1)
            continue;
        CU_ASSERT_EQUAL(r->weight[k].fitted, on == CTT_ON_RESPONSES);
        *error = r->weight[k].error;
        done++;
    }
    CU_ASSERT_EQUAL_FATAL(done, 1);
    ctt_report_free(&r);
    return c;
}

/* The report says what is lost of the variance of the answers, which is less
 * than with the cores of the weight, and the mean stays. */
static void test_responses(void)
{
    for (size_t i = 0; i < CTT_LEN(lone); i++)
        for (int form = CTT_TT_TRAIN; form <= CTT_TT_PAIR; form++)
            for (int rank = 1; rank <= 3; rank++) {
                struct ctt_model *m = small_model(lone[i], 3), *c, *w;
                double all = small_variance(m), error = 0, other, bias, lost;

                c = fitted(m, rank, form, CTT_ON_RESPONSES, &error);
                w = fitted(m, rank, form, CTT_ON_WEIGHTS, &other);
                lost = small_loss(m, c, &bias);
                CU_ASSERT(bias < 1e-5);
                CU_ASSERT_DOUBLE_EQUAL(lost / all, error * error, 2e-3);
                CU_ASSERT(lost < 0.9 * small_loss(m, w, &bias));
                ctt_model_free(&m);
                ctt_model_free(&c);
                ctt_model_free(&w);
            }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The second weight is fitted to the answers that it had with the inputs that
 * it has now: its error is that of the model. */
static void test_behind(void)
{
    static const char net[] =
        "input x h=6 w=6 c=24\nconv a in=x out=24 kernel=1,3,3 pad=0,1,1\n"
        "act r in=a kind=relu\nconv y in=r out=18 kernel=1,3,3 bias=0\n";
    struct ctt_recipe_calls calls = { .sample = small_sample };

    for (int rank = 1; rank <= 3; rank++) {
        struct ctt_tt o = { .rank = rank, .on = CTT_ON_RESPONSES };
        struct ctt_model *m = small_model(net, 3), *c = NULL;
        struct ctt_report *r = NULL;
        double lost, bias;

        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_factorise(m, &o, &calls, r, &c));
        CU_ASSERT(r->weight[0].cores > 1 && r->weight[1].cores > 1);
        lost = small_loss(m, c, &bias);
        CU_ASSERT(bias < 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(sqrt(lost / small_variance(m)),
                               r->weight[1].error, 1e-3);
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&c);
    }
}

/* A weight that is a train of the rank is kept exactly. */
static void test_responses_exact(void)
{
    for (size_t i = 0; i < CTT_LEN(lone); i++)
        for (int form = CTT_TT_TRAIN; form <= CTT_TT_PAIR; form++) {
            struct ctt_model *m = small_model(lone[i], 3), *c;
            double error = 0;

            small_rank(m, 2);
            c = fitted(m, 4, form, CTT_ON_RESPONSES, &error);
            CU_ASSERT(error < 1e-5);
            small_compare(m, c, 5, 2e-5);
            ctt_model_free(&m);
            ctt_model_free(&c);
        }
}

/* What cannot be fitted is a train of the weight, and the report says so. */
static void test_too_many(void)
{
    static const char net[] = "input x h=1 w=1 c=4097\n"
                              "conv y in=x out=8 bias=0\n";
    struct ctt_recipe_calls calls = { .sample = small_sample };
    struct ctt_tt o = { .rank = 2, .on = CTT_ON_RESPONSES };
    struct ctt_model *m = small_model(net, 3), *c = NULL, *w = NULL;
    struct ctt_report *r = NULL, *plain = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_factorise(m, &o, &calls, r, &c));
    CU_ASSERT_EQUAL(r->weight[0].cores, 2);
    CU_ASSERT_EQUAL(r->weight[0].fitted, 0);
    CU_ASSERT(strstr(r->weight[0].reason,
                     "4097 inputs a place are too many") != NULL);
    o.on = CTT_ON_WEIGHTS;
    CHECK_OK(ctt_report_new(m, &plain));
    CHECK_OK(ctt_factorise(m, &o, NULL, plain, &w));
    CU_ASSERT_EQUAL_FATAL(c->g->weights, w->g->weights);
    CU_ASSERT_EQUAL(memcmp(c->w, w->w, (size_t)c->g->weights *
                           sizeof(*c->w)), 0);
    ctt_report_free(&r);
    ctt_report_free(&plain);
    ctt_model_free(&m);
    ctt_model_free(&c);
    ctt_model_free(&w);
}

static void test_no_clips(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_tt o = { .rank = 2, .on = CTT_ON_RESPONSES, .clips = 1 };
    struct ctt_model *m = small_model(lone[0], 8), *c = NULL;
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    CU_ASSERT_EQUAL(ctt_factorise(m, &o, &none, r, &c), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "no clips") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

static void test_nan(void)
{
    struct ctt_model *m = small_model(models[0], 8), *c = NULL;
    struct ctt_tt o = { .rank = 4 };
    struct ctt_report *r = NULL;

    m->w[m->g->node[1].at[0] + 5] = INFINITY;
    CHECK_OK(ctt_report_new(m, &r));
    CU_ASSERT_EQUAL(ctt_factorise(m, &o, NULL, r, &c), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "y: ") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* Every allocation may fail. */
static void fail_each(const char *net, int on)
{
    struct ctt_recipe_calls calls = { .sample = small_sample };
    struct ctt_model *m = small_model(net, 9), *c = NULL;
    struct ctt_tt o = { .rank = 4, .on = on };
    struct ctt_report *r = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = ctt_report_new(m, &r);
        if (rc >= 0)
            rc = ctt_factorise(m, &o, &calls, r, &c);
        ctt_fail_alloc(0);
        ctt_report_free(&r);
        CU_ASSERT(rc >= 0 || rc == CTT_ENOMEM);
        if (rc < 0 && ctt_live_blocks() != live)
            printf("\n    allocation %ld leaks", k);
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    ctt_model_free(&c);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_alloc(void)
{
    fail_each(models[6], CTT_ON_WEIGHTS);
    fail_each("input x h=3 w=3 c=12\nconv a in=x out=12\n"
              "conv y in=a out=12\n", CTT_ON_RESPONSES);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "exact trains", test_exact },
        { "counts", test_counts },
        { "reasons", test_reasons },
        { "again", test_again },
        { "names", test_names },
        { "responses", test_responses },
        { "behind a train", test_behind },
        { "exact trains on responses", test_responses_exact },
        { "too many inputs", test_too_many },
        { "no clips", test_no_clips },
        { "not finite", test_nan },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "tensor trains", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
