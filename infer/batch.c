/* SPDX-License-Identifier: Apache-2.0
 * batch.c: many streams through a model as one batch: opening it, frames. */
#include "infer/batch_internal.h"
#include "base/clock.h"
#include "base/span.h"
#include "net/late.h"
#include "run/sample.h"
#include "base/locale.h"

#include <string.h>

enum { STREAMS_MOST = 4096 };

/* ---- open and close ---- */

/* Size of a step for n streams. */
static int step_size(const struct ctt_batch *b, int n)
{
    int up = (n + b->grain - 1) / b->grain * b->grain;

    return up < b->streams ? up : b->streams;
}

/* Uses as many threads as make the step faster. */
int ctt_batch_compute(struct ctt_batch *b, int part, int n)
{
    int size = step_size(b, n), rc = 0;
    struct ctt_thread_tuner *g =
        &b->gain[part][(size + b->grain - 1) / b->grain];
    double begin = ctt_seconds(), start = ctt_span_begin();

    ctt_dev_use(b->engine.dev, ctt_thread_tuner_threads(g));
    if (part == CTT_BATCH_STEP) {
        b->run->active = size;
        CTT_TRY(ctt_run_steps(b->run, 1));
    } else {
        for (int i = n; i < size; i++)
            b->run->ask[i] = b->run->ask[0];
        CTT_TRY(ctt_run_clip(b->run, size));
    }
    ctt_thread_tuner_frame(g, ctt_seconds() - begin);
    ctt_span_end(part == CTT_BATCH_STEP ? CTT_SPAN_FRAME : CTT_SPAN_ANSWER,
                 start);
out:
    ctt_lates_tidy(b->m->model->late);
    return rc;
}

/* Runs one step of each size, the largest first, whose memory suffices for
 * all. */
static int warm_up(struct ctt_batch *b)
{
    CTT_ENGINE_TAKEN(&b->engine);
    struct ctt_run *r = b->run;
    int rc = 0;

    for (int size = CTT_BATCH_SIZES * b->grain; size > 0; size -= b->grain) {
        if (size >= b->streams + b->grain)
            continue;
        CTT_TRY(ctt_run_make_room(r, 1));
        CTT_TRY(ctt_batch_compute(b, CTT_BATCH_STEP, size));
        r->ask[0] = (struct ctt_ask){ 0, r->cursor - 1 };
        if (r->g->clip < r->g->count)
            CTT_TRY(ctt_batch_compute(b, CTT_BATCH_CLIP, 1 + size - b->grain));
    }
out:
    return rc;
}

static void begin_streams(struct ctt_batch *b)
{
    const struct ctt_infer *m = b->m;

    for (int i = 0; i < b->streams; i++) {
        ctt_pixels_begin(&b->stream[i].pixels,
                         &m->model->g->node[m->input].attr.input);
        b->stream[i].at = b->who[i] = CTT_NOWHERE;
    }
    for (int i = 0; i <= CTT_BATCH_SIZES; i++)
        for (int part = 0; part < 2; part++)
            ctt_thread_tuner_begin(&b->gain[part][i],
                                   ctt_dev_used(b->engine.dev));
}

static int alloc_park(struct ctt_batch *b)
{
    CTT_ENGINE_TAKEN(&b->engine);
    void *park = NULL;
    int rc = 0;

    if (b->bytes)
        CTT_TRY(ctt_dev_alloc(b->engine.dev, "parked streams",
                              b->streams * b->bytes, &park));
    b->park = park;
out:
    return rc;
}

static void free_park(struct ctt_batch *b)
{
    CTT_ENGINE_TAKEN(&b->engine);
    void *park = b->park;

    if (park)
        ctt_dev_free(b->engine.dev, &park);
}

static int alloc_batch(struct ctt_batch *b)
{
    size_t streams = (size_t)b->streams;
    int64_t most = ctt_engine_frame(b->m);
    int rc = 0;

    b->most = b->streams * (most > b->m->classes ? most : b->m->classes);
    b->stream = ctt_calloc(streams, sizeof(*b->stream));
    b->who = ctt_calloc(streams, sizeof(*b->who));
    b->next = ctt_calloc(streams, sizeof(*b->next));
    b->asked = ctt_calloc(streams, sizeof(*b->asked));
    b->numbers = ctt_calloc((size_t)b->most, sizeof(float));
    CTT_TRY(b->stream && b->who && b->next && b->asked && b->numbers
            ? 0 : CTT_ENOMEM);
    for (int i = 0; i < b->streams; i++)
        CTT_TRY(ctt_infer_blame(b->m, ctt_decide_open(b->m,
                                                      &b->stream[i].decide)));
    CTT_TRY(ctt_engine_open(b->m, b->streams, 1, &b->engine));
    b->run = b->engine.run;
    b->bytes = ctt_align(ctt_sample_bytes(b->run), 64);
    CTT_TRY(alloc_park(b));
    begin_streams(b);
out:
    return rc;
}

int ctt_batch_open(const struct ctt_infer *m, int streams,
                   struct ctt_batch **out)
{
    CTT_PLAIN_NUMBERS;
    struct ctt_batch *b = NULL;
    int rc = 0;

    GIVEN(m);
    GIVEN(out);
    CTT_CHECK(streams > 0 && streams <= STREAMS_MOST, CTT_EINVAL,
              "a batch of %d streams: 1 to %d", streams, STREAMS_MOST);
    b = ctt_calloc(1, sizeof(*b));
    CTT_TRY(b ? 0 : CTT_ENOMEM);
    b->m = m;
    b->streams = streams;
    b->grain = (streams + CTT_BATCH_SIZES - 1) / CTT_BATCH_SIZES;
    CTT_TRY(alloc_batch(b));
    if (m->tune)
        CTT_TRY(ctt_infer_blame(m, ctt_run_tune(b->run, 1)));
    CTT_TRY(ctt_sample_begin(b->run));
    CTT_TRY(ctt_infer_blame(m, warm_up(b)));
    *out = b;
    b = NULL;
out:
    ctt_batch_close(&b);
    return rc;
}

void ctt_batch_close(struct ctt_batch **b)
{
    if (!b || !*b)
        return;
    free_park(*b);
    ctt_engine_close(&(*b)->engine);
    for (int i = 0; (*b)->stream && i < (*b)->streams; i++)
        ctt_decide_close(&(*b)->stream[i].decide);
    ctt_free((*b)->stream);
    ctt_free((*b)->who);
    ctt_free((*b)->next);
    ctt_free((*b)->asked);
    ctt_free((*b)->numbers);
    ctt_free(*b);
    *b = NULL;
}

/* ---- frames ---- */

static void bytes_in(struct ctt_batch *b, int stream, const void *frame,
                     float *to)
{
    struct ctt_pixels *p = &b->stream[stream].pixels;
    const struct ctt_input *in = &p->in;

    ctt_pixels_next(p, frame, (size_t)in->w * (size_t)in->c);
    ctt_pixels_float(p, frame, (int64_t)in->h * in->w, in->c, to);
}

void ctt_batch_floats(struct ctt_batch *b, int stream, const void *frame,
                      float *to)
{
    (void)stream;
    memcpy(to, frame, (size_t)ctt_engine_frame(b->m) * sizeof(float));
}

int ctt_batch_step(struct ctt_batch *b, const void *const *frames,
                   ctt_batch_in *in)
{
    int64_t frame = ctt_engine_frame(b->m);
    struct ctt_run *r = b->run;
    int rc = 0;

    CTT_TRY(ctt_batch_seat_only(b, frames));
    if (!b->end)
        goto out;
    CTT_TRY(ctt_run_make_room(r, 1));
    for (int p = 0; p < b->end; p++)
        in(b, b->who[p], frames[b->who[p]], b->numbers + p * frame);
    CTT_TRY(ctt_run_put(r, b->m->input, r->cursor, b->numbers,
                        b->end * frame / b->m->wants.c));
    CTT_TRY(ctt_batch_compute(b, CTT_BATCH_STEP, b->end));
    for (int p = 0; p < b->end; p++)
        b->stream[b->who[p]].frames++;
out:
    b->broken |= rc < 0;
    return rc;
}

static int push_step(struct ctt_batch *b, const void *const *frames,
                     ctt_batch_in *in)
{
    CTT_ENGINE_TAKEN(b ? &b->engine : NULL);
    int rc = 0;

    GIVEN(b);
    GIVEN(frames);
    CHECK_WHOLE(b);
    for (int i = 0; i < b->streams; i++) {
        CTT_CHECK(!frames[i] || b->stream[i].joined, CTT_EINVAL,
                  "push: a frame of stream %d, which has not joined", i);
        CTT_CHECK(!frames[i] || !b->stream[i].decide.ended, CTT_EINVAL,
                  "push: a frame of stream %d, which has ended", i);
    }
    CTT_TRY(ctt_batch_step(b, frames, in));
    CTT_TRY(ctt_batch_check(b, frames));
out:
    return rc;
}

int ctt_batch_push(struct ctt_batch *b, const uint8_t *const *frames)
{
    return push_step(b, (const void *const *)frames, bytes_in);
}

int ctt_batch_push_float(struct ctt_batch *b, const float *const *frames)
{
    int rc = 0;

    for (int i = 0; b && frames && i < b->streams; i++)
        if (frames[i] && (rc = ctt_engine_finite(frames[i],
                                                 ctt_engine_frame(b->m))) < 0)
            return ctt_error(rc, "stream %d: %s", i, ctt_errmsg());
    return push_step(b, (const void *const *)frames, ctt_batch_floats);
}

int64_t ctt_batch_bytes(const struct ctt_batch *b)
{
    return b ? (int64_t)sizeof(*b) + b->run->values + b->most *
               (int64_t)sizeof(float) + b->streams *
               (b->bytes + (int64_t)(sizeof(*b->stream) + sizeof(*b->who) +
                                     sizeof(*b->next) + sizeof(*b->asked))) : 0;
}
