/* SPDX-License-Identifier: Apache-2.0
 * live_watch.c: counts and times of streams, printed every few seconds, also
 * while no frame comes, and at the end. */
#include "tools/stream/stream_tool.h"
#include "base/clock.h"
#include "base/visible.h"
#include "tools/shared/tool.h"
#include "tools/shared/measure.h"
#include "video/live/live.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* TICK: nanoseconds between two looks. */
enum { TICK = 100000000 };

/* Counts of a stream and of all streams; from MISSED on (--exec) only of all.
 * */
enum { DECODED, BETWEEN, DROPPED, TAKEN, WAITING, LATE, STEPS, SKIPPED,
       INFERRED, ANSWERS, EVENTS, DAMAGED, MISSING, JUMPS, RESETS, SLIDES,
       RECONNECTS, STRIDE, OF_A_STREAM, MISSED = OF_A_STREAM, FAILED, ROWS };
static const char *const row_name[ROWS] = {
    "decoded", "between", "dropped", "taken", "waiting", "late", "steps",
    "skipped", "inferred", "answers", "events", "damaged", "missing",
    "jumps", "resets", "slides", "reconnects", "stride", "exec_missed",
    "exec_failed"
};

/* lately: since the last line. */
struct times { struct ctt_quantiles all, lately; };

/* Counts and times of a stream in this program. */
struct stream {
    const char      *name, *state;
    struct ctt_live *live;            /* NULL: not open, or over */
    int64_t          n[ROWS];         /* when it was looked at last */
    int64_t          inferred, answers, events, slides;
    struct times     answer;
};

struct ctt_watch {
    struct ctt_watch_set set;
    pthread_mutex_t      lock;    /* of all members below */
    pthread_cond_t       wake;
    pthread_t            id;
    int                  runs, quit;
    double               start, last;
    struct stream       *stream;
    int64_t              n[ROWS];           /* of all streams */
    struct times         step, answer;      /* of all streams */
};

/* ---- counts ---- */

static void read_counts(struct stream *s)
{
    struct ctt_live_counts c;

    if (s->live) {
        ctt_live_counts(s->live, &c);
        memcpy(s->n, (const int64_t[ROWS]){ c.decoded, c.between, c.dropped,
               c.taken, c.waiting, c.late, c.steps, c.skipped, 0, 0, 0,
               c.damaged, c.missing, c.jumps, c.resets, 0, c.reconnects,
               c.stride }, sizeof(s->n));
    }
    s->n[INFERRED] = s->inferred;
    s->n[ANSWERS] = s->answers;
    s->n[EVENTS] = s->events;
    s->n[SLIDES] = s->slides;
}

/* All streams now, and their sums; of the stride the longest. */
static void look_at_all(struct ctt_watch *w)
{
    memset(w->n, 0, OF_A_STREAM * sizeof(w->n[0]));
    for (int i = 0; i < w->set.streams; i++) {
        struct stream *s = &w->stream[i];
        int64_t stride = w->n[STRIDE];

        read_counts(s);
        for (int k = 0; k < OF_A_STREAM; k++)
            w->n[k] += s->n[k];
        w->n[STRIDE] = stride > s->n[STRIDE] ? stride : s->n[STRIDE];
    }
}

/* ---- lines ---- */

static double megabytes(const struct ctt_watch *w)
{
    return (double)w->set.bytes / (1 << 20);
}

static void json_times(const char *name, const struct ctt_quantiles *t)
{
    if (t->count)
        printf(",\"%s_ms\":{\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f,"
               "\"max\":%.3f}", name, ctt_quantiles_at(t, 0.5),
               ctt_quantiles_at(t, 0.95), ctt_quantiles_at(t, 0.99),
               t->max);
}

static void json_counts(const int64_t *n, int count)
{
    for (int i = 0; i < count; i++)
        printf(",\"%s\":%" PRId64, row_name[i], n[i]);
}

static void json_stream(const struct ctt_watch *w, const char *kind,
                        const struct stream *s,
                        const struct ctt_quantiles *answer)
{
    printf("{\"%s\":{\"stream\":", kind);
    ctt_json_put(stdout, s->name);
    printf(",\"state\":\"%s\",\"seconds\":%.3f", s->state,
           ctt_seconds() - w->start);
    json_counts(s->n, OF_A_STREAM);
    json_times("answer", answer);
    printf("}}\n");
}

static void json_all(const struct ctt_watch *w, const char *kind,
                     const struct ctt_quantiles *step,
                     const struct ctt_quantiles *answer)
{
    printf("{\"%s\":{\"seconds\":%.3f", kind, ctt_seconds() - w->start);
    if (w->set.apart)
        printf(",\"streams\":%d", w->set.streams);
    json_counts(w->n, ROWS);
    json_times("step", step);
    json_times("answer", answer);
    printf(",\"stream_mb\":%.3f,\"resident_mb\":%.1f}}\n", megabytes(w),
           ctt_resident_mb());
    fflush(stdout);
}

static const char *three(const struct ctt_quantiles *t, char *to, size_t size)
{
    if (t->count)
        snprintf(to, size, "%.2f/%.2f/%.2f", ctt_quantiles_at(t, 0.5),
                 ctt_quantiles_at(t, 0.95), ctt_quantiles_at(t, 0.99));
    else
        snprintf(to, size, "-");
    return to;
}

/* name: of the stream, or "", or of all. */
static void plain_line(const struct ctt_watch *w, const char *name,
                       const int64_t *n, const char *step,
                       const struct ctt_quantiles *answer)
{
    char text[64];

    if (n[DECODED] == 0) {
        ctt_tool_note("%s%s%.0f s: no frame could be decoded yet", name,
                      *name ? ": " : "", ctt_seconds() - w->start);
        return;
    }
    ctt_tool_note("%s%s%.0f s: decoded %" PRId64 " = between %" PRId64
                  " + dropped %" PRId64 " + taken %" PRId64 ", late %" PRId64
                  "; steps %" PRId64 ", skipped %" PRId64 ", inferred %" PRId64
                  ", events %" PRId64 "; p50/p95/p99 ms:%s arrival to answer "
                  "%s", name, *name ? ": " : "", ctt_seconds() - w->start,
                  n[DECODED], n[BETWEEN], n[DROPPED], n[TAKEN], n[LATE],
                  n[STEPS], n[SKIPPED], n[INFERRED], n[EVENTS], step,
                  three(answer, text, sizeof(text)));
}

static void plain_lines(const struct ctt_watch *w)
{
    char text[64], step[80];

    for (int i = 0; i < w->set.streams && w->set.apart; i++) {
        const struct stream *s = &w->stream[i];
        plain_line(w, s->name, s->n, "", &s->answer.lately);
    }
    snprintf(step, sizeof(step), " step %s,",
             three(&w->step.lately, text, sizeof(text)));
    plain_line(w, w->set.apart ? "all" : "", w->n, step, &w->answer.lately);
}

/* Locked, as answers are printed between any two calls. */
static void json_lines(const struct ctt_watch *w, const char *kind, int all)
{
    const struct times *a;

    flockfile(stdout);
    for (int i = 0; i < w->set.streams && w->set.apart; i++) {
        a = &w->stream[i].answer;
        json_stream(w, kind, &w->stream[i], all ? &a->all : &a->lately);
    }
    a = &w->answer;
    json_all(w, kind, all ? &w->step.all : &w->step.lately,
             all ? &a->all : &a->lately);
    funlockfile(stdout);
}

/* The lock is held. */
static void say_counts(struct ctt_watch *w)
{
    look_at_all(w);
    if (w->set.json)
        json_lines(w, "stats", 0);
    else
        plain_lines(w);
    memset(&w->step.lately, 0, sizeof(w->step.lately));
    memset(&w->answer.lately, 0, sizeof(w->answer.lately));
    for (int i = 0; i < w->set.streams; i++)
        memset(&w->stream[i].answer.lately, 0,
               sizeof(w->stream[i].answer.lately));
    ctt_tool_warned();
}

/* ---- the thread ---- */

static void wait_tick(struct ctt_watch *w)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += TICK;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_cond_timedwait(&w->wake, &w->lock, &t);
}

static void *watch_streams(void *arg)
{
    struct ctt_watch *w = arg;

    pthread_mutex_lock(&w->lock);
    while (!w->quit) {
        wait_tick(w);
        if (w->quit)
            break;
        if (w->set.look)
            w->set.look(w->set.arg);
        if (w->set.every > 0 && ctt_seconds() - w->last >= w->set.every) {
            w->last += w->set.every;
            say_counts(w);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* A signal shall interrupt the thread that waits for frames, not this one. */
static int start_thread(struct ctt_watch *w)
{
    sigset_t all, old;
    int rc = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->runs = pthread_create(&w->id, NULL, watch_streams, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    CTT_CHECK(w->runs, CTT_EIO, "cannot start a thread");
out:
    return rc;
}

static void make_locks(struct ctt_watch *w)
{
    pthread_condattr_t a;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &a);
    pthread_condattr_destroy(&a);
}

int ctt_watch_open(const struct ctt_watch_set *set, struct ctt_watch **out)
{
    struct ctt_watch *w = ctt_calloc(1, sizeof(*w));
    int rc = w ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    w->set = *set;
    w->start = w->last = ctt_seconds();
    make_locks(w);
    w->stream = ctt_calloc((size_t)set->streams, sizeof(*w->stream));
    CTT_TRY(w->stream ? 0 : CTT_ENOMEM);
    for (int i = 0; i < set->streams; i++) {
        w->stream[i].name = set->name[i];
        w->stream[i].state = "runs";
    }
    w->set.name = NULL;
    CTT_TRY(start_thread(w));
    *out = w;
    w = NULL;
out:
    ctt_watch_close(&w);
    return rc;
}

void ctt_watch_stop(struct ctt_watch *w)
{
    if (!w->runs)
        return;
    pthread_mutex_lock(&w->lock);
    w->quit = 1;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->id, NULL);
    w->runs = 0;
}

void ctt_watch_close(struct ctt_watch **watch)
{
    struct ctt_watch *w = *watch;

    if (!w)
        return;
    ctt_watch_stop(w);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    ctt_free(w->stream);
    ctt_free(w);
    *watch = NULL;
}

/* ---- events ---- */

static void add_time(struct times *t, double ms)
{
    ctt_quantiles_add(&t->all, ms);
    ctt_quantiles_add(&t->lately, ms);
}

void ctt_watch_source(struct ctt_watch *w, int stream, struct ctt_live *live)
{
    pthread_mutex_lock(&w->lock);
    w->stream[stream].live = live;
    pthread_mutex_unlock(&w->lock);
}

void ctt_watch_step(struct ctt_watch *w, double ms)
{
    pthread_mutex_lock(&w->lock);
    add_time(&w->step, ms);
    pthread_mutex_unlock(&w->lock);
}

void ctt_watch_answer(struct ctt_watch *w, int stream, double ms)
{
    pthread_mutex_lock(&w->lock);
    w->stream[stream].answers++;
    add_time(&w->stream[stream].answer, ms);
    add_time(&w->answer, ms);
    pthread_mutex_unlock(&w->lock);
}

static void count_event(struct ctt_watch *w, int64_t *n)
{
    pthread_mutex_lock(&w->lock);
    ++*n;
    pthread_mutex_unlock(&w->lock);
}

void ctt_watch_frame(struct ctt_watch *w, int stream)
{
    count_event(w, &w->stream[stream].inferred);
}

void ctt_watch_slide(struct ctt_watch *w, int stream)
{
    count_event(w, &w->stream[stream].slides);
}

void ctt_watch_event(struct ctt_watch *w, int stream)
{
    count_event(w, &w->stream[stream].events);
}

void ctt_watch_over(struct ctt_watch *w, int stream, const char *state)
{
    pthread_mutex_lock(&w->lock);
    read_counts(&w->stream[stream]);
    w->stream[stream].live = NULL;
    w->stream[stream].state = state;
    pthread_mutex_unlock(&w->lock);
}

int64_t ctt_watch_decoded(struct ctt_watch *w)
{
    int64_t n;

    pthread_mutex_lock(&w->lock);
    look_at_all(w);
    n = w->n[DECODED];
    pthread_mutex_unlock(&w->lock);
    return n;
}

/* ---- the end ---- */

static void stream_row(struct ctt_table *t, const char *name,
                       const int64_t *n, const struct ctt_quantiles *answer,
                       const char *state)
{
    char half[32] = "", most[32] = "";

    if (answer->count) {
        snprintf(half, sizeof(half), "%.3f", ctt_quantiles_at(answer, 0.5));
        snprintf(most, sizeof(most), "%.3f", ctt_quantiles_at(answer, 0.99));
    }
    ctt_table_row(t, "%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
                  "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%s", name,
                  state, n[DECODED], n[BETWEEN], n[DROPPED], n[TAKEN], n[LATE],
                  n[ANSWERS], n[EVENTS], half, most);
}

/* A row for each stream. */
static int streams_table(const struct ctt_watch *w)
{
    struct ctt_table t = { 0 };
    int rc;

    ctt_table_row(&t, "stream\tstate\tdecoded\tbetween\tdropped\ttaken\tlate"
                  "\tanswers\tevents\tp50 ms\tp99 ms");
    for (int i = 0; i < w->set.streams; i++) {
        const struct stream *s = &w->stream[i];
        stream_row(&t, s->name, s->n, &s->answer.all, s->state);
    }
    stream_row(&t, "all", w->n, &w->answer.all, "");
    ctt_tool_say("%s", "");
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

static void times_row(struct ctt_table *t, const char *name,
                      const struct ctt_quantiles *y)
{
    if (y->count)
        ctt_table_row(t, "%s\t%" PRId64 "\t%.3f\t%.3f\t%.3f\t%.3f", name,
                      y->count, ctt_quantiles_at(y, 0.5),
                      ctt_quantiles_at(y, 0.95),
                      ctt_quantiles_at(y, 0.99), y->max);
}

static int tables(struct ctt_watch *w)
{
    struct ctt_table counts = { 0 }, times = { 0 };
    int rc = 0;

    if (w->set.apart)
        CTT_TRY(streams_table(w));
    ctt_table_row(&counts, "count\t");
    for (int i = 0; i < ROWS; i++)    /* --json has zeros, too */
        if (w->n[i] || i == DECODED || i == EVENTS)
            ctt_table_row(&counts, "%s\t%" PRId64, row_name[i], w->n[i]);
    ctt_table_row(&times, "ms\tcount\tp50\tp95\tp99\tmax");
    times_row(&times, "step", &w->step.all);
    times_row(&times, "arrival to answer", &w->answer.all);
    ctt_tool_say("\nran for %.1f seconds; frames, answers and events (STREAMS "
                 "in the manual):", ctt_seconds() - w->start);
    CTT_TRY(ctt_table_print(&counts));
    ctt_tool_say("%s", "");
    CTT_TRY(ctt_table_print(&times));
    ctt_tool_say("memory of a stream: %.3f MB; resident: %.1f MB",
                 megabytes(w), ctt_resident_mb());
out:
    ctt_table_free(&counts);
    ctt_table_free(&times);
    return rc;
}

int ctt_watch_total(struct ctt_watch *w, int64_t missed, int64_t failed)
{
    ctt_watch_stop(w);
    look_at_all(w);
    w->n[MISSED] = missed;
    w->n[FAILED] = failed;
    if (!w->set.json)
        return tables(w);
    json_lines(w, "total", 1);
    return 0;
}
