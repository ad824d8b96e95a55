/* SPDX-License-Identifier: Apache-2.0
 * test_best.c: which weights of a training are kept: those that test best on
 * the validation clips. */
#include "libtrain/task.h"
#include "tests/lib/toy_run.h"

#include <string.h>

/* The mean over the observed ratios decides, then the loss. */
static void mean_decides(void)
{
    static const struct ctt_test_score
        late = { .top1 = 0.9, .mean_top1 = 0.5, .loss = 0.1, .mean_loss = 2 },
        early = { .top1 = 0.8, .mean_top1 = 0.6, .loss = 0.5, .mean_loss = 1 },
        sure = { .top1 = 0.8, .mean_top1 = 0.6, .loss = 0.6,
                 .mean_loss = 0.9 };

    CU_ASSERT(ctt_recognise_task.better(&early, &late));
    CU_ASSERT(!ctt_recognise_task.better(&late, &early));
    CU_ASSERT(ctt_recognise_task.better(&sure, &early));
    CU_ASSERT(!ctt_recognise_task.better(&early, &early));
}

/* What the last epoch came to, and which were the best so far. */
struct seen { struct ctt_test_score val; double top1[3]; int epochs, best; };

static void on_epoch(void *arg, const struct ctt_epoch *e,
                     const struct ctt_metrics *val)
{
    struct seen *s = arg;

    s->val = e->val;
    for (int k = 0; k < 3; k++)
        s->top1[k] = ctt_metrics_top1(val, k);
    s->best |= e->best << s->epochs++;
}

static char told[2][200];
static int lines;

static void on_say(void *arg, const char *line)
{
    (void)arg;
    if (strncmp(line, "--dsd", 5) == 0 && lines < 2)
        snprintf(told[lines++], sizeof(told[0]), "%s", line);
}

static void test_is_of_all_ratios(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct seen s = { .epochs = 0 };
    struct ctt_events ev = { .arg = &s, .epoch = on_epoch };
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, &ev, &r));
    CU_ASSERT_DOUBLE_EQUAL(s.val.mean_top1,
                           (s.top1[0] + s.top1[1] + s.top1[2]) / 3, 1e-9);
    CU_ASSERT_EQUAL(s.val.top1, s.top1[2]);
    CU_ASSERT(s.val.mean_loss > 0 && s.val.mean_loss != s.val.loss);
    ctt_model_free(&m);
}

/* Trains a model of seed 1 that has learnt, at a rate that undoes it. */
static struct ctt_model *spoil(int or_given, int stop, struct ctt_result *r)
{
    struct ctt_train_cfg cfg = short_run(), wild = cfg;
    struct stopper at = { 9 };
    struct ctt_events ev = { .arg = &at, .progress = on_progress };
    struct ctt_model *m = trained(clip_net, &cfg, 1);

    wild.lr = 5;
    wild.wiring.or_given = or_given;
    wild.checkpoint = clip_path("best.ckpt");
    if (!stop) {
        CHECK_OK(ctt_train(m, &wild, toy, toy_val, NULL, r));
        return m;
    }
    CHECK_OK(stop_train(m, &wild, toy, toy_val, &ev, r));
    CU_ASSERT(r->stopped);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(wild.checkpoint, 1, &m));
    CHECK_OK(ctt_train(m, &wild, toy, toy_val, NULL, r));
    return m;
}

/* The weights as given are kept if no epoch is better; also by a run that was
 * stopped meanwhile. */
static void given_may_be_best(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *given = trained(clip_net, &cfg, 1), *m;
    struct ctt_result r;

    m = spoil(0, 0, &r);
    CU_ASSERT(!same_weights(m, given) && r.best_epoch > 0);
    ctt_model_free(&m);
    for (int stop = 0; stop < 2; stop++) {
        m = spoil(1, stop, &r);
        CU_ASSERT_EQUAL(r.best_epoch, CTT_BEST_GIVEN);
        CU_ASSERT(same_weights(m, given));
        ctt_model_free(&m);
    }
    ctt_model_free(&given);
}

/* Before the last phase of --dsd, of 5 epochs the last, no epoch is the best;
 * the phases are announced. */
static void best_is_of_the_wanted_model(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct seen s = { .epochs = 0 };
    struct ctt_events ev = { .arg = &s, .epoch = on_epoch, .say = on_say };
    struct ctt_model *m = NULL;
    struct ctt_result r;

    cfg.epochs = 5;
    cfg.dsd = 0.3f;
    lines = 0;
    CHECK_OK(clip_model(clip_net_end, 1, &m));
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, &ev, &r));
    CU_ASSERT_EQUAL(s.epochs, 5);
    CU_ASSERT_EQUAL(s.best, 1 << 4);
    CU_ASSERT_EQUAL(r.best_epoch, 5);
    CU_ASSERT_EQUAL(lines, 2);
    CU_ASSERT(strstr(told[0], "smallest 30% of each weight are zero until 80%")
              != NULL);
    CU_ASSERT(strstr(told[1], "all weights train again, at 0.1 of") != NULL);
    ctt_model_free(&m);
}

static void classes_are_counted(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    int *clips;

    CU_ASSERT_EQUAL(ctt_data_classes(toy, &clips), CLIP_CLASSES);
    ctt_free(clips);
    CHECK_OK(clips_pack(clip_path("two.pack"), 4, 2));
    CHECK_OK(ctt_data_open(clip_path("two.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CU_ASSERT_EQUAL(ctt_data_classes(d, &clips), 2);
    ctt_free(clips);
    ctt_data_close(&d);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "mean decides", mean_decides },
        { "test is of all ratios", test_is_of_all_ratios },
        { "given may be best", given_may_be_best },
        { "best is of the wanted model", best_is_of_the_wanted_model },
        { "classes are counted", classes_are_counted },
        CU_TEST_INFO_NULL
    };

    return clips_main("best", toy_clean, tests);
}
