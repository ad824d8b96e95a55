/* SPDX-License-Identifier: Apache-2.0
 * tasks.c: the independent tasks of a kernel, shared by threads. */
#include "device/dev.h"

#include <omp.h>

/* Runs of rows a thread: what a thread that loses its processor delays. */
enum { RUNS = 4 };

void ctt_dev_tasks(struct ctt_dev *d, int threads, int64_t tasks, ctt_task *f,
                   void *arg)
{
    if (threads == 1 || tasks == 1) {
        for (int64_t i = 0; i < tasks; i++)
            f(arg, i, 0);
        return;
    }
    if (d && d->team) {
        ctt_team_run(d->team, threads, tasks, f, arg);
        return;
    }
    #pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < tasks; i++)
        f(arg, i, omp_get_thread_num());
}

struct rows {
    ctt_rows_fn *f;
    const void  *arg;
    int64_t      n, runs;
};

static void run_rows(void *arg, int64_t i, int who)
{
    const struct rows *r = arg;

    (void)who;
    r->f(r->arg, r->n * i / r->runs, r->n * (i + 1) / r->runs);
}

void ctt_dev_share(struct ctt_dev *d, int threads, int64_t n, ctt_rows_fn *f,
                   const void *arg)
{
    int64_t runs = threads * (d->team ? RUNS : 1);
    struct rows r = { f, arg, n, runs < n ? runs : n };

    if (n == 0)
        return;
    if (threads == 1)
        f(arg, 0, n);
    else
        ctt_dev_tasks(d, threads, r.runs, run_rows, &r);
}

void ctt_dev_rows(struct ctt_dev *d, double work, int64_t n, ctt_rows_fn *f,
                  const void *arg)
{
    ctt_dev_share(d, ctt_dev_team(d, work), n, f, arg);
}
