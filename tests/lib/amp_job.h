/* SPDX-License-Identifier: Apache-2.0
 * amp_job.h: short training runs of both tasks in mixed precision. */
#ifndef CTT_TEST_AMP_JOB_H
#define CTT_TEST_AMP_JOB_H

#include "libtrain/checkpoint.h"
#include "tests/lib/dots.h"
#include "tests/lib/toy_run.h"
#include "tests/lib/values.h"

/* Common part of both tasks: a net, its clips, settings for about 18 steps. */
struct job {
    int                  task;
    const char          *net;
    struct ctt_train_cfg cfg;
    struct ctt_data     *data, *val;
};

static inline struct job job_of(int task, int level, int type)
{
    struct job j = { .task = task, .net = clip_net_end };

    if (task == CTT_PREDICT) {
        dots_open();
        j.net = dot_net;
        j.data = dots;
        j.val = dots_val;
        j.cfg = dots_cfg();
    } else {
        j.cfg = clip_cfg();
        j.cfg.buckets = "2";
        clips_open(&j.cfg, &toy, &toy_val);
        j.data = toy;
        j.val = toy_val;
    }
    j.cfg.device = "cpu";
    j.cfg.epochs = 3;
    j.cfg.amp = level;
    j.cfg.amp_type = type;
    return j;
}

static inline struct ctt_model *model_of(const struct job *j, int seed)
{
    struct ctt_model *m = NULL;

    if (j->task == CTT_PREDICT)
        return dots_model(j->net, seed);
    CHECK_OK(clip_model(j->net, seed, &m));
    return m;
}

/* Removes the folder too. */
static inline int jobs_clean(void)
{
    ctt_data_close(&toy);
    ctt_data_close(&toy_val);
    return dots_clean();
}

#endif
