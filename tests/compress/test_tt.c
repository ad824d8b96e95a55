/* SPDX-License-Identifier: Apache-2.0
 * test_tt.c: whole models with their weights as chains: the answers, the
 * report, and what is left as it is. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/chain.h"

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
            CHECK_OK(ctt_factorise(m, &o, r, &c));
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
        CHECK_OK(ctt_factorise(m, &o, r, &c));
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
    CHECK_OK(ctt_factorise(m, &o, r, &c));
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
           "has fewer than 50 numbers");
    reason("input x h=4 w=4 c=64\nconv y in=x out=64\n", 2, "z,y", "excepted");
    reason("input x h=4 w=4 c=64\nconv a.b2 in=x out=64\n", 2, "a.*",
           "excepted");
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
    CHECK_OK(ctt_factorise(m, &o, r, &a));
    ctt_report_free(&r);
    CHECK_OK(ctt_report_new(a, &r));
    CU_ASSERT(r->weights > 1);
    CHECK_OK(ctt_factorise(a, &o, r, &b));
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
}

static void test_nan(void)
{
    struct ctt_model *m = small_model(models[0], 8), *c = NULL;
    struct ctt_tt o = { .rank = 4 };
    struct ctt_report *r = NULL;

    m->w[m->g->node[1].at[0] + 5] = INFINITY;
    CHECK_OK(ctt_report_new(m, &r));
    CU_ASSERT_EQUAL(ctt_factorise(m, &o, r, &c), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "y: ") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* Every allocation may fail. */
static void test_alloc(void)
{
    struct ctt_model *m = small_model(models[6], 9), *c = NULL;
    struct ctt_tt o = { .rank = 4 };
    struct ctt_report *r = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = ctt_report_new(m, &r);
        if (rc >= 0)
            rc = ctt_factorise(m, &o, r, &c);
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

int main(void)
{
    static CU_TestInfo tests[] = {
        { "exact trains", test_exact },
        { "counts", test_counts },
        { "reasons", test_reasons },
        { "again", test_again },
        { "names", test_names },
        { "not finite", test_nan },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "tensor trains", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
