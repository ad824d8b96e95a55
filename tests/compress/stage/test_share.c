/* SPDX-License-Identifier: Apache-2.0
 * test_share.c: k-means of numbers, and weights that share values. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/compress.h"
#include "compress/stage/kmeans.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000 };

/* Two heaps, as weights are after pruning. */
static void draw(float x[N])
{
    for (int i = 0; i < N; i++) {
        float u = (float)ctt_random(2, (uint64_t)i) * 0x1p-32f;
        x[i] = (i % 3 ? 1 : -1) * (0.2f + u * u * u);
    }
}

static double cost(const float x[N], const struct ctt_clusters *c, int i,
                   int k, double lambda, double variance)
{
    double d = (double)x[i] - (double)c->value[k];

    return d * d / variance -
           lambda * log2((double)c->members[k] / (double)N);
}

/* What the search ends with is a fixed point: each number takes the value that
 * costs it least, each value is the mean of its numbers. */
static void check_fixed_point(const float x[N], const struct ctt_kmeans *o)
{
    struct ctt_clusters c;
    double sum = 0, squares = 0, lost = 0, entropy = 0, variance;
    double mean[CTT_MOST_CODES] = { 0 };
    int64_t members[CTT_MOST_CODES] = { 0 };

    CHECK_OK(ctt_kmeans(x, N, o, &c));
    CU_ASSERT(c.count >= 1 && c.count <= o->codes);
    for (int i = 0; i < N; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    variance = squares / N - sum / N * (sum / N);
    for (int i = 0; i < N; i++) {
        int k = ctt_kmeans_find(&c, x[i]);
        double mine = cost(x, &c, i, k, (double)o->lambda, variance);
        mean[k] += (double)x[i];
        members[k]++;
        lost += pow((double)x[i] - (double)c.value[k], 2);
        for (int j = 0; j < c.count; j++)
            CU_ASSERT(c.members[j] == 0 || mine <= 1e-6 +
                      cost(x, &c, i, j, (double)o->lambda, variance));
    }
    for (int k = 0; k < c.count; k++) {
        double share = (double)c.members[k] / N;
        CU_ASSERT_EQUAL(members[k], c.members[k]);
        CU_ASSERT(c.value[k] != 0 && (k == 0 || c.value[k] > c.value[k - 1]));
        CU_ASSERT_DOUBLE_EQUAL(c.value[k], mean[k] / (double)members[k], 1e-5);
        entropy -= share * log2(share);
    }
    CU_ASSERT_DOUBLE_EQUAL(c.error, sqrt(lost / squares), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(c.entropy, entropy, 1e-9);
}

static void test_fixed_point(void)
{
    static const int codes[] = { 1, 2, 4, 8, 16, 255 };
    static const float lambdas[] = { 0, 0.02f, 0.3f };
    float x[N];

    draw(x);
    for (size_t i = 0; i < CTT_LEN(codes); i++)
        for (int init = 0; init < 3; init++)
            for (size_t l = 0; l < CTT_LEN(lambdas); l++) {
                const struct ctt_kmeans o = { codes[i], init, lambdas[l] };
                if (codes[i] < 255)    /* that many need more rounds */
                    check_fixed_point(x, &o);
            }
}

/* More values lose less; a price on bits makes them fewer, at more loss. */
static void test_trade(void)
{
    struct ctt_clusters c, before = { .error = 1 };
    float x[N];

    draw(x);
    for (int codes = 1; codes <= 128; codes *= 2) {
        const struct ctt_kmeans o = { codes, CTT_INIT_LINEAR, 0 };
        CHECK_OK(ctt_kmeans(x, N, &o, &c));
        CU_ASSERT(c.error < before.error);
        before = c;
    }
    for (float lambda = 0.001f; lambda < 0.2f; lambda *= 4) {
        const struct ctt_kmeans o = { 128, CTT_INIT_LINEAR, lambda };
        CHECK_OK(ctt_kmeans(x, N, &o, &c));
        CU_ASSERT(c.entropy < before.entropy && c.error > before.error);
        before = c;
    }
}

/* Numbers that are few values already keep them; all equal ones are one. */
static void test_exact(void)
{
    const struct ctt_kmeans o = { 4, CTT_INIT_LINEAR, 0 };
    const struct ctt_kmeans none = { 0, CTT_INIT_LINEAR, 0 };
    struct ctt_clusters c;
    float x[N];

    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 4) - 1.5f;
    CHECK_OK(ctt_kmeans(x, N, &o, &c));
    CU_ASSERT_EQUAL(c.count, 4);
    CU_ASSERT_EQUAL(c.error, 0);
    for (int i = 0; i < N; i++)
        x[i] = 0;
    CHECK_OK(ctt_kmeans(x, N, &o, &c));
    CU_ASSERT_EQUAL(c.count, 1);
    CU_ASSERT(c.value[0] != 0);
    CHECK_OK(ctt_kmeans(x, 1, &o, &c));
    CU_ASSERT_EQUAL(ctt_kmeans(x, N, &none, &c), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- models ---- */

static struct ctt_share settings(const char *bits)
{
    return (struct ctt_share){ .bits = bits, .lambda = 0.02f, .tol = 0.15f,
                               .least = 8 };
}

/* How many values the kept elements of a weight have; all of one code have one
 * value, and what is pruned has none. */
static int values_of(const struct ctt_model *m, const struct ctt_node *n)
{
    const uint8_t *share = m->constraint.share + n->at[0];
    const float *w = m->w + n->at[0];
    float value[CTT_MOST_CODES + 1];
    int seen[CTT_MOST_CODES + 1] = { 0 }, count = 0;

    for (int64_t i = 0; i < ctt_volume(&n->w[0]); i++) {
        int pruned = ctt_is_pruned(&m->constraint, n->at[0] + i);
        CU_ASSERT(!pruned == (w[i] != 0) && (!pruned || !share[i]));
        if (pruned || !share[i])
            continue;
        count += !seen[share[i]];
        if (seen[share[i]]++)
            CU_ASSERT_EQUAL(value[share[i]], w[i]);
        value[share[i]] = w[i];
    }
    return count;
}

/* After pruning; each weight has its own codebook. */
static void test_model(void)
{
    const struct ctt_prune prune = { .share = 0.5f, .rounds = 1,
                                     .floor = 0.01f, .least = 1 };
    struct ctt_model *m = small_model(small_net, 1), *back = NULL;
    const struct ctt_share o = settings("2");
    struct ctt_share_sum sum;

    CHECK_OK(ctt_prune(m, &prune, 0.5));
    CHECK_OK(ctt_share(m, &o, &sum));
    CU_ASSERT(sum.shared > 1 && sum.shared <= sum.weights);
    CU_ASSERT(sum.values <= 4 * sum.shared && sum.error > 0);
    for (int i = 0; i < m->g->count; i++)
        if (m->g->node[i].nw && m->g->node[i].w[0].n > 1)
            CU_ASSERT(values_of(m, &m->g->node[i]) <= 4);
    CHECK_OK(ctt_model_save("/tmp/convtt-share.h5", m));
    CHECK_OK(ctt_model_load("/tmp/convtt-share.h5", 0, &back));
    remove("/tmp/convtt-share.h5");
    CU_ASSERT_EQUAL(memcmp(m->w, back->w, (size_t)m->g->weights * 4), 0);
    CU_ASSERT_EQUAL(memcmp(m->constraint.share, back->constraint.share,
                           (size_t)m->g->weights), 0);
    ctt_model_free(&back);
    CHECK_OK(ctt_prune(m, &prune, 0.8));
    for (int64_t i = 0; i < m->g->weights; i++)
        CU_ASSERT(!ctt_is_pruned(&m->constraint, i) ||
                  !ctt_code(&m->constraint, i));
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The first conv of the small net. */
static const struct ctt_node *first_conv(const struct ctt_model *m)
{
    for (int i = 0; i < m->g->count; i++)
        if (m->g->node[i].op == CTT_OP_CONV)
            return &m->g->node[i];
    return NULL;
}

static void test_bits(void)
{
    struct ctt_model *m = small_model(small_net, 1);
    char spec[64];
    struct ctt_share o;
    struct ctt_share_sum sum;
    int all;

    snprintf(spec, sizeof(spec), "1,%s=3", first_conv(m)->name);
    o = settings(spec);
    o.lambda = 0;
    CHECK_OK(ctt_share(m, &o, &sum));
    CU_ASSERT_EQUAL(values_of(m, first_conv(m)), 8);
    CU_ASSERT_EQUAL(sum.values, 8 + 2 * (sum.shared - 1));
    all = sum.shared;
    ctt_model_free(&m);
    m = small_model(small_net, 1);
    snprintf(spec, sizeof(spec), "%s=auto", first_conv(m)->name);
    o = settings(spec);
    o.tol = 0.05f;
    CHECK_OK(ctt_share(m, &o, &sum));
    CU_ASSERT(sum.shared == 1 && all > 1 && sum.error <= 0.05);
    ctt_model_free(&m);
    m = small_model(small_net, 1);
    o = settings("3");
    o.except = "*";
    CU_ASSERT_EQUAL(ctt_share(m, &o, &sum), CTT_EINVAL);
    o = settings("3");
    o.least = 1 << 30;
    CU_ASSERT_EQUAL(ctt_share(m, &o, &sum), CTT_EINVAL);
    ctt_model_free(&m);
}

static void test_refused(void)
{
    static const struct { const char *bits, *says; } bad[] = {
        { "0", "'0' is not 1 to 8 bits" }, { "9", "'9' is not" },
        { "33", "'33' is not" }, { "3,nothing=2", "no weight matches" },
        { "3,x=", "'x=' is not" }, { "autos", "'autos' is not" },
        { "3,=4", "no name before '='" }, { "3,auto", "two numbers of bits" },
    };
    struct ctt_model *m = small_model(small_net, 1);
    struct ctt_recipe r = { .share = settings("3") };
    struct ctt_share_sum sum;

    CHECK_OK(ctt_recipe_check(&r, m));
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        r.share.bits = bad[i].bits;
        CU_ASSERT_EQUAL(ctt_recipe_check(&r, m), CTT_EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), bad[i].says));
    }
    r.share.bits = "3";
    CHECK_OK(ctt_share(m, &r.share, &sum));
    CU_ASSERT_EQUAL(ctt_recipe_check(&r, m), CTT_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "already"));
    r = (struct ctt_recipe){ .tt = { .rank = 2, .least = 1 } };
    CU_ASSERT_EQUAL(ctt_recipe_check(&r, m), CTT_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "pruned or shared"));
    ctt_model_free(&m);
}

/* It trains for epochs of its own, after those of the others. */
static void test_epochs(void)
{
    struct ctt_recipe r = { .share = settings("3"), .epochs = 10,
        .prune = { .share = 0.5f, .rounds = 2, .least = 1 } };
    int all = 0;

    r.share.epochs = 3;
    for (int i = 0; i < 4; i++)
        all += ctt_recipe_epochs(&r, i);
    CU_ASSERT_EQUAL(all, 13);
    CU_ASSERT_EQUAL(ctt_recipe_epochs(&r, 2), 3);
    r.epochs = 0;
    CU_ASSERT_EQUAL(ctt_recipe_epochs(&r, 2), 0);
}

static void test_no_memory(void)
{
    struct ctt_model *m = small_model(small_net, 1), *copy = NULL;
    const struct ctt_share o = settings("3");
    struct ctt_share_sum sum;
    int rc = CTT_ENOMEM;

    for (long k = 1; rc == CTT_ENOMEM; k++) {
        CHECK_OK(ctt_model_copy(m, &copy));
        ctt_fail_alloc(k);
        rc = ctt_share(copy, &o, &sum);
        ctt_fail_alloc(0);
        ctt_model_free(&copy);
    }
    CHECK_OK(rc);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "a fixed point", test_fixed_point },
        { "bits against error", test_trade },
        { "few values", test_exact },
        { "a model", test_model },
        { "bits of each weight", test_bits },
        { "refused", test_refused },
        { "epochs", test_epochs },
        { "out of memory", test_no_memory },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "share", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
