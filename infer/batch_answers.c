/* SPDX-License-Identifier: Apache-2.0
 * batch_answers.c: answers of a batch's streams: classes, or frames. */
#include "infer/batch_internal.h"

#include <math.h>
#include <string.h>

/* Copies the answers of the streams with a pointer from the device, `size`
 * numbers each: in their order if the model computes answers on demand, else by
 * place. */
static int copy_answers(struct ctt_batch *b, const void *const *wanted)
{
    struct ctt_run *r = b->run;
    int64_t rows = ctt_rows(&r->g->node[b->m->output].out);
    int asks = 0, rc = 0;

    CTT_TRY(ctt_batch_seat_all(b, wanted));
    if (r->g->clip == r->g->count)
        return ctt_run_get(r, b->m->output, r->cursor - 1, b->end * rows,
                           b->numbers);
    for (int i = 0; i < b->streams; i++)
        if (wanted[i])
            r->ask[asks++] = (struct ctt_ask){ b->stream[i].at,
                                               r->cursor - 1 };
    if (asks) {
        CTT_TRY(ctt_batch_compute(b, CTT_BATCH_CLIP, asks));
        CTT_TRY(ctt_run_get(r, b->m->output, 0, asks, b->numbers));
    }
out:
    return rc;
}

/* Numbers of a stream's answer, after copy_answers(). */
static const float *stream_answer(const struct ctt_batch *b, int stream,
                                  int ask, int64_t size)
{
    int on_demand = b->run->g->clip < b->run->g->count;

    return b->numbers + (on_demand ? ask : b->stream[stream].at) * size;
}

static int check_frames(const struct ctt_batch *b, const char *what,
                        const void *const *wanted)
{
    int rc = 0;

    for (int i = 0; i < b->streams; i++)
        CTT_CHECK(!wanted[i] || b->stream[i].frames > 0, CTT_EINVAL,
                  "%s: stream %d has had no frame", what, i);
out:
    return rc;
}

int ctt_batch_probs(struct ctt_batch *b, float *const *probs)
{
    int n = b->m->classes, bad, rc = 0;

    CTT_TRY(copy_answers(b, (const void *const *)probs));
    for (int i = 0, ask = 0; i < b->streams; i++) {
        if (!probs[i])
            continue;
        bad = ctt_engine_probs(b->m, stream_answer(b, i, ask++, n), probs[i]);
        b->stream[i].bad = bad < 0;
        if (bad < 0 && rc == 0)
            rc = ctt_error(bad, "stream %d: %s: %s", i, b->m->path,
                           ctt_errmsg());
    }
out:
    return rc;
}

int ctt_batch_read(struct ctt_batch *b, float *const *probs)
{
    CTT_ENGINE_TAKEN(b ? &b->engine : NULL);
    int rc = 0;

    GIVEN(b);
    GIVEN(probs);
    CHECK_WHOLE(b);
    CTT_CHECK(!b->m->predicts, CTT_EINVAL,
              "read: this model has no classes, it predicts frames");
    CTT_TRY(check_frames(b, "read", (const void *const *)probs));
    CTT_TRY(ctt_batch_probs(b, probs));
out:
    return rc;
}

/* Copies the predicted frames of the streams to to[i] + at. */
static int take_frames(struct ctt_batch *b, float *const *to, int64_t at)
{
    int64_t size = ctt_engine_frame(b->m);
    int rc = 0;

    CTT_TRY(copy_answers(b, (const void *const *)to));
    for (int i = 0; i < b->streams; i++) {
        if (!to[i])
            continue;
        memcpy(to[i] + at, stream_answer(b, i, 0, size),
               (size_t)size * sizeof(float));
        for (int64_t k = 0; k < size; k++)
            CTT_CHECK(isfinite(to[i][at + k]), CTT_ENAN, "stream %d: "
                      "%s: predict: the model's answer is not finite", i,
                      b->m->path);
    }
out:
    return rc;
}

int ctt_batch_predict(struct ctt_batch *b, int count, float *const *frames)
{
    CTT_ENGINE_TAKEN(b ? &b->engine : NULL);
    int64_t size;
    int rc = 0;

    GIVEN(b);
    GIVEN(frames);
    CHECK_WHOLE(b);
    CTT_CHECK(b->m->predicts, CTT_EINVAL,
              "predict: this model's answer is classes, not a frame");
    CTT_CHECK(count > 0, CTT_EINVAL, "predict: %d frames", count);
    CTT_TRY(check_frames(b, "predict", (const void *const *)frames));
    size = ctt_engine_frame(b->m);
    for (int64_t n = 0; n < count; n++) {
        for (int i = 0; i < b->streams && n > 0; i++)
            b->next[i] = frames[i] ? frames[i] + (n - 1) * size : NULL;
        if (n > 0)
            CTT_TRY(ctt_batch_step(b, b->next, ctt_batch_floats));
        CTT_TRY(take_frames(b, frames, n * size));
    }
out:
    return rc;
}
