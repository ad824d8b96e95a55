/* SPDX-License-Identifier: Apache-2.0
 * evaluate.c: how well a model predicts, frame by frame, beside those who know
 * nothing. */
#include "device/ewise.h"
#include "libtrain/predict/predict.h"
#include "video/baseline.h"

#include <math.h>
#include <string.h>

/* ---- sums ---- */

int ctt_forecast_new(int observed, int future, struct ctt_forecast **out)
{
    struct ctt_forecast *f = ctt_calloc(1, sizeof(*f));
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->observed = observed;
    f->future = future;
    for (int k = 0; k < CTT_GUESSERS; k++) {
        f->sum[k] = ctt_calloc((size_t)future, sizeof(**f->sum));
        CTT_TRY(f->sum[k] ? 0 : CTT_ENOMEM);
    }
    *out = f;
    return 0;
out:
    ctt_forecast_free(&f);
    return rc;
}

void ctt_forecast_free(struct ctt_forecast **f)
{
    if (!*f)
        return;
    for (int k = 0; k < CTT_GUESSERS; k++)
        ctt_free((*f)->sum[k]);
    ctt_free(*f);
    *f = NULL;
}

void ctt_forecast_clear(struct ctt_forecast *f)
{
    f->sequences = 0;
    f->loss = 0;
    for (int k = 0; k < CTT_GUESSERS; k++)
        memset(f->sum[k], 0, (size_t)f->future * sizeof(**f->sum));
}

static void add(struct ctt_quality *to, const struct ctt_quality *q, double by)
{
    to->mse += q->mse * by;
    to->psnr += q->psnr * by;
    to->ssim += q->ssim * by;
    to->ssim2 += q->ssim2 * by;
}

struct ctt_quality ctt_forecast_at(const struct ctt_forecast *f,
                                   enum ctt_guesser who, int ahead)
{
    int from = ahead ? ahead - 1 : 0, to = ahead ? ahead : f->future;
    struct ctt_quality q = { 0 };

    for (int k = from; k < to && f->sequences; k++)
        add(&q, &f->sum[who][k],
            1 / ((double)f->sequences * (double)(to - from)));
    return q;
}

/* ---- the run ---- */

/* A place for one picture each, with values in 0..1. */
enum picture { TRUTH, GUESS, BEFORE, LAST, PICTURES };

struct ctt_forecaster {
    const struct ctt_graph *g;
    struct ctt_run    *r;
    struct ctt_loader *l;
    struct ctt_order  *plan;
    struct ctt_input   in;
    int                loss, input, answer, observed, frames;
    int64_t            frame;              /* floats */
    float             *feedback;           /* [n][frame]: the last answers */
    float             *pic[PICTURES];
};

static int take_memory(struct ctt_forecaster *f, int n)
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

int ctt_forecaster_open(const struct ctt_graph *g, const float *w,
                        const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                        struct ctt_data *d, struct ctt_forecaster **out)
{
    struct ctt_forecaster *f = ctt_calloc(1, sizeof(*f));
    int n = cfg->val_batch < d->clips ? cfg->val_batch : d->clips;
    struct ctt_buckets b;
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->g = g;
    f->input = ctt_graph_input(g);
    f->answer = ctt_graph_output(g);
    f->in = g->node[f->input].attr.input;
    f->frame = ctt_volume(&g->node[f->input].out);
    f->loss = cfg->loss;
    f->observed = cfg->input_frames;
    f->frames = cfg->input_frames + cfg->future_frames;
    CTT_TRY(ctt_predictor.check(g, cfg, d));
    CTT_CHECK(f->in.h >= 7 && f->in.w >= 7, CTT_EUNSUP,
              "frames of %dx%d are too small to measure SSIM", f->in.w,
              f->in.h);
    CTT_TRY(take_memory(f, n));
    CTT_TRY(ctt_buckets_find(d, n, "1", &b));
    CTT_TRY(ctt_order_new(d, n, &f->plan));
    ctt_order_make(d, &b, 0, 0, f->plan);
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = g, .dev = dev, .w = w, .samples = n, .steps = 1 }, &f->r));
    CTT_TRY(ctt_loader_open(d, n, f->frames, &f->l));
    *out = f;
    return 0;
out:
    ctt_forecaster_close(&f);
    return rc;
}

void ctt_forecaster_close(struct ctt_forecaster **f)
{
    if (!*f)
        return;
    ctt_loader_close(&(*f)->l);
    ctt_run_close(&(*f)->r);
    ctt_order_free(&(*f)->plan);
    ctt_free((*f)->feedback);
    for (int k = 0; k < PICTURES; k++)
        ctt_free((*f)->pic[k]);
    ctt_free(*f);
    *f = NULL;
}

static const float *frame_of(const struct ctt_forecaster *f,
                             const struct ctt_batch *b, int t, int j)
{
    return b->x + ((int64_t)t * b->n + j) * f->frame;
}

/* One step: sees a true frame, or what it said last. */
static int step(struct ctt_forecaster *f, const struct ctt_batch *b, int t)
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

static double loss_of(const struct ctt_forecaster *f, const float *truth,
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

/* The picture of a frame; rounding may have left 0..1. */
static void picture(const struct ctt_forecaster *f, const float *x,
                    enum picture to)
{
    int c = f->in.c;

    for (int64_t i = 0; i < f->frame; i++) {
        int k = (int)(i % c) < 3 ? (int)(i % c) : 2;
        float v = x[i] * f->in.std[k] + f->in.mean[k];
        f->pic[to][i] = fminf(fmaxf(v, 0), 1);
    }
}

static int rate(const struct ctt_forecaster *f, enum picture guess,
                struct ctt_quality *sum)
{
    struct ctt_quality q;
    int rc = 0;

    CTT_TRY(ctt_quality(f->pic[TRUTH], f->pic[guess], f->in.h, f->in.w,
                        f->in.c, &q));
    add(sum, &q, 1);
out:
    return rc;
}

/* What the model said of frame t of all sequences. */
static int rate_model(const struct ctt_forecaster *f, const struct ctt_batch *b,
                      int t, struct ctt_forecast *out)
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
        CTT_TRY(rate(f, GUESS, &out->sum[CTT_MODEL][ahead]));
    }
out:
    return rc;
}

/* What those say who know nothing, of sequence j. */
static int rate_others(const struct ctt_forecaster *f,
                       const struct ctt_batch *b, int j,
                       struct ctt_forecast *out)
{
    int last = f->observed - 1, rc = 0;

    picture(f, frame_of(f, b, last, j), LAST);
    picture(f, frame_of(f, b, last ? last - 1 : 0, j), BEFORE);
    for (int k = 0; k < out->future; k++) {
        picture(f, frame_of(f, b, f->observed + k, j), TRUTH);
        CTT_TRY(rate(f, LAST, &out->sum[CTT_LAST_FRAME][k]));
        CTT_TRY(ctt_baseline_linear(f->pic[BEFORE], f->pic[LAST], f->in.h,
                                    f->in.w, f->in.c, k + 1, f->pic[GUESS]));
        CTT_TRY(rate(f, GUESS, &out->sum[CTT_LINEAR_MOTION][k]));
    }
out:
    return rc;
}

static int run_batch(struct ctt_forecaster *f, const struct ctt_batch *b,
                     int all, struct ctt_forecast *out)
{
    int rc = 0;

    ctt_run_reset(f->r);
    for (int t = 0; t + 1 < f->frames; t++) {
        CTT_TRY(step(f, b, t));
        CTT_TRY(rate_model(f, b, t + 1, out));
    }
    for (int j = 0; j < b->n; j++) {
        out->sequences += b->length[j] > 0;
        if (b->length[j] && all)
            CTT_TRY(rate_others(f, b, j, out));
    }
out:
    return rc;
}

int ctt_forecaster_run(struct ctt_forecaster *f, const struct ctt_events *ev,
                       int all, struct ctt_forecast *out)
{
    struct ctt_augment none = { 0 };
    struct ctt_batch b;
    double seconds = 0;
    int rc = 0;

    ctt_forecast_clear(out);
    f->r->stamp++;
    ctt_loader_start(f->l, f->plan, &none, 0);
    while ((rc = ctt_loader_next(f->l, &b, &seconds)) > 0) {
        if (b.bad && ev && ev->clip)
            ev->clip(ev->arg, b.bad);
        CTT_TRY(run_batch(f, &b, all, out));
        ctt_loader_done(f->l);
        if (ev && ev->stop && ev->stop(ev->arg))
            return 1;
    }
    CTT_TRY(rc);
    CTT_CHECK(out->sequences, CTT_EIO, "no test sequence could be read");
out:
    return rc;
}

int ctt_forecast(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                 struct ctt_data *d, const struct ctt_events *ev,
                 struct ctt_forecast **out)
{
    struct ctt_forecaster *f = NULL;
    struct ctt_forecast *sums = NULL;
    struct ctt_dev *dev = NULL;
    const float *w;
    void *own = NULL;
    int rc = 0;

    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &dev));
    CTT_TRY(ctt_dev_show(dev, "weights", m->w, m->g->weights, &own, &w));
    CTT_TRY(ctt_forecaster_open(m->g, w, cfg, dev, d, &f));
    CTT_TRY(ctt_forecast_new(cfg->input_frames, cfg->future_frames, &sums));
    CTT_TRY(ctt_forecaster_run(f, ev, 1, sums));
    CTT_CHECK(rc == 0, CTT_EINVAL, "stopped while evaluating");
    *out = sums;
    sums = NULL;
out:
    ctt_forecast_free(&sums);
    ctt_forecaster_close(&f);
    ctt_dev_free(dev, &own);
    ctt_dev_close(&dev);
    return rc;
}
