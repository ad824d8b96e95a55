/* SPDX-License-Identifier: Apache-2.0
 * compress_time.c: time per frame and memory of a model in the runtime. */
#include "tools/compress/compress_tool.h"
#include "base/limits.h"
#include "tools/bench/bench_tool.h"

enum { WARM = 4 };
static const struct ctt_pace paces[] = {
    { .least = 5, .most = 201, .seconds = 0.8 },
    { .least = 5, .most = 51, .seconds = 0.2 },    /* few */
};

/* Bytes of all blocks but those that caches would give back. */
static int64_t in_use(void)
{
    return ctt_memory_used() - ctt_cache_held();
}

/* ram: what the runtime allocates for the model and a session with it. */
static int open_runner(const char *path, const char *device, int threads,
                       struct ctt_runner *r, int64_t *ram)
{
    int64_t before = in_use();
    int rc;

    CTT_TRY(ctt_runner_load(path, device, "fp32", 0, threads, r));
    CTT_TRY(ctt_runner_step(r, WARM));
    *ram = in_use() - before - (int64_t)r->bytes;
    *ram = *ram > 0 ? *ram : 0;
out:
    return rc;
}

int ctt_compress_time(const char *base, const char *path, const char *device,
                      int threads, int few, struct ctt_speed *out)
{
    struct ctt_runner r[2] = { { .own = NULL }, { .own = NULL } };
    struct ctt_paired_timing t;
    int64_t ram;
    int rc;

    CTT_TRY(open_runner(base, device, threads, &r[0], &ram));
    CTT_TRY(open_runner(path, device, threads, &r[1], &ram));
    CTT_TRY(ctt_paired_timing_run(r, &paces[few], &t));
    *out = (struct ctt_speed){ t.ms[1], t.ratio.median, ram,
                                !t.steady };
out:
    ctt_runner_close(&r[1]);
    ctt_runner_close(&r[0]);
    return rc;
}
