/* SPDX-License-Identifier: Apache-2.0
 * stalling_write.c: writing to a reader that may stall.  A write that waits
 * would outlast Ctrl-C, so the place for it is waited for before. */
#define _GNU_SOURCE
#include "tools/shared/tool.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* TICK: milliseconds after which it is asked whether to stop.  TICKS: of a
 * reader that takes nothing after that.  A pipe that poll() calls writable has
 * room for PIPE_BUF bytes. */
enum { TICK = 100, TICKS = 10 };

/* Writes one piece; returns the bytes written, 0 if the reader stalls, or -1
 * with errno. */
static ssize_t write_piece(int fd, const char *p, size_t n)
{
    struct pollfd room = { .fd = fd, .events = POLLOUT };
    int ready = poll(&room, 1, TICK);
    ssize_t got;

    if (ready <= 0)
        return ready == 0 || errno == EINTR ? 0 : -1;
    got = write(fd, p, n < PIPE_BUF ? n : PIPE_BUF);
    if (got == 0)
        errno = ENOSPC;
    return got > 0 ? got : got < 0 && (errno == EINTR || errno == EAGAIN) ? 0
                                                                          : -1;
}

int ctt_stalling_write(int fd, const char *p, size_t n)
{
    int ticks = 0;

    while (n) {
        ssize_t got = write_piece(fd, p, n);

        if (got < 0)
            return errno;
        if (got == 0 && ctt_tool_stop() && ++ticks > TICKS)
            return EAGAIN;
        ticks = got > 0 ? 0 : ticks;
        p += got;
        n -= (size_t)got;
    }
    return 0;
}

#ifdef __GLIBC__
struct sink { int fd, failed; };
static struct sink sinks[] = { { STDOUT_FILENO, 0 }, { STDERR_FILENO, 0 } };

static ssize_t put_sink(void *arg, const char *p, size_t n)
{
    struct sink *s = arg;

    if (!s->failed)
        s->failed = ctt_stalling_write(s->fd, p, n);
    errno = s->failed;
    return s->failed ? 0 : (ssize_t)n;
}

static void replace(FILE **standard, struct sink *s, int mode)
{
    FILE *f = fopencookie(s, "w", (cookie_io_functions_t){ .write = put_sink });

    if (!f)
        return;
    fflush(*standard);
    setvbuf(f, NULL, mode, BUFSIZ);
    *standard = f;
}

void ctt_stalling_standard(void)
{
    replace(&stdout, &sinks[0], _IOLBF);
    replace(&stderr, &sinks[1], _IONBF);
}
#else
/* The standard streams cannot be replaced: a second Ctrl-C is needed. */
void ctt_stalling_standard(void)
{
}
#endif
