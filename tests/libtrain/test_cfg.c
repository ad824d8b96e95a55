/* SPDX-License-Identifier: Apache-2.0
 * test_cfg.c: the table of the trainer's settings: every row has a section,
 * every condition names a setting that exists, which settings may change at
 * resume, and checkpoints with options that were removed. */
#include "libtrain/settings.h"
#include "base/opt_inside.h"
#include "tests/lib/check.h"

#include <string.h>

/* How many characters of s are among these. */
static int count(const char *s, const char *characters)
{
    int n = 0;

    for (; *s; s++)
        n += strchr(characters, *s) != NULL;
    return n;
}

static int count_text(const char *s, const char *what)
{
    int n = 0;

    for (; (s = strstr(s, what)) != NULL; s += strlen(what))
        n++;
    return n;
}

/* A condition on a setting that is not in the table would be ignored. */
static void every_condition_names_a_setting(void)
{
    char text[CTT_OPT_TEXT];
    int rows = 0;

    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++) {
        if (!o->needs)
            continue;
        ctt_opt_needs_text(ctt_train_opts, o, text);
        CU_ASSERT_EQUAL(count_text(text, "--"), 1 + count(o->needs, " |"));
        rows++;
    }
    CU_ASSERT(rows > 20);
}

static void every_setting_has_a_section(void)
{
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++)
        CU_ASSERT(o->section != NULL && o->help[0] != '\0');
}

/* The settings that may change when a checkpoint is resumed. */
static void resume_may_change(void)
{
    static const char *const may[] = { "out", "data", "epochs", "threads",
        "device", "keep", "memory", "val-sequences", "resume", "log-json" };
    static const char *const must_not[] = { "lr", "batch", "seed", "observe",
        "amp", "task", "sequences", "deterministic", "val-ratios" };

    for (size_t i = 0; i < CTT_LEN(may); i++) {
        int k = ctt_opt_find(ctt_train_opts, may[i]);
        CU_ASSERT(k >= 0 && (ctt_train_opts[k].tags & CTT_CFG_RESUME));
    }
    for (size_t i = 0; i < CTT_LEN(must_not); i++) {
        int k = ctt_opt_find(ctt_train_opts, must_not[i]);
        CU_ASSERT(k >= 0 && !(ctt_train_opts[k].tags & CTT_CFG_RESUME));
    }
}

/* A checkpoint may name options that were removed, with values that change
 * nothing. */
static void removed_options(void)
{
    struct ctt_train_cfg cfg = { .data = NULL };
    char was[1 << 14], *now = NULL;

    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &cfg));
    CHECK_OK(ctt_settings_print(&cfg, &now));
    snprintf(was, sizeof(was), "%s eps=1e-08\n channels=4\n"
             " full-weight=1\n head=ridge\n observe-weight=1\n", now);
    CHECK_OK(ctt_settings_same(&cfg, was));
    snprintf(was, sizeof(was), "%s full-weight=0.5\n", now);
    ctt_check_refused(ctt_settings_same(&cfg, was), CTT_EINVAL, "the "
                      "checkpoint was made with --full-weight=0.5, and this "
                      "version has no such option");
    snprintf(was, sizeof(was), "%s eps=1e-06\n", now);
    ctt_check_refused(ctt_settings_same(&cfg, was), CTT_EINVAL, "the "
                      "checkpoint was made with --eps=1e-06, and this version "
                      "has no such option");
    snprintf(was, sizeof(was), "%s epsilon=1\n", now);
    ctt_check_refused(ctt_settings_same(&cfg, was), CTT_EINVAL, "the "
                      "checkpoint was made with --epsilon=1");
    ctt_free(now);
}

/* A setting without an effect may be another one: earlier versions took it. */
static void settings_without_effect(void)
{
    struct ctt_train_cfg cfg = { .data = NULL };
    char *was = NULL;

    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &cfg));
    cfg.momentum = 0.5f;
    CHECK_OK(ctt_settings_print(&cfg, &was));
    cfg.momentum = 0.9f;
    CHECK_OK(ctt_settings_same(&cfg, was));
    cfg.optimizer = CTT_SGD;
    ctt_check_refused(ctt_settings_same(&cfg, was), CTT_EINVAL, "the "
                      "checkpoint was made with --");
    ctt_free(was);
    was = NULL;
    CHECK_OK(ctt_settings_print(&cfg, &was));
    cfg.momentum = 0.5f;
    ctt_check_refused(ctt_settings_same(&cfg, was), CTT_EINVAL, "the "
                      "checkpoint was made with --momentum=0.9");
    ctt_free(was);
}

/* What of the length of a run has changed, if its schedule depends on it. */
static void other_length(void)
{
    struct ctt_train_cfg cfg = { .data = NULL };
    struct ctt_state state = { .settings = NULL };
    struct ctt_model m = { .train = &state };
    char was[64];

    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &cfg));
    cfg.epochs = 40;
    CHECK_OK(ctt_settings_print(&cfg, &state.settings));
    CU_ASSERT_STRING_EQUAL(ctt_resume_length(&m, &cfg, was, sizeof(was)), "");
    cfg.epochs = 24;
    cfg.max_steps = 7;
    CU_ASSERT_STRING_EQUAL(ctt_resume_length(&m, &cfg, was, sizeof(was)),
                           " --epochs=40 --max-steps=0");
    cfg.schedule = CTT_CONSTANT;
    CU_ASSERT_STRING_EQUAL(ctt_resume_length(&m, &cfg, was, sizeof(was)), "");
    ctt_free(state.settings);
}

static CU_TestInfo tests[] = {
    { "every condition names a setting", every_condition_names_a_setting },
    { "every setting has a section", every_setting_has_a_section },
    { "what may change at resume", resume_may_change },
    { "removed options", removed_options },
    { "settings without effect", settings_without_effect },
    { "another length", other_length },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "cfg", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
