/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_streams.c: several streams through a model at once. */
#include "tools/bench/bench_tool.h"
#include "base/clock.h"
#include "base/ctt.h"

#include <pthread.h>
#include <stdio.h>

int ctt_bench_time(struct ctt_runner *r, const struct ctt_pace *pace,
                   struct ctt_times *out)
{
    double start = ctt_seconds();
    int rc = 0;

    for (int n = 0; ctt_pace_goes_on(pace, n, start); n++) {
        double before = ctt_milliseconds();
        CTT_TRY(ctt_runner_step(r, 1));
        CTT_TRY(ctt_times_add(out, ctt_milliseconds() - before));
    }
out:
    return rc;
}

enum { WAIT, GO, GIVE_UP };

/* Shared by the streams, which wait until all of them are warm. */
struct crowd {
    pthread_mutex_t        lock;
    pthread_cond_t         changed;
    int                    warm, signal;
    int                    warm_up;
    const struct ctt_pace *pace;
};

struct stream {
    struct crowd     *crowd;
    struct ctt_runner r;
    struct ctt_times  times;
    pthread_t         id;
    double            start, end;    /* seconds */
    int               rc;
    char              message[512];
};

/* Also a stream that failed counts as warm, so that nobody waits for it. */
static int await_signal(struct crowd *c)
{
    int signal;

    pthread_mutex_lock(&c->lock);
    c->warm++;
    pthread_cond_broadcast(&c->changed);
    while (c->signal == WAIT)
        pthread_cond_wait(&c->changed, &c->lock);
    signal = c->signal;
    pthread_mutex_unlock(&c->lock);
    return signal;
}

static void *run_stream(void *arg)
{
    struct stream *s = arg;

    s->rc = ctt_runner_step(&s->r, s->crowd->warm_up);
    if (await_signal(s->crowd) == GO && s->rc == 0) {
        s->start = ctt_seconds();
        s->rc = ctt_bench_time(&s->r, s->crowd->pace, &s->times);
        s->end = ctt_seconds();
    }
    if (s->rc < 0)
        snprintf(s->message, sizeof(s->message), "%s", ctt_errmsg());
    return NULL;
}

static void set_signal(struct crowd *c, int streams, int signal)
{
    pthread_mutex_lock(&c->lock);
    while (c->warm < streams)
        pthread_cond_wait(&c->changed, &c->lock);
    c->signal = signal;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* Runs all streams in threads, or none. */
static int run_all(struct crowd *c, struct stream *s, int streams)
{
    int n = 0, rc = 0;

    while (n < streams &&
           pthread_create(&s[n].id, NULL, run_stream, &s[n]) == 0)
        n++;
    set_signal(c, n, n == streams ? GO : GIVE_UP);
    for (int i = 0; i < n; i++)
        pthread_join(s[i].id, NULL);
    CTT_CHECK(n == streams, CTT_EIO, "cannot start a thread for stream %d",
              n + 1);
    for (int i = 0; i < n; i++)
        CTT_CHECK(s[i].rc == 0, s[i].rc, "%s", s[i].message);
out:
    return rc;
}

static int sum_up(const struct stream *s, int streams, double *median_ms,
                  double *frames_per_s)
{
    struct ctt_times all = { NULL, 0, 0 };
    double start = s[0].start, end = s[0].end;
    int rc = 0;

    for (int i = 0; i < streams; i++) {
        start = s[i].start < start ? s[i].start : start;
        end = s[i].end > end ? s[i].end : end;
        for (int k = 0; k < s[i].times.count; k++)
            CTT_TRY(ctt_times_add(&all, s[i].times.ms[k]));
    }
    *frames_per_s = all.count / (end - start);
    *median_ms = ctt_times_spread(&all).median;
out:
    ctt_free(all.ms);
    return rc;
}

int ctt_bench_streams(const struct ctt_infer *m, int streams, int warm_up,
                      const struct ctt_pace *pace, double *median_ms,
                      double *frames_per_s)
{
    struct crowd c = { .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER, .signal = WAIT,
        .warm_up = warm_up, .pace = pace };
    struct stream *s = ctt_calloc((size_t)streams, sizeof(*s));
    int rc = s ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < streams; i++) {
        s[i].crowd = &c;
        CTT_TRY(ctt_runner_join(m, &s[i].r));
    }
    CTT_TRY(run_all(&c, s, streams));
    CTT_TRY(sum_up(s, streams, median_ms, frames_per_s));
out:
    for (int i = 0; s && i < streams; i++) {
        ctt_runner_close(&s[i].r);
        ctt_free(s[i].times.ms);
    }
    ctt_free(s);
    return rc;
}

int ctt_bench_batch(const struct ctt_infer *m, int streams, int warm_up,
                    const struct ctt_pace *pace, double *median_ms,
                    double *frames_per_s)
{
    struct ctt_times times = { NULL, 0, 0 };
    struct ctt_many_streams c;
    struct ctt_spread s;
    double start;
    int rc;

    CTT_TRY(ctt_many_streams_open(m, streams, 1, &c));
    for (int n = 0; n < warm_up; n++)
        CTT_TRY(ctt_many_streams_step(&c));
    start = ctt_seconds();
    for (int n = 0; ctt_pace_goes_on(pace, n, start); n++) {
        double before = ctt_milliseconds();
        CTT_TRY(ctt_many_streams_step(&c));
        CTT_TRY(ctt_times_add(&times, ctt_milliseconds() - before));
    }
    s = ctt_times_spread(&times);
    *median_ms = s.median;
    *frames_per_s = 1e3 * streams / s.mean;
out:
    ctt_many_streams_close(&c);
    ctt_free(times.ms);
    return rc;
}
