/* SPDX-License-Identifier: Apache-2.0
 * test_predict_eval.c: predictions of test sequences, of the model and of the
 * baselines it is compared with. */
#include "libtrain/predict/predict.h"
#include "run/run.h"
#include "tests/lib/dots.h"

#include <math.h>
#include <unistd.h>

/* The predictions of a stream: true frames in windows of three steps, then its
 * own answers. */
static void stream(const struct ctt_model *m, struct ctt_dev *dev,
                   const float *seen, float *ahead)
{
    int in = ctt_graph_input(m->g), y = ctt_graph_output(m->g), left = SEEN;
    struct ctt_run *r = NULL;

    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = dev, .w = m->w, .samples = 1, .steps = 3 }, &r));
    for (int now; left; left -= now, seen += now * PIXELS) {
        now = left < 3 ? left : 3;
        CHECK_OK(ctt_run_make_room(r, now));
        memcpy(ctt_run_value(r, in, r->cursor), seen,
               (size_t)now * PIXELS * sizeof(*seen));
        CHECK_OK(ctt_run_steps(r, now));
    }
    for (int k = 0; k < AHEAD; k++) {
        memcpy(ahead + k * PIXELS, ctt_run_value(r, y, r->cursor - 1),
               PIXELS * sizeof(*ahead));
        CHECK_OK(ctt_run_make_room(r, 1));
        memcpy(ctt_run_value(r, in, r->cursor), ahead + k * PIXELS,
               PIXELS * sizeof(*ahead));
        CHECK_OK(ctt_run_steps(r, 1));
    }
    ctt_run_close(&r);
}

/* Adds the squared errors of the model and of the last frame, per future
 * frame. */
static void errors_of(const float *x, const float *y, double *mse, double *last)
{
    for (int k = 0; k < AHEAD * PIXELS; k++) {
        double truth = 0.5 * (double)x[SEEN * PIXELS + k] + 0.1;
        double was = 0.5 * (double)x[(SEEN - 1) * PIXELS + k % PIXELS] + 0.1;
        double v = fmin(fmax(0.5 * (double)y[k] + 0.1, 0), 1);

        mse[k / PIXELS] += (v - truth) * (v - truth) / PIXELS;
        last[k / PIXELS] += (was - truth) * (was - truth) / PIXELS;
    }
}

static void evaluation_is_streaming(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 5);
    double mse[AHEAD] = { 0 }, last[AHEAD] = { 0 };
    static float x[FRAMES * PIXELS], y[AHEAD * PIXELS];
    struct ctt_predict_scores *f = NULL;
    struct ctt_dev *dev = NULL;

    dots_open();
    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    for (int i = 0; i < 7; i++) {
        for (int k = 0; k < FRAMES * PIXELS; k++)
            x[k] = ((float)dot(100 + i, k / PIXELS, k % PIXELS / SIDE,
                               k % SIDE) / 255 - 0.1f) / 0.5f;
        stream(m, dev, x, y);
        errors_of(x, y, mse, last);
    }
    CHECK_OK(ctt_evaluate_predict(m, &cfg, dots_val, &f));
    CU_ASSERT_EQUAL(f->sequences, 7);
    for (int k = 0; k < AHEAD; k++) {
        CU_ASSERT_DOUBLE_EQUAL(ctt_predict_scores_at(f, CTT_BY_MODEL,
                                                     k + 1).mse,
                               mse[k] / 7, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(ctt_predict_scores_at(f, CTT_BY_LAST_FRAME,
                                                     k + 1).mse,
                               last[k] / 7, 1e-6);
    }
    CU_ASSERT_DOUBLE_EQUAL(ctt_predict_scores_at(f, CTT_BY_MODEL, 0).mse,
                           (mse[0] + mse[1] + mse[2]) / 21, 1e-6);
    ctt_predict_scores_free(&f);
    ctt_model_free(&m);
    ctt_dev_close(&dev);
}

/* Neither a black picture nor a good score. */
static void answers_must_be_finite(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 5);
    struct ctt_predict_scores *f = NULL;

    dots_open();
    m->w[m->g->node[ctt_graph_find(m->g, "y")].at[1]] = NAN;
    CU_ASSERT_EQUAL(ctt_evaluate_predict(m, &cfg, dots_val, &f),
                    CTT_ENAN);
    CU_ASSERT(!f && strcmp(ctt_errmsg(), "y: the answer is not finite") == 0);
    ctt_model_free(&m);
}

/* A file that got lost since its clips were counted. */
static void lost_clip_is_an_error(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 5);
    struct ctt_input in = m->g->node[ctt_graph_input(m->g)].attr.input;
    struct ctt_predict_scores *f = NULL;
    struct ctt_data *d = NULL;

    dots_pack(clip_path("lost.pack"), 0, 9);
    cfg.cache = 0;
    CHECK_OK(ctt_data_open(clip_path("lost.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CU_ASSERT_EQUAL(truncate(clip_path("lost.pack"), 100), 0);
    CU_ASSERT_EQUAL(ctt_evaluate_predict(m, &cfg, d, &f), CTT_EIO);
    CU_ASSERT(!f && strstr(ctt_errmsg(), "lost.pack"));
    ctt_data_close(&d);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "an evaluation is streaming", evaluation_is_streaming },
        { "answers must be finite", answers_must_be_finite },
        { "a lost clip is an error", lost_clip_is_an_error },
        CU_TEST_INFO_NULL
    };

    return clips_main("predict evaluation", dots_clean, tests);
}
