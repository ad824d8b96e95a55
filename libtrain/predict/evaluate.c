/* SPDX-License-Identifier: Apache-2.0
 * evaluate.c: the quality of a model's predictions per frame, and of the
 * baselines. */
#include "device/ewise.h"
#include "libtrain/data/load.h"
#include "libtrain/evaluate.h"
#include "libtrain/predict/predict.h"
#include "libtrain/task.h"
#include "run/run.h"
#include "video/baseline.h"

#include <math.h>
#include <string.h>

/* ---- sums ---- */

int ctt_predict_scores_new(int observed, int future,
                           struct ctt_predict_scores **out)
{
    struct ctt_predict_scores *f = ctt_calloc(1, sizeof(*f));
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->observed = observed;
    f->future = future;
    for (int k = 0; k < CTT_PREDICT_METHODS; k++) {
        f->sum[k] = ctt_calloc((size_t)future, sizeof(**f->sum));
        CTT_TRY(f->sum[k] ? 0 : CTT_ENOMEM);
    }
    *out = f;
    return 0;
out:
    ctt_predict_scores_free(&f);
    return rc;
}

void ctt_predict_scores_free(struct ctt_predict_scores **f)
{
    if (!*f)
        return;
    for (int k = 0; k < CTT_PREDICT_METHODS; k++)
        ctt_free((*f)->sum[k]);
    ctt_free(*f);
    *f = NULL;
}

static void clear_scores(struct ctt_predict_scores *f)
{
    f->sequences = 0;
    f->loss = 0;
    for (int k = 0; k < CTT_PREDICT_METHODS; k++)
        memset(f->sum[k], 0, (size_t)f->future * sizeof(**f->sum));
}

static void add_quality(struct ctt_quality *to, const struct ctt_quality *q,
                        double by)
{
    to->mse += q->mse * by;
    to->psnr += q->psnr * by;
    to->ssim += q->ssim * by;
    to->ssim2 += q->ssim2 * by;
}

struct ctt_quality ctt_predict_scores_at(const struct ctt_predict_scores *f,
                                         enum ctt_predict_method who, int ahead)
{
    int from = ahead ? ahead - 1 : 0, to = ahead ? ahead : f->future;
    struct ctt_quality q = { 0 };

    for (int k = from; k < to && f->sequences; k++)
        add_quality(&q, &f->sum[who][k],
                    1 / ((double)f->sequences * (double)(to - from)));
    return q;
}

/* Scores as bytes: two numbers, and the sums of each method. */
struct told { double loss, sequences; };

static int64_t score_bytes(const struct ctt_predict_scores *f)
{
    return (int64_t)sizeof(struct told) +
           CTT_PREDICT_METHODS * f->future * (int64_t)sizeof(**f->sum);
}

static void tell_scores(const struct ctt_predict_scores *f, void *bytes)
{
    struct told *t = bytes;
    struct ctt_quality *q = (struct ctt_quality *)(t + 1);

    *t = (struct told){ f->loss, (double)f->sequences };
    for (int k = 0; k < CTT_PREDICT_METHODS; k++, q += f->future)
        memcpy(q, f->sum[k], (size_t)f->future * sizeof(*q));
}

static void add_scores(struct ctt_predict_scores *f, const void *bytes)
{
    const struct told *t = bytes;
    const struct ctt_quality *q = (const struct ctt_quality *)(t + 1);

    f->loss += t->loss;
    f->sequences += (int64_t)t->sequences;
    for (int k = 0; k < CTT_PREDICT_METHODS; k++)
        for (int j = 0; j < f->future; j++)
            add_quality(&f->sum[k][j], q++, 1);
}

/* ---- the run ---- */

/* Buffers of one picture each, with values in 0..1. */
enum picture { TRUTH, GUESS, BEFORE, LAST, PICTURES };

struct ctt_predict_eval {
    const struct ctt_graph *g;
    struct ctt_run    *r;
    struct ctt_eval_set set;
    struct ctt_input   in;
    int                loss, input, answer, observed, frames;
    int64_t            frame;              /* floats */
    float             *feedback;           /* [n][frame]: last predictions */
    float             *pic[PICTURES];
    struct ctt_predict_scores *one;        /* of a batch */
};

static int take_memory(struct ctt_predict_eval *f, int n)
{
    size_t frame = (size_t)f->frame;
    int rc = 0;

    f->feedback = ctt_calloc((size_t)n * frame, sizeof(float));
    CTT_TRY(f->feedback ? 0 : CTT_ENOMEM);
    for (int k = 0; k < PICTURES; k++) {
        f->pic[k] = ctt_calloc(frame, sizeof(float));
        CTT_TRY(f->pic[k] ? 0 : CTT_ENOMEM);
    }
out:
    return rc;
}

int ctt_predict_eval_open(const struct ctt_graph *g, const float *w,
                          const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                          struct ctt_data *d, struct ctt_predict_eval **out)
{
    struct ctt_predict_eval *f = ctt_calloc(1, sizeof(*f));
    int n = ctt_eval_batch(cfg, d);
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->g = g;
    f->input = ctt_graph_input(g);
    f->answer = ctt_graph_output(g);
    f->in = g->node[f->input].attr.input;
    f->frame = ctt_volume(&g->node[f->input].out);
    f->loss = cfg->loss;
    f->observed = cfg->input_frames;
    f->frames = ctt_cfg_frames(cfg);
    CTT_TRY(ctt_predict_task.check(g, cfg, d));
    CTT_CHECK(f->in.h >= CTT_QUALITY_SIDE &&
              f->in.w >= CTT_QUALITY_SIDE, CTT_EUNSUP,
              "frames of %dx%d are too small to measure SSIM", f->in.w,
              f->in.h);
    CTT_TRY(take_memory(f, n));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = g, .dev = dev, .w = w, .samples = n, .steps = 1 }, &f->r));
    CTT_TRY(ctt_predict_scores_new(f->observed, cfg->future_frames, &f->one));
    CTT_TRY(ctt_eval_set_open(d, n, f->frames, "1", cfg->wiring.comm,
                              score_bytes(f->one), &f->set));
    *out = f;
    return 0;
out:
    ctt_predict_eval_close(&f);
    return rc;
}

void ctt_predict_eval_close(struct ctt_predict_eval **f)
{
    if (!*f)
        return;
    ctt_eval_set_close(&(*f)->set);
    ctt_run_close(&(*f)->r);
    ctt_predict_scores_free(&(*f)->one);
    ctt_free((*f)->feedback);
    for (int k = 0; k < PICTURES; k++)
        ctt_free((*f)->pic[k]);
    ctt_free(*f);
    *f = NULL;
}

static const float *frame_of(const struct ctt_predict_eval *f,
                             const struct ctt_batch *b, int t, int j)
{
    return b->x + ((int64_t)t * b->n + j) * f->frame;
}

/* One step, with a true frame or the last prediction as input. */
static int step(struct ctt_predict_eval *f, const struct ctt_batch *b, int t)
{
    const float *x = t < f->observed ? frame_of(f, b, t, 0) : f->feedback;
    struct ctt_run *r = f->r;
    int64_t rows = ctt_rows(&f->g->node[f->input].out) * b->n;
    int rc = 0;

    CTT_TRY(ctt_run_make_room(r, 1));
    CTT_TRY(ctt_run_put(r, f->input, r->cursor, x, rows));
    CTT_TRY(ctt_run_steps(r, 1));
    CTT_TRY(ctt_run_get(r, f->answer, r->cursor - 1, rows, f->feedback));
out:
    return rc;
}

/* In the order of ctt_predict_losses. */
static float l1l2(float e) { return ctt_l1l2(e); }
static float mse(float e)  { return ctt_square(e); }

static float (*const losses[])(float) = { l1l2, mse };

static double loss_of(const struct ctt_predict_eval *f, const float *truth,
                      const float *guess)
{
    double sum = 0;

    for (int64_t i = 0; i < f->frame; i++)
        sum += (double)losses[f->loss](guess[i] - truth[i]);
    return sum / (double)f->frame;
}

static int is_finite(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return 0;
    return 1;
}

/* Undoes the normalisation of a frame and clamps it to 0..1. */
static void picture(const struct ctt_predict_eval *f, const float *x,
                    enum picture to)
{
    int c = f->in.c;

    for (int64_t i = 0; i < f->frame; i++) {
        int k = (int)(i % c) < 3 ? (int)(i % c) : 2;
        float v = x[i] * f->in.std[k] + f->in.mean[k];
        f->pic[to][i] = fminf(fmaxf(v, 0), 1);
    }
}

static int rate_guess(const struct ctt_predict_eval *f, enum picture guess,
                      struct ctt_quality *sum)
{
    struct ctt_quality q;
    int rc = 0;

    CTT_TRY(ctt_quality(f->pic[TRUTH], f->pic[guess], f->in.h, f->in.w,
                        f->in.c, &q));
    add_quality(sum, &q, 1);
out:
    return rc;
}

/* Adds the quality of the predictions of frame t, and their loss. */
static int rate_model(const struct ctt_predict_eval *f,
                      const struct ctt_batch *b, int t,
                      struct ctt_predict_scores *out)
{
    int ahead = t - f->observed, rc = 0;

    for (int j = 0; j < b->n; j++) {
        const float *truth = frame_of(f, b, t, j);
        const float *y = f->feedback + j * f->frame;

        if (!b->length[j])
            continue;
        CTT_CHECK(is_finite(y, f->frame), CTT_ENAN,
                  "%s: the answer is not finite", f->g->node[f->answer].name);
        out->loss += loss_of(f, truth, y) / (f->frames - 1);
        if (ahead < 0)
            continue;
        picture(f, truth, TRUTH);
        picture(f, y, GUESS);
        CTT_TRY(rate_guess(f, GUESS, &out->sum[CTT_BY_MODEL][ahead]));
    }
out:
    return rc;
}

/* Adds the quality of the baselines for sequence j. */
static int rate_baselines(const struct ctt_predict_eval *f,
                       const struct ctt_batch *b, int j,
                       struct ctt_predict_scores *out)
{
    int last = f->observed - 1, rc = 0;

    picture(f, frame_of(f, b, last, j), LAST);
    picture(f, frame_of(f, b, last ? last - 1 : 0, j), BEFORE);
    for (int k = 0; k < out->future; k++) {
        picture(f, frame_of(f, b, f->observed + k, j), TRUTH);
        CTT_TRY(rate_guess(f, LAST, &out->sum[CTT_BY_LAST_FRAME][k]));
        CTT_TRY(ctt_baseline_linear(f->pic[BEFORE], f->pic[LAST], f->in.h,
                                    f->in.w, f->in.c, k + 1, f->pic[GUESS]));
        CTT_TRY(rate_guess(f, GUESS, &out->sum[CTT_BY_LINEAR_MOTION][k]));
    }
out:
    return rc;
}

struct predict_scoring {
    struct ctt_predict_eval   *f;
    struct ctt_predict_scores *scores;
    int                        all;    /* 1: the baselines too */
};

static int score_batch(void *arg, const struct ctt_batch *b, void *answers)
{
    const struct predict_scoring *to = arg;
    struct ctt_predict_eval *f = to->f;
    int rc = 0;

    ctt_run_reset(f->r);
    clear_scores(f->one);
    for (int t = 0; t + 1 < f->frames; t++) {
        CTT_TRY(step(f, b, t));
        CTT_TRY(rate_model(f, b, t + 1, f->one));
    }
    for (int j = 0; j < b->n; j++) {
        f->one->sequences += b->length[j] > 0;
        if (b->length[j] && to->all)
            CTT_TRY(rate_baselines(f, b, j, f->one));
    }
    tell_scores(f->one, answers);
out:
    return rc;
}

static int add_batch(void *arg, const struct ctt_batch *b, const void *answers)
{
    const struct predict_scoring *to = arg;

    (void)b;
    add_scores(to->scores, answers);
    return 0;
}

int ctt_predict_eval_run(struct ctt_predict_eval *f, int all,
                         struct ctt_predict_scores *out)
{
    struct predict_scoring to = { f, out, all };
    int rc = 0;

    clear_scores(out);
    f->r->stamp++;
    CTT_TRY(ctt_eval_set_run(&f->set, &(struct ctt_eval_job){
        .arg = &to, .run = score_batch, .add = add_batch }));
    CTT_CHECK(rc > 0 || out->sequences, CTT_EIO,
              "no test sequence could be read");
out:
    ctt_run_rest(f->r);
    return rc;
}

/* ---- a model once ---- */

/* The arguments of ctt_evaluate_predict(); out: its result. */
struct predict_request {
    const struct ctt_model     *m;
    const struct ctt_train_cfg *cfg;
    struct ctt_data            *d;
    struct ctt_predict_scores  *out;
};

static int test_weights(void *arg, struct ctt_dev *dev, const float *w)
{
    struct predict_request *q = arg;
    struct ctt_predict_eval *f = NULL;
    int rc = 0;

    CTT_TRY(ctt_predict_eval_open(q->m->g, w, q->cfg, dev, q->d, &f));
    CTT_TRY(ctt_predict_scores_new(q->cfg->input_frames, q->cfg->future_frames,
                                   &q->out));
    CTT_TRY(ctt_predict_eval_run(f, 1, q->out));
out:
    ctt_predict_eval_close(&f);
    return rc;
}

int ctt_evaluate_predict(const struct ctt_model *m,
                         const struct ctt_train_cfg *cfg, struct ctt_data *d,
                         struct ctt_predict_scores **out)
{
    struct predict_request q = { m, cfg, d, NULL };
    int rc = 0;

    CTT_TRY(ctt_eval_model(m, cfg, test_weights, &q));
    *out = q.out;
    q.out = NULL;
out:
    ctt_predict_scores_free(&q.out);
    return rc;
}
