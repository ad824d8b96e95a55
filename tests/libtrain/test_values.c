/* SPDX-License-Identifier: Apache-2.0
 * test_values.c: the named values of a checkpoint: exact, complete, and checked
 * one by one. */
#include "libtrain/checkpoint.h"
#include "tests/lib/toy_run.h"
#include "tests/lib/values.h"

#include <math.h>

/* Every bit of every number, extreme ones too, in both versions. */
static void values_are_exact(void)
{
    const struct ctt_checkpoint_values v = {
        .version = 5, .updates = INT64_C(1) << 53, .clips = INT64_MIN,
        .weights = -1,
        .at = {
            .step = (INT64_C(1) << 53) - 1, .epoch = 1, .batch = 2,
            .best_epoch = 3,
            .sums = { 1.0 / 3, -0.0, 0x1p-1074, 0x1.fffffffffffffp1023,
                      0.3, 1e300 },
            .val = { 0.1, 0.2, INFINITY, -INFINITY, 1e-310, 0.6, 0.7, 0.8,
                     0.9 },
            .sampling = { -1, -1, 4, INFINITY },
            .scale = { 1, 0x1p24, 5, 6, 7 }, .used = 0x1.23456789abcdp-3,
        }
    };

    for (int unnamed = 0; unnamed < 2; unnamed++) {
        struct ctt_checkpoint_values got = { .at.scale.dynamic = 1 };
        struct ctt_state *s = NULL;

        CHECK_OK(ctt_state_new(&s));
        CHECK_OK(ctt_values_write(&v, s));
        if (unnamed)
            values_as_version_4(s);
        CHECK_OK(ctt_values_read(s, &got));
        CU_ASSERT_EQUAL(got.version, unnamed ? 4 : 5);
        got.version = 5;
        CU_ASSERT_EQUAL(memcmp(&got.updates, &v.updates, 3 * 8), 0);
        CU_ASSERT_EQUAL(memcmp(&got.at.step, &v.at.step, 4 * 8), 0);
        CU_ASSERT_EQUAL(memcmp(&got.at.sums, &v.at.sums, 4 * 8), 0);
        CU_ASSERT_EQUAL(memcmp(&got.at.val, &v.at.val, 7 * 8), 0);
        CU_ASSERT_EQUAL(got.at.sums.ahead, unnamed ? 0 : 0.3);
        CU_ASSERT_EQUAL(got.at.sums.values, unnamed ? 0 : 1e300);
        CU_ASSERT_EQUAL(got.at.val.mean_loss, unnamed ? 0.1 : 0.8);
        CU_ASSERT_EQUAL(got.at.val.mean_top1, unnamed ? 0.2 : 0.9);
        CU_ASSERT_EQUAL(memcmp(&got.at.sampling, &v.at.sampling, 4 * 8), 0);
        CU_ASSERT_EQUAL(memcmp(&got.at.scale.scale, &v.at.scale.scale, 4 * 8),
                        0);
        CU_ASSERT_EQUAL(got.at.scale.dynamic, 1);
        CU_ASSERT_EQUAL(got.at.used, unnamed ? 0 : v.at.used);
        ctt_state_free(&s);
    }
}

/* Older checkpoints of version 5 know no means over the observed ratios, and no
 * share of the time. */
static void means_may_be_missing(void)
{
    const struct ctt_checkpoint_values v = {
        .at = { .val = { .loss = 0.25, .top1 = 0.5, .mean_loss = 7,
                         .mean_top1 = 8 }, .scale.scale = 1, .used = 0.5 }
    };
    struct ctt_checkpoint_values got = { 0 };
    struct ctt_state *s = NULL;

    CHECK_OK(ctt_state_new(&s));
    CHECK_OK(ctt_values_write(&v, s));
    value_line(s, "best-mean-loss", "");
    value_line(s, "best-mean-top1", "");
    value_line(s, "time-used", "");
    CHECK_OK(ctt_values_read(s, &got));
    CU_ASSERT_EQUAL(got.at.val.mean_loss, 0.25);
    CU_ASSERT_EQUAL(got.at.val.mean_top1, 0.5);
    CU_ASSERT_EQUAL(got.at.used, 0);
    ctt_state_free(&s);
}

/* Replacements for the line of a name, and the error of each. */
static const struct {
    const char *name, *line;
    int         code;
    const char *says;
} damaged[] = {
    { "step", "step=-1\n", CTT_EFORMAT, "'step' is damaged" },
    { "step", "step=\n", CTT_EFORMAT, "'step' is damaged" },
    { "step", "step\n", CTT_EFORMAT, "'step' is damaged" },
    { "step", "step= 1\n", CTT_EFORMAT, "'step' is damaged" },
    { "step", "step=1x\n", CTT_EFORMAT, "'step' is damaged" },
    { "step", "step=0x1p3\n", CTT_EFORMAT, "'step' is damaged" },
    { "step", "step=9223372036854775808\n", CTT_EFORMAT,
      "'step' is damaged" },
    { "best-epoch", "best-epoch=-2\n", CTT_EFORMAT, "'best-epoch' is" },
    { "step", "step=1\nstep=1\n", CTT_EFORMAT, "'step' twice" },
    { "step", "", CTT_EFORMAT, "has no 'step'" },
    { "epoch", "epoch=-1\n", CTT_EFORMAT, "'epoch' is damaged" },
    { "epoch", "epoch=2147483647\n", CTT_EFORMAT, "'epoch' is damaged" },
    { "step", "step=9223372036854775807\n", CTT_EFORMAT,
      "'step' is damaged" },
    { "updates", "updates=9007199254740994\n", CTT_EFORMAT,
      "'updates' is damaged" },
    { "loss-scale-clean", "loss-scale-clean=9223372036854775807\n",
      CTT_EFORMAT, "'loss-scale-clean' is damaged" },
    { "sampling-start", "sampling-start=9223372036854775807\n", CTT_EFORMAT,
      "'sampling-start' is damaged" },
    { "updates", "updates=-1\n", CTT_EFORMAT, "'updates' is damaged" },
    { "sampling-start", "sampling-start=-2\n", CTT_EFORMAT,
      "'sampling-start' is damaged" },
    { "sampling-stalled", "sampling-stalled=-1\n", CTT_EFORMAT,
      "'sampling-stalled' is damaged" },
    { "sampling-best", "sampling-best=nan\n", CTT_EFORMAT,
      "'sampling-best' is damaged" },
    { "sum-loss", "sum-loss=0x1,8p0\n", CTT_EFORMAT,
      "'sum-loss' is damaged" },
    { "loss-scale", "loss-scale=0x1p-1\n", CTT_EFORMAT,
      "'loss-scale' is damaged" },
    { "loss-scale", "loss-scale=nan\n", CTT_EFORMAT,
      "'loss-scale' is damaged" },
    { "loss-scale", "loss-scale=inf\n", CTT_EFORMAT,
      "'loss-scale' is damaged" },
    { "loss-scale-clean", "loss-scale-clean=-1\n", CTT_EFORMAT,
      "'loss-scale-clean' is damaged" },
    { "time-used", "time-used=nan\n", CTT_EFORMAT, "'time-used' is" },
    { "time-used", "time-used=0x1.1p0\n", CTT_EFORMAT, "'time-used' is" },
    { "new", "new=1\n", CTT_EUNSUP, "'new', which this program does not" },
    { "new", "\n", CTT_EUNSUP, "'', which this program does not" },
    { "version", "version=6\nnew=1\n", CTT_EFORMAT,
      "another version: 6, not 4 or 5" },
    { "version", "version=4\n", CTT_EFORMAT, "another version: 4" },
    { "version", "", CTT_EFORMAT, "do not begin with 'version'" },
    { "weights", "weights=7\n", CTT_EFORMAT, "'weights' is 7, the model" },
    { "clips", "clips=7\n", CTT_EINVAL, "with 7 clips, the data has" },
};

static void damaged_values_are_named(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m;
    struct ctt_result r;

    cfg.checkpoint = clip_path("named");
    cfg.max_steps = 2;
    m = trained(clip_net, &cfg, 1);
    for (size_t i = 0; i < CTT_LEN(damaged); i++) {
        ctt_model_free(&m);
        CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
        value_line(m->train, damaged[i].name, damaged[i].line);
        ctt_check_refused(ctt_train(m, &cfg, toy, toy_val, NULL, &r),
                          damaged[i].code, damaged[i].says);
    }
    ctt_model_free(&m);
}

/* Sets number `at` of an array of version 4 and checks the error. */
static void refuse_number(const struct ctt_checkpoint_values *v,
                          const char *array, int at, const void *number,
                          const char *says)
{
    struct ctt_checkpoint_values got = { 0 };
    struct ctt_state *s = NULL;

    CHECK_OK(ctt_state_new(&s));
    CHECK_OK(ctt_values_write(v, s));
    values_as_version_4(s);
    memcpy((char *)ctt_state_find(s, array)->data + 8 * at, number, 8);
    ctt_check_refused(ctt_values_read(s, &got), CTT_EFORMAT, says);
    ctt_state_free(&s);
}

static void damaged_numbers_of_version_4_are_named(void)
{
    const struct ctt_checkpoint_values v = { .at.scale.scale = 1 };
    const int64_t minus = -2, old = 3, new = 5;
    const double bad = NAN;

    refuse_number(&v, "place", 0, &old, "another version: 3, not 4 or 5");
    refuse_number(&v, "place", 0, &new, "another version: 5, not 4 or 5");
    refuse_number(&v, "place", 5, &minus, "'updates' is damaged");
    refuse_number(&v, "place", 8, &minus, "'sampling-start' is damaged");
    refuse_number(&v, "place", 13, &minus, "'loss-scale-skipped' is damaged");
    refuse_number(&v, "sums", 11, &bad, "'sampling-best' is damaged");
    refuse_number(&v, "sums", 12, &bad, "'loss-scale' is damaged");
}

static void other_arrays_are_refused(void)
{
    struct ctt_checkpoint_values v = { 0 };
    struct ctt_state *s = NULL;

    CHECK_OK(ctt_state_new(&s));
    ctt_check_refused(ctt_values_read(s, &v), CTT_EFORMAT,
                      "no usable 'values'");
    CHECK_OK(ctt_state_add(s, "values", 8, 14, NULL));
    ctt_check_refused(ctt_values_read(s, &v), CTT_EFORMAT, "are no text");
    ctt_state_free(&s);
    CHECK_OK(ctt_state_new(&s));
    CHECK_OK(ctt_state_add(s, "values", 1, 10, "version=5"));
    ctt_check_refused(ctt_values_read(s, &v), CTT_EFORMAT, "are no text");
    ctt_state_free(&s);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "values are exact", values_are_exact },
        { "means may be missing", means_may_be_missing },
        { "damaged values are named", damaged_values_are_named },
        { "damaged numbers of version 4 are named",
          damaged_numbers_of_version_4_are_named },
        { "other arrays are refused", other_arrays_are_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("values", toy_clean, tests);
}
