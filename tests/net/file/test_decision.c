/* SPDX-License-Identifier: Apache-2.0
 * test_decision.c: the binomial test, and thresholds in a model file. */
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "base/statistics/statistics.h"
#include "net/file/decision.h"
#include "net/file/h5.h"
#include "net/code/zip.h"
#include "net/file/file.h"

#include <math.h>
#include <string.h>

/* ---- the binomial test ---- */

enum { MOST = 60 };

/* P(X <= k) from Pascal's triangle, row by row. */
static void exact(int n, double p, long double tail[MOST + 1])
{
    long double term[MOST + 2] = { 1 }, sum = 0;

    for (int i = 0; i < n; i++)
        for (int k = i + 1; k >= 0; k--)
            term[k] = term[k] * (1 - (long double)p) +
                      (k ? term[k - 1] * (long double)p : 0);
    for (int k = 0; k <= n; k++)
        tail[k] = sum += term[k];
}

static void test_exact(void)
{
    static const double p[] = { 1e-4, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999 };
    long double tail[MOST + 1];

    for (size_t i = 0; i < CTT_LEN(p); i++)
        for (int n = 1; n <= MOST; n++) {
            exact(n, p[i], tail);
            for (int k = 0; k <= n; k++) {
                double x = ctt_binomial_tail(k, n, p[i]);
                CU_ASSERT(fabs(x - (double)tail[k]) <=
                          1e-11 * (double)tail[k]);
            }
        }
    CU_ASSERT_EQUAL(ctt_binomial_tail(-1, 5, 0.5), 0);
    CU_ASSERT_EQUAL(ctt_binomial_tail(0, 0, 0.5), 1);
}

/* What is at most k and what is more add up; a million trials do not
 * overflow. */
static void test_large(void)
{
    static const double p[] = { 0.001, 0.05, 0.5 };

    for (int64_t n = 1000; n <= 1000000; n *= 10)
        for (size_t i = 0; i < CTT_LEN(p); i++)
            for (int off = -3; off <= 3; off++) {
                double sd = sqrt((double)n * p[i] * (1 - p[i]));
                int64_t k = (int64_t)((double)n * p[i] + off * sd);
                double a = ctt_binomial_tail(k, n, p[i]);
                double b = ctt_binomial_tail(n - k - 1, n, 1 - p[i]);
                CU_ASSERT(fabs(a + b - 1) < 1e-8);
                CU_ASSERT(off < 0 ? a < 0.4 : off > 0 ? a > 0.7 : a > 0.4);
            }
}

/* Counts that Ringel and others' tables have, and that follow from them. */
static void test_counts(void)
{
    CU_ASSERT_EQUAL(ctt_binomial_least(0.05, 0.1), 45);
    CU_ASSERT_EQUAL(ctt_binomial_least(0.02, 0.05), 149);
    CU_ASSERT_EQUAL(ctt_binomial_least(0.01, 0.05), 299);
    CU_ASSERT_EQUAL(ctt_binomial_least(0.9, 0.5), 1);
    CU_ASSERT(ctt_binomial_bound(45, 0.1) <= 0.05);
    CU_ASSERT(ctt_binomial_bound(44, 0.1) > 0.05);
    CU_ASSERT(fabs(ctt_binomial_bound(1, 0.25) - 0.75) < 1e-12);
}

/* ---- the text ---- */

static struct ctt_decision example(void)
{
    struct ctt_decision d = { .guarantee = CTT_GUARANTEE_CONDITIONAL,
        .max_gap = 0.05, .delta = 0.1, .clips = 312, .smooth = 0.25,
        .type = "fp32", .checks = 3,
        .threshold = { INFINITY, 0.987654329f, 0 } };

    return d;
}

static void test_frames(void)
{
    static const int want[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
        15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40 };

    for (size_t k = 0; k < CTT_LEN(want); k++)
        CU_ASSERT_EQUAL(ctt_decision_frame((int)k), want[k]);
    CU_ASSERT_EQUAL(ctt_decision_frame(CTT_DECISION_CHECKS - 1), 16384);
    for (int k = 1; k < CTT_DECISION_CHECKS; k++)
        CU_ASSERT(8 * (ctt_decision_frame(k) - ctt_decision_frame(k - 1)) <=
                  (k < 8 ? 8 : ctt_decision_frame(k - 1)));
}

static void test_text(void)
{
    struct ctt_decision d = example(), back = { .checks = 0 };
    char *text = NULL;

    CHECK_OK(ctt_decision_print(&d, &text));
    CHECK_OK(ctt_decision_parse(text, &back));
    CU_ASSERT(back.guarantee == d.guarantee && back.max_gap == d.max_gap &&
              back.delta == d.delta && back.clips == d.clips &&
              back.smooth == d.smooth && strcmp(back.type, d.type) == 0 &&
              back.checks == 3 && isinf(back.threshold[0]) &&
              back.threshold[1] == d.threshold[1] && back.threshold[2] == 0);
    ctt_free(text);
}

/* The longest: each number has as many digits as one may have. */
static void test_head(void)
{
    struct ctt_decision d = example(), back = { .checks = 0 };
    char *text = NULL;

    d.head.classes = CTT_HEAD_CLASSES;
    for (int i = 0; i < CTT_HEAD_TERMS; i++)
        d.head.weight[i] = -1.23456789e-5f * (float)(i + 1);
    for (int i = 0; i < CTT_HEAD_CLASSES; i++)
        d.head.bias[i] = -1.23456789e-20f * (float)(i + 1);
    d.checks = CTT_DECISION_CHECKS;
    for (int k = 0; k < d.checks; k++)
        d.threshold[k] = 1.23456789e-30f * (float)(k + 1);
    CHECK_OK(ctt_decision_print(&d, &text));
    CHECK_OK(ctt_decision_parse(text, &back));
    CU_ASSERT_EQUAL(back.head.classes, CTT_HEAD_CLASSES);
    CU_ASSERT(memcmp(&back.head, &d.head, sizeof(d.head)) == 0);
    CU_ASSERT(memcmp(back.threshold, d.threshold, sizeof(d.threshold)) == 0);
    ctt_free(text);
}

static void refused(const char *text)
{
    struct ctt_decision d = { .checks = 77 };

    CU_ASSERT_EQUAL(ctt_decision_parse(text, &d), CTT_EFORMAT);
    CU_ASSERT_EQUAL(d.checks, 77);
}

/* Each part of a text, and what is wrong instead. */
static void damage(struct ctt_decision d, const char *const change[][2],
                   size_t changes)
{
    char *text = NULL, wrong[CTT_DECISION_TEXT + 64];

    CHECK_OK(ctt_decision_print(&d, &text));
    for (size_t i = 0; i < changes; i++) {
        const char *at = strstr(text, change[i][0]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        snprintf(wrong, sizeof(wrong), "%.*s%s%s", (int)(at - text), text,
                 change[i][1], at + strlen(change[i][0]));
        refused(wrong);
    }
    for (size_t n = 0; n < strlen(text); n++) {
        snprintf(wrong, sizeof(wrong), "%.*s", (int)n, text);
        refused(wrong);
    }
    snprintf(wrong, sizeof(wrong), "%s0\n", text);
    refused(wrong);
    memset(wrong, 'x', CTT_DECISION_TEXT);
    wrong[CTT_DECISION_TEXT] = '\0';
    refused(wrong);
    ctt_free(text);
}

static void test_damaged_text(void)
{
    static const char *const change[][2] = {
        { "decision 1", "decision 2" }, { "conditional", "certain" },
        { "0.05", "0" }, { "0.05", "1" }, { "0.05", "nan" }, { "0.1", "-0.1" },
        { "312", "0" }, { "312", "99999999999999999999" }, { "0.25", "1" },
        { "0.25", "0.250" }, { "fp32", "fp32fp32" },
        { "fp32", "fp\x1b[2" }, { "thresholds 3", "th 3" },
        { "thresholds 3", "thresholds 2" }, { "thresholds 3", "thresholds 4" },
        { "thresholds 3", "thresholds 97" }, { "0.98765", "-0.98765" },
        { "thresholds 3", "thresholds 0" }, { "inf", "nan" },
        { "inf", "1e99" }, { "\n", "  \n" }, { "model 0", "model -1" },
    };
    static const char *const of_head[][2] = {
        { "decision 2", "decision 1" }, { "decision 2", "decision 3" },
        { "decision 2", "decision 02" }, { "head 2", "head 3" },
        { "head 2", "head 1" }, { "head 2", "head 0" }, { "head 2", "head -1" },
        { "head 2", "head 401" }, { "head 2", "tail 2" },
        { "0.625", "0.6250" }, { "0.625", "nan" }, { "0.625", "inf" },
        { "-0.375", "-inf" }, { "-0.375", "1e99" },
    };
    struct ctt_decision d = example();

    damage(d, change, CTT_LEN(change));
    d.head = (struct ctt_head){ 2, { 0.625f, 1, 2 }, { 0, -0.375f } };
    damage(d, of_head, CTT_LEN(of_head));
}

/* ---- the file ---- */

static void sign(struct ctt_model *m)
{
    struct ctt_decision d = example();

    CHECK_OK(ctt_decision_sign(m, &d));
    ctt_free(m->decision);
    m->decision = NULL;
    CHECK_OK(ctt_decision_print(&d, &m->decision));
    CU_ASSERT_EQUAL(ctt_model_decides(m), 1);
}

/* Also beside all else that a file may have, none of which changes. */
static void test_round_trip(void)
{
    for (int what = 0; what <= (NAMES | PRUNED | TRAIN | SHARED); what++) {
        struct ctt_model *m = saved_variant(what), *back = NULL, *copy = NULL;

        sign(m);
        CHECK_OK(ctt_model_save(saved_path, m));
        CHECK_OK(ctt_model_load(saved_path, 1, &back));
        CU_ASSERT(saved_same(m, back));
        CU_ASSERT_STRING_EQUAL(back->decision, m->decision);
        CU_ASSERT_EQUAL(ctt_model_decides(back), 1);
        CHECK_OK(ctt_model_copy(back, &copy));
        CU_ASSERT_PTR_NULL(copy->decision);
        ctt_model_free(&m);
        ctt_model_free(&back);
        ctt_model_free(&copy);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A weight, a label or a node that differs: thresholds of another model, which
 * are not written. */
static void test_other_model(void)
{
    for (int what = 0; what < 3; what++) {
        struct ctt_model *m = saved_variant(NAMES), *back = NULL;

        sign(m);
        if (what == 0)
            m->w[m->g->weights - 1] += 1e-3f;
        else if (what == 1)
            m->label[0][0]++;
        else
            m->g->node[0].name[0]++;
        CU_ASSERT_EQUAL(ctt_model_decides(m), 0);
        if (what < 2) {
            CHECK_OK(ctt_model_save(saved_path, m));
            CHECK_OK(ctt_model_load(saved_path, 1, &back));
            CU_ASSERT_PTR_NULL(back->decision);
        }
        ctt_model_free(&m);
        ctt_model_free(&back);
    }
}

/* A file whose object is not what it should be, behind a right checksum. */
static void damaged(const char *text, int zip, const char *message)
{
    struct ctt_h5_shape s = { .size = 1, .rank = 1,
                              .dim = { (int64_t)strlen(text) } };
    struct ctt_h5 *f = NULL, *g = NULL;
    struct ctt_model *m = saved_variant(PRUNED), *back = NULL;
    uint8_t *image = NULL, *bytes = NULL, *texts, *packed;
    struct ctt_h5_shape t, p;
    int64_t n;

    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_h5_open(saved_path, &g));
    CHECK_OK(ctt_h5_shape(g, "texts", &t));
    CHECK_OK(ctt_h5_shape(g, "packed", &p));
    texts = ctt_calloc((size_t)t.dim[0], 1);
    packed = ctt_calloc((size_t)p.dim[0], 1);
    CHECK_OK(ctt_h5_read(g, "texts", &t, texts));
    CHECK_OK(ctt_h5_read(g, "packed", &p, packed));
    if (zip)
        CHECK_OK(ctt_gzip(text, s.dim[0], &bytes, &s.dim[0]));
    CHECK_OK(ctt_h5_new(saved_other, 1 << 16, 8, &f));
    CHECK_OK(ctt_h5_put_text(f, "format", "convtt"));
    CHECK_OK(ctt_h5_put_int(f, "version", 2));
    CHECK_OK(ctt_h5_put_text(f, "least_reader", "0.2"));
    CHECK_OK(ctt_h5_write(f, "texts", &t, texts));
    CHECK_OK(ctt_h5_write(f, "packed", &p, packed));
    CHECK_OK(ctt_h5_write(f, "decision", &s, zip ? bytes :
                          (const uint8_t *)text));
    CHECK_OK(ctt_h5_image(f, &image, &n));
    if (message)
        ctt_check_refused(ctt_model_load_image("x", image, n, 0, &back),
                          CTT_EFORMAT, message);
    else
        CHECK_OK(ctt_model_load_image("x", image, n, 0, &back));
    ctt_h5_close(&f);
    ctt_h5_close(&g);
    ctt_free(image);
    ctt_free(bytes);
    ctt_free(texts);
    ctt_free(packed);
    ctt_model_free(&m);
    ctt_model_free(&back);
}

static void test_damaged_file(void)
{
    struct ctt_decision d = example();
    static char long_text[CTT_DECISION_TEXT + 2];
    char *text = NULL;

    CHECK_OK(ctt_decision_print(&d, &text));
    damaged(text, 1, NULL);    /* of another model, which is no damage */
    memset(long_text, 'a', CTT_DECISION_TEXT + 1);
    damaged("decision 1\n", 1, "x: decision: not the thresholds of one");
    damaged("", 1, "x: decision");
    damaged(text, 0, "x: decision");
    damaged(long_text, 1, "x: decision");
    ctt_free(text);
}

static CU_TestInfo tests[] = {
    { "binomial: exact sums", test_exact },
    { "binomial: many trials", test_large },
    { "binomial: counts", test_counts },
    { "frames of checks", test_frames },
    { "text", test_text },
    { "the longest text", test_head },
    { "damaged text", test_damaged_text },
    { "round trip", test_round_trip },
    { "another model", test_other_model },
    { "damaged file", test_damaged_file },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "decision", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
