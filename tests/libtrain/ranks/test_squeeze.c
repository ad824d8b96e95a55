/* SPDX-License-Identifier: Apache-2.0
 * test_squeeze.c: --squeeze: its words, what is sent and what is kept for
 * later, the rounded tree, checkpoints. */
#include "libtrain/before.h"
#include "libtrain/ranks/shards.h"
#include "base/half.h"
#include "tests/lib/toy_run.h"

#include <math.h>

static const struct ctt_share one = { .parts = 1 };

static void words(void)
{
    static const char *const bad[] = {
        "on", "bf", "bf16=1", "share", "share=", "share=0", "share=0.6",
        "share=x", "share=0.1x", "threshold=-1", "threshold=nan", "=1", "fp32",
    };
    struct ctt_squeeze s;

    CHECK_OK(ctt_squeeze_parse(NULL, &s));
    CU_ASSERT(s.kind == CTT_SQUEEZE_NONE && s.type == CTT_F32);
    CHECK_OK(ctt_squeeze_parse("bf16", &s));
    CU_ASSERT(s.kind == CTT_SQUEEZE_HALF && s.type == CTT_BF16);
    CHECK_OK(ctt_squeeze_parse("fp16", &s));
    CU_ASSERT(s.kind == CTT_SQUEEZE_HALF && s.type == CTT_F16);
    CHECK_OK(ctt_squeeze_parse("share=0.25", &s));
    CU_ASSERT(s.kind == CTT_SQUEEZE_SHARE && s.value == 0.25f);
    CHECK_OK(ctt_squeeze_parse("threshold=3e-4", &s));
    CU_ASSERT(s.kind == CTT_SQUEEZE_THRESHOLD && s.value == 3e-4f);
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        ctt_check_refused(ctt_squeeze_parse(bad[i], &s), CTT_EINVAL,
                          "--squeeze=");
}

/* ---- residuals ---- */

enum { SHARDS = 4, FLOATS = 3000 };

static void fill(struct ctt_gather *g, uint64_t key, float scale)
{
    for (int k = 0; k < SHARDS; k++)
        for (int i = 0; i < FLOATS; i++) {
            uint32_t r = ctt_random(key, (uint64_t)(k * FLOATS + i));

            ctt_gather_place(g, k)[i] =
                scale * (float)ldexp((double)r - 2147483648.0, -31 - i % 5);
        }
}

/* What is sent and what stays is what there was: nothing is lost. */
static void check_step(struct ctt_gather *g, uint64_t step, float scale)
{
    static float before[SHARDS * FLOATS], after[SHARDS * FLOATS], sum[FLOATS];
    double worst = 0;

    CHECK_OK(ctt_gather_save(g, before));
    fill(g, step, scale);
    for (int i = 0; i < SHARDS * FLOATS; i++)
        before[i] += g->grad[i] / scale;
    CHECK_OK(ctt_gather_run(g, step, scale, sum));
    CHECK_OK(ctt_gather_save(g, after));
    for (int i = 0; i < FLOATS; i++) {
        double in = 0, out = sum[i] / scale;

        for (int k = 0; k < SHARDS; k++) {
            in += before[k * FLOATS + i];
            out += after[k * FLOATS + i];
        }
        worst = fmax(worst, fabs(in - out));
    }
    CU_ASSERT(worst < 1e-5);
}

static void nothing_is_lost(void)
{
    static const char *const rows[] = { "share=0.01", "share=0.3",
                                        "threshold=4", "threshold=100" };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_squeeze how;
        struct ctt_gather g = { 0 };

        CHECK_OK(ctt_squeeze_parse(rows[i], &how));
        CHECK_OK(ctt_gather_open(NULL, &how, SHARDS, FLOATS, &g));
        for (uint64_t step = 1; step < 30; step++)
            check_step(&g, step, step % 2 ? 1 : 1024);
        CU_ASSERT(ctt_gather_share(&g) < (i == 1 ? 0.3 : 0.05));
        CU_ASSERT((g.head[0].count == 0) == (i == 3));
        ctt_gather_close(&g);
    }
}

static void a_share_is_met(void)
{
    const struct ctt_squeeze how = { CTT_SQUEEZE_SHARE, CTT_F32, 0.05f };
    struct ctt_gather g = { 0 };
    static float sum[FLOATS];
    int64_t count = 0;

    CHECK_OK(ctt_gather_open(NULL, &how, SHARDS, FLOATS, &g));
    for (uint64_t step = 1; step <= 20; step++) {
        fill(&g, step, 1);
        CHECK_OK(ctt_gather_run(&g, step, 1, sum));
        for (int k = 0; k < SHARDS; k++)
            count += g.head[k].count;
    }
    CU_ASSERT_DOUBLE_EQUAL((double)count / (20.0 * SHARDS * FLOATS), 0.05,
                           0.001);
    ctt_gather_close(&g);
}

/* A step that is skipped leaves no trace. */
static void what_is_not_finite_changes_no_residual(void)
{
    const struct ctt_squeeze how = { CTT_SQUEEZE_THRESHOLD, CTT_F32, 0.4f };
    static float before[SHARDS * FLOATS], after[SHARDS * FLOATS], sum[FLOATS];
    const float bad[] = { NAN, INFINITY, -INFINITY };
    struct ctt_gather g = { 0 };

    CHECK_OK(ctt_gather_open(NULL, &how, SHARDS, FLOATS, &g));
    check_step(&g, 1, 1);
    CHECK_OK(ctt_gather_save(&g, before));
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        fill(&g, 2, 1);
        ctt_gather_place(&g, 2)[7] = bad[i];
        CHECK_OK(ctt_gather_run(&g, 2, 1, sum));
        CU_ASSERT(isnan(sum[0]) && isnan(sum[FLOATS - 1]));
        CHECK_OK(ctt_gather_save(&g, after));
        CU_ASSERT_EQUAL(memcmp(before, after, sizeof(after)), 0);
    }
    check_step(&g, 2, 1);
    ctt_gather_close(&g);
}

/* A limit of the batch's norm shortens a gradient that is too long, and no
 * other; what residuals have is as it was. */
static void gradients_are_limited_before(void)
{
    struct ctt_squeeze how = { CTT_SQUEEZE_SHARE, CTT_F32, 0.1f, 3 };
    static float sum[FLOATS], rest[SHARDS * FLOATS];
    struct ctt_gather g = { 0 };
    double length[SHARDS] = { 0 };

    CHECK_OK(ctt_gather_open(NULL, &how, SHARDS, FLOATS, &g));
    fill(&g, 1, 1);
    for (int i = 0; i < FLOATS; i++)    /* is short: of a length below 1 */
        g.grad[i] *= 0.01f;
    CHECK_OK(ctt_gather_run(&g, 1, 1, sum));
    CHECK_OK(ctt_gather_save(&g, rest));
    for (int k = 0; k < SHARDS; k++) {
        static float sent[FLOATS];
        const uint8_t *code = g.code;

        memset(sent, 0, sizeof(sent));
        for (int j = 0; j < k; j++)
            code += g.head[j].bytes;
        CHECK_OK(ctt_sparse_code_add(&g.head[k], code, FLOATS, 1, sent));
        for (int i = 0; i < FLOATS; i++) {
            double x = (double)sent[i] + (double)rest[k * FLOATS + i];

            length[k] += x * x;
        }
        CU_ASSERT(k ? fabs(sqrt(length[k]) - 3 / sqrt(SHARDS)) < 1e-3 :
                  sqrt(length[k]) > 0.1 && sqrt(length[k]) < 1);
    }
    ctt_gather_close(&g);
}

/* However small the share, and if all are equal, something is sent; of zeros
 * nothing. */
static void something_is_sent(void)
{
    const struct ctt_squeeze how = { CTT_SQUEEZE_SHARE, CTT_F32, 1e-4f };
    static float sum[FLOATS];

    for (int kind = 0; kind < 3; kind++) {
        struct ctt_gather g = { 0 };

        CHECK_OK(ctt_gather_open(NULL, &how, SHARDS, FLOATS, &g));
        fill(&g, 5, 1);
        for (int i = 0; kind && i < SHARDS * FLOATS; i++)
            g.grad[i] = kind == 1 ? 0.25f : 0;
        CHECK_OK(ctt_gather_run(&g, 1, 1, sum));
        for (int k = 0; k < SHARDS; k++)
            CU_ASSERT(kind == 2 ? g.head[k].count == 0 : g.head[k].count >= 1);
        ctt_gather_close(&g);
    }
}

/* More than was expected: dense gradients over a small threshold. */
static void dense_gradients_have_room(void)
{
    const struct ctt_squeeze how = { CTT_SQUEEZE_THRESHOLD, CTT_F32, 1e-6f };
    struct ctt_gather g = { 0 };

    CHECK_OK(ctt_gather_open(NULL, &how, SHARDS, FLOATS, &g));
    check_step(&g, 1, 1);
    CU_ASSERT(g.head[0].count > FLOATS * 9 / 10);
    ctt_gather_close(&g);
}

/* A sum that is not finite, of gradients that are: the step is skipped. */
static void too_large_a_sum_changes_no_residual(void)
{
    const struct ctt_squeeze how = { CTT_SQUEEZE_SHARE, CTT_F32, 0.1f };
    static float before[SHARDS * FLOATS], after[SHARDS * FLOATS], sum[FLOATS];
    struct ctt_gather g = { 0 };

    CHECK_OK(ctt_gather_open(NULL, &how, SHARDS, FLOATS, &g));
    check_step(&g, 1, 1);
    CHECK_OK(ctt_gather_save(&g, before));
    for (int i = 0; i < SHARDS * FLOATS; i++)
        g.grad[i] = 2e38f;
    CHECK_OK(ctt_gather_run(&g, 2, 1, sum));
    CU_ASSERT(isinf(sum[0]));
    CHECK_OK(ctt_gather_save(&g, after));
    CU_ASSERT_EQUAL(memcmp(before, after, sizeof(after)), 0);
    ctt_gather_close(&g);
}

/* ---- the tree in 16 bits ---- */

static float number(int k, int64_t i)
{
    return (float)ldexp((double)ctt_random((uint64_t)k, (uint64_t)i) - 2e9,
                        -31 + 7 * (k % 3));
}

static float rounded(enum ctt_dtype type, float x)
{
    return type == CTT_BF16 ? ctt_of_bf16(ctt_bf16_of(x))
                            : ctt_of_f16(ctt_f16_of(x));
}

static float together(enum ctt_dtype type, int first, int n, int64_t i)
{
    if (n == 1)
        return rounded(type, number(first, i));
    return rounded(type, together(type, first, n / 2, i) +
                   together(type, first + n / 2, n / 2, i));
}

static void check_tree(const struct ctt_model *m, struct ctt_dev *dev,
                       const struct ctt_order *plan, const char *word)
{
    size_t size = (size_t)m->g->weights * sizeof(float);
    float *dw = ctt_calloc(1, size), *w = ctt_calloc(1, size);
    struct ctt_shards s = { 0 };
    struct ctt_squeeze how;
    int wrong = 0;

    CHECK_OK(ctt_squeeze_parse(word, &how));
    CHECK_OK(ctt_shards_open(m->g, 4, &how, plan, dev, &one, &s));
    for (int k = 0; k < 4; k++) {
        CHECK_OK(ctt_shards_begin(&s, k, w));
        for (int64_t i = 0; i < m->g->weights; i++)
            dw[i] = number(k, i);
        CHECK_OK(ctt_shards_add(&s, k, &m->constraint, w, dw));
    }
    CHECK_OK(ctt_shards_end(&s, 0, 1, w, dw));
    for (int64_t i = 0; i < m->g->weights; i++)
        wrong += dw[i] != together(how.type, 0, 4, i);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(ctt_shards_sent(&s), 0.5);
    CU_ASSERT(ctt_shards_bytes(m->g->weights, 4, &how) <
              ctt_shards_bytes(m->g->weights, 8, &(struct ctt_squeeze){
                  .type = CTT_F32 }));
    ctt_shards_close(&s);
    ctt_free(dw);
    ctt_free(w);
}

static void halves_are_a_rounded_tree(void)
{
    static const char *const devices[] = { "ref", "cpu" };
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_order *plan = NULL;

    cfg.batch = 4;
    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_order_new(toy, cfg.batch, &plan));
    for (int i = 0; i < 2; i++) {
        struct ctt_dev *dev = NULL;

        CHECK_OK(ctt_dev_open(devices[i], 2, &dev));
        check_tree(m, dev, plan, "bf16");
        check_tree(m, dev, plan, "fp16");
        ctt_dev_close(&dev);
    }
    ctt_order_free(&plan);
    ctt_model_free(&m);
}

/* ---- training ---- */

static const char *const ways[] = { "bf16", "fp16", "share=0.1",
                                    "threshold=0.01" };

static void train_to(struct ctt_train_cfg *cfg, int steps, const char *path,
                     struct ctt_model **m, struct ctt_result *r)
{
    if (!*m)
        CHECK_OK(clip_model(clip_net, 1, m));
    cfg->max_steps = steps;
    cfg->checkpoint = path;
    CHECK_OK(ctt_train(*m, cfg, toy, NULL, NULL, r));
}

/* A run of six steps is one of three that goes on; and it learns something. */
static void residuals_are_in_the_checkpoint(void)
{
    for (size_t i = 0; i < CTT_LEN(ways); i++) {
        struct ctt_model *whole = NULL, *part = NULL, *rest = NULL;
        struct ctt_train_cfg cfg = short_run();
        struct ctt_result a, b;

        cfg.batch = 4;
        cfg.shards = 4;
        cfg.optimizer = CTT_SGD;
        cfg.schedule = CTT_CONSTANT;
        cfg.amp = i == 1 ? CTT_O1 : CTT_O0;
        cfg.squeeze = ways[i];
        train_to(&cfg, 6, NULL, &whole, &a);
        train_to(&cfg, 3, "squeeze.ckpt", &part, &b);
        CHECK_OK(ctt_model_load("squeeze.ckpt", 1, &rest));
        if (i >= 2)
            CU_ASSERT_PTR_NOT_NULL(ctt_state_find(rest->train, "residual"));
        cfg.squeeze = "none";
        cfg.max_steps = 6;
        ctt_check_refused(ctt_train(rest, &cfg, toy, NULL, NULL, &b),
                          CTT_EINVAL, "--squeeze");
        cfg.squeeze = ways[i];
        train_to(&cfg, 6, NULL, &rest, &b);
        CU_ASSERT_EQUAL(memcmp(whole->w, rest->w, (size_t)whole->g->weights *
                               sizeof(float)), 0);
        ctt_model_free(&whole);
        ctt_model_free(&part);
        ctt_model_free(&rest);
    }
    remove("squeeze.ckpt");
}

/* What is pruned stays 0, and is neither sent nor kept; here all but a few
 * weights of each 100. */
static void pruned_weights_are_not_sent(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL, *saved = NULL;
    const struct ctt_array *rest;
    struct ctt_result r;
    int64_t n, wrong = 0;

    cfg.batch = cfg.shards = 4;
    cfg.optimizer = CTT_SGD;
    cfg.squeeze = "share=0.1";
    CHECK_OK(clip_model(clip_net, 1, &m));
    n = m->g->weights;
    CHECK_OK(ctt_constraint_mask(&m->constraint, n));
    for (int64_t i = 0; i < n; i++)
        m->constraint.keep[i] = i % 100 < 5;
    train_to(&cfg, 4, "squeeze.ckpt", &m, &r);
    CHECK_OK(ctt_model_load("squeeze.ckpt", 1, &saved));
    rest = ctt_state_find(saved->train, "residual");
    CU_ASSERT_FATAL(rest && rest->count == 4 * n);
    for (int64_t i = 0; i < 4 * n; i++)
        wrong += i % n % 100 >= 5 && ((const float *)rest->data)[i] != 0;
    CU_ASSERT_EQUAL(wrong, 0);
    ctt_model_free(&m);
    ctt_model_free(&saved);
    remove("squeeze.ckpt");
}

/* The same sparse training goes on where nothing is pruned any more. */
static void it_works_with_what_prunes(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m;

    cfg.shards = 4;
    cfg.dsd = 0.5f;
    cfg.squeeze = "share=0.1";
    m = trained(clip_net, &cfg, 1);
    ctt_model_free(&m);
}

/* Without its residuals a checkpoint is damaged. */
static void a_checkpoint_needs_its_residuals(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL, *rest = NULL;
    struct ctt_result r;

    cfg.batch = cfg.shards = 4;
    cfg.squeeze = "share=0.1";
    train_to(&cfg, 3, "squeeze.ckpt", &m, &r);
    CHECK_OK(ctt_model_load("squeeze.ckpt", 1, &rest));
    for (int i = 0; i < rest->train->count; i++)
        if (strcmp(rest->train->array[i].name, "residual") == 0)
            rest->train->array[i].count /= 2;
    cfg.max_steps = 6;
    ctt_check_refused(ctt_train(rest, &cfg, toy, NULL, NULL, &r), CTT_EFORMAT,
                      "no usable 'residual'");
    ctt_model_free(&m);
    ctt_model_free(&rest);
    remove("squeeze.ckpt");
}

static void what_cannot_be_is_refused(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(clip_model(clip_net, 1, &m));
    cfg.squeeze = "fp16";
    ctt_check_refused(ctt_train_check(&cfg), CTT_EINVAL,
                      "--squeeze=fp16 needs a --loss-scale");
    cfg.amp = CTT_O1;
    CHECK_OK(ctt_train_check(&cfg));
    cfg.amp = CTT_O0;
    cfg.squeeze = "bf16";
    ctt_check_refused(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL,
                "one shard has nothing to send");
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "words", words },
        { "nothing is lost", nothing_is_lost },
        { "a share is met", a_share_is_met },
        { "what is not finite changes no residual",
          what_is_not_finite_changes_no_residual },
        { "gradients are limited before", gradients_are_limited_before },
        { "something is sent", something_is_sent },
        { "dense gradients have room", dense_gradients_have_room },
        { "too large a sum changes no residual",
          too_large_a_sum_changes_no_residual },
        { "halves are a rounded tree", halves_are_a_rounded_tree },
        { "residuals are in the checkpoint", residuals_are_in_the_checkpoint },
        { "pruned weights are not sent", pruned_weights_are_not_sent },
        { "it works with what prunes", it_works_with_what_prunes },
        { "a checkpoint needs its residuals",
          a_checkpoint_needs_its_residuals },
        { "what cannot be is refused", what_cannot_be_is_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("squeeze", toy_clean, tests);
}
