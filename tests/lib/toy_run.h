/* SPDX-License-Identifier: Apache-2.0
 * toy_run.h: training runs on the toy clips: the same clips for a whole
 * program, and a run that stops after a step. */
#ifndef CTT_TEST_TOY_RUN_H
#define CTT_TEST_TOY_RUN_H

#include "tests/lib/check.h"
#include "tests/lib/stop.h"
#include "tests/lib/toy.h"

static struct ctt_data *toy, *toy_val;

static inline struct ctt_train_cfg short_run(void)
{
    struct ctt_train_cfg c = clip_cfg();

    c.epochs = 3;
    c.jitter = c.flip = 1;
    c.contrast = 0.1f;
    c.buckets = "2";
    clips_open(&c, &toy, &toy_val);
    return c;
}

static inline struct ctt_model *trained(const char *net,
                                        const struct ctt_train_cfg *cfg,
                                        int model)
{
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(clip_model(net, model, &m));
    CHECK_OK(ctt_train(m, cfg, toy, toy_val, NULL, &r));
    CU_ASSERT_EQUAL(r.steps, cfg->max_steps ? cfg->max_steps : 3 * 6);
    return m;
}

static inline int same_weights(const struct ctt_model *a,
                               const struct ctt_model *b)
{
    return memcmp(a->w, b->w, (size_t)a->g->weights * sizeof(float)) == 0;
}

/* Stops a run after step `at`. */
struct stopper { int64_t at; };

static inline void on_progress(void *arg, const struct ctt_progress *p)
{
    stop_now = p->step >= ((const struct stopper *)arg)->at;
}

/* Removes the folder too. */
static inline int toy_clean(void)
{
    ctt_data_close(&toy);
    ctt_data_close(&toy_val);
    return clips_clean();
}

#endif
