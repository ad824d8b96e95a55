/* SPDX-License-Identifier: Apache-2.0
 * shim.c: preloaded into a program, makes one of its allocations or one of its
 * system calls (shim_calls.c) fail, or kills it there (fault.h). */
#define _GNU_SOURCE
#include "tests/fault/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared *fault_now;
struct fault_order fault_order;
static uint64_t *stacks;           /* shared as well */
static struct shared alone;        /* of a program that has no server */
static int armed;
static _Thread_local int inside;    /* in this file: do not count */

/* ---- allocations ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

/* The calls that ask for allocation n, as a number (FNV-1a of the addresses,
 * which are the same in each copy). */
static void keep_stack(long n)
{
    void *frame[FRAMES];
    uint64_t hash = 14695981039346656037u;
    int count;

    if (n > STACKS)
        return;
    inside = 1;
    count = backtrace(frame, FRAMES);
    for (int i = SKIP; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frame[i]) * 1099511628211u;
    stacks[n - 1] = hash;
    inside = 0;
}

static int alloc_fails(void)
{
    long n;

    if (!armed || inside)
        return 0;
    n = atomic_fetch_add(&fault_now->allocs, 1) + 1;
    if (fault_order.kind == FAULT_STACKS)
        keep_stack(n);
    if (fault_order.kind == FAULT_ALLOC ? n != fault_order.at :
        fault_order.kind != FAULT_ALLOC_ON || n < fault_order.at)
        return 0;
    if (n == fault_order.at) {
        inside = 1;
        fault_now->frames = backtrace(fault_now->frame, FRAMES);
        atomic_store(&fault_now->hit, 1);
        if (fault_now == &alone)
            close(creat("struck", 0666));
        inside = 0;
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return alloc_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return alloc_fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return alloc_fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}

void *memalign(size_t align, size_t size)
{
    return alloc_fails() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
    int old = errno;
    void *q = memalign(align, size);

    errno = old;
    if (!q)
        return ENOMEM;
    *p = q;
    return 0;
}

/* ---- the server ---- */

static void open_as(int fd, const char *path, int flags)
{
    int got = open(path, flags, 0666);

    if (got < 0 || dup2(got, fd) < 0)
        _exit(99);
    close(got);
}

/* Leaves where the program crashed, then lets it crash. */
static void on_crash(int sig)
{
    (void)sig;
    inside = 1;
    fault_now->crash_frames = backtrace(fault_now->crash, FRAMES);
    inside = 0;
}

static void catch_crashes(void)
{
    static const int signals[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL };
    struct sigaction act = { .sa_handler = on_crash,
                             .sa_flags = (int)SA_RESETHAND };

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &act, NULL);
}

static int start_timer(void)
{
    struct sigevent e = { .sigev_notify = SIGEV_SIGNAL,
                          .sigev_signo = fault_order.kind == FAULT_TERM_TIME
                                         ? SIGTERM : SIGKILL };
    struct itimerspec t = { .it_value = { fault_order.at / 1000000,
                                          fault_order.at % 1000000 * 1000 } };
    timer_t id;

    return timer_create(CLOCK_MONOTONIC, &e, &id) < 0 ? -1
           : timer_settime(id, 0, &t, NULL);
}

/* The copy: leaves the constructor for main(). */
static void start_child(void)
{
    const struct rlimit none = { 0, 0 };
    char path[FAULT_PATH + 8];

    open_as(0, "/dev/null", O_RDONLY);
    snprintf(path, sizeof(path), "%s.out", fault_order.dir);
    open_as(1, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    snprintf(path, sizeof(path), "%s.err", fault_order.dir);
    open_as(2, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    unsetenv("LD_PRELOAD");
    unsetenv(FAULT_ENV);
    setrlimit(RLIMIT_CORE, &none);
    catch_crashes();
    if (chdir(fault_order.dir) < 0 ||
        (!fault_of_allocs(fault_order.kind) && fault_catch_calls() < 0) ||
        (fault_is_timed(fault_order.kind) && start_timer() < 0))
        _exit(99);
    armed = 1;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The frames as "LIBRARY:FUNCTION"; a program's own functions, whose names are
 * not loaded, as "PROGRAM+0xADDRESS". */
static size_t name_frames(char *to, size_t used, void *const *frame, int count)
{
    for (int i = SKIP; i < count && used < FAULT_WHERE; i++) {
        const char *space = i > SKIP ? " " : "";
        Dl_info d = { 0 };

        if (!dladdr(frame[i], &d) || !d.dli_fname)
            used += (size_t)snprintf(to + used, FAULT_WHERE - used, "%s?",
                                     space);
        else if (d.dli_sname)
            used += (size_t)snprintf(to + used, FAULT_WHERE - used, "%s%s:%s",
                                     space, base_name(d.dli_fname),
                                     d.dli_sname);
        else
            used += (size_t)snprintf(to + used, FAULT_WHERE - used,
                                     "%s%s+%#lx", space,
                                     base_name(d.dli_fname),
                                     (unsigned long)((char *)frame[i] -
                                                     (char *)d.dli_fbase));
    }
    return used < FAULT_WHERE ? used : FAULT_WHERE - 1;
}

static void name_all(char to[FAULT_WHERE])
{
    size_t used;

    if (fault_now->call)
        used = (size_t)snprintf(to, FAULT_WHERE, "%s", fault_now->call);
    else
        used = name_frames(to, 0, fault_now->frame, fault_now->frames);
    if (fault_now->crash_frames == 0)
        return;
    used += (size_t)snprintf(to + used, FAULT_WHERE - used, " CRASH ");
    if (used < FAULT_WHERE)
        name_frames(to, used, fault_now->crash, fault_now->crash_frames);
}

static void write_stacks(void)
{
    long n = atomic_load(&fault_now->allocs);
    char path[FAULT_PATH + 8];
    FILE *f;

    snprintf(path, sizeof(path), "%s.stacks", fault_order.dir);
    f = fopen(path, "wb");
    n = n < STACKS ? n : STACKS;
    if (!f || fwrite(stacks, sizeof(*stacks), (size_t)n, f) != (size_t)n ||
        fclose(f) != 0)
        _exit(99);
}

static void report_child(int fd, pid_t pid)
{
    struct fault_answer a = { 0 };

    if (write(fd, &pid, sizeof(pid)) != sizeof(pid) ||
        waitpid(pid, &a.status, 0) != pid)
        _exit(99);
    a.hit = atomic_load(&fault_now->hit);
    a.allocs = atomic_load(&fault_now->allocs);
    a.calls = atomic_load(&fault_now->calls);
    name_all(a.where);
    if (fault_order.kind == FAULT_STACKS)
        write_stacks();
    if (write(fd, &a, sizeof(a)) != sizeof(a))
        _exit(99);
}

static void arm_alone(const char *at)
{
    fault_now = &alone;
    fault_order.kind = FAULT_ALLOC;
    fault_order.at = atol(at);
    armed = 1;
}

__attribute__((constructor)) static void serve_orders(void)
{
    const char *fds = getenv(FAULT_ENV), *at = getenv(FAULT_ENV_ALLOC);
    void *first[4];
    int in, out;

    backtrace(first, 4);    /* loads libgcc now */
    if (at)
        arm_alone(at);
    if (!fds || sscanf(fds, "%d,%d", &in, &out) != 2)
        return;
    fault_now = mmap(NULL, sizeof(*fault_now), PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stacks = mmap(NULL, STACKS * sizeof(*stacks), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fault_now == MAP_FAILED || stacks == MAP_FAILED)
        _exit(99);
    while (read(in, &fault_order, sizeof(fault_order)) == sizeof(fault_order)) {
        pid_t pid;

        memset(fault_now, 0, sizeof(*fault_now));
        pid = fork();
        if (pid == 0) {
            close(in);
            close(out);
            start_child();
            return;
        }
        if (pid < 0)
            _exit(99);
        report_child(out, pid);
    }
    _exit(0);
}
