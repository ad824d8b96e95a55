/* SPDX-License-Identifier: Apache-2.0
 * serve.c: a program with the preloaded library, which runs it once per order.
 */
#include "tests/fault/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void serve_fails(const char *what)
{
    fprintf(stderr, "sweep: %s: %s\n", what, strerror(errno));
    exit(99);
}

void serve_start(struct server *s, const char *shim, char **argv)
{
    int to[2], from[2];
    char fds[32];

    if (pipe(to) < 0 || pipe(from) < 0)
        serve_fails("pipe");
    s->pid = fork();
    if (s->pid < 0)
        serve_fails("fork");
    if (s->pid == 0) {
        close(to[1]);
        close(from[0]);
        snprintf(fds, sizeof(fds), "%d,%d", to[0], from[1]);
        setenv(FAULT_ENV, fds, 1);
        setenv("LD_PRELOAD", shim, 1);
        execv(argv[0], argv);
        serve_fails(argv[0]);
    }
    close(to[0]);
    close(from[1]);
    fcntl(to[1], F_SETFD, FD_CLOEXEC);    /* of the next server, which would */
    fcntl(from[0], F_SETFD, FD_CLOEXEC);  /* keep this one from ending */
    s->to = to[1];
    s->from = from[0];
}

void serve_end(struct server *s)
{
    if (s->pid <= 0)
        return;
    close(s->to);
    close(s->from);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

static void read_fully(struct server *s, void *p, size_t n)
{
    size_t got = 0;
    ssize_t k;

    while (got < n) {
        k = read(s->from, (char *)p + got, n - got);
        if (k <= 0 && errno != EINTR) {
            fprintf(stderr, "sweep: the program does not answer; is it linked "
                    "statically?\n");
            exit(99);
        }
        got += k > 0 ? (size_t)k : 0;
    }
}

int serve_run(struct server *s, const struct fault_order *order, int limit,
              struct fault_answer *out)
{
    struct pollfd p = { .fd = s->from, .events = POLLIN };
    int hung = 0;
    pid_t pid;

    if (write(s->to, order, sizeof(*order)) != sizeof(*order))
        serve_fails("order");
    read_fully(s, &pid, sizeof(pid));
    if (poll(&p, 1, limit * 1000) == 0) {
        hung = -1;
        kill(pid, SIGKILL);
    }
    read_fully(s, out, sizeof(*out));
    return hung;
}
