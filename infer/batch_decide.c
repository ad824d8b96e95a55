/* SPDX-License-Identifier: Apache-2.0
 * batch_decide.c: early decisions of the streams of a batch; checks due after
 * the same push are answered together. */
#include "infer/batch_internal.h"

#include <string.h>

/* Applies the answers of the streams with a pointer; a stream without a finite
 * one does not decide until it is reset. */
static void decide_streams(struct ctt_batch *b)
{
    for (int i = 0; i < b->streams; i++) {
        struct ctt_batch_stream *s = &b->stream[i];

        if (!b->asked[i])
            continue;
        s->unsure |= s->bad;
        if (!s->bad)
            ctt_decide_check(&s->decide);
    }
}

int ctt_batch_check(struct ctt_batch *b, const void *const *frames)
{
    int due = 0, rc = 0;

    if (!b->m->decides)
        return 0;
    for (int i = 0; i < b->streams; i++) {
        struct ctt_batch_stream *s = &b->stream[i];
        int now = frames[i] && !s->unsure &&
                  ctt_decide_due(&s->decide, s->frames);

        b->asked[i] = now ? s->decide.probs : NULL;
        due |= now;
    }
    if (!due)
        return 0;
    rc = ctt_batch_probs(b, b->asked);
    if (rc < 0 && rc != CTT_ENAN) {
        b->broken = 1;
        return rc;
    }
    decide_streams(b);
    return 0;
}

int ctt_batch_decided(const struct ctt_batch *b, int stream,
                      struct ctt_infer_decision *out)
{
    const struct ctt_batch_stream *s;
    int rc = 0;

    GIVEN(b);
    GIVEN(out);
    CHECK_STREAM(b, stream, "decided");
    CTT_CHECK(b->m->decides, CTT_EINVAL, "decided: this batch does not decide");
    s = &b->stream[stream];
    CTT_CHECK(!s->unsure || s->decide.done, CTT_ENAN, "stream %d: the model's "
              "answer was not finite when it was to decide", stream);
    if (s->decide.done)
        *out = s->decide.made;
    rc = s->decide.done;
out:
    return rc;
}

int ctt_batch_end(struct ctt_batch *b, int stream)
{
    CTT_ENGINE_TAKEN(b ? &b->engine : NULL);
    struct ctt_batch_stream *s;
    int rc = 0;

    GIVEN(b);
    CHECK_STREAM(b, stream, "end");
    CHECK_WHOLE(b);
    CTT_CHECK(b->m->decides, CTT_EINVAL, "end: this batch does not decide");
    s = &b->stream[stream];
    CTT_CHECK(s->frames > 0, CTT_EINVAL, "end: stream %d has had no frame",
              stream);
    if (!s->decide.done) {
        memset(b->asked, 0, (size_t)b->streams * sizeof(*b->asked));
        b->asked[stream] = s->decide.probs;
        CTT_TRY(ctt_batch_probs(b, b->asked));
    }
    ctt_decide_end(&s->decide, s->frames);
out:
    return rc;
}
