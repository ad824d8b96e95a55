/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_fit.c: how many streams a model serves in real time: as batches,
 * as sessions, and as processes of their own. */
#include "tools/bench/bench_tool.h"
#include "base/clock.h"
#include "base/ctt.h"
#include "tools/shared/tool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* TICKS: of a trial at least; TRIES: trials of a count that does not fit.
 * USUAL: counts that are tried as a guess, before it is known: two steps up and
 * four within the last of them. */
enum { MOST = 4096, PROCESSES_MOST = 256, TICKS = 20, WARM = 3, TRIES = 2,
       ROUNDS = 24, USUAL = 6 };
static const double SECONDS = 2, LATE = 1e-3, SOON = 20e-3, FINE = 0.03;

const char *const ctt_serve_words[CTT_SERVE_KINDS] = {
    "batch", "sessions", "processes"
};

/* A trial: cores workers, each of which serves so many streams. */
struct trial {
    const struct ctt_bench_file *f;
    const char *device;
    double      period, start;    /* seconds */
    int         ticks;
    double      begun;            /* the whole search, */
    int         tried;            /* and counts that it has tried */
};

struct served { int64_t frames, late; };

struct worker {
    const struct trial *trial;
    struct ctt_many_streams    crowd;
    struct served       served;
    int                 rc;
    char                message[512];
    pthread_t           id;
};

/* ---- one worker ---- */

static void wait_until(double when)
{
    struct timespec t = { (time_t)when,
                          (long)(1e9 * (when - (double)(time_t)when)) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void count_late(struct served *s, double due, int answers)
{
    s->frames += answers;
    s->late += ctt_seconds() > due ? answers : 0;
}

/* A frame of each stream; the answers must be there until `due`. */
static int tick(struct worker *w, double due)
{
    int rc = 0;

    if (w->crowd.b) {
        CTT_TRY(ctt_many_streams_step(&w->crowd));
        count_late(&w->served, due, w->crowd.streams);
        goto out;
    }
    for (int i = 0; i < w->crowd.streams; i++) {
        CTT_TRY(ctt_runner_step(&w->crowd.r[i], 1));
        count_late(&w->served, due, 1);
    }
out:
    return rc;
}

static void *serve(void *arg)
{
    struct worker *w = arg;
    const struct trial *t = w->trial;

    for (int k = 0; k < t->ticks && w->rc >= 0; k++) {
        wait_until(t->start + k * t->period);
        w->rc = tick(w, t->start + (k + 1) * t->period);
    }
    if (w->rc < 0)
        snprintf(w->message, sizeof(w->message), "%s", ctt_errmsg());
    return NULL;
}

static int open_streams(struct worker *w, const struct ctt_infer *m,
                        int streams, int batch)
{
    int rc = 0;

    CTT_TRY(ctt_many_streams_open(m, streams, batch, &w->crowd));
    for (int k = 0; k < WARM; k++)
        CTT_TRY(tick(w, 0));
    w->served = (struct served){ 0, 0 };
out:
    return rc;
}

/* ---- threads ---- */

static int run_threads(struct trial *t, struct worker *w, int cores)
{
    int n = 0, rc = 0;

    t->start = ctt_seconds() + SOON;
    while (n < cores && pthread_create(&w[n].id, NULL, serve, &w[n]) == 0)
        n++;
    for (int i = 0; i < n; i++)
        pthread_join(w[i].id, NULL);
    CTT_CHECK(n == cores, CTT_EIO, "cannot start thread %d", n + 1);
    for (int i = 0; i < n; i++)
        CTT_CHECK(w[i].rc >= 0, w[i].rc, "%s", w[i].message);
out:
    return rc;
}

static int try_threads(struct trial *t, int batch, int cores, int each,
                       struct served *out)
{
    struct ctt_runner model = { .own = NULL };
    struct worker *w = ctt_calloc((size_t)cores, sizeof(*w));
    int rc = w ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_bench_file_load(t->f, t->device, 1, &model));
    for (int i = 0; i < cores; i++) {
        w[i].trial = t;
        CTT_TRY(open_streams(&w[i], model.own, each, batch));
    }
    CTT_TRY(run_threads(t, w, cores));
    for (int i = 0; i < cores; i++) {
        out->frames += w[i].served.frames;
        out->late += w[i].served.late;
    }
out:
    for (int i = 0; w && i < cores; i++)
        ctt_many_streams_close(&w[i].crowd);
    ctt_free(w);
    ctt_runner_close(&model);
    return rc;
}

/* ---- processes ---- */

/* The pipes of a trial: SAY: children report that they are warm, then their
 * counts; TELL: they get the start. */
enum { SAY, TELL, PIPES };
struct lines { int fd[PIPES][2]; };

static int all(ssize_t n, size_t size)
{
    return n == (ssize_t)size;
}

/* The whole life of a child process. */
static void be_child(struct trial t, const struct lines *l)
{
    struct ctt_runner model = { .own = NULL };
    struct worker w = { .trial = &t };
    struct served ready = { 0, 0 };

    w.rc = ctt_bench_file_load(t.f, t.device, 1, &model);
    if (w.rc >= 0)
        w.rc = open_streams(&w, model.own, 1, 0);
    close(l->fd[SAY][0]);
    close(l->fd[TELL][1]);
    if (w.rc < 0 || !all(write(l->fd[SAY][1], &ready, sizeof(ready)),
                         sizeof(ready)) ||
        !all(read(l->fd[TELL][0], &t.start, sizeof(t.start)),
             sizeof(t.start)))
        _exit(1);
    serve(&w);
    _exit(w.rc < 0 || !all(write(l->fd[SAY][1], &w.served, sizeof(w.served)),
                           sizeof(w.served)));
}

/* Adds up the reports of the children. */
static int listen(const struct lines *l, int children, struct served *out)
{
    struct served one;
    int rc = 0;

    for (int i = 0; i < children; i++) {
        CTT_CHECK(all(read(l->fd[SAY][0], &one, sizeof(one)), sizeof(one)),
                  CTT_EIO, "a process of a stream has failed");
        out->frames += one.frames;
        out->late += one.late;
    }
out:
    return rc;
}

static int lead(const struct lines *l, int children, struct served *out)
{
    double start;
    int rc = 0;

    CTT_TRY(listen(l, children, out));
    start = ctt_seconds() + SOON + 1e-3 * children;
    for (int i = 0; i < children; i++)
        CTT_CHECK(all(write(l->fd[TELL][1], &start, sizeof(start)),
                      sizeof(start)), CTT_EIO, "cannot start a process: %s",
                  strerror(errno));
    CTT_TRY(listen(l, children, out));
out:
    return rc;
}

static void hang_up(struct lines *l, int end)
{
    for (int k = 0; k < PIPES; k++)
        for (int i = 0; i < 2; i++)
            if (l->fd[k][i] >= 0 && (end || (k == SAY) == i)) {
                close(l->fd[k][i]);
                l->fd[k][i] = -1;
            }
}

static int try_processes(struct trial *t, int children, struct served *out)
{
    struct lines l = { { { -1, -1 }, { -1, -1 } } };
    pid_t *id = ctt_calloc((size_t)children, sizeof(*id));
    int n = 0, rc = id ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    fflush(NULL);
    for (int k = 0; k < PIPES; k++)
        CTT_CHECK(pipe(l.fd[k]) == 0, CTT_EIO, "cannot make a pipe: %s",
                  strerror(errno));
    for (; n < children && (id[n] = fork()) >= 0; n++)
        if (id[n] == 0)
            be_child(*t, &l);
    CTT_CHECK(n == children, CTT_EIO, "cannot start process %d: %s", n + 1,
              strerror(errno));
    hang_up(&l, 0);
    CTT_TRY(lead(&l, children, out));
out:
    hang_up(&l, 1);    /* children that wait then end */
    for (int i = 0; i < n; i++)
        while (waitpid(id[i], NULL, 0) < 0 && errno == EINTR)
            ;
    ctt_free(id);
    return rc;
}

/* ---- the search ---- */

/* Returns 1 if this number of streams for each core fits, 0 or an error. */
static int streams_fit(struct trial *t, int kind, int cores, int each)
{
    int rc = 0;

    for (int i = 0; i < TRIES && rc == 0; i++) {
        struct served s = { 0, 0 };

        if (kind == CTT_SERVE_PROCESSES)
            CTT_TRY(try_processes(t, cores * each, &s));
        else
            CTT_TRY(try_threads(t, kind == CTT_SERVE_BATCH, cores, each, &s));
        rc = (double)s.late <= LATE * (double)s.frames;
    }
out:
    return rc;
}

/* The next count to try: 0: the answer is close enough.  low fits, high does
 * not (or 0: not known). */
static int next_count(int low, int high, int most)
{
    int step = 1 + (int)(FINE * low);

    if (!high)
        return low == most ? 0 : low + low / 3 < most ? low + low / 3 + 1
                                                      : most;
    if (high - low <= step)
        return 0;
    return low ? low + (high - low) / 2 : high - 1 - high / 4;
}

/* Number of counts left to try of a kind, with this one. */
static int rounds_left(int low, int high)
{
    int n = 1;

    if (!high)
        return low ? USUAL - 1 : USUAL;
    for (int step = 1 + (int)(FINE * low); high - low > 2 * step; n++)
        high = low + (high - low) / 2;
    return n;
}

/* Estimates the rest by the mean time of the trials so far. */
static void say_progress(const struct trial *t, int kind, int streams, int left)
{
    double each = t->tried ? (ctt_seconds() - t->begun) / t->tried :
                  TRIES * t->ticks * t->period;
    struct ctt_work w = { t->tried, 0, 0 };

    left += USUAL * (CTT_SERVE_KINDS - 1 - kind);
    w.all = t->tried + left;
    w.left = left * each;
    ctt_tool_progress(&w, "--fit: %s: %d streams", ctt_serve_words[kind],
                      streams);
}

/* The most streams for each core that fit, beginning with a guess. */
static int find_most(struct trial *t, int kind, int cores, int guess, int most,
                     int *out)
{
    int low = 0, high = 0, rc = 0;
    int n = guess < 1 ? 1 : guess < most ? guess : most;

    for (int i = 0; i < ROUNDS && n > 0; i++) {
        say_progress(t, kind, cores * n, rounds_left(low, high));
        CTT_TRY(streams_fit(t, kind, cores, n));
        *(rc ? &low : &high) = n;
        t->tried++;
        n = next_count(low, high, most);
    }
    *out = low;
    rc = 0;
out:
    return rc;
}

int ctt_bench_fit(const struct ctt_bench_file *f, const char *device,
                  int cores, double rate, int runs, double ms,
                  struct ctt_serve *out)
{
    struct trial t = { .f = f, .device = device, .period = 1 / rate,
                       .begun = ctt_seconds() };
    int guess = 1e3 * t.period < MOST * ms ? (int)(1e3 * t.period / ms) : MOST;
    int rc = 0;

    t.ticks = runs ? runs : (int)(SECONDS * rate);
    t.ticks = t.ticks > TICKS || runs ? t.ticks : (int)TICKS;
    *out = (struct ctt_serve){ .rate = rate, .cores = cores };
    for (int kind = 0; kind < CTT_SERVE_KINDS; kind++) {
        int processes = kind == CTT_SERVE_PROCESSES, each;
        int most = (processes ? PROCESSES_MOST : MOST) / cores;

        CTT_TRY(find_most(&t, kind, cores, guess, most > 0 ? most : 1, &each));
        out->streams[kind] = cores * each;
        guess = each;
    }
out:
    ctt_tool_clear();
    return rc;
}
