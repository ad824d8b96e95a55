/* SPDX-License-Identifier: Apache-2.0
 * test_checkpoint.c: a training run that was stopped goes on from its
 * checkpoint as if it never had been. */
#include "tests/lib/toy_run.h"

/* A run stopped after any step, at an epoch's end or within, and gone on with
 * from its file, ends with the weights of one that never stopped. */
static void resumed_is_uninterrupted(void)
{
    static const int at[] = { 1, 6, 11 };
    static const char *const devices[] = { "ref", "cpu" };
    static const char *const nets[] = { clip_net, clip_net_end };

    for (size_t k = 0; k < 2 * CTT_LEN(devices); k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *whole;
        struct ctt_result r;

        cfg.device = devices[k / 2];
        cfg.optimizer = k == 1 ? CTT_SGD : CTT_ADAMW;
        whole = trained(nets[k % 2], &cfg, 1);
        cfg.checkpoint = clip_path("ckpt");
        for (size_t i = 0; i < CTT_LEN(at); i++) {
            struct stopper s = { at[i], 0 };
            const struct ctt_events ev = { .arg = &s, .stop = on_stop,
                                           .progress = on_progress };
            struct ctt_model *m = NULL;

            CHECK_OK(clip_model(nets[k % 2], 1, &m));
            CHECK_OK(ctt_train(m, &cfg, toy, toy_val, &ev, &r));
            CU_ASSERT(r.stopped && r.steps == at[i]);
            ctt_model_free(&m);
            CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
            CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
            CU_ASSERT(!r.stopped && r.steps == 18);
            CU_ASSERT(same_weights(m, whole));
            CU_ASSERT(strcmp(m->history, whole->history) == 0);
            ctt_model_free(&m);
        }
        ctt_model_free(&whole);
    }
}

/* Stopped while it tests: the epoch's end is done again. */
struct counter { int calls, stop_at; };

static int count_stop(void *arg)
{
    struct counter *c = arg;

    return ++c->calls >= c->stop_at;
}

static void stopped_in_a_test_is_resumed(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *whole = trained(clip_net, &cfg, 1), *m = NULL;
    struct counter c = { 0, 8 };    /* six batches, then the test's second */
    const struct ctt_events ev = { .arg = &c, .stop = count_stop };
    struct ctt_result r;

    cfg.checkpoint = clip_path("ckpt");
    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, &ev, &r));
    CU_ASSERT(r.stopped && r.steps == 6 && r.epochs == 0);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
    CU_ASSERT(same_weights(m, whole));
    ctt_model_free(&m);
    ctt_model_free(&whole);
}

static void other_settings_are_refused(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_result r;

    cfg.checkpoint = clip_path("other");
    cfg.max_steps = 2;
    m = trained(clip_net, &cfg, 1);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
    cfg.batch = 2;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, toy_val, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "batch=4") != NULL);
    cfg.batch = 4;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy_val, toy_val, NULL, &r),
                    CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "22 clips") != NULL);
    cfg.workers = 3;
    cfg.max_steps = 4;
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
    CU_ASSERT_EQUAL(r.steps, 4);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "resumed = uninterrupted", resumed_is_uninterrupted },
        { "stopped in a test, resumed", stopped_in_a_test_is_resumed },
        { "other settings are refused", other_settings_are_refused },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "checkpoint", NULL, toy_clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    if (clips_dir() < 0)
        return 99;
    return ctt_check_main(suites);
}
