/* SPDX-License-Identifier: Apache-2.0
 * infer_bench.c: convtt-infer --bench: the speed of a model on this machine:
 * times of a frame, frames per second with more threads and streams, memory,
 * the kernel of each node, and the ratio to another model's time. */
#include "tools/bench/bench_tool.h"
#include "infer/inside.h"
#include "device/device.h"
#include "tools/shared/tool.h"
#include "base/clock.h"
#include "base/ctt.h"
#include "tools/shared/output.h"

#include <string.h>

/* The main measurement needs a hundred times for its p99; the rows of threads
 * and streams, the profile of the nodes and the pairs of --against do not. */
static const struct ctt_pace main_pace = { 100, 20000, 2 };
static const struct ctt_pace row_pace = { 20, 20000, 0.5 };
static const struct ctt_pace node_pace = { 5, 200, 0.5 };
static const struct ctt_pace pair_pace = { 20, 2000, 2 };

enum { OTHER, MODEL, BOTH };

struct bench {
    const struct ctt_bench_with *w;
    struct ctt_bench_file        file[BOTH];
    struct ctt_runner            r[BOTH];
    struct ctt_bench_said        said;
};

const char *const ctt_type_words[] = { "fp32", "tf32", "fp16", "bf16", "int8",
                                       NULL };

int ctt_bench_check(const struct ctt_bench_set *set, const char *path)
{
    int int8 = set->type == CTT_TYPE_INT8, rc = 0;

    CTT_CHECK(!int8 || set->on, CTT_EINVAL, "--type=int8 requires --bench");
    CTT_CHECK(!int8 || ctt_tool_is_net(path), CTT_EINVAL,
              "--type=int8 measures a model text (.net); "
              "convtt-compress --int8 decides whether %s reads bytes", path);
    CTT_CHECK(!set->zeros || ctt_tool_is_net(path), CTT_EINVAL,
              "--zeros prunes random weights, but %s is no model text (.net); "
              "convtt-compress --prune prunes a model file", path);
out:
    return rc;
}

/* --runs replaces the usual number. */
static struct ctt_pace pace_of(const struct bench *b, struct ctt_pace usual)
{
    int runs = b->w->set->runs;

    return runs ? (struct ctt_pace){ runs, runs, 0 } : usual;
}

/* A session that says that answers are not finite does not know their file. */
static int named(int rc, const char *path)
{
    size_t n = strlen(path);

    if (rc != CTT_ENAN || strncmp(ctt_errmsg(), path, n) == 0)
        return rc;
    return ctt_error(rc, "%s: %s", path, ctt_errmsg());
}

static int time_frames(const struct bench *b, struct ctt_runner *r,
                       struct ctt_pace usual, struct ctt_spread *out,
                       double *cpu_ms)
{
    struct ctt_pace pace = pace_of(b, usual);
    struct ctt_times times = { NULL, 0, 0 };
    double start;
    int rc;

    CTT_TRY(ctt_runner_step(r, b->w->set->warm_up));
    start = ctt_thread_seconds();
    CTT_TRY(ctt_bench_time(r, &pace, &times));
    *cpu_ms = 1e3 * (ctt_thread_seconds() - start) / times.count;
    *out = ctt_times_spread(&times);
out:
    ctt_free(times.ms);
    return rc;
}

static int measure_model(struct bench *b)
{
    const struct ctt_bench_with *w = b->w;
    struct ctt_bench_said *s = &b->said;
    struct ctt_runner *r = &b->r[MODEL];
    const struct ctt_run *run;
    int rc;

    CTT_TRY(ctt_bench_file_open(w->path, w->set, &b->file[MODEL]));
    CTT_TRY(ctt_bench_file_load(&b->file[MODEL], w->device, w->threads, r));
    CTT_TRY(time_frames(b, r, main_pace, &s->ms, &s->cpu_ms));
    s->session_bytes = ctt_session_bytes(r->s);
    s->resident_mb = ctt_resident_mb();
    s->peak_mb = ctt_peak_mb();
    run = ctt_session_run(r->s);
    s->model = &b->file[MODEL];
    s->device = w->device;
    s->threads = ctt_dev_threads(run->dev);
    s->used = ctt_session_threads(r->s);
    s->warm_up = w->set->warm_up;
    s->predicts = ctt_infer_predicts(r->m);
    s->on_demand = run->g->clip < run->g->count;
    s->open_ms = r->open_ms;
    s->first_ms = r->first_ms;
out:
    return named(rc, w->path);
}

static int measure_nodes(struct bench *b)
{
    struct ctt_nodes *n = &b->said.nodes;
    struct ctt_runner *r = &b->r[MODEL];
    double start = ctt_seconds();
    int rc;

    CTT_TRY(ctt_nodes_open(ctt_session_run(r->s), n));
    for (int i = 0; ctt_pace_goes_on(&node_pace, i, start); i++)
        CTT_TRY(ctt_runner_step(r, 1));
    ctt_nodes_stop(n);
out:
    return rc;
}

static void add_bench_row(struct bench *b, int streams, int threads,
                          double median, double frames_per_s)
{
    b->said.row[b->said.rows++] = (struct ctt_bench_row){ .streams = streams,
        .threads = threads, .median_ms = median, .frames_per_s = frames_per_s };
}

/* One stream with less threads than the main measurement. */
static int measure_threads(struct bench *b, int threads)
{
    struct ctt_runner r = { .own = NULL };
    struct ctt_spread s;
    double cpu_ms;
    int rc;

    CTT_TRY(ctt_bench_file_load(&b->file[MODEL], b->w->device, threads, &r));
    CTT_TRY(time_frames(b, &r, row_pace, &s, &cpu_ms));
    add_bench_row(b, 1, threads, s.median, 1e3 / s.mean);
out:
    ctt_runner_close(&r);
    return rc;
}

/* The streams share the threads. */
static int measure_streams(struct bench *b, int streams)
{
    int all = b->said.threads, each = all > streams ? all / streams : 1, rc;
    struct ctt_pace pace = pace_of(b, row_pace);
    struct ctt_runner r = { .own = NULL };
    double median, frames_per_s;

    CTT_TRY(ctt_bench_file_load(&b->file[MODEL], b->w->device, each, &r));
    CTT_TRY(ctt_bench_streams(r.m, streams, b->w->set->warm_up, &pace, &median,
                              &frames_per_s));
    add_bench_row(b, streams, each, median, frames_per_s);
out:
    ctt_runner_close(&r);
    return rc;
}

/* As one batch on all threads. */
static int measure_batch(struct bench *b, int streams)
{
    struct ctt_pace pace = pace_of(b, row_pace);
    struct ctt_runner r = { .own = NULL };
    double median, frames_per_s;
    int rc;

    CTT_TRY(ctt_bench_file_load(&b->file[MODEL], b->w->device,
                                b->said.threads, &r));
    CTT_TRY(ctt_bench_batch(r.m, streams, b->w->set->warm_up, &pace, &median,
                            &frames_per_s));
    add_bench_row(b, streams, b->said.threads, median, frames_per_s);
    b->said.row[b->said.rows - 1].batch = 1;
out:
    ctt_runner_close(&r);
    return rc;
}

/* 1, 2, 4 ... threads up to all, then as many streams as threads or as asked
 * for, by themselves and as a batch.  On a GPU threads compute nothing. */
static int measure_rows(struct bench *b)
{
    int all = b->said.threads, streams = b->w->set->streams, rc = 0;

    for (int n = 1; n < all && ctt_dev_has(b->w->device, CTT_DEV_THREADS);
         n *= 2)
        CTT_TRY(measure_threads(b, n));
    add_bench_row(b, 1, all, b->said.ms.median, 1e3 / b->said.ms.mean);
    streams = streams ? streams : all;
    if (streams > 1) {
        CTT_TRY(measure_streams(b, streams));
        CTT_TRY(measure_batch(b, streams));
    }
out:
    return rc;
}

/* The first row is one stream on one thread, if threads compute. */
static int measure_fit(struct bench *b)
{
    const struct ctt_bench_with *w = b->w;

    return named(ctt_bench_fit(&b->file[MODEL], w->device, b->said.threads,
                               w->set->fit, w->set->runs,
                               b->said.row[0].median_ms, &b->said.fit),
                 w->path);
}

static int measure_against(struct bench *b)
{
    const struct ctt_bench_with *w = b->w;
    struct ctt_pace pace = pace_of(b, pair_pace);
    struct ctt_bench_set plain = { .on = 1, .tune = w->set->tune };
    int rc;

    CTT_TRY(ctt_bench_file_open(w->set->against, &plain, &b->file[OTHER]));
    CTT_TRY(ctt_bench_file_load(&b->file[OTHER], w->device, w->threads,
                                &b->r[OTHER]));
    CTT_TRY(ctt_runner_step(&b->r[OTHER], w->set->warm_up));
    CTT_TRY(ctt_paired_timing_run(b->r, &pace, &b->said.turns));
    b->said.other = &b->file[OTHER];
out:
    return named(rc, w->set->against);
}

int ctt_bench(const struct ctt_bench_with *w)
{
    struct bench b = { .w = w };
    int rc;

    CTT_TRY(measure_model(&b));
    CTT_TRY(measure_nodes(&b));
    CTT_TRY(measure_rows(&b));
    if (w->set->against)
        CTT_TRY(measure_against(&b));
    if (w->set->fit > 0)
        CTT_TRY(measure_fit(&b));
    CTT_TRY(ctt_bench_say(&b.said, w->json));
out:
    ctt_nodes_close(&b.said.nodes);
    for (int i = 0; i < BOTH; i++) {
        ctt_runner_close(&b.r[i]);
        ctt_bench_file_close(&b.file[i]);
    }
    return rc;
}
