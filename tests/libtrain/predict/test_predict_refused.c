/* SPDX-License-Identifier: Apache-2.0
 * test_predict_refused.c: settings, clips and checkpoints that prediction
 * refuses, with the message. */
#include "tests/lib/dots.h"
#include "tests/lib/stop.h"
#include "tests/lib/values.h"

static void settings_of_the_other_task_are_refused(void)
{
    struct ctt_train_cfg cfg = dots_cfg();

    CHECK_OK(ctt_train_check(&cfg));
    cfg.observe = "0.5";
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(), "--observe requires --task=recognise "
                           "or --task=both");
    cfg = dots_cfg();
    cfg.sampling_start = "x";
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "--sampling-start") != NULL);
    cfg = dots_cfg();
    cfg.task = CTT_RECOGNISE;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "requires --task=predict") != NULL);
    cfg = clip_cfg();
    CHECK_OK(ctt_train_check(&cfg));
    cfg.schedule = CTT_SAMPLED;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
}

static void refused(const struct ctt_train_cfg *cfg, const char *says)
{
    CU_ASSERT_EQUAL(ctt_train_check(cfg), CTT_EINVAL);
    if (strncmp(ctt_errmsg(), says, strlen(says)) != 0)
        printf("\n    '%s', expected '%s'", ctt_errmsg(), says);
    CU_ASSERT(strncmp(ctt_errmsg(), says, strlen(says)) == 0);
}

/* Settings without effect are errors, too. */
static void settings_that_do_nothing_are_refused(void)
{
    struct ctt_train_cfg cfg = dots_cfg();

    cfg.sampling_patience++;    /* it starts at an epoch */
    refused(&cfg, "--sampling-patience requires --sampling-start=auto or "
            "--schedule=sampled");
    cfg.schedule = CTT_SAMPLED;
    CHECK_OK(ctt_train_check(&cfg));
    cfg.sampling_start = "off";
    refused(&cfg, "--sampling-decay requires --sampling-start other than off");
    cfg.sampling_decay = 0.05F;
    refused(&cfg, "--schedule=sampled requires --sampling-start");
    cfg = dots_cfg();
    cfg.digits = 3;
    refused(&cfg, "--digits requires --data=mnist:... or --val=mnist:...");
    cfg.val = "mnist:there";
    CHECK_OK(ctt_train_check(&cfg));
    cfg.sequences++;
    refused(&cfg, "--sequences requires --data=mnist:...");
    cfg.data = "mnist:there";
    CHECK_OK(ctt_train_check(&cfg));
    cfg.max_frames = FRAMES;
    CHECK_OK(ctt_train_check(&cfg));
    cfg.max_frames--;
    refused(&cfg, "--max-frames=6: a sequence has 7 frames");
    cfg = dots_cfg();
    cfg.keep = "2";
    CHECK_OK(ctt_train_check(&cfg));
    cfg = clip_cfg();
    cfg.keep = "2";
    refused(&cfg, "--keep=2 requires --window");
    cfg.keep = "all";
    cfg.val_sequences++;
    refused(&cfg, "--val-sequences requires --data=mnist:...");
    cfg.val_sequences--;
    CHECK_OK(ctt_train_check(&cfg));
}

/* The rate of --schedule=sampled waits for tests. */
static void sampled_needs_tests(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 1);
    struct ctt_result r;

    dots_open();
    cfg.schedule = CTT_SAMPLED;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, dots, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "no clips to test on") != NULL);
    ctt_model_free(&m);
}

static void no_progress(void *arg, const struct ctt_progress *p)
{
    (void)p, (void)arg;
    stop_now = 1;
}

/* Checkpoints of an older program: another version, another count. */
static void older_checkpoints_are_named(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 1);
    const struct ctt_array *place;
    struct ctt_result r;
    const struct ctt_events ev = { .progress = no_progress };

    dots_open();
    cfg.checkpoint = clip_path("old.ckpt");
    CHECK_OK(stop_train(m, &cfg, dots, dots_val, &ev, &r));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
    values_as_version_4(m->train);
    place = ctt_state_find(m->train, "place");
    *(int64_t *)place->data = 2;
    ((struct ctt_array *)(uintptr_t)place)->count--;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, dots, dots_val, NULL, &r), CTT_EFORMAT);
    CU_ASSERT(strstr(ctt_errmsg(), "of another version: 2") != NULL);
    ctt_model_free(&m);
}

static void other_lengths_are_refused(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 1);
    struct ctt_result r;

    dots_open();
    cfg.future_frames++;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, dots, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "has 7 frames instead of 4 + 4") != NULL);
    ctt_model_free(&m);
}

/* What would a predicted frame be normalised with? */
static void other_light_is_refused(void)
{
    static const char *const keys[] = { "normalise=clip", "gamma=0.5" };

    for (size_t i = 0; i < CTT_LEN(keys); i++) {
        struct ctt_train_cfg cfg = dots_cfg();
        struct ctt_result r;
        struct ctt_model *m;
        char text[256];

        snprintf(text, sizeof(text), "input x h=16 w=16 c=1 colour=gray %s\n"
                 "conv y in=x out=1 kernel=3 pad=1\n", keys[i]);
        m = dots_model(text, 1);
        dots_open();
        CU_ASSERT_EQUAL(ctt_train(m, &cfg, dots, NULL, NULL, &r), CTT_EUNSUP);
        CU_ASSERT(strstr(ctt_errmsg(), "x: a model that predicts frames needs "
                         "normalise=set and gamma=1") != NULL);
        ctt_model_free(&m);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "settings of the other task are refused",
          settings_of_the_other_task_are_refused },
        { "settings that do nothing are refused",
          settings_that_do_nothing_are_refused },
        { "--schedule=sampled needs tests", sampled_needs_tests },
        { "older checkpoints are named", older_checkpoints_are_named },
        { "other lengths are refused", other_lengths_are_refused },
        { "other light is refused", other_light_is_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("predict refused", dots_clean, tests);
}
