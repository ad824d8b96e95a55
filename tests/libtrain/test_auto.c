/* SPDX-License-Identifier: Apache-2.0
 * test_auto.c: --lr auto and --batch auto: what a range test chooses, that the
 * model stays as it is, and which batch fits. */
#include "libtrain/before.h"
#include "libtrain/lr_range.h"
#include "tests/lib/toy_run.h"

#include <math.h>

/* ---- the choice ---- */

static struct ctt_lr_range curve(double (*loss)(double lr))
{
    struct ctt_lr_range r = { .steps = CTT_RANGE_STEPS };

    for (int i = 0; i < r.steps; i++) {
        r.lr[i] = 1e-7 * pow(1e8, i / (r.steps - 1.0));
        r.loss[i] = loss(r.lr[i]);
    }
    return r;
}

/* Falls until 0.1, then rises like that of a quadratic beyond its curvature. */
static double valley(double lr)
{
    double x = log10(lr / 0.1);

    return 1 + 0.1 * x * x;
}

static double noisy(double lr)
{
    return valley(lr) * (1 + 0.05 * sin(1e6 * log(lr)));
}

static double cliff(double lr)
{
    return lr > 0.01 ? 1e6 : 3 - 0.4 * log10(lr / 1e-7);
}

static double rises(double lr)
{
    return 1 + lr;
}

static void the_rate_is_a_tenth_of_the_lowest(void)
{
    const struct { double (*loss)(double); double least, most; } cases[] = {
        { valley, 0.005, 0.02 }, { noisy, 0.001, 0.1 }, { cliff, 2e-4, 1e-3 },
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_lr_range r = curve(cases[i].loss);
        double lr = 0, at = 0;

        CHECK_OK(ctt_lr_range_choose(&r, &lr, &at));
        CU_ASSERT(lr >= cases[i].least && lr <= cases[i].most);
        CU_ASSERT(fabs(10 * lr / at - 1) < 0.051);    /* two digits */
    }
}

static void a_loss_that_never_falls_has_no_rate(void)
{
    struct ctt_lr_range r = curve(rises), none = { .steps = 0 };
    double lr = 7;

    CU_ASSERT_EQUAL(ctt_lr_range_choose(&r, &lr, NULL), CTT_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "never fell"));
    CU_ASSERT_EQUAL(ctt_lr_range_choose(&none, &lr, NULL), CTT_EINVAL);
    CU_ASSERT(lr == 7);
}

/* ---- with a model ---- */

static struct ctt_model *new_model(void)
{
    struct ctt_model *m = NULL;

    CHECK_OK(clip_model(clip_net_end, 1, &m));
    return m;
}

static float found(enum ctt_amp amp, int threads)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_model *m = new_model();
    size_t bytes = (size_t)m->g->weights * sizeof(float);
    float *before = ctt_calloc(bytes, 1);

    CU_ASSERT_FATAL(before != NULL);
    clips_open(&cfg, &toy, &toy_val);
    memcpy(before, m->w, bytes);
    cfg.lr = NAN;
    cfg.amp = (int)amp;
    cfg.threads = threads;
    CHECK_OK(ctt_train_auto(m, &cfg, toy, NULL, NULL));
    CU_ASSERT(memcmp(before, m->w, bytes) == 0);
    ctt_free(before);
    ctt_model_free(&m);
    return cfg.lr;
}

static void the_test_is_repeatable_and_leaves_no_trace(void)
{
    float a = found(CTT_O0, 1), b = found(CTT_O0, 3);

    CU_ASSERT(a > 1e-5f && a < 1);
    CU_ASSERT(a == b);
    CU_ASSERT(found(CTT_O1, 1) > 1e-5f);
}

static int batch_in(int64_t memory)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_model *m = new_model();
    int rc;

    clips_open(&cfg, &toy, &toy_val);
    cfg.limits.memory = ctt_memory_used() + memory;
    CHECK_OK(ctt_limits_set(&cfg.limits));
    cfg.batch = CTT_OPT_WORD;
    rc = ctt_train_auto(m, &cfg, toy, NULL, NULL);
    ctt_model_free(&m);
    cfg.limits.memory = 0;
    CHECK_OK(ctt_limits_set(&cfg.limits));
    return rc < 0 ? rc : cfg.batch;
}

static void the_batch_grows_with_the_memory(void)
{
    int last = 0;

    CU_ASSERT_EQUAL(batch_in(INT64_C(1) << 30), 16);    /* of 22 clips */
    CU_ASSERT_EQUAL(batch_in(4096), CTT_ENOMEM);
    for (int64_t memory = 1 << 16; memory <= 1 << 24; memory *= 2) {
        int batch = batch_in(memory);

        CU_ASSERT(batch == CTT_ENOMEM || batch >= last);
        last = batch > last ? batch : last;
    }
    CU_ASSERT_EQUAL(last, 16);
}

static void words_are_refused_where_they_mean_nothing(void)
{
    struct ctt_train_cfg cfg = clip_cfg();

    cfg.lr = NAN;
    CHECK_OK(ctt_train_check(&cfg));
    cfg.folds = 3;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    cfg.folds = 0;
    cfg.batch = CTT_OPT_WORD;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);    /* no --memory */
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "a tenth of the lowest", the_rate_is_a_tenth_of_the_lowest },
        { "no rate", a_loss_that_never_falls_has_no_rate },
        { "repeatable", the_test_is_repeatable_and_leaves_no_trace },
        { "batch", the_batch_grows_with_the_memory },
        { "refused", words_are_refused_where_they_mean_nothing },
        CU_TEST_INFO_NULL
    };

    return clips_main("auto", toy_clean, tests);
}
