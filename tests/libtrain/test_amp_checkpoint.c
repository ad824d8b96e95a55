/* SPDX-License-Identifier: Apache-2.0
 * test_amp_checkpoint.c: checkpoints of training in mixed precision: the loss
 * scale, the skipped steps, and resuming. */
#include "tests/lib/amp_job.h"

#include <math.h>

/* After one step, which overflows: a step is counted, but no update. */
static void the_optimizer_stands_still(void)
{
    struct job j = job_of(CTT_RECOGNISE, CTT_O1, 0);
    struct ctt_model *m = model_of(&j, 1), *saved = NULL;
    const struct ctt_array *a;
    struct ctt_result r;

    j.cfg.checkpoint = clip_path("still");
    j.cfg.checkpoint_every = j.cfg.max_steps = 1;
    CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r));
    CU_ASSERT(r.steps == 1 && r.skipped == 1 && r.scale == 0x1p23);
    CHECK_OK(ctt_model_load(j.cfg.checkpoint, 1, &saved));
    CU_ASSERT(value_of(saved->train, "step") == 1);
    CU_ASSERT(value_of(saved->train, "updates") == 0);
    CU_ASSERT(value_of(saved->train, "loss-scale") == 0x1p23);
    for (int k = 0; k < 2; k++) {
        a = ctt_state_find(saved->train, k ? "v" : "m");
        CU_ASSERT_FATAL(a != NULL);
        for (int64_t i = 0; i < a->count; i++)
            CU_ASSERT(((const float *)a->data)[i] == 0);
    }
    ctt_model_free(&saved);
    ctt_model_free(&m);
}

/* The checkpoint is damaged: one clean step is missing. */
static void two_thousand_clean_steps_double(void)
{
    struct job j = job_of(CTT_RECOGNISE, CTT_O1, 0);
    struct ctt_model *m = model_of(&j, 1);
    struct ctt_result r;
    char line[64];
    double before;

    j.cfg.checkpoint = clip_path("double");
    j.cfg.checkpoint_every = 1;
    j.cfg.max_steps = 14;
    CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(j.cfg.checkpoint, 1, &m));
    before = value_of(m->train, "loss-scale");
    CU_ASSERT(before == r.scale);
    CU_ASSERT(value_of(m->train, "loss-scale-clean") > 0);
    snprintf(line, sizeof(line), "loss-scale-clean=%d\n", CTT_SCALE_CLEAN - 1);
    value_line(m->train, "loss-scale-clean", line);
    j.cfg.max_steps = 15;
    CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r));
    CU_ASSERT(r.scale == 2 * before);
    ctt_model_free(&m);
}

/* ---- collapse ---- */

static void collapse_ends_it(void)
{
    static const char *const scales[] = { "1099511627776", "dynamic" };

    for (size_t k = 0; k < CTT_LEN(scales); k++) {
        struct job j = job_of(CTT_RECOGNISE, CTT_O1, 0);
        struct ctt_model *m = model_of(&j, 1), *saved = NULL;
        struct ctt_model *first = model_of(&j, 1);
        struct ctt_result r;

        j.cfg.checkpoint = clip_path("collapse");
        j.cfg.checkpoint_every = 1;
        j.cfg.epochs = 10;
        j.cfg.loss_scale = scales[k];
        if (k == 1) {    /* no scale helps where a forward pass overflows */
            int c = ctt_graph_find(m->g, "c");
            m->w[m->g->node[c].at[1]] = 1e6f;
        }
        memcpy(first->w, m->w, (size_t)m->g->weights * sizeof(float));
        CU_ASSERT_EQUAL(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r),
                        CTT_ENAN);
        CU_ASSERT(strstr(ctt_errmsg(), "step 20: ") != NULL);
        CU_ASSERT(strstr(ctt_errmsg(), k ? "c: the result is not finite" :
                         "train.loss: the gradient of input 0") != NULL);
        CU_ASSERT(strstr(ctt_errmsg(), "after 20 steps in a row") != NULL);
        CHECK_OK(ctt_model_load(j.cfg.checkpoint, 1, &saved));
        CU_ASSERT(value_of(saved->train, "step") == 19);
        CU_ASSERT(value_of(saved->train, "loss-scale-skips") == 19);
        CU_ASSERT(same_weights(saved, first));
        ctt_model_free(&saved);
        ctt_model_free(&first);
        ctt_model_free(&m);
    }
}

/* ---- going on ---- */

/* Version 4 knows no means over several observed ratios. */
static void resume(struct job *j, int at)
{
    struct ctt_model *whole = model_of(j, 1), *m = model_of(j, 1);
    struct stopper s = { at };
    const struct ctt_events ev = { .arg = &s, .progress = on_progress };
    struct ctt_result all, r;

    j->cfg.val_ratios = "1";
    CHECK_OK(ctt_train(whole, &j->cfg, j->data, j->val, NULL, &all));
    j->cfg.checkpoint = clip_path("resume");
    CHECK_OK(stop_train(m, &j->cfg, j->data, j->val, &ev, &r));
    CU_ASSERT(r.stopped && r.steps == at);
    ctt_model_free(&m);
    j->cfg.checkpoint = clip_path("end");
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        CHECK_OK(ctt_model_load(clip_path("resume"), 1, &m));
        if (unnamed)
            values_as_version_4(m->train);
        CHECK_OK(ctt_train(m, &j->cfg, j->data, j->val, NULL, &r));
        CU_ASSERT(same_weights(m, whole));
        CU_ASSERT(r.scale == all.scale && r.skipped == all.skipped);
        ctt_model_free(&m);
    }
    ctt_model_free(&whole);
}

/* Resumes during and after the skips at the start; the last case has running
 * statistics and dropout. */
static void resumed_is_uninterrupted(void)
{
    static const int at[] = { 1, 4, 11 };

    for (int k = 0; k < 7; k++) {
        struct job j = job_of(k / 3 % 2, k % 2 ? CTT_O2 : CTT_O1, k == 5);

        if (k == 6)
            j.net = clip_net;
        resume(&j, at[k % 3]);
    }
}

static void other_checkpoints_are_refused(void)
{
    struct job j = job_of(CTT_RECOGNISE, CTT_O1, 0);
    struct ctt_model *m = model_of(&j, 1);
    struct ctt_result r;

    j.cfg.checkpoint = clip_path("refused");
    j.cfg.checkpoint_every = 1;
    j.cfg.max_steps = 1;
    CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(j.cfg.checkpoint, 1, &m));
    j.cfg.amp = CTT_O2;
    CU_ASSERT_EQUAL(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "made with --amp=O1") != NULL);
    j.cfg.amp = CTT_O1;
    j.cfg.loss_scale = "128";
    CU_ASSERT_EQUAL(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "made without --loss-scale=128") != NULL);
    j.cfg.loss_scale = NULL;
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "the optimizer stands still", the_optimizer_stands_still },
        { "2000 clean steps double", two_thousand_clean_steps_double },
        { "collapse ends it", collapse_ends_it },
        { "resumed = uninterrupted", resumed_is_uninterrupted },
        { "other checkpoints are refused", other_checkpoints_are_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("amp_checkpoint", jobs_clean, tests);
}
