/* SPDX-License-Identifier: Apache-2.0
 * test_compress.c: singular values, chains, factorised models, pruning. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- singular values ---- */

static void svd_case(int m, int n)
{
    int k = m < n ? m : n;
    float *x = ctt_calloc((size_t)(m * n), sizeof(*x));
    float *y = ctt_calloc((size_t)(m * n), sizeof(*y));
    double *a = ctt_calloc((size_t)(m * n), sizeof(*a));
    double *u = ctt_calloc((size_t)(m * k), sizeof(*u));
    double *s = ctt_calloc((size_t)k, sizeof(*s));
    double *vt = ctt_calloc((size_t)(k * n), sizeof(*vt));

    ctt_check_fill(x, m * n, (uint64_t)(m * 100 + n));
    for (int i = 0; i < m * n; i++)
        a[i] = x[i];
    CHECK_OK(ctt_svd(m, n, a, u, s, vt));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int r = 0; r < k; r++)
                sum += u[i * k + r] * s[r] * vt[r * n + j];
            y[i * n + j] = (float)sum;
        }
    CHECK_CLOSE(y, x, m * n, 1e-6);
    for (int r = 1; r < k; r++)
        CU_ASSERT(s[r] <= s[r - 1] && s[r] >= 0);
    a[0] = NAN;
    CU_ASSERT_EQUAL(ctt_svd(m, n, a, u, s, vt), CTT_ENAN);
    ctt_free(x);
    ctt_free(y);
    ctt_free(a);
    ctt_free(u);
    ctt_free(s);
    ctt_free(vt);
}

static void test_svd(void)
{
    svd_case(1, 1);
    svd_case(5, 9);
    svd_case(9, 5);
    svd_case(1, 7);
    svd_case(32, 32);
}

/* ---- one chain ---- */

/* t: (left, mid) times core k: (mid, taps, right); all as the core is in the
 * tensor, not as the conv weight is. */
static double *contract(double *t, int64_t left, const struct ctt_chain *c,
                        int k, const struct ctt_node *n)
{
    struct ctt_core r = ctt_chain_core(c, k, n);
    int64_t taps = r.kernel[0] * r.kernel[1] * r.kernel[2];
    int64_t mid = k > 0 ? c->rank[k] : 1, in = k > 0 ? 1 : r.in;
    double *y = ctt_calloc((size_t)(left * in * taps * r.out), sizeof(*y));

    for (int64_t l = 0; l < left; l++)
        for (int64_t m = 0; m < mid; m++)
            for (int64_t i = 0; i < in; i++)
                for (int64_t p = 0; p < taps; p++)
                    for (int64_t o = 0; o < r.out; o++)
                        y[((l * in + i) * taps + p) * r.out + o] +=
                            t[l * mid + m] *
                            (double)c->w[k][(o * taps + p) * r.in +
                                            (k > 0 ? m : i)];
    ctt_free(t);
    return y;
}

/* The relative error of the chain against the weight. */
static double distance(const struct ctt_chain *c, const struct ctt_node *n,
                       const float *w)
{
    double *t = ctt_calloc(1, sizeof(*t)), lost = 0, all = 0;
    int64_t left = 1, in = n->w[0].c, out = n->w[0].n;
    int64_t taps = n->w[0].d * n->w[0].h * n->w[0].w;

    t[0] = 1;
    for (int k = 0; k < c->cores; k++) {
        t = contract(t, left, c, k, n);
        for (int m = c->first[k]; m < c->first[k + 1] && m < 4; m++)
            left *= c->dim[m];
    }
    for (int64_t i = 0; i < in; i++)
        for (int64_t p = 0; p < taps; p++)
            for (int64_t o = 0; o < out; o++) {
                double x = w[(o * taps + p) * in + i];
                double e = x - t[(i * taps + p) * out + o];
                lost += e * e;
                all += x * x;
            }
    ctt_free(t);
    return sqrt(lost / all);
}

static const char *const weights[] = {
    "input x h=8 w=8 c=16\nconv y in=x out=24 kernel=3 pad=1\n",
    "input x h=8 w=8 c=24\nconv y in=x out=32\n",
    "input x h=12 w=12 c=12\nconv y in=x out=20 kernel=1,5,5 stride=2 pad=2\n",
    "input x d=4 h=8 w=8 c=12\nconv y in=x out=16 kernel=3 pad=1\n",
    "input x h=5 w=5 c=16\ndeconv y in=x out=12 kernel=1,4,4 stride=1,2,2 "
    "pad=0,1,1\n",
    "input x d=4 h=8 w=8 c=12\nconv y in=x out=16 kernel=3,1,1 pad=1,0,0\n",
    "input x h=1 w=9 c=12\nconv y in=x out=16 kernel=1,1,3\n",
};

static const char *const chains[][3] = {    /* train, window, pair */
    { "in|kh|kw|out", "in|kh kw|out", "in kh|kw out" },
    { "in|out", "in|out", "in|out" },
    { "in|kh|kw|out", "in|kh kw|out", "in kh|kw out" },
    { "in|kd|kh|kw|out", "in|kd kh kw|out", "in kd kh|kw out" },
    { "in|kh|kw|out", "in|kh kw|out", "in kh|kw out" },
    { "in|kd|out", "in|kd|out", "in kd|out" },
    { "in|kw|out", "in|kw|out", "in kw|out" },
};

static void chain_ranks(size_t i, int form)
{
    struct ctt_model *m = small_model(weights[i], 1);
    const struct ctt_node *n = &m->g->node[1];
    const float *w = m->w + n->at[0];
    double before = 1;

    for (int rank = 1; rank < 40; rank++) {
        struct ctt_lowrank o = { .rank = rank, .form = form };
        struct ctt_chain *c = NULL;
        char text[24];

        CHECK_OK(ctt_chain_new(m->g, 1, w, &o, &c));
        if (c->cores > 1) {
            double e = distance(c, n, w);
            CU_ASSERT_DOUBLE_EQUAL(e, c->error, 1e-5);
            CU_ASSERT(e <= before + 1e-6);
            before = e;
            for (int k = 1; k < c->cores; k++)
                CU_ASSERT(c->rank[k] <= rank);
        }
        ctt_chain_text(c, text, sizeof(text));
        if (rank <= 2)
            CU_ASSERT_STRING_EQUAL(text, chains[i][form]);
        ctt_chain_free(&c);
    }
    CU_ASSERT(before < 0.9);
    ctt_model_free(&m);
}

static void test_ranks(void)
{
    for (size_t i = 0; i < CTT_LEN(weights); i++)
        for (int form = CTT_TT_TRAIN; form <= CTT_TT_PAIR; form++)
            chain_ranks(i, form);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The error is at most what was asked, and no more ranks are spent than for a
 * quarter of it. */
static void test_tolerance(void)
{
    static const float tol[] = { 0.9f, 0.5f, 0.2f, 0.05f };

    for (size_t i = 0; i < CTT_LEN(weights); i++) {
        struct ctt_model *m = small_model(weights[i], 2);
        const struct ctt_node *n = &m->g->node[1];
        int64_t before = 0;

        for (size_t t = 0; t < CTT_LEN(tol); t++) {
            struct ctt_lowrank o = { .tol = tol[t] };
            struct ctt_chain *c = NULL;

            CHECK_OK(ctt_chain_new(m->g, 1, m->w + n->at[0], &o, &c));
            CU_ASSERT(c->cores == 1 ||
                      distance(c, n, m->w + n->at[0]) <= tol[t] + 1e-6);
            CU_ASSERT(c->params >= before);
            before = c->params;
            ctt_chain_free(&c);
        }
        ctt_model_free(&m);
    }
}

/* A zero weight has a chain, of zeros; the cores of another have one norm. */
static void test_scale(void)
{
    struct ctt_model *m = small_model(weights[0], 3);
    const struct ctt_node *n = &m->g->node[1];
    struct ctt_lowrank o = { .rank = 4 };
    struct ctt_chain *c = NULL;
    double norm[CTT_MAX_CORES] = { 0 };

    CHECK_OK(ctt_chain_new(m->g, 1, m->w + n->at[0], &o, &c));
    for (int k = 0; k < c->cores; k++) {
        struct ctt_core r = ctt_chain_core(c, k, n);
        int64_t size = r.in * r.out * r.kernel[1] * r.kernel[2];
        for (int64_t i = 0; i < size; i++)
            norm[k] += (double)c->w[k][i] * c->w[k][i];
        CU_ASSERT_DOUBLE_EQUAL(norm[k], norm[0], 1e-4 * norm[0]);
    }
    ctt_chain_free(&c);
    memset(m->w, 0, (size_t)m->g->weights * sizeof(*m->w));
    CHECK_OK(ctt_chain_new(m->g, 1, m->w + n->at[0], &o, &c));
    CU_ASSERT_EQUAL(c->error, 0);
    for (int k = 0; k < c->cores; k++)
        for (int i = 0; i < 3; i++)
            CU_ASSERT(isfinite(c->w[k][i]));
    ctt_chain_free(&c);
    ctt_model_free(&m);
}

/* ---- whole models ---- */

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
            struct ctt_lowrank o = { .tol = 1e-5f, .form = form };
            struct ctt_report *r = NULL;
            int done = 0;

            small_rank(m, 2);
            m->history = ctt_strdup("made by hand\n");
            CHECK_OK(ctt_report_new(m, &r));
            CHECK_OK(ctt_lowrank(m, &o, r, &c));
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
        struct ctt_lowrank o = { .rank = 3 };
        struct ctt_report *r = NULL;
        int64_t macs = 0, params = 0, macs_said = 0, params_said = 0;

        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_lowrank(m, &o, r, &c));
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
    struct ctt_lowrank o = { .rank = rank, .except = except, .least = 50 };
    struct ctt_report *r = NULL;
    char *before = ctt_net_print(m->g), *after;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_lowrank(m, &o, r, &c));
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
    struct ctt_lowrank o = { .rank = 4 };
    struct ctt_report *r = NULL;
    char *ta, *tb;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_lowrank(m, &o, r, &a));
    ctt_report_free(&r);
    CHECK_OK(ctt_report_new(a, &r));
    CU_ASSERT(r->weights > 1);
    CHECK_OK(ctt_lowrank(a, &o, r, &b));
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
    struct ctt_lowrank o = { .rank = 4 };
    struct ctt_report *r = NULL;

    m->w[m->g->node[1].at[0] + 5] = INFINITY;
    CHECK_OK(ctt_report_new(m, &r));
    CU_ASSERT_EQUAL(ctt_lowrank(m, &o, r, &c), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "y: ") == ctt_errmsg());
    CU_ASSERT_PTR_NULL(c);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* Every allocation may fail. */
static void test_alloc(void)
{
    struct ctt_model *m = small_model(models[6], 9), *c = NULL;
    struct ctt_lowrank o = { .rank = 4 };
    struct ctt_report *r = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = ctt_report_new(m, &r);
        if (rc >= 0)
            rc = ctt_lowrank(m, &o, r, &c);
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
        { "singular values", test_svd },
        { "ranks", test_ranks },
        { "tolerance", test_tolerance },
        { "scale", test_scale },
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
        { "compress", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
