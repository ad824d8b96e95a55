/* SPDX-License-Identifier: Apache-2.0
 * engine.c: the common part of a session and a batch. */
#include "infer/engine.h"
#include "base/warn.h"
#include "run/sample.h"

#include <float.h>
#include <math.h>

/* Most floats of values for several steps at once: beyond, cache misses cost
 * more than a batch of steps gains. */
static const int64_t ample = INT64_C(1) << 20;

int64_t ctt_engine_frame(const struct ctt_infer *m)
{
    return (int64_t)m->wants.h * m->wants.w * m->wants.c;
}

/* Steps per window: several, so that they run at once and the history is moved
 * seldom; fewer if values are large. */
static int steps_of(const struct ctt_infer *m, int streams, int own_past)
{
    const struct ctt_graph *g = m->model->g;
    int64_t largest = 1;
    int room = CTT_ENGINE_STEPS;

    for (int i = 0; i < g->clip; i++)
        if (ctt_volume(&g->node[i].out) > largest)
            largest = ctt_volume(&g->node[i].out);
    while (room > 1 && room * largest > ample / streams)
        room /= 2;
    return own_past ? ctt_sample_room(g, room) : room;
}

static int open_engine_run(const struct ctt_infer *m, int streams, int own_past,
                           struct ctt_engine *e)
{
    const struct ctt_model *model = m->model;
    struct ctt_weight *weight = NULL;
    const float *w;
    int rc = 0;

    CTT_TRY(ctt_dev_show(e->dev, "weights", model->w, model->g->weights,
                         &e->w, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = model->g, .dev = e->dev, .w = w, .samples = streams,
        .steps = steps_of(m, streams, own_past), .asks = streams,
        .multiply = m->multiply }, &e->run));
    CTT_TRY(ctt_model_weights(model, &weight));
    CTT_TRY(ctt_run_weights(e->run, weight));
out:
    ctt_free(weight);
    return rc;
}

int ctt_engine_open(const struct ctt_infer *m, int streams, int own_past,
                    struct ctt_engine *e)
{
    int rc = 0;

    CTT_TRY(ctt_dev_open(m->device, m->threads, &e->dev));
    CTT_TRY(ctt_dev_own_threads(e->dev));
    ctt_dev_tune(e->dev, m->tune);
    if (m->multiply != CTT_F32 && !ctt_dev_bf16(e->dev))
        ctt_warn("%s: the device has no kernels for bf16 here (AVX512-BF16), "
                 "so convs multiply floats", m->path);
    CTT_TRY(ctt_infer_blame(m, open_engine_run(m, streams, own_past, e)));
out:
    return rc;
}

void ctt_engine_close(struct ctt_engine *e)
{
    ctt_run_close(&e->run);
    if (e->w)
        ctt_dev_free(e->dev, &e->w);
    ctt_dev_close(&e->dev);
}

int ctt_engine_finite(const float *x, int64_t n)
{
    int64_t bad = 0, at = 0;
    int rc = 0;

    for (int64_t i = 0; i < n; i++)
        bad += !(fabsf(x[i]) <= FLT_MAX);
    if (!bad)
        goto out;
    while (isfinite(x[at]))
        at++;
    CTT_CHECK(0, CTT_EINVAL, "push: value %lld of the frames is %g: values "
              "must be finite", (long long)at, (double)x[at]);
out:
    return rc;
}

static int softmax(const float *z, int n, float *p)
{
    float top = z[0];
    double sum = 0;
    int rc = 0;

    for (int i = 1; i < n; i++)
        top = z[i] > top ? z[i] : top;
    for (int i = 0; i < n; i++)
        sum += exp((double)z[i] - (double)top);
    CTT_CHECK(isfinite(sum), CTT_ENAN,
              "read: the model's answer is not finite");
    for (int i = 0; i < n; i++)
        p[i] = (float)(exp((double)z[i] - (double)top) / sum);
out:
    return rc;
}

static int sigmoids(const float *z, int n, float *p)
{
    int rc = 0;

    for (int i = 0; i < n; i++)
        CTT_CHECK(!isnan(z[i]), CTT_ENAN,
                  "read: the model's answer is not finite");
    for (int i = 0; i < n; i++)
        p[i] = (float)(1 / (1 + exp(-(double)z[i])));
out:
    return rc;
}

int ctt_engine_probs(const struct ctt_infer *m, const float *z, float *p)
{
    return (m->several ? sigmoids : softmax)(z, m->classes, p);
}
