/* SPDX-License-Identifier: Apache-2.0
 * session.c: sessions that run frames through a loaded model. */
#include "infer/gain.h"
#include "infer/loaded.h"
#include "net/clock.h"
#include "net/pixels.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 8 };

/* Values of more floats than this are computed for fewer steps at once: cache
 * misses would cost more than a batch of steps gains. */
static const int64_t ample = INT64_C(1) << 20;

struct ctt_session {
    const struct ctt_infer *m;
    struct ctt_dev         *dev;
    struct ctt_run         *run;
    void                   *w;       /* weights, if the device has memory of
                                        its own */
    float                  *numbers; /* frames to be copied to the device, or
                                        an output copied from it */
    unsigned                tuned;   /* bit n: windows of n steps are */
    struct ctt_pixels       pixels;  /* byte to float */
    struct ctt_gain         gain[1 + MOST_STEPS];    /* of the clip part; of
                                                        windows of n steps */
};

/* The number of values per frame. */
static int64_t frame_of(const struct ctt_session *s)
{
    const struct ctt_infer_input *w = &s->m->wants;

    return (int64_t)w->h * w->w * w->c;
}

/* Several steps per window, so that they run at once and the history is moved
 * seldom; fewer steps if values are large. */
static int open_run(struct ctt_session *s)
{
    const struct ctt_model *model = s->m->model;
    int64_t largest = 1, most;
    int room = MOST_STEPS, rc = 0;
    struct ctt_weight *weight = NULL;
    const float *w;

    for (int i = 0; i < model->g->clip; i++)
        if (ctt_volume(&model->g->node[i].out) > largest)
            largest = ctt_volume(&model->g->node[i].out);
    while (room > 1 && room * largest > ample)
        room /= 2;
    CTT_TRY(ctt_dev_show(s->dev, "weights", model->w, model->g->weights,
                         &s->w, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = model->g, .dev = s->dev, .w = w, .samples = 1, .steps = room,
        .asks = 1, .multiply = s->m->multiply }, &s->run));
    CTT_TRY(ctt_model_weights(model, &weight));
    CTT_TRY(ctt_run_weights(s->run, weight));
    most = room * frame_of(s);
    most = most > s->m->classes ? most : s->m->classes;
    s->numbers = ctt_calloc((size_t)most, sizeof(float));
    CTT_TRY(s->numbers ? 0 : CTT_ENOMEM);
out:
    ctt_free(weight);
    return rc;
}

int ctt_session_open(const struct ctt_infer *m, struct ctt_session **out)
{
    struct ctt_session *s = NULL;
    int rc = 0;

    GIVEN(m);
    GIVEN(out);
    s = ctt_calloc(1, sizeof(*s));
    CTT_TRY(s ? 0 : CTT_ENOMEM);
    s->m = m;
    ctt_pixels_begin(&s->pixels, &m->model->g->node[m->input].attr.input);
    CTT_TRY(ctt_dev_open(m->device, m->threads, &s->dev));
    CTT_TRY(ctt_dev_own_threads(s->dev));
    for (int i = 0; i <= MOST_STEPS; i++)
        ctt_gain_begin(&s->gain[i], ctt_dev_used(s->dev));
    ctt_dev_tune(s->dev, m->tune);
    CTT_TRY(ctt_infer_blame(m, open_run(s)));
    *out = s;
    s = NULL;
out:
    ctt_session_close(&s);
    return rc;
}

void ctt_session_close(struct ctt_session **s)
{
    if (!s || !*s)
        return;
    ctt_run_close(&(*s)->run);
    if ((*s)->w)
        ctt_dev_free((*s)->dev, &(*s)->w);
    ctt_dev_close(&(*s)->dev);
    ctt_free((*s)->numbers);
    ctt_free(*s);
    *s = NULL;
}

void ctt_session_reset(struct ctt_session *s)
{
    if (!s)
        return;
    ctt_run_reset(s->run);
    ctt_pixels_reset(&s->pixels);
}

int64_t ctt_session_frames(const struct ctt_session *s)
{
    return s ? s->run->past + s->run->cursor : 0;
}

struct ctt_run *ctt_session_run(const struct ctt_session *s)
{
    return s->run;
}

int ctt_session_threads(struct ctt_session *s)
{
    int most = 1;

    for (int i = 0; i <= MOST_STEPS; i++)
        if (s->gain[i].first && s->gain[i].now > most)
            most = s->gain[i].now;
    ctt_dev_use(s->dev, most);
    return ctt_dev_used(s->dev);
}

static void bytes_in(struct ctt_session *s, const void *from, int64_t count,
                     float *to)
{
    const struct ctt_input *in = &s->pixels.in;
    int64_t frame = frame_of(s);
    const uint8_t *p = from;

    for (int64_t i = 0; i < count; i += frame) {
        ctt_pixels_next(&s->pixels, p + i, (size_t)in->w * (size_t)in->c);
        ctt_pixels_float(&s->pixels, p + i, frame / in->c, in->c, to + i);
    }
}

static void floats_in(struct ctt_session *s, const void *from, int64_t count,
                      float *to)
{
    (void)s;
    memcpy(to, from, (size_t)count * sizeof(float));
}

/* At the start of a stream, as tuning leaves other states: for windows of so
 * many steps, and of one, in which predictions go on. */
static int tune(struct ctt_session *s, int steps)
{
    int rc = 0;

    for (int n = steps; n > 0; n = n > 1 ? 1 : 0) {
        if (!s->m->tune || s->tuned >> n & 1)
            continue;
        ctt_dev_use(s->dev, ctt_dev_threads(s->dev));
        CTT_TRY(ctt_run_tune(s->run, n));
        s->tuned |= 1u << n;
    }
out:
    return rc;
}

/* Runs so many steps, or 0: the clip part, by as many threads as pay. */
static int run(struct ctt_session *s, int steps)
{
    struct ctt_gain *g = &s->gain[steps];
    double begin = ctt_seconds();
    int rc;

    ctt_dev_use(s->dev, ctt_gain_threads(g));
    if (steps)
        CTT_TRY(ctt_run_steps(s->run, steps));
    else
        CTT_TRY(ctt_run_clip(s->run, 1));
    ctt_gain_frame(g, ctt_seconds() - begin);
out:
    return rc;
}

static int push(struct ctt_session *s, const void *frames, size_t size,
                int count,
                void (*in)(struct ctt_session *, const void *, int64_t,
                           float *))
{
    int64_t frame, rows;
    int rc = 0, some;

    GIVEN(s);
    GIVEN(frames);
    CTT_CHECK(count > 0, CTT_EINVAL, "push: %d frames", count);
    frame = frame_of(s);
    rows = frame / s->m->wants.c;
    for (int i = 0; i < count; i += some) {
        some = count - i < s->run->room ? count - i : s->run->room;
        if (ctt_session_frames(s) == 0)
            CTT_TRY(tune(s, some));
        CTT_TRY(ctt_run_make_room(s->run, some));
        in(s, (const char *)frames + (size_t)(i * frame) * size, some * frame,
           s->numbers);
        CTT_TRY(ctt_run_put(s->run, s->m->input, s->run->cursor, s->numbers,
                            some * rows));
        CTT_TRY(run(s, some));
    }
out:
    return rc;
}

int ctt_session_push(struct ctt_session *s, const uint8_t *frames, int count)
{
    return push(s, frames, 1, count, bytes_in);
}

int ctt_session_push_float(struct ctt_session *s, const float *frames,
                           int count)
{
    return push(s, frames, sizeof(float), count, floats_in);
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

int ctt_session_read(struct ctt_session *s, float *probs)
{
    struct ctt_run *r;
    int rc = 0;

    GIVEN(s);
    GIVEN(probs);
    r = s->run;
    CTT_CHECK(!s->m->predicts, CTT_EINVAL,
              "read: this model has no classes, it predicts frames");
    /* A push that failed may have moved the window and run no step of it. */
    CTT_CHECK(r->cursor > 0, CTT_EINVAL, "read: no frame has been pushed");
    if (r->g->clip < r->g->count) {
        r->ask[0] = (struct ctt_ask){ 0, r->cursor - 1 };
        CTT_TRY(run(s, 0));
    }
    CTT_TRY(ctt_run_get(r, s->m->output, r->cursor - 1, 1, s->numbers));
    CTT_TRY(softmax(s->numbers, s->m->classes, probs));
out:
    return rc;
}

/* The output of the last step. */
static int take_frame(const struct ctt_session *s, float *frame)
{
    const struct ctt_run *r = s->run;
    const struct ctt_tensor *t = &r->g->node[s->m->output].out;
    int rc = 0;

    CTT_TRY(ctt_run_get(r, s->m->output, r->cursor - 1, ctt_rows(t), frame));
    for (int64_t i = 0; i < ctt_volume(t); i++)
        CTT_CHECK(isfinite(frame[i]), CTT_ENAN,
                  "predict: the model's answer is not finite");
out:
    return rc;
}

int ctt_session_predict(struct ctt_session *s, int count, float *frames)
{
    int64_t size;
    int rc = 0;

    GIVEN(s);
    GIVEN(frames);
    size = frame_of(s);
    CTT_CHECK(s->m->predicts, CTT_EINVAL,
              "predict: this model's answer is classes, not a frame");
    CTT_CHECK(count > 0, CTT_EINVAL, "predict: %d frames", count);
    CTT_CHECK(s->run->cursor > 0, CTT_EINVAL,
              "predict: no frame has been pushed");
    for (int i = 0; i < count; i++) {
        if (i > 0)
            CTT_TRY(ctt_session_push_float(s, frames + (i - 1) * size, 1));
        CTT_TRY(take_frame(s, frames + i * size));
    }
out:
    return rc;
}
