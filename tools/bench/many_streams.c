/* SPDX-License-Identifier: Apache-2.0
 * many_streams.c: several streams of noise through a model. */
#include "tools/bench/bench_tool.h"
#include "base/ctt.h"
#include "tools/shared/infer_rc.h"

/* The session of a runner gives the sizes of frames and answers; a batch then
 * has its own. */
static int join_stream(struct ctt_many_streams *c, int i)
{
    int rc = 0, joined;

    CTT_TRY(ctt_runner_join(c->m, &c->r[i]));
    c->frame[i] = c->r[i].frame;
    c->answer[i] = c->r[i].answer;
    if (c->b) {
        ctt_session_close(&c->r[i].s);
        CTT_TRY(ctt_infer_rc(ctt_batch_join(c->b, &joined)));
    }
out:
    return rc;
}

int ctt_many_streams_open(const struct ctt_infer *m, int streams, int batch,
                          struct ctt_many_streams *c)
{
    size_t n = (size_t)streams;
    int rc = 0;

    *c = (struct ctt_many_streams){ .m = m, .streams = streams };
    c->r = ctt_calloc(n, sizeof(*c->r));
    c->frame = ctt_calloc(n, sizeof(*c->frame));
    c->answer = ctt_calloc(n, sizeof(*c->answer));
    CTT_TRY(c->r && c->frame && c->answer ? 0 : CTT_ENOMEM);
    if (batch)
        CTT_TRY(ctt_infer_rc(ctt_batch_open(m, streams, &c->b)));
    for (int i = 0; i < streams; i++)
        CTT_TRY(join_stream(c, i));
    if (batch)
        CTT_TRY(ctt_many_streams_step(c));
out:
    return rc;
}

void ctt_many_streams_close(struct ctt_many_streams *c)
{
    for (int i = 0; c->r && i < c->streams; i++)
        ctt_runner_close(&c->r[i]);
    ctt_batch_close(&c->b);
    ctt_free(c->r);
    ctt_free(c->frame);
    ctt_free(c->answer);
}

int ctt_many_streams_step(struct ctt_many_streams *c)
{
    int rc;

    CTT_TRY(ctt_infer_rc(ctt_batch_push(c->b, c->frame)));
    CTT_TRY(ctt_infer_rc(ctt_infer_predicts(c->m)
                         ? ctt_batch_predict(c->b, 1, c->answer)
                         : ctt_batch_read(c->b, c->answer)));
out:
    return rc;
}
