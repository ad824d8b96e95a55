/* SPDX-License-Identifier: Apache-2.0
 * engine.c: the common part of a session and a batch. */
#include "infer/engine.h"
#include "base/warn.h"
#include "run/sample.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

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

/* ---- a shared GPU ---- */

/* The device is open while it has users; w, w16: the weights in its memory, by
 * type. */
struct ctt_share {
    pthread_mutex_t lock;
    int             users;
    struct ctt_dev *dev;
    void           *w, *w16[CTT_BF16 + 1];
};

int ctt_share_new(struct ctt_share **out)
{
    struct ctt_share *s = ctt_calloc(1, sizeof(*s));
    pthread_mutexattr_t how;
    int rc = 0;

    CTT_TRY(s ? 0 : CTT_ENOMEM);
    pthread_mutexattr_init(&how);    /* a read may be a part of a push */
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&s->lock, &how);
    pthread_mutexattr_destroy(&how);
    *out = s;
out:
    return rc;
}

void ctt_share_free(struct ctt_share **s)
{
    if (*s)
        pthread_mutex_destroy(&(*s)->lock);
    ctt_free(*s);
    *s = NULL;
}

void ctt_engine_take(const struct ctt_engine *e)
{
    if (!e || !e->share)
        return;
    pthread_mutex_lock(&e->share->lock);
    if (!e->dev)
        return;
    ctt_dev_tf32(e->dev, e->tf32);
    if (e->run)
        ctt_run_profile(e->run, e->run->sum);
}

void ctt_engine_give(const struct ctt_engine *const *e)
{
    if (*e && (*e)->share)
        pthread_mutex_unlock(&(*e)->share->lock);
}

/* The weights in the GPU's memory, and their 16-bit copy; uploads what is not
 * there yet. */
static int share_weights(const struct ctt_infer *m, const float **w)
{
    int64_t n = m->model->g->weights;
    struct ctt_share *s = m->share;
    void **half = &s->w16[m->multiply], *p = NULL;
    int rc = 0;

    if (!s->w)
        CTT_TRY(ctt_dev_show(s->dev, "weights", m->model->w, n, &s->w, w));
    *w = s->w;
    if (m->multiply == CTT_F32 || *half)
        goto out;
    CTT_TRY(ctt_dev_alloc(s->dev, "weights in 16 bits", 2 * n, &p));
    *half = p;
    CTT_TRY(ctt_dev_cast(s->dev, s->w, m->multiply, p, n));
out:
    return rc;
}

/* The last user closes it. */
static void leave_share(struct ctt_share *s)
{
    if (--s->users)
        return;
    for (size_t i = 0; s->dev && i < CTT_LEN(s->w16); i++)
        ctt_dev_free(s->dev, &s->w16[i]);
    if (s->dev)
        ctt_dev_free(s->dev, &s->w);
    ctt_dev_close(&s->dev);
}

/* ---- */

static int open_engine_run(const struct ctt_infer *m, int streams, int own_past,
                           struct ctt_engine *e)
{
    const struct ctt_model *model = m->model;
    struct ctt_weight *weight = NULL;
    const float *w = model->w;
    int rc = 0;

    if (e->share)
        CTT_TRY(share_weights(m, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = model->g, .dev = e->dev, .w = w, .samples = streams,
        .steps = steps_of(m, streams, own_past), .asks = streams,
        .multiply = m->multiply }, &e->run));
    if (e->share) {    /* kernels of a GPU read floats or 16 bits */
        e->run->w16 = e->share->w16[m->multiply];
        goto out;
    }
    CTT_TRY(ctt_model_weights(model, &weight));
    CTT_TRY(ctt_run_weights(e->run, weight));
out:
    ctt_free(weight);
    return rc;
}

static int open_engine_dev(const struct ctt_infer *m, struct ctt_engine *e)
{
    struct ctt_dev **dev = e->share ? &e->share->dev : &e->dev;
    int rc = 0;

    if (!*dev)
        CTT_TRY(ctt_dev_open(m->device, m->threads, dev));
    e->dev = *dev;
out:
    return rc;
}

static int open_engine(const struct ctt_infer *m, int streams, int own_past,
                       struct ctt_engine *e)
{
    CTT_ENGINE_TAKEN(e);
    int rc = 0;

    if (e->share)
        e->share->users++;
    CTT_TRY(open_engine_dev(m, e));
    CTT_TRY(ctt_dev_own_threads(e->dev));
    ctt_dev_tune(e->dev, m->tune);
    if (m->multiply != CTT_F32 && !ctt_dev_multiplies(e->dev, m->multiply))
        ctt_warn("%s: the device has no kernels for %s here (AVX512-%s), so "
                 "convs multiply floats", m->path, ctt_dtype_word(m->multiply),
                 m->multiply == CTT_F16 ? "FP16" : "BF16");
    CTT_TRY(ctt_infer_blame(m, open_engine_run(m, streams, own_past, e)));
out:
    return rc;
}

int ctt_engine_open(const struct ctt_infer *m, int streams, int own_past,
                    struct ctt_engine *e)
{
    e->share = m->share;
    e->tf32 = m->tf32;
    return open_engine(m, streams, own_past, e);
}

void ctt_engine_close(struct ctt_engine *e)
{
    CTT_ENGINE_TAKEN(e);

    ctt_run_close(&e->run);
    if (!e->share)
        ctt_dev_close(&e->dev);
    else
        leave_share(e->share);
    e->dev = NULL;
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
