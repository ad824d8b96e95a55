/* SPDX-License-Identifier: Apache-2.0
 * test_sensitivity.c: sensitivity: each point changes one weight alone, by what
 * its option says; what is known is not measured again; the rising fit. */
#include "compress/stage.h"
#include "net/op.h"
#include "net/quant.h"
#include "tests/lib/check.h"
#include "tests/lib/small.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char net[] =
    "input x h=8 w=8 c=4 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\nnorm n in=a kind=batch\n"
    "act r in=n kind=relu\nconvlstm h in=r hidden=16 kernel=3\n"
    "pool p in=h kind=avg\nconv y in=p out=5\n";

/* What a run has been asked for. */
struct asked {
    const struct ctt_sensitivity *s;
    int begun, changed, ended, stop;    /* stop: before that point; 0: never */
};

static const struct ctt_node *node(const struct ctt_model *m, const char *name)
{
    int at = ctt_graph_find(m->g, name);

    return at < 0 ? NULL : &m->g->node[at];
}

/* Whether a weight has the same numbers in both, as far as floats tell. */
static int is_same(const struct ctt_model *a, const struct ctt_model *b,
                   const char *name)
{
    const struct ctt_node *x = node(a, name), *y = node(b, name);
    int64_t n;

    if (!y || ctt_volume(&x->w[0]) != ctt_volume(&y->w[0]))
        return 0;
    n = ctt_volume(&x->w[0]);
    return memcmp(a->w + x->at[0], b->w + y->at[0],
                  (size_t)n * sizeof(*a->w)) == 0;
}

static double zeros(const struct ctt_model *m, const char *name)
{
    const struct ctt_node *n = node(m, name);
    int64_t all = ctt_volume(&n->w[0]), zero = 0;

    for (int64_t k = 0; k < all; k++)
        zero += m->w[n->at[0] + k] == 0;
    return (double)zero / (double)all;
}

static int values(const struct ctt_model *m, const char *name)
{
    const struct ctt_node *n = node(m, name);
    const float *w = m->w + n->at[0];
    int different = 0;

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++) {
        int64_t j = 0;

        while (j < k && w[j] != w[k])
            j++;
        different += j == k;
    }
    return different;
}

/* By which the model m differs from the one as given: the option does what it
 * says to its own weight. */
static void check_own(const struct ctt_sensitivity_point *p, const char *name,
                      const struct ctt_model *m)
{
    const char *l = p->ladder->name;

    if (strncmp(l, "prune", 5) == 0)
        CU_ASSERT_DOUBLE_EQUAL(zeros(m, name), p->value, 0.11);
    if (strcmp(l, "share") == 0)
        CU_ASSERT(values(m, name) <= 1 << (int)p->value);
    if (strcmp(l, "svd") == 0 || strcmp(l, "tensor train") == 0) {
        char core[CTT_NAME + 4];

        snprintf(core, sizeof(core), "%s.t1", name);
        CU_ASSERT_PTR_NOT_NULL(node(m, core));
    }
    if (strcmp(l, "int8") == 0)
        CU_ASSERT(ctt_is_int8(m->g, ctt_graph_find(m->g, name)));
}

/* Thinning takes input channels of others along. */
static int change(void *arg, const struct ctt_model *m, struct ctt_change *out)
{
    struct asked *a = arg;
    const struct ctt_sensitivity_point *p = &a->s->point[a->begun - 1];
    const char *name = a->s->weight[p->weight].name;
    int thin = strcmp(p->ladder->name, "thin") == 0;

    a->changed++;
    for (int i = 0; i < a->s->weights; i++)
        if (i != p->weight && !thin)
            CU_ASSERT(is_same(a->s->m, m, a->s->weight[i].name));
    check_own(p, name, m);
    if (thin)
        CU_ASSERT(node(m, name)->out.c < node(a->s->m, name)->out.c);
    *out = (struct ctt_change){ { p->value, p->value, p->value }, { 0 } };
    return 0;
}

static int begin(void *arg, const struct ctt_sensitivity *s, int point)
{
    struct asked *a = arg;

    a->s = s;
    if (a->stop && point == a->stop)
        return ctt_error(CTT_ESTOP, "stopped");
    CU_ASSERT(!s->point[point].done);
    a->begun = point + 1;
    return 0;
}

static int end(void *arg, const struct ctt_sensitivity *s, int point)
{
    struct asked *a = arg;

    CU_ASSERT(s->point[point].done);
    CU_ASSERT_EQUAL(point + 1, a->begun);
    a->ended++;
    return 0;
}

static int run(struct ctt_sensitivity *s, struct asked *a, int clips)
{
    struct ctt_recipe_calls recipe = { .sample = clips ? small_sample_any
                                                       : NULL };
    struct ctt_sensitivity_calls calls = { a, &recipe, change, begin, end };

    return ctt_sensitivity_run(s, &calls, "test_sensitivity.tmp");
}

static int count_done(const struct ctt_sensitivity *s, const char *ladder)
{
    int n = 0;

    for (int i = 0; i < s->points; i++)
        n += s->point[i].done && !s->point[i].why[0] &&
             strcmp(s->point[i].ladder->name, ladder) == 0;
    return n;
}

static struct ctt_sensitivity *open_small(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sensitivity *s = NULL;

    CHECK_OK(ctt_sensitivity_new(m, &s));
    ctt_model_free(&m);
    return s;
}

static void test_alone(void)
{
    struct ctt_sensitivity *s = open_small();
    struct asked a = { .begun = 0 };
    double macs = 0;

    CU_ASSERT_EQUAL_FATAL(s->weights, 4);
    for (int i = 0; i < s->weights; i++)
        macs += s->weight[i].macs;
    CU_ASSERT_DOUBLE_EQUAL(macs, 1, 1e-9);
    CHECK_OK(run(s, &a, 1));
    CU_ASSERT_EQUAL(a.ended, s->points);
    CU_ASSERT_EQUAL(count_done(s, "prune any"), 4 * 8);
    CU_ASSERT_EQUAL(count_done(s, "share"), 4 * 5);
    CU_ASSERT(count_done(s, "prune block") >= 3 * 8);
    CU_ASSERT(count_done(s, "svd") > 0);
    CU_ASSERT(count_done(s, "tensor train") > 0);
    CU_ASSERT(count_done(s, "thin") > 0);
    CU_ASSERT_EQUAL(count_done(s, "int8"), 4);
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        CU_ASSERT(p->why[0] || p->bytes > 0);
        CU_ASSERT(isnan(p->faster));
        CU_ASSERT(p->why[0] ? isnan(p->fit) : p->fit >= 0);
    }
    ctt_sensitivity_free(&s);
}

/* A weight that is pruned more takes less of the file, or as much where no
 * value more is pruned.  It saves no more than it has: coding of the other
 * weights is no saving of it. */
static void test_bytes(void)
{
    struct ctt_sensitivity *s = open_small();
    struct asked a = { .begun = 0 };

    CHECK_OK(run(s, &a, 0));
    for (int i = 1; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i], *q = p - 1;

        if (p->ladder != q->ladder || p->weight != q->weight ||
            strcmp(p->ladder->name, "prune any") != 0)
            continue;
        CU_ASSERT(p->value > 0.99 ? p->bytes <= q->bytes
                                  : p->bytes < q->bytes);
        CU_ASSERT(q->bytes < s->bytes);
        CU_ASSERT(s->bytes - p->bytes < 4 * s->weight[p->weight].params);
    }
    CU_ASSERT_EQUAL(count_done(s, "int8"), 0);
    ctt_sensitivity_free(&s);
}

/* Of a run that was stopped only the rest is measured. */
static void test_stop(void)
{
    struct ctt_sensitivity *s = open_small();
    struct asked a = { .stop = 7 }, rest = { .begun = 0 };

    CU_ASSERT_EQUAL(run(s, &a, 0), CTT_ESTOP);
    CU_ASSERT_EQUAL(a.ended, 7);
    s->point[7].done = 1;
    snprintf(s->point[7].why, CTT_REASON, "known");
    CHECK_OK(run(s, &rest, 0));
    CU_ASSERT_EQUAL(rest.ended, s->points - 8);
    CU_ASSERT_STRING_EQUAL(s->point[7].why, "known");
    ctt_sensitivity_free(&s);
}

/* ---- the fit ---- */

static void set_kl(struct ctt_sensitivity *s, int point, double kl)
{
    struct ctt_sensitivity_point *p = &s->point[point];

    p->done = 1;
    p->change = (struct ctt_change){ { kl, kl, kl }, { 0 } };
}

static void test_fit(void)
{
    static const double kl[] = { 1, 3, 2, 4, 3.5, 3, 5, 6 };
    static const double fit[] = { 1, 2.5, 2.5, 3.5, 3.5, 3.5, 5, 6 };
    struct ctt_sensitivity *s = open_small();
    int at = 0;
    const struct ctt_ladder *l;
    struct ctt_sensitivity_point *p;

    while (s->point[at].ladder->kind != CTT_OPTION_PRUNE)
        at++;
    l = s->point[at].ladder;
    p = &s->point[at];
    CU_ASSERT_EQUAL_FATAL(l->values, 8);
    for (int k = 0; k < 8; k++)
        set_kl(s, at + k, kl[k]);
    ctt_sensitivity_fit(s);
    for (int k = 0; k < 8; k++)
        CU_ASSERT_DOUBLE_EQUAL(p[k].fit, fit[k], 1e-12);
    CU_ASSERT(isnan(p[8].fit));
    CU_ASSERT_PTR_NULL(ctt_sensitivity_bears(s, 0, l, 0.9));
    CU_ASSERT_PTR_EQUAL(ctt_sensitivity_bears(s, 0, l, 2.5), &p[2]);
    CU_ASSERT_PTR_EQUAL(ctt_sensitivity_bears(s, 0, l, 9), &p[7]);
    CU_ASSERT_PTR_NULL(ctt_sensitivity_bears(s, 1, l, 9));
    snprintf(p[1].why, CTT_REASON, "not possible");
    p[1].fit = NAN;
    ctt_sensitivity_fit(s);
    CU_ASSERT(isnan(p[1].fit));
    CU_ASSERT_DOUBLE_EQUAL(p[2].fit, 2, 1e-12);
    ctt_sensitivity_free(&s);
}

static void test_divergence(void)
{
    const float was[] = { 0, 0 }, now[] = { logf(9), 0 };
    double p[2], q[2];

    CU_ASSERT_DOUBLE_EQUAL(ctt_divergence(2, was, now, p, q),
                           0.5 * log(0.5 / 0.9) + 0.5 * log(0.5 / 0.1), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ctt_divergence(2, now, now, p, q), 0, 1e-12);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "one weight alone", test_alone },
        { "bytes", test_bytes },
        { "stopped", test_stop },
        { "rising fit", test_fit },
        { "divergence", test_divergence },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "sense", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
