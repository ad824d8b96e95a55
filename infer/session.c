/* SPDX-License-Identifier: Apache-2.0
 * session.c: sessions that run frames through a loaded model. */
#include "infer/decide.h"
#include "infer/engine.h"
#include "infer/thread_tuner.h"
#include "infer/inside.h"
#include "infer/saved.h"
#include "base/clock.h"
#include "base/span.h"
#include "net/late.h"
#include "net/pixels.h"
#include "run/sample.h"
#include "base/locale.h"

#include <math.h>
#include <string.h>

struct ctt_session {
    const struct ctt_infer *m;
    struct ctt_engine       engine;
    struct ctt_dev         *dev;     /* the engine's */
    struct ctt_run         *run;
    float                  *numbers; /* frames to be copied to the device, or
                                        an output copied from it: */
    int64_t                 most;    /* length of numbers */
    struct ctt_node_sums    sums;    /* times of nodes */
    unsigned                tuned;   /* bit n: windows of n steps are tuned */
    struct ctt_pixels       pixels;  /* byte to float */
    struct ctt_decide       decide;
    struct ctt_thread_tuner gain[1 + CTT_ENGINE_STEPS]; /* of the clip
                                        part; of windows of n steps */
};

/* The number of values per frame. */
static int64_t frame_of(const struct ctt_session *s)
{
    return ctt_engine_frame(s->m);
}

static int make_numbers(struct ctt_session *s)
{
    int64_t most = s->run->room * frame_of(s);
    int rc = 0;

    s->most = most > s->m->classes ? most : s->m->classes;
    s->numbers = ctt_calloc((size_t)s->most, sizeof(float));
    CTT_TRY(s->numbers ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int ctt_session_open(const struct ctt_infer *m, struct ctt_session **out)
{
    CTT_PLAIN_NUMBERS;
    struct ctt_session *s = NULL;
    int rc = 0;

    GIVEN(m);
    GIVEN(out);
    s = ctt_calloc(1, sizeof(*s));
    CTT_TRY(s ? 0 : CTT_ENOMEM);
    s->m = m;
    ctt_pixels_begin(&s->pixels, &m->model->g->node[m->input].attr.input);
    CTT_TRY(ctt_engine_open(m, 1, 0, &s->engine));
    s->dev = s->engine.dev;
    s->run = s->engine.run;
    for (int i = 0; i <= CTT_ENGINE_STEPS; i++)
        ctt_thread_tuner_begin(&s->gain[i], ctt_dev_used(s->dev));
    CTT_TRY(ctt_infer_blame(m, ctt_decide_open(m, &s->decide)));
    CTT_TRY(make_numbers(s));
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
    ctt_engine_close(&(*s)->engine);
    ctt_free((*s)->numbers);
    ctt_free((*s)->sums.sum);
    ctt_decide_close(&(*s)->decide);
    ctt_free(*s);
    *s = NULL;
}

void ctt_session_reset(struct ctt_session *s)
{
    CTT_ENGINE_TAKEN(s ? &s->engine : NULL);

    if (!s)
        return;
    ctt_run_reset(s->run);
    ctt_decide_reset(&s->decide);
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

    for (int i = 0; i <= CTT_ENGINE_STEPS; i++)
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

/* Tunes windows of `steps` steps and of one step (for predictions).  Only at
 * the start of a stream, as tuning changes states. */
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

/* Runs `steps` steps, or the clip part (0), with as many threads as are
 * faster. */
static int run_steps(struct ctt_session *s, int steps)
{
    struct ctt_thread_tuner *g = &s->gain[steps];
    double begin = ctt_seconds();
    int rc;

    ctt_dev_use(s->dev, ctt_thread_tuner_threads(g));
    if (steps)
        CTT_TRY(ctt_run_steps(s->run, steps));
    else
        CTT_TRY(ctt_run_clip(s->run, 1));
    ctt_thread_tuner_frame(g, ctt_seconds() - begin);
out:
    ctt_lates_tidy(s->m->model->late);
    return rc;
}

/* Decides if a check is due. */
static int check_decision(struct ctt_session *s)
{
    int rc = 0;

    if (!ctt_decide_due(&s->decide, ctt_session_frames(s)))
        goto out;
    CTT_TRY(ctt_session_read(s, s->decide.probs));
    ctt_decide_check(&s->decide);
out:
    return rc;
}

static int push_frames(struct ctt_session *s, const void *frames, size_t size,
                       int count,
                       void (*in)(struct ctt_session *, const void *, int64_t,
                                  float *))
{
    CTT_ENGINE_TAKEN(s ? &s->engine : NULL);
    int64_t frame, rows;
    int rc = 0, some;
    double start;

    GIVEN(s);
    GIVEN(frames);
    CTT_CHECK(count > 0, CTT_EINVAL, "push: %d frames", count);
    CTT_CHECK(!s->decide.ended, CTT_EINVAL, "push: the stream has ended");
    frame = frame_of(s);
    rows = frame / s->m->wants.c;
    for (int i = 0; i < count; i += some) {
        some = count - i < s->run->room ? count - i : s->run->room;
        some = ctt_decide_until(&s->decide, ctt_session_frames(s), some);
        if (ctt_session_frames(s) == 0)
            CTT_TRY(tune(s, some));
        start = ctt_span_begin();
        CTT_TRY(ctt_run_make_room(s->run, some));
        in(s, (const char *)frames + (size_t)(i * frame) * size, some * frame,
           s->numbers);
        CTT_TRY(ctt_run_put(s->run, s->m->input, s->run->cursor, s->numbers,
                            some * rows));
        ctt_span_end(CTT_SPAN_INPUT, start);
        CTT_TRY(run_steps(s, some));
        ctt_span_end(CTT_SPAN_FRAME, start);
        CTT_TRY(check_decision(s));
    }
out:
    return rc;
}

int ctt_session_push(struct ctt_session *s, const uint8_t *frames, int count)
{
    return push_frames(s, frames, 1, count, bytes_in);
}

int ctt_session_push_float(struct ctt_session *s, const float *frames,
                           int count)
{
    int rc = 0;

    if (s && frames && count > 0)
        CTT_TRY(ctt_engine_finite(frames, count * frame_of(s)));
    CTT_TRY(push_frames(s, frames, sizeof(float), count, floats_in));
out:
    return rc;
}

int ctt_session_read(struct ctt_session *s, float *probs)
{
    CTT_ENGINE_TAKEN(s ? &s->engine : NULL);
    double start = ctt_span_begin();
    struct ctt_run *r;
    int rc = 0;

    GIVEN(s);
    GIVEN(probs);
    r = s->run;
    CTT_CHECK(!s->m->predicts, CTT_EINVAL,
              "read: this model has no classes, it predicts frames");
    /* A failed push may have moved the window without running a step. */
    CTT_CHECK(r->cursor > 0, CTT_EINVAL, "read: no frame has been pushed");
    if (r->g->clip < r->g->count) {
        r->ask[0] = (struct ctt_ask){ 0, r->cursor - 1 };
        CTT_TRY(run_steps(s, 0));
    }
    CTT_TRY(ctt_run_get(r, s->m->output, r->cursor - 1, 1, s->numbers));
    CTT_TRY(ctt_infer_blame(s->m, ctt_engine_probs(s->m, s->numbers, probs)));
    ctt_span_end(CTT_SPAN_ANSWER, start);
out:
    return rc;
}

int ctt_session_decided(const struct ctt_session *s,
                        struct ctt_infer_decision *out)
{
    int rc = 0;

    GIVEN(s);
    GIVEN(out);
    CTT_CHECK(s->decide.d, CTT_EINVAL, "decided: this session does not decide");
    if (s->decide.done)
        *out = s->decide.made;
    rc = s->decide.done;
out:
    return rc;
}

int ctt_session_end(struct ctt_session *s)
{
    int rc = 0;

    GIVEN(s);
    CTT_CHECK(s->decide.d, CTT_EINVAL, "end: this session does not decide");
    CTT_CHECK(s->run->cursor > 0, CTT_EINVAL, "end: no frame has been pushed");
    if (!s->decide.done)
        CTT_TRY(ctt_session_read(s, s->decide.probs));
    ctt_decide_end(&s->decide, ctt_session_frames(s));
out:
    return rc;
}

/* Copies the output of the last step. */
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
    CTT_ENGINE_TAKEN(s ? &s->engine : NULL);
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
        CTT_TRY(ctt_infer_blame(s->m, take_frame(s, frames + i * size)));
    }
out:
    return rc;
}

/* ---- nodes ---- */

int ctt_session_time_nodes(struct ctt_session *s, int on)
{
    CTT_ENGINE_TAKEN(s ? &s->engine : NULL);
    int rc = 0;

    GIVEN(s);
    CTT_TRY(ctt_nodes_time(s->run, on, &s->sums));
out:
    return rc;
}

int ctt_session_node(const struct ctt_session *s, int i,
                     struct ctt_infer_node *node)
{
    int rc = 0;

    GIVEN(s);
    GIVEN(node);
    CTT_CHECK(i >= 0 && i < s->run->g->count, CTT_EINVAL,
              "no node %d: the model has %d", i, s->run->g->count);
    ctt_nodes_get(s->run, &s->sums, i, node);
out:
    return rc;
}

/* ---- saved streams ---- */

int ctt_session_save(struct ctt_session *s, const char *path)
{
    CTT_ENGINE_TAKEN(s ? &s->engine : NULL);
    CTT_PLAIN_NUMBERS;
    struct ctt_saved saved = { .image = NULL };
    int rc = 0;

    GIVEN(s);
    GIVEN(path);
    CTT_TRY(ctt_saved_new(s->run, ctt_session_frames(s), &s->pixels,
                          &s->decide, &saved));
    /* A failed push may have moved the window without running a step. */
    CTT_CHECK(s->run->cursor > 0 || !saved.frames, CTT_EINVAL,
              "%s: the last push failed; there is nothing to save", path);
    if (saved.frames)
        CTT_TRY(ctt_sample_save(s->run, 0, CTT_TO_HOST, saved.values));
    CTT_TRY(ctt_saved_write(path, s->m, s->run, &saved));
out:
    ctt_saved_free(&saved);
    return rc;
}

/* Restores the state after a reset and `frames` frames, the last one alone in
 * its window. */
static int continue_stream(struct ctt_session *s, const struct ctt_saved *saved)
{
    int rc = 0;

    if (!saved->frames)
        goto out;
    CTT_TRY(tune(s, 1));
    s->run->past = saved->frames - 1;
    s->run->cursor = 1;
    CTT_TRY(ctt_sample_load(s->run, 0, saved->frames, CTT_TO_DEVICE,
                            saved->values));
    ctt_saved_pixels(saved, &s->pixels);
out:
    return rc;
}

int ctt_session_restore(struct ctt_session *s, const char *path)
{
    CTT_ENGINE_TAKEN(s ? &s->engine : NULL);
    CTT_PLAIN_NUMBERS;
    struct ctt_saved saved = { .image = NULL };
    int rc = 0;

    GIVEN(s);
    GIVEN(path);
    CTT_TRY(ctt_saved_read(path, s->m, s->run, &s->decide, &saved));
    ctt_session_reset(s);
    CTT_TRY(continue_stream(s, &saved));
    ctt_saved_decision(&saved, &s->decide);
out:
    ctt_saved_free(&saved);
    return rc;
}

int64_t ctt_session_bytes(const struct ctt_session *s)
{
    return s ? (int64_t)sizeof(*s) + s->run->values +
               s->most * (int64_t)sizeof(float) : 0;
}
