/* SPDX-License-Identifier: Apache-2.0
 * ranks.c: convtt-train as one of several processes. */
#include "tools/train/train_tool.h"
#include "libtrain/before.h"
#include "base/clock.h"
#include "tools/shared/tool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Delays of error messages, in seconds, so that only one rank prints: rank r
 * waits REPORT_BASE + r * REPORT_STEP (at most for r = REPORT_RANKS), NO_MPI
 * longer before MPI is open, as the launcher alone ends processes then, and
 * AFTER_SIGNAL longer after a signal, which may be the launcher's.  A launcher
 * kills processes within KILL_TIME. */
#define REPORT_BASE  1.0
#define REPORT_STEP  0.1
#define NO_MPI       1.0
#define AFTER_SIGNAL 2.0
#define KILL_TIME    10.0
enum { REPORT_RANKS = 20 };

void ctt_ranks_hush(void)
{
    int rank = 0;

    if (ctt_comm_launched(&rank) > 0)
        ctt_tool_rank(rank);
}

static int check_alone(const struct ctt_train_cfg *cfg)
{
    const struct { int is; const char *name; } alone[] = {
        { cfg->folds, "folds" }, { cfg->doctor, "doctor" },
        { cfg->amp_plan, "amp-plan" }, { cfg->jobs > 1, "jobs" },
    };
    int ranks = ctt_comm_place(cfg->wiring.comm)->ranks, rc = 0;

    for (size_t i = 0; i < CTT_LEN(alone) && ranks > 1; i++)
        CTT_CHECK(!alone[i].is, CTT_EINVAL, "--%s is for one process, not for "
                  "%d", alone[i].name, ranks);
out:
    return rc;
}

int ctt_ranks_open(struct ctt_train_cfg *cfg)
{
    char line[256];
    int rc;

    CTT_TRY(ctt_comm_open("auto", &cfg->wiring.comm));
    ctt_tool_rank(ctt_comm_place(cfg->wiring.comm)->rank);
    CTT_TRY(check_alone(cfg));
    if (!cfg->search)
        CTT_TRY(ctt_train_ranks_suit(cfg));
    CTT_TRY(ctt_comm_share(cfg->wiring.comm, cfg->affinity == 0,
                           &cfg->threads));
    CTT_TRY(ctt_train_gpus(cfg, line, sizeof(line)));
    if (*line)
        ctt_tool_say("%s", line);
out:
    return rc;
}

int ctt_ranks_writes(const struct ctt_train_cfg *cfg)
{
    return ctt_comm_place(cfg->wiring.comm)->rank == 0;
}

/* ---- a rank that stalls ---- */

static struct {
    struct ctt_comm *comm;
    double           seconds;
    const char      *unit;
    pthread_t        thread;
    pthread_mutex_t  lock;
    pthread_cond_t   news;
    int              runs;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .news = PTHREAD_COND_INITIALIZER };
static _Atomic int64_t step;

void ctt_ranks_step(int64_t now)
{
    step = now;
}

/* Returns 0 if a signal came first. */
static int sleep_seconds(double seconds)
{
    struct timespec t = { .tv_sec = (time_t)seconds };

    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    return nanosleep(&t, NULL) == 0;
}

/* MPI itself may hang: the process ends even if it cannot end the others. */
static void end_stalled(int64_t calls)
{
    ctt_tool_die(CTT_EXIT_FAIL, "nothing has gone on for %.0f s (--stall): "
                 "after %lld %s, %s", watch.seconds, (long long)step,
                 watch.unit,
                 calls & 1 ? "waiting for other processes" : "at work");
    sleep_seconds(REPORT_BASE);
    alarm((unsigned)KILL_TIME);
    ctt_comm_abort(watch.comm, CTT_EXIT_FAIL);
    _exit(CTT_EXIT_FAIL);
}

/* Calls of NULL count too: a rank that tests alone has no comm. */
static void *watch_calls(void *arg)
{
    int64_t was = -1;
    double since = 0;

    pthread_mutex_lock(&watch.lock);
    while (watch.runs) {
        int64_t calls = ctt_comm_calls(watch.comm) + ctt_comm_calls(NULL);
        struct timespec t;

        if (calls != was)
            since = ctt_seconds();
        was = calls;
        if (ctt_seconds() - since >= watch.seconds)
            end_stalled(calls);
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec++;
        pthread_cond_timedwait(&watch.news, &watch.lock, &t);
    }
    pthread_mutex_unlock(&watch.lock);
    return arg;
}

/* With --sync only the server watches: workers may wait long while it tests,
 * and it may do without some of them. */
static int watches(const struct ctt_train_cfg *cfg)
{
    const struct ctt_comm_place *p = ctt_comm_place(cfg->wiring.comm);

    return cfg->stall && p->ranks > 1 &&
           (p->rank == 0 || !ctt_train_has_server(cfg));
}

int ctt_ranks_watch(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    if (!watches(cfg))
        goto out;
    watch.comm = cfg->wiring.comm;
    watch.seconds = cfg->stall;
    watch.unit = cfg->search ? "trials" : "steps";
    watch.runs = 1;
    if (pthread_create(&watch.thread, NULL, watch_calls, NULL) != 0) {
        watch.runs = 0;
        rc = ctt_error(CTT_EIO, "cannot start a thread");
    }
out:
    return rc;
}

void ctt_ranks_unwatch(void)
{
    if (!watch.runs)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.runs = 0;
    pthread_cond_signal(&watch.news);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
}

/* ---- the end ---- */

/* Seconds until a rank may print an error. */
static double report_delay(int rank, const struct ctt_comm *comm)
{
    int steps = rank < REPORT_RANKS ? rank : REPORT_RANKS;
    double delay = rank ? REPORT_BASE + REPORT_STEP * steps : 0;

    if (rank && !comm)
        delay += NO_MPI;
    if (ctt_comm_place(comm)->ranks > 1 && ctt_tool_stop())
        delay += AFTER_SIGNAL;
    return delay;
}

int ctt_ranks_fail(const struct ctt_train_cfg *cfg, int status)
{
    double delay = report_delay(ctt_tool_rank(-1), cfg->wiring.comm);

    if (delay > 0 && !sleep_seconds(delay))    /* this process is being ended */
        sleep_seconds(KILL_TIME);
    else
        ctt_tool_fail(status);
    fflush(stdout);
    ctt_comm_abort(cfg->wiring.comm, status);
    return status;
}

void ctt_ranks_close(struct ctt_train_cfg *cfg)
{
    ctt_comm_close(&cfg->wiring.comm);
}
