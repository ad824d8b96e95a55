/* SPDX-License-Identifier: Apache-2.0
 * team.c: threads that share the tasks of a loop. */
#define _GNU_SOURCE    /* sched_getcpu, syscall */
#include "device/team.h"
#include "base/span.h"
#include "base/ctt.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Seconds for which a thread looks for work, and the caller for the end of the
 * last task, before it sleeps: about the time of waking it. */
static const double SPIN = 50e-6;

/* Looks at a variable between two looks at the clock. */
enum { LOOKS = 32, LINE = 64 };

/* tasks: one thread's tasks that are not taken, as pair() has them; the others,
 * and they alone, take from the end.  job: counts the calls that need the
 * thread. */
struct member {
    _Alignas(LINE) _Atomic uint64_t tasks;
    _Alignas(LINE) _Atomic uint32_t job;
    _Atomic uint32_t asleep;
    struct ctt_team *team;
    pthread_t        id;
    int              who;
};

/* f and arg are written while no task is left and read after one was taken. */
struct ctt_team {
    int                      size;
    ctt_task                *f;
    void                    *arg;
    _Alignas(LINE) _Atomic int ends, cpu;     /* cpu: the caller's */
    _Alignas(LINE) _Atomic int64_t done;      /* tasks, by all but the caller */
    _Atomic uint32_t         caller_sleeps;
    struct member            member[];
};

/* Whose tasks this thread runs now; NULL: none. */
static _Thread_local struct member *me;

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void wait_while(_Atomic uint32_t *word, uint32_t is)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, is, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    if (atomic_load(word) && atomic_exchange(word, 0))
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- tasks ---- */

/* Tasks first .. end - 1, which so many threads may take: so one that comes
 * late and is not needed by this call takes none. */
enum { TASK_BITS = 25, TASK_MASK = (1 << TASK_BITS) - 1 };

static uint64_t pair(int64_t first, int64_t end, int threads)
{
    return (uint64_t)threads << 2 * TASK_BITS | (uint64_t)end << TASK_BITS |
           (uint64_t)first;
}

/* A task of m, its first or, by another thread, its last; or -1: none is left
 * for this thread. */
static int64_t take_task(struct member *m, int who)
{
    uint64_t now = atomic_load_explicit(&m->tasks, memory_order_relaxed);

    for (;;) {
        int64_t first = (int64_t)(now & TASK_MASK);
        int64_t end = (int64_t)(now >> TASK_BITS & TASK_MASK);
        int threads = (int)(now >> 2 * TASK_BITS), last = who != m->who;
        uint64_t left = pair(first + !last, end - last, threads);

        if (first >= end || who >= threads)
            return -1;
        if (atomic_compare_exchange_weak_explicit(&m->tasks, &now, left,
                memory_order_acq_rel, memory_order_relaxed))
            return last ? end - 1 : first;
    }
}

/* Runs tasks that are left, a thread's own first; returns their number. */
static int64_t run_tasks(struct ctt_team *t, int who)
{
    struct member *outer = me;
    int64_t task, count = 0;

    me = &t->member[who];
    for (int k = 0; k < t->size; k++) {
        struct member *m = &t->member[(who + k) % t->size];

        for (; (task = take_task(m, who)) >= 0; count++)
            t->f(t->arg, task, who);
    }
    me = outer;
    return count;
}

/* ---- the others ---- */

/* 1 if a call came within the time of spinning. */
static int sees_job(const struct member *m, uint32_t last)
{
    double until = ctt_seconds() + SPIN;

    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&m->job, memory_order_acquire) != last)
                return 1;
            pause_briefly();
        }
    } while (ctt_seconds() < until);
    return 0;
}

/* The caller counts the job first and then looks who is asleep. */
static void sleep_until_job(struct member *m, uint32_t last)
{
    atomic_store(&m->asleep, 1);
    while (atomic_load(&m->job) == last && atomic_load(&m->asleep))
        wait_while(&m->asleep, 1);
    atomic_store(&m->asleep, 0);
}

static void help(struct ctt_team *t, int who)
{
    double start = ctt_span_begin();
    int64_t count = run_tasks(t, who);

    if (count) {
        ctt_span_end(CTT_SPAN_PART, start);
        atomic_fetch_add(&t->done, count);
        wake(&t->caller_sleeps);
    }
}

/* 1 if this thread has the caller's processor and may use no other.  The kernel
 * puts a thread that is woken there if others are busy, be it with less urgent
 * work, and then the caller would wait for its own processor. */
static int is_crowded(const struct ctt_team *t)
{
    int cpu = atomic_load(&t->cpu);
    cpu_set_t all, others;
    int moved = 0;

    if (cpu != sched_getcpu())
        return 0;
    if (sched_getaffinity(0, sizeof(all), &all) == 0) {
        others = all;
        CPU_CLR((size_t)cpu, &others);
        moved = CPU_COUNT(&others) > 0 &&
                sched_setaffinity(0, sizeof(others), &others) == 0;
        sched_setaffinity(0, sizeof(all), &all);
    }
    return !moved;
}

static void *serve(void *arg)
{
    struct member *m = arg;
    struct ctt_team *t = m->team;
    uint32_t last = 0;

    for (;;) {
        uint32_t now = atomic_load(&m->job);    /* before `ends`, which is set
                                                   before the last is counted */
        int crowded;

        if (atomic_load(&t->ends))
            return NULL;
        crowded = is_crowded(t);
        if (now != last && !crowded)
            help(t, m->who);
        last = now;
        if (crowded || !sees_job(m, last))
            sleep_until_job(m, last);
    }
}

/* Signals are for the program's own threads. */
static int start_member(struct member *m)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&m->id, NULL, serve, m);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0;
}

/* ---- the caller ---- */

int ctt_team_open(int threads, struct ctt_team **out)
{
    size_t bytes = sizeof(struct ctt_team) +
                   (size_t)threads * sizeof(struct member);
    struct ctt_team *t = ctt_calloc(bytes, 1);

    if (!t)
        return CTT_ENOMEM;
    t->size = threads;
    for (int i = 0; i < threads; i++) {
        t->member[i].team = t;
        t->member[i].who = i;
    }
    for (int i = 1; i < t->size; i++)
        if (!start_member(&t->member[i]))
            t->size = i;
    *out = t;
    return 0;
}

/* Calls members 1 .. threads - 1. */
static void call(struct ctt_team *t, int threads)
{
    for (int i = 1; i < threads; i++) {
        atomic_fetch_add(&t->member[i].job, 1);
        wake(&t->member[i].asleep);
    }
}

void ctt_team_close(struct ctt_team **t)
{
    if (!*t)
        return;
    atomic_store(&(*t)->ends, 1);
    call(*t, (*t)->size);
    for (int i = 1; i < (*t)->size; i++)
        pthread_join((*t)->member[i].id, NULL);
    ctt_free(*t);
    *t = NULL;
}

int ctt_team_size(const struct ctt_team *t)
{
    return t ? t->size : 1;
}

static void in_order(int64_t tasks, ctt_task *f, void *arg, int who)
{
    for (int64_t i = 0; i < tasks; i++)
        f(arg, i, who);
}

/* Waits until `count` tasks are done. */
static void wait_for_tasks(struct ctt_team *t, int64_t count)
{
    double until = ctt_seconds() + SPIN;

    while (atomic_load(&t->done) != count && ctt_seconds() < until)
        for (int i = 0; i < LOOKS && atomic_load_explicit(&t->done,
                memory_order_acquire) != count; i++)
            pause_briefly();
    while (atomic_load(&t->done) != count) {
        atomic_store(&t->caller_sleeps, 1);
        if (atomic_load(&t->done) != count)
            wait_while(&t->caller_sleeps, 1);
    }
    atomic_store(&t->caller_sleeps, 0);
}

/* The first task of thread i.  The caller has a task even if there are few,
 * since without one it would mistake the time of a task for a lost processor.
 * */
static int64_t first_of(int64_t tasks, int i, int threads)
{
    return (tasks * i + threads - 1) / threads;
}

/* Shares the tasks out, works and waits. */
static void together(struct ctt_team *t, int threads, int64_t tasks)
{
    int64_t mine;

    atomic_store_explicit(&t->done, 0, memory_order_relaxed);
    for (int i = 0; i < threads; i++)
        atomic_store_explicit(&t->member[i].tasks,
                              pair(first_of(tasks, i, threads),
                                   first_of(tasks, i + 1, threads), threads),
                              memory_order_release);
    atomic_store_explicit(&t->cpu, sched_getcpu(), memory_order_relaxed);
    call(t, threads);
    mine = run_tasks(t, 0);
    if (mine < tasks)
        wait_for_tasks(t, tasks - mine);
}

void ctt_team_run(struct ctt_team *t, int threads, int64_t tasks, ctt_task *f,
                  void *arg)
{
    int nested = me && t && me->team == t, size = ctt_team_size(t);

    threads = threads < size ? threads : size;
    if (threads <= 1 || tasks <= 1 || tasks > CTT_TEAM_TASKS || nested) {
        in_order(tasks, f, arg, nested ? me->who : 0);
        return;
    }
    t->f = f;
    t->arg = arg;
    together(t, threads, tasks);
}
