/* SPDX-License-Identifier: Apache-2.0
 * batch_streams.c: streams join a batch, leave it, and are saved. */
#include "infer/batch_internal.h"
#include "infer/saved.h"
#include "run/sample.h"
#include "base/locale.h"

static void start_stream(struct ctt_batch *b, int stream, int joined)
{
    struct ctt_batch_stream *s = &b->stream[stream];

    ctt_batch_leave_place(b, stream);
    s->joined = joined;
    s->frames = 0;
    s->unsure = 0;
    ctt_decide_reset(&s->decide);
    ctt_pixels_reset(&s->pixels);
}

int ctt_batch_join(struct ctt_batch *b, int *stream)
{
    int i = 0, rc = 0;

    GIVEN(b);
    GIVEN(stream);
    while (i < b->streams && b->stream[i].joined)
        i++;
    CTT_CHECK(i < b->streams, CTT_EINVAL,
              "join: the batch has room for %d streams, all of which have "
              "joined", b->streams);
    start_stream(b, i, 1);
    *stream = i;
out:
    return rc;
}

/* Ends a joined stream; joined: 1 if its number stays in use. */
static int end_stream(struct ctt_batch *b, int stream, int joined,
                      const char *what)
{
    int rc = 0;

    CTT_CHECK(b, CTT_EINVAL, "%s: b is NULL", what);
    CHECK_STREAM(b, stream, what);
    start_stream(b, stream, joined);
out:
    return rc;
}

int ctt_batch_leave(struct ctt_batch *b, int stream)
{
    return end_stream(b, stream, 0, __func__);
}

int ctt_batch_reset(struct ctt_batch *b, int stream)
{
    return end_stream(b, stream, 1, __func__);
}

int64_t ctt_batch_frames(const struct ctt_batch *b, int stream)
{
    return b && stream >= 0 && stream < b->streams ? b->stream[stream].frames
                                                   : 0;
}

/* ---- saved streams ---- */

int ctt_batch_save(struct ctt_batch *b, int stream, const char *path)
{
    CTT_ENGINE_TAKEN(b ? &b->engine : NULL);
    CTT_PLAIN_NUMBERS;
    struct ctt_saved saved = { .image = NULL };
    struct ctt_batch_stream *s;
    int rc = 0;

    GIVEN(b);
    GIVEN(path);
    CHECK_STREAM(b, stream, __func__);
    CHECK_WHOLE(b);
    s = &b->stream[stream];
    CTT_CHECK(!s->unsure, CTT_ENAN, "save: stream %d has no finite answer, it "
              "cannot decide", stream);
    CTT_TRY(ctt_saved_new(b->run, s->frames, &s->pixels, &s->decide, &saved));
    if (saved.bytes && s->at == CTT_NOWHERE)
        CTT_TRY(ctt_dev_copy(b->engine.dev, CTT_TO_HOST,
                             ctt_batch_park(b, stream), saved.values,
                             saved.bytes));
    else if (saved.bytes)
        CTT_TRY(ctt_sample_save(b->run, s->at, CTT_TO_HOST, saved.values));
    CTT_TRY(ctt_dev_sync(b->engine.dev));
    CTT_TRY(ctt_saved_write(path, b->m, b->run, &saved));
out:
    ctt_saved_free(&saved);
    return rc;
}

int ctt_batch_restore(struct ctt_batch *b, int stream, const char *path)
{
    CTT_ENGINE_TAKEN(b ? &b->engine : NULL);
    CTT_PLAIN_NUMBERS;
    struct ctt_saved saved = { .image = NULL };
    int rc = 0;

    GIVEN(b);
    GIVEN(path);
    CHECK_STREAM(b, stream, __func__);
    CHECK_WHOLE(b);
    CTT_TRY(ctt_saved_read(path, b->m, b->run, &b->stream[stream].decide,
                           &saved));
    start_stream(b, stream, 1);
    if (saved.bytes)
        CTT_TRY(ctt_dev_copy(b->engine.dev, CTT_TO_DEVICE, saved.values,
                             ctt_batch_park(b, stream), saved.bytes));
    b->stream[stream].frames = saved.frames;
    ctt_saved_pixels(&saved, &b->stream[stream].pixels);
    ctt_saved_decision(&saved, &b->stream[stream].decide);
out:
    ctt_saved_free(&saved);
    return rc;
}
