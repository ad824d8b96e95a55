/* SPDX-License-Identifier: Apache-2.0
 * test_prune.c: which weights are pruned, how many, and how many a round. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/compress.h"
#include "net/op.h"

#include <math.h>
#include <string.h>

static void test_global(void)
{
    static const double share[] = { 0, 0.1, 0.5, 0.777, 0.95, 0.9999 };

    for (int score = CTT_SCORE_LAMP; score <= CTT_SCORE_MAGNITUDE; score++) {
        struct ctt_model *m = small_model(small_net, 1);
        struct ctt_prune o = { .score = score };
        uint8_t *before = ctt_calloc((size_t)m->g->weights, 1);

        memset(before, 1, (size_t)m->g->weights);
        for (size_t i = 0; i < CTT_LEN(share); i++) {
            int64_t all, pruned, want;

            CHECK_OK(ctt_prune(m, &o, share[i]));
            small_count(m, &all, &pruned);
            want = llround(share[i] * (double)all);
            CU_ASSERT_EQUAL(pruned, want < all - 5 ? want : all - 5);
            CU_ASSERT_DOUBLE_EQUAL(ctt_pruned(m, NULL),
                                   (double)pruned / (double)all, 1e-12);
            for (int64_t k = 0; k < m->g->weights; k++)
                CU_ASSERT_FATAL(before[k] || !m->constraint.keep[k]);
            memcpy(before, m->constraint.keep, (size_t)m->g->weights);
        }
        /* A smaller share brings nothing back. */
        CHECK_OK(ctt_prune(m, &o, 0.3));
        CU_ASSERT_EQUAL(memcmp(before, m->constraint.keep,
                               (size_t)m->g->weights), 0);
        ctt_free(before);
        ctt_model_free(&m);
    }
}

/* In each weight by itself the smallest go, and the floor stays. */
static void test_layer(void)
{
    struct ctt_model *m = small_model(small_net, 2), *old = NULL;
    struct ctt_prune o = { .scope = CTT_PRUNE_LAYER, .except = "h.z*" };

    CHECK_OK(ctt_model_copy(m, &old));
    CHECK_OK(ctt_prune(m, &o, 0.75));
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int64_t all = ctt_volume(&n->w[0]);
        double largest = 0, smallest = HUGE_VAL;

        if (!ctt_is_conv(n))
            continue;
        CU_ASSERT_EQUAL(small_pruned(m, n), n->name[0] == 'h' ? 0
                        : llround(0.75 * (double)all));
        for (int64_t k = n->at[0]; k < n->at[0] + all; k++) {
            double x = fabs((double)old->w[k]);
            largest = !m->constraint.keep[k] && x > largest ? x : largest;
            smallest = m->constraint.keep[k] && x < smallest ? x : smallest;
            CU_ASSERT(!m->constraint.keep[k] || m->w[k] == old->w[k]);
        }
        CU_ASSERT(largest <= smallest);
    }
    o.floor = 0.5f;
    CHECK_OK(ctt_prune(m, &o, 0.9));
    CU_ASSERT_DOUBLE_EQUAL(ctt_pruned(m, &o), 0.75, 1e-3);
    o.least = 41;    /* y has 40 numbers */
    CHECK_OK(ctt_prune(m, &o, 0.99));
    CU_ASSERT_EQUAL(small_pruned(m, &m->g->node[ctt_graph_find(m->g, "y")]),
                    30);
    ctt_model_free(&m);
    ctt_model_free(&old);
}

/* One weight has far smaller numbers than the others: it must not die. */
static void test_balance(void)
{
    for (int score = CTT_SCORE_LAMP; score <= CTT_SCORE_MAGNITUDE; score++) {
        struct ctt_model *m = small_model(small_net, 3);
        const struct ctt_node *b = &m->g->node[ctt_graph_find(m->g, "b")];
        struct ctt_prune o = { .score = score };

        for (int64_t k = 0; k < ctt_volume(&b->w[0]); k++)
            m->w[b->at[0] + k] *= 1e-4f;
        CHECK_OK(ctt_prune(m, &o, 0.8));
        CU_ASSERT(small_pruned(m, b) < 0.95 * (double)ctt_volume(&b->w[0]));
        ctt_model_free(&m);
    }
}

/* Equal numbers: the count is still exact, and the earlier ones go. */
static void test_ties(void)
{
    static const char text[] = "input x h=1 w=1 c=10\nconv y in=x out=10\n";

    for (int i = 0; i < 4; i++) {
        struct ctt_model *m = small_model(text, 4);
        const struct ctt_node *n = &m->g->node[1];
        struct ctt_prune o = { .scope = i % 2, .score = i / 2 };

        for (int k = 0; k < 100; k++)
            m->w[n->at[0] + k] = k % 3 ? 0.5f : -0.5f;
        CHECK_OK(ctt_prune(m, &o, 0.37));
        for (int k = 0; k < 100; k++)
            CU_ASSERT_EQUAL(m->constraint.keep[n->at[0] + k], k >= 37);
        memset(m->w, 0, (size_t)m->g->weights * sizeof(*m->w));
        CHECK_OK(ctt_prune(m, &o, 0.5));
        CU_ASSERT_EQUAL(small_pruned(m, n), 50);
        ctt_model_free(&m);
    }
}

static void test_cubic(void)
{
    double last = 0.2;

    for (int k = 1; k <= 5; k++) {
        double s = ctt_prune_cubic(0.2, 0.9, k, 5);
        CU_ASSERT(s > last);
        last = s;
    }
    CU_ASSERT_EQUAL(last, 0.9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_prune_cubic(0, 0.8, 1, 2), 0.7, 1e-12);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "global", test_global },
        { "layer", test_layer },
        { "balance", test_balance },
        { "ties", test_ties },
        { "cubic", test_cubic },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "prune", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
