/* SPDX-License-Identifier: Apache-2.0
 * compress_time.c: time per frame of a model in the runtime. */
#include "tools/compress_time.h"
#include "net/clock.h"
#include "net/random.h"
#include "tools/infer_rc.h"

#include <stdlib.h>

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum { WARM = 8, TIMED = 48 };

/* Median time per frame in ms, one frame at a time as from a camera. */
static int stream(struct ctt_session *s, const struct ctt_infer_input *in,
                  double *ms)
{
    size_t size = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    uint8_t *frame = ctt_calloc(size, 1);
    double t[TIMED];
    int rc = 0;

    CTT_TRY(frame ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < size; i++)
        frame[i] = (uint8_t)ctt_random(1, i);
    for (int k = -WARM; k < TIMED; k++) {
        double start = ctt_seconds();
        CTT_TRY(ctt_infer_rc(ctt_session_push(s, frame, 1)));
        if (k >= 0)
            t[k] = ctt_seconds() - start;
    }
    qsort(t, TIMED, sizeof(*t), rising);
    *ms = 1e3 * t[TIMED / 2];
out:
    ctt_free(frame);
    return rc;
}

int ctt_compress_time(const char *path, const char *device, int threads,
                      double *ms)
{
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    int rc;

    CTT_TRY(ctt_infer_rc(ctt_infer_open(path, device, threads, &m)));
    CTT_TRY(ctt_infer_rc(ctt_session_open(m, &s)));
    CTT_TRY(stream(s, ctt_infer_wants(m), ms));
out:
    ctt_session_close(&s);
    ctt_infer_close(&m);
    return rc;
}
