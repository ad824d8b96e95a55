/* SPDX-License-Identifier: Apache-2.0
 * test_chain.c: singular values, and one weight as a chain of convs: its ranks
 * and its error. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/stage/chain.h"
#include "compress/stage/responses.h"

#include <math.h>
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
    struct ctt_chain_conv r = ctt_chain_core(c, k, n);
    int64_t taps = r.slide.kernel[0] * r.slide.kernel[1] * r.slide.kernel[2];
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
        struct ctt_tt o = { .rank = rank, .form = form };
        struct ctt_chain *c = NULL;
        char text[24];

        CHECK_OK(ctt_chain_new(m->g, 1, w, &o, NULL, &c));
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
            struct ctt_tt o = { .tol = tol[t] };
            struct ctt_chain *c = NULL;

            CHECK_OK(ctt_chain_new(m->g, 1, m->w + n->at[0], &o, NULL, &c));
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
    struct ctt_tt o = { .rank = 4 };
    struct ctt_chain *c = NULL;
    double norm[CTT_MAX_CORES] = { 0 };

    CHECK_OK(ctt_chain_new(m->g, 1, m->w + n->at[0], &o, NULL, &c));
    for (int k = 0; k < c->cores; k++) {
        struct ctt_chain_conv r = ctt_chain_core(c, k, n);
        int64_t size = r.in * r.out * r.slide.kernel[1] * r.slide.kernel[2];
        for (int64_t i = 0; i < size; i++)
            norm[k] += (double)c->w[k][i] * c->w[k][i];
        CU_ASSERT_DOUBLE_EQUAL(norm[k], norm[0], 1e-4 * norm[0]);
    }
    ctt_chain_free(&c);
    memset(m->w, 0, (size_t)m->g->weights * sizeof(*m->w));
    CHECK_OK(ctt_chain_new(m->g, 1, m->w + n->at[0], &o, NULL, &c));
    CU_ASSERT_EQUAL(c->error, 0);
    for (int k = 0; k < c->cores; k++)
        for (int i = 0; i < 3; i++)
            CU_ASSERT(isfinite(c->w[k][i]));
    ctt_chain_free(&c);
    ctt_model_free(&m);
}

/* Inputs that are white: the answers are as far from each other as the weights,
 * and the fit is no worse than successive SVDs. */
static void test_white(void)
{
    double gain = 0;

    for (size_t i = 0; i < CTT_LEN(weights); i++)
        for (int rank = 1; rank <= 5; rank++) {
            struct ctt_model *m = small_model(weights[i], 1);
            const struct ctt_node *n = &m->g->node[1];
            const float *w = m->w + n->at[0];
            struct ctt_tt o = { .rank = rank };
            struct ctt_chain *c = NULL, *f = NULL;
            struct ctt_moments x;

            CHECK_OK(ctt_moments_begin(&x, (int)(ctt_volume(&n->w[0]) /
                                                 n->w[0].n)));
            CHECK_OK(ctt_moments_end(&x));
            for (int64_t k = 0; k < x.d; k++)
                x.cov[k * x.d + k] = 1;
            CHECK_OK(ctt_chain_new(m->g, 1, w, &o, NULL, &c));
            CHECK_OK(ctt_chain_new(m->g, 1, w, &o,
                                   &(struct ctt_fit_to){ &x, NULL }, &f));
            CU_ASSERT_EQUAL(c->cores, f->cores);
            if (f->cores > 1) {
                double e = distance(f, n, w);

                CU_ASSERT_DOUBLE_EQUAL(e, f->error, 1e-5);
                CU_ASSERT(e <= c->error + 1e-6);
                gain += c->error - e;
            }
            ctt_moments_free(&x);
            ctt_chain_free(&c);
            ctt_chain_free(&f);
            ctt_model_free(&m);
        }
    CU_ASSERT(gain > 0.01);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "singular values", test_svd },
        { "ranks", test_ranks },
        { "tolerance", test_tolerance },
        { "scale", test_scale },
        { "white inputs", test_white },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "chain", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
