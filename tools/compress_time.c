/* SPDX-License-Identifier: Apache-2.0
 * compress_time.c: time per frame and memory of a model in the runtime. */
#include "tools/compress_time.h"
#include "net/clock.h"
#include "net/limits.h"
#include "net/random.h"
#include "tools/infer_rc.h"

#include <stdlib.h>

/* A measurement is the time of a few frames in a row, after one that brings the
 * model back into the caches. */
enum { WARM = 4, FRAMES = 4, LEAST = 5, MOST = 201 };
static const double budget = 0.8;    /* seconds, once there are LEAST pairs */

struct runner {
    struct ctt_infer   *m;
    struct ctt_session *s;
    uint8_t            *frame;
    int64_t             ram;
};

/* Bytes of all blocks but those that caches would give back. */
static int64_t in_use(void)
{
    return ctt_memory_used() - ctt_cache_held();
}

static int push(struct runner *r, int frames)
{
    int rc = 0;

    for (int k = 0; k < frames; k++)
        CTT_TRY(ctt_infer_rc(ctt_session_push(r->s, r->frame, 1)));
out:
    return rc;
}

static int open_runner(const char *path, const char *device, int threads,
                       struct runner *r)
{
    const struct ctt_infer_input *in;
    int64_t before = in_use();
    size_t size;
    int rc;

    CTT_TRY(ctt_infer_rc(ctt_infer_open(path, device, threads, &r->m)));
    CTT_TRY(ctt_infer_rc(ctt_session_open(r->m, &r->s)));
    in = ctt_infer_wants(r->m);
    size = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    r->frame = ctt_calloc(size, 1);
    CTT_TRY(r->frame ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < size; i++)
        r->frame[i] = (uint8_t)ctt_random(1, i);
    CTT_TRY(push(r, WARM));
    r->ram = in_use() - before - (int64_t)size;
    r->ram = r->ram > 0 ? r->ram : 0;
out:
    return rc;
}

static void close_runner(struct runner *r)
{
    ctt_session_close(&r->s);
    ctt_infer_close(&r->m);
    ctt_free(r->frame);
}

static int measure(struct runner *r, double *ms)
{
    double start;
    int rc;

    CTT_TRY(push(r, 1));
    start = ctt_seconds();
    CTT_TRY(push(r, FRAMES));
    *ms = 1e3 * (ctt_seconds() - start) / FRAMES;
out:
    return rc;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof(*x), rising);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* Each pair begins with the other of the two. */
static int compare(struct runner r[2], struct ctt_speed *out)
{
    double ms[MOST], ratio[MOST], start = ctt_seconds(), t[2];
    int n = 0, rc = 0;

    while (n < MOST && (n < LEAST || ctt_seconds() - start < budget)) {
        CTT_TRY(measure(&r[n % 2], &t[n % 2]));
        CTT_TRY(measure(&r[!(n % 2)], &t[!(n % 2)]));
        ms[n] = t[1];
        ratio[n++] = t[1] / t[0];
    }
    *out = (struct ctt_speed){ median(ms, n), median(ratio, n), r[1].ram };
out:
    return rc;
}

int ctt_compress_time(const char *given, const char *path, const char *device,
                      int threads, struct ctt_speed *out)
{
    struct runner r[2] = { { NULL, NULL, NULL, 0 }, { NULL, NULL, NULL, 0 } };
    int rc;

    CTT_TRY(open_runner(given, device, threads, &r[0]));
    CTT_TRY(open_runner(path, device, threads, &r[1]));
    CTT_TRY(compare(r, out));
out:
    close_runner(&r[1]);
    close_runner(&r[0]);
    return rc;
}
