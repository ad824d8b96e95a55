/* SPDX-License-Identifier: Apache-2.0
 * tool.c: messages and signals of the programs. */
#include "tools/shared/tool.h"
#include "tools/shared/output.h"
#include "base/clock.h"
#include "net/file/h5.h"
#include "base/limits.h"
#include "base/warn.h"
#include "base/visible.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *program = "convtt";
static int tool_rank;
static volatile sig_atomic_t stop;

/* Makes idle OpenMP threads sleep soon.  By default they spin for milliseconds:
 * if another program needs the processors, a model with a loop over frames then
 * trains ten times slower; otherwise spinning makes no measurable difference.
 * libgomp reads its settings before main(), so the program restarts itself. */
static void wait_briefly(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0)
        execv("/proc/self/exe", argv);    /* on failure, continue */
}

/* A program may be started without standard input, output or error.  Files that
 * it opens would take their place, and messages would go into them.  Opened for
 * the other direction, reading and writing them still fails. */
static void open_standard(void)
{
    static const int mode[] = { O_WRONLY, O_RDONLY, O_RDONLY };

    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode[fd]) != fd)
            exit(CTT_EXIT_FAIL);
}

/* A warning of a library; of several sessions the same one is told once. */
static void on_warning(void *arg, const char *text)
{
    static char last[512];

    (void)arg;
    if (strcmp(text, last) != 0)
        ctt_tool_warn("%s", text);
    snprintf(last, sizeof(last), "%s", text);
}

void ctt_tool_start(const char *name, char **argv)
{
    open_standard();
    wait_briefly(argv);
    ctt_h5_stay_open();
    signal(SIGXFSZ, SIG_IGN);    /* a write beyond the limit fails instead */
    program = name;
    ctt_warn_to(on_warning, NULL);
    ctt_progress_begin();
    setvbuf(stdout, NULL, _IOLBF, 0);
}

int ctt_tool_rank(int rank)
{
    int null;

    if (rank >= 0)
        tool_rank = rank;
    if (rank > 0 && (null = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0) {
        fflush(stdout);
        dup2(null, STDOUT_FILENO);
        close(null);
    }
    return tool_rank;
}

int ctt_tool_fail(int status)
{
    ctt_tool_warned();
    return ctt_tool_die(status, "%s%s", ctt_errmsg(),
                        ctt_tool_model_hint(ctt_errmsg()));
}

/* Bytes of a message before and after control characters are escaped (paths,
 * labels and texts of files may have them).  Longer messages are cut. */
enum { FORMATTED = 8192, VISIBLE = 2 * FORMATTED };

static const char *stands_for, *given_name;

void ctt_tool_stands_for(const char *path, const char *name)
{
    stands_for = path;
    given_name = name;
}

const char *ctt_tool_given(const char *path)
{
    return path && stands_for && strcmp(path, stands_for) == 0 ? given_name
                                                               : path;
}

/* Where the line has the path of a file that stands for another, the other. */
static void name_given(const char *line, char to[FORMATTED])
{
    size_t n = stands_for ? strlen(stands_for) : 0, used = 0;
    const char *at;

    for (; n && used < FORMATTED && (at = strstr(line, stands_for));
         line = at + n)
        used += (size_t)snprintf(to + used, FORMATTED - used, "%.*s%s",
                                 (int)(at - line), line, given_name);
    used = used < FORMATTED ? used : FORMATTED - 1;
    snprintf(to + used, FORMATTED - used, "%s", line);
}

static char *format(char text[VISIBLE], const char *fmt, va_list ap)
{
    char line[FORMATTED], named[FORMATTED];

    vsnprintf(line, sizeof(line), fmt, ap);
    name_given(line, named);
    return ctt_visible(named, 0, text, VISIBLE);
}

static void put_line(const char *kind, const char *fmt, va_list ap)
{
    char text[VISIBLE], hidden[VISIBLE], who[32] = "";

    ctt_tool_clear();
    if (tool_rank)
        snprintf(who, sizeof(who), "rank %d: ", tool_rank);
    fprintf(stderr, "%s: %s%s%s\n", program, who, kind,
            ctt_redact(format(text, fmt, ap), hidden, sizeof(hidden)));
}

int ctt_tool_die(int status, const char *fmt, ...)
{
    va_list ap;

    ctt_tool_warned();
    va_start(ap, fmt);
    put_line("", fmt, ap);
    va_end(ap);
    return status;
}

void ctt_tool_note(const char *fmt, ...)
{
    va_list ap;

    if (tool_rank || ctt_tool_is_quiet())
        return;
    va_start(ap, fmt);
    put_line("", fmt, ap);
    va_end(ap);
}

static const char *lacking;

void ctt_tool_lacks(const char *what)
{
    lacking = what;
}

int ctt_tool_end(int status)
{
    ctt_tool_warned();
    if (fflush(stdout) != 0 || ferror(stdout))
        return ctt_tool_die(CTT_EXIT_FAIL, "standard output cannot be written");
    if (lacking && (status == 0 || status == CTT_EXIT_DOUBT))
        return ctt_tool_die(CTT_EXIT_FAIL, "%s", lacking);
    return status;
}

/* ---- warnings, counted by kind ---- */

enum { TOLD = 10, KINDS = 32 };

/* The warnings with one format. */
static struct kind {
    const char *fmt;
    long        count;
    char        last[FORMATTED];    /* the last one shown */
} kinds[KINDS];
static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;

static void warn_line(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
static void warn_line(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_line("warning: ", fmt, ap);
    va_end(ap);
}

static struct kind *message_kind(const char *fmt)
{
    int i = 0;

    while (i < KINDS - 1 && kinds[i].fmt && strcmp(kinds[i].fmt, fmt) != 0)
        i++;
    kinds[i].fmt = fmt;
    return &kinds[i];
}

void ctt_tool_warn(const char *fmt, ...)
{
    struct kind *k;
    va_list ap;

    if (tool_rank)
        return;
    pthread_mutex_lock(&kinds_lock);
    k = message_kind(fmt);
    if (k->count++ < TOLD) {
        va_start(ap, fmt);
        vsnprintf(k->last, sizeof(k->last), fmt, ap);
        va_end(ap);
        warn_line("%s%s", k->last, k->count < TOLD ? "" :
                  " (more like this are only counted)");
    }
    pthread_mutex_unlock(&kinds_lock);
}

void ctt_tool_warned(void)
{
    pthread_mutex_lock(&kinds_lock);
    for (struct kind *k = kinds; k < kinds + KINDS && k->fmt; k++) {
        if (k->count > TOLD)
            warn_line("%ld more like: %s", k->count - TOLD, k->last);
        k->count = 0;
    }
    pthread_mutex_unlock(&kinds_lock);
}

void ctt_tool_say(const char *fmt, ...)
{
    char text[VISIBLE];
    va_list ap;

    ctt_tool_clear();
    for (; *fmt == '\n'; fmt++)
        putchar('\n');
    va_start(ap, fmt);
    puts(format(text, fmt, ap));
    va_end(ap);
}

/* ---- signals ---- */

/* Two signals within so many seconds count as one: killers often signal process
 * and group. */
#define SAME_SIGNAL 0.5

static const int stopping[] = { SIGINT, SIGTERM, SIGHUP };
static void (*volatile at_last)(void);
static struct timespec caught;    /* of the first signal; handlers do not
                                     interrupt each other */

static void catch_by(void (*handler)(int), int sig)
{
    struct sigaction a = { .sa_handler = handler };

    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < CTT_LEN(stopping); i++)
        sigaddset(&a.sa_mask, stopping[i]);
    sigaction(sig, &a, NULL);
}

static double seconds_since(const struct timespec *t)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->tv_sec) +
           1e-9 * (double)(now.tv_nsec - t->tv_nsec);
}

/* The second signal ends the program, as if it were not caught. */
static void on_second(int sig)
{
    if (seconds_since(&caught) < SAME_SIGNAL)
        return;
    if (at_last)
        at_last();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void on_signal(int sig)
{
    stop = sig;
    clock_gettime(CLOCK_MONOTONIC, &caught);
    catch_by(on_second, sig);
}

/* Each further write fails. */
static void on_pipe(int sig)
{
    signal(SIGPIPE, SIG_IGN);
    stop = sig;
}

void ctt_tool_catch_pipe(void)
{
    if (signal(SIGPIPE, on_pipe) == SIG_IGN)    /* the parent's wish */
        signal(SIGPIPE, SIG_IGN);
}

void ctt_tool_at_last(void (*f)(void))
{
    at_last = f;
}

void ctt_tool_catch(void)
{
    struct sigaction was;

    ctt_stop_set(ctt_tool_stop);
    for (size_t i = 0; i < CTT_LEN(stopping); i++) {
        sigaction(stopping[i], NULL, &was);
        if (stopping[i] != SIGHUP || was.sa_handler != SIG_IGN)    /* nohup */
            catch_by(on_signal, stopping[i]);
    }
}

int ctt_tool_stop(void)
{
    return stop;
}

const char *ctt_tool_count(double n, char *buf, size_t size)
{
    static const struct { double unit; const char *word; } units[] = {
        { 1e9, " G" }, { 1e6, " M" }, { 1e3, " k" },
    };

    for (size_t i = 0; i < CTT_LEN(units); i++) {
        if (n >= units[i].unit) {
            double x = n / units[i].unit;
            int digits = x < 10 ? 2 : x < 100 ? 1 : 0;
            snprintf(buf, size, "%.*f%s", digits, x, units[i].word);
            return buf;
        }
    }
    snprintf(buf, size, "%.0f", n);
    return buf;
}
