/* SPDX-License-Identifier: Apache-2.0
 * runner.c: runs a model in the runtime as from a camera, to measure it. */
#include "tools/bench/bench_tool.h"
#include "base/clock.h"
#include "base/random.h"
#include "tools/shared/infer_rc.h"

int ctt_runner_step(struct ctt_runner *r, int frames)
{
    int rc = 0;

    for (int k = 0; k < frames; k++) {
        CTT_TRY(ctt_infer_rc(ctt_session_push(r->s, r->frame, 1)));
        CTT_TRY(ctt_infer_rc(ctt_infer_predicts(r->m)
                             ? ctt_session_predict(r->s, 1, r->answer)
                             : ctt_session_read(r->s, r->answer)));
    }
out:
    return rc;
}

static int make_noise(struct ctt_runner *r)
{
    const struct ctt_infer_input *in = ctt_infer_wants(r->m);
    size_t size = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    size_t n = ctt_infer_predicts(r->m) ? size
                                        : (size_t)ctt_infer_classes(r->m);

    r->frame = ctt_calloc(size, 1);
    r->answer = ctt_calloc(n, sizeof(*r->answer));
    if (!r->frame || !r->answer)
        return CTT_ENOMEM;
    r->bytes = size + n * sizeof(*r->answer);
    for (size_t i = 0; i < size; i++)
        r->frame[i] = (uint8_t)ctt_random(1, i);
    return 0;
}

/* Opens the stream and runs its first frame; start: when the work began. */
static int begin_stream(struct ctt_runner *r, double start)
{
    int rc;

    CTT_TRY(ctt_infer_rc(ctt_session_open(r->m, &r->s)));
    r->open_ms = ctt_milliseconds() - start;
    CTT_TRY(make_noise(r));
    start = ctt_milliseconds();
    CTT_TRY(ctt_runner_step(r, 1));
    r->first_ms = ctt_milliseconds() - start;
out:
    return rc;
}

int ctt_runner_load(const char *path, const char *device, const char *type,
                    int tune, int threads, struct ctt_runner *r)
{
    double start = ctt_milliseconds();
    int rc;

    *r = (struct ctt_runner){ .own = NULL };
    CTT_TRY(ctt_infer_rc(ctt_infer_open(path, device, threads, &r->own)));
    CTT_TRY(ctt_infer_rc(ctt_infer_multiply(r->own, type)));
    if (tune)
        CTT_TRY(ctt_infer_rc(ctt_infer_tune(r->own, NULL)));
    r->m = r->own;
    CTT_TRY(begin_stream(r, start));
out:
    return rc;
}

int ctt_runner_join(const struct ctt_infer *m, struct ctt_runner *r)
{
    *r = (struct ctt_runner){ .m = m };
    return begin_stream(r, ctt_milliseconds());
}

void ctt_runner_close(struct ctt_runner *r)
{
    ctt_session_close(&r->s);
    ctt_infer_close(&r->own);
    ctt_free(r->frame);
    ctt_free(r->answer);
    r->frame = NULL;
    r->answer = NULL;
}
