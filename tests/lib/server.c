/* SPDX-License-Identifier: Apache-2.0
 * server.c: a server of a test's own. */
#include "tests/lib/server.h"
#include "tests/lib/check.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

void server_put(int fd, const void *p, size_t n)
{
    const char *at = p;
    ssize_t got;

    while (n > 0 && (got = send(fd, at, n, MSG_NOSIGNAL)) > 0) {
        at += got;
        n -= (size_t)got;
    }
}

static void *serve_connections(void *arg)
{
    struct server *s = arg;

    while (!s->ends) {
        int fd = accept(s->fd, NULL, NULL);

        if (fd < 0)
            break;
        if (!s->ends)
            s->answer(s, fd);
        s->connections++;
        close(fd);
    }
    return NULL;
}

/* A socket of 127.0.0.1 at a free port. */
static int make_socket(int kind, int *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, kind, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        return -1;
    *port = ntohs(a.sin_port);
    return fd;
}

int server_free_port(int kind)
{
    int port = 0, fd = make_socket(kind, &port);

    close(fd);
    return port;
}

void server_start(struct server *s, void (*answer)(struct server *s, int fd))
{
    s->answer = answer;
    s->ends = s->connections = 0;
    s->fd = make_socket(SOCK_STREAM, &s->port);
    CU_ASSERT_FATAL(s->fd >= 0 && listen(s->fd, 8) == 0);
    pthread_create(&s->thread, NULL, serve_connections, s);
}

void server_stop(struct server *s)
{
    s->ends = 1;
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}
