/* SPDX-License-Identifier: Apache-2.0
 * hook.c: a command of the user that runs for each event. */
#include "tools/stream/stream_tool.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Seconds for killed commands to die at the end. */
#define DEATH 1.0

/* GROUPS: commands of all hooks at once.  WHY: bytes of a reason. */
enum { GROUPS = 4096, WHY = 96 };

/* Process groups of running commands, 0: free; read by a signal handler. */
static atomic_int groups[GROUPS];

/* id 0: none; killed: perhaps not dead yet, as a process that waits for a
 * device, or has changed its user. */
struct child { pid_t id; double start; int killed; atomic_int *group; };

struct ctt_hook {
    const char  *command;
    double       limit;
    struct child child[CTT_HOOK_ROOM];
    int64_t      failed;
    char         why[2 * CTT_HOOK_ROOM][WHY];    /* not told yet */
    int          whys;
};

int ctt_hook_open(const char *command, double limit, struct ctt_hook **out)
{
    struct ctt_hook *h = ctt_calloc(1, sizeof(*h));

    if (!h)
        return CTT_ENOMEM;
    h->command = command;
    h->limit = limit;
    *out = h;
    return 0;
}

/* ---- starting ---- */

/* A pipe that holds the text and whose other end is closed. */
static int pipe_with(const char *text, size_t n, int *out)
{
    int end[2] = { -1, -1 }, rc = 0;

    CTT_CHECK(pipe(end) == 0, CTT_EIO, "--exec: no pipe: %s",
              strerror(errno));
    for (int i = 0; i < 2; i++)
        fcntl(end[i], F_SETFD, FD_CLOEXEC);
    fcntl(end[1], F_SETFL, O_NONBLOCK);
    CTT_CHECK(write(end[1], text, n) == (ssize_t)n, CTT_EIO,
              "--exec: the pipe does not take an event of %zu bytes", n);
    *out = end[0];
    end[0] = -1;
out:
    for (int i = 0; i < 2; i++)
        if (end[i] >= 0)
            close(end[i]);
    return rc;
}

/* Libraries may have opened files without the flag. */
static void close_files_on_exec(void)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;

    while (d && (e = readdir(d))) {
        int fd = atoi(e->d_name);

        if (fd > STDERR_FILENO)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (d)
        closedir(d);
}

/* The environment of this program and the variables, which come first. */
static char **join_environment(char *const *variable)
{
    size_t own = 0, more = 0;
    char **all;

    while (environ && environ[own])
        own++;
    while (variable[more])
        more++;
    all = ctt_calloc(own + more + 1, sizeof(*all));
    if (!all)
        return NULL;
    memcpy(all, variable, more * sizeof(*all));
    if (own)
        memcpy(all + more, environ, own * sizeof(*all));
    return all;
}

/* Signals that this program ignores or catches are as usual in the command. */
static int set_up(posix_spawnattr_t *a, posix_spawn_file_actions_t *f, int in)
{
    sigset_t usual, none;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    return posix_spawnattr_setpgroup(a, 0) ||
           posix_spawnattr_setsigdefault(a, &usual) ||
           posix_spawnattr_setsigmask(a, &none) ||
           posix_spawnattr_setflags(a, POSIX_SPAWN_SETPGROUP |
                                       POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETSIGMASK) ||
           posix_spawn_file_actions_adddup2(f, in, STDIN_FILENO) ||
           posix_spawn_file_actions_adddup2(f, STDERR_FILENO, STDOUT_FILENO);
}

static int spawn(const struct ctt_hook *h, int in, char **environment,
                 pid_t *out)
{
    char sh[] = "sh", c[] = "-c", *argv[] = { sh, c, (char *)h->command, NULL };
    posix_spawn_file_actions_t f;
    posix_spawnattr_t a;
    int bad = posix_spawnattr_init(&a), rc = 0;

    CTT_CHECK(!bad, CTT_ENOMEM, "--exec: out of memory");
    bad = posix_spawn_file_actions_init(&f);
    if (!bad) {
        bad = set_up(&a, &f, in);
        if (!bad)
            bad = posix_spawn(out, "/bin/sh", &f, &a, argv, environment);
        posix_spawn_file_actions_destroy(&f);
    }
    posix_spawnattr_destroy(&a);
    CTT_CHECK(!bad, CTT_EIO, "--exec: cannot run it: %s", strerror(bad));
out:
    return rc;
}

/* A place of the list, which becomes -1: nobody's group. */
static atomic_int *free_group(void)
{
    for (int i = 0; i < GROUPS; i++) {
        int none = 0;

        if (atomic_compare_exchange_strong(&groups[i], &none, -1))
            return &groups[i];
    }
    return NULL;
}

static struct child *free_one(struct ctt_hook *h)
{
    for (int i = 0; i < CTT_HOOK_ROOM; i++) {
        struct child *c = &h->child[i];

        if (c->id)
            continue;
        c->group = free_group();
        return c->group ? c : NULL;
    }
    return NULL;
}

/* No signal comes between the start of a command and its place in the list. */
static int start_child(const struct ctt_hook *h, int in, char **environment,
                       struct child *c)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = spawn(h, in, environment, &c->id);
    if (rc >= 0)
        atomic_store(c->group, (int)c->id);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int ctt_hook_run(struct ctt_hook *h, const char *text, char *const *variable)
{
    size_t n = strlen(text);
    struct child *c = NULL;
    char **environment = NULL;
    int in = -1, rc = 0;

    ctt_hook_look(h);
    CTT_CHECK(n <= CTT_HOOK_TEXT, CTT_EIO, "--exec: an event of %zu bytes, of "
              "%d at most, is not passed on", n, CTT_HOOK_TEXT);
    c = free_one(h);
    if (!c)
        return 0;
    environment = join_environment(variable);
    CTT_TRY(environment ? 0 : CTT_ENOMEM);
    CTT_TRY(pipe_with(text, n, &in));
    close_files_on_exec();
    CTT_TRY(start_child(h, in, environment, c));
    c->start = ctt_seconds();
    c->killed = 0;
    rc = 1;
out:
    if (rc < 0 && c)
        atomic_store(c->group, 0);
    if (in >= 0)
        close(in);
    ctt_free(environment);
    return rc;
}

/* ---- ending ---- */

__attribute__((format(printf, 2, 3)))
static void add_why(struct ctt_hook *h, const char *fmt, ...)
{
    va_list ap;

    h->failed++;
    if (h->whys == (int)CTT_LEN(h->why))
        return;
    va_start(ap, fmt);
    vsnprintf(h->why[h->whys++], WHY, fmt, ap);
    va_end(ap);
}

/* With all that it started and that stayed in its group. */
static int kill_child(struct child *c)
{
    if (c->killed)
        return 0;
    kill(-c->id, SIGKILL);
    c->killed = 1;
    return 1;
}

/* The status of the shell in words. */
static void note_status(struct ctt_hook *h, const siginfo_t *s)
{
    if (s->si_code != CLD_EXITED)
        add_why(h, "a command was ended by signal %d", s->si_status);
    else if (s->si_status)
        add_why(h, "a command ended with status %d%s", s->si_status,
                s->si_status == 127 ? ": the shell does not find it" :
                s->si_status == 126 ? ": it is there, but cannot be run" : "");
}

/* Returns 1 if it has ended, and kills its background processes before the
 * group's number may be reused. */
static int reap(struct ctt_hook *h, struct child *c)
{
    siginfo_t s = { 0 };
    int there = waitid(P_PID, (id_t)c->id, &s, WEXITED | WNOHANG | WNOWAIT);

    if (there == 0 && s.si_pid == 0)
        return 0;
    if (there == 0)
        kill(-c->id, SIGKILL);
    atomic_store(c->group, 0);
    waitpid(c->id, NULL, WNOHANG);
    if (there == 0 && !c->killed)
        note_status(h, &s);
    c->id = 0;
    return 1;
}

int ctt_hook_look(struct ctt_hook *h)
{
    int running = 0;

    for (struct child *c = h->child; c < h->child + CTT_HOOK_ROOM; c++) {
        if (!c->id || reap(h, c))
            continue;
        if (ctt_seconds() - c->start > h->limit && kill_child(c))
            add_why(h, "a command took more than %g s and was ended", h->limit);
        running++;
    }
    return running;
}

int64_t ctt_hook_failed(const struct ctt_hook *h)
{
    return h->failed;
}

int ctt_hook_tell(struct ctt_hook *h, char *to, size_t size)
{
    if (!h->whys)
        return 0;
    snprintf(to, size, "%s", h->why[0]);
    memmove(h->why[0], h->why[1], sizeof(h->why) - sizeof(h->why[0]));
    h->whys--;
    return 1;
}

void ctt_hook_kill_all(void)
{
    for (int i = 0; i < GROUPS; i++) {
        int group = atomic_load(&groups[i]);

        if (group > 0)
            kill(-group, SIGKILL);
    }
}

static void wait_for_children(struct ctt_hook *h, double seconds)
{
    const struct timespec nap = { .tv_nsec = 10000000 };
    double start = ctt_seconds();

    while (ctt_hook_look(h) && ctt_seconds() - start < seconds)
        nanosleep(&nap, NULL);
}

void ctt_hook_wait(struct ctt_hook *h, double seconds)
{
    wait_for_children(h, seconds);
    for (struct child *c = h->child; c < h->child + CTT_HOOK_ROOM; c++)
        if (c->id && kill_child(c))
            add_why(h, "a command that still ran at the end was ended");
    wait_for_children(h, DEATH);
}

void ctt_hook_close(struct ctt_hook **h)
{
    if (!*h)
        return;
    ctt_hook_wait(*h, 0);
    ctt_free(*h);
    *h = NULL;
}
