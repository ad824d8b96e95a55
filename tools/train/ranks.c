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

/* Seconds that rank 0 has to say an error before another rank does, and those
 * that each of the next ranks waits longer; by how much longer they wait before
 * MPI is open, as the launcher alone ends them then; and all after a signal,
 * which may be the launcher's, who then kills them.  Seconds that a launcher
 * needs to end processes. */
#define WORD 1.0
#define NEXT 0.1
#define LAUNCHER 1.0
#define SIGNAL 2.0
#define KILLED 10.0
enum { MOST = 20 };

void ctt_ranks_hush(void)
{
    int rank = 0;

    if (ctt_comm_launched(&rank) > 0)
        ctt_tool_rank(rank);
}

static int check(const struct ctt_train_cfg *cfg)
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
    CTT_TRY(check(cfg));
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

/* ---- a rank that waits for ever ---- */

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

/* 0 if a signal came first. */
static int wait_for(double seconds)
{
    struct timespec t = { .tv_sec = (time_t)seconds };

    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    return nanosleep(&t, NULL) == 0;
}

/* MPI may be what hangs, so the process ends even if it does not end all. */
static void end_stalled(int64_t calls)
{
    ctt_tool_die(CTT_EXIT_FAIL, "nothing has gone on for %.0f s (--stall): "
                 "after %lld %s, %s", watch.seconds, (long long)step,
                 watch.unit,
                 calls & 1 ? "waiting for other processes" : "at work");
    wait_for(WORD);
    alarm((unsigned)KILLED);
    ctt_comm_abort(watch.comm, CTT_EXIT_FAIL);
    _exit(CTT_EXIT_FAIL);
}

/* A rank that tests alone calls a comm that is NULL. */
static void *look(void *arg)
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

/* A worker of --sync may wait long, while the server tests; who stands still is
 * for the server to see, which may do without some. */
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
    if (pthread_create(&watch.thread, NULL, look, NULL) != 0) {
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

/* When a rank may speak. */
static double turn_of(int rank, const struct ctt_comm *comm)
{
    double turn = rank ? WORD + NEXT * (rank < MOST ? rank : MOST) : 0;

    if (rank && !comm)
        turn += LAUNCHER;
    if (ctt_comm_place(comm)->ranks > 1 && ctt_tool_stop())
        turn += SIGNAL;
    return turn;
}

int ctt_ranks_fail(const struct ctt_train_cfg *cfg, int status)
{
    double turn = turn_of(ctt_tool_rank(-1), cfg->wiring.comm);

    if (turn > 0 && !wait_for(turn))    /* it is being ended */
        wait_for(KILLED);
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
