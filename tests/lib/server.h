/* SPDX-License-Identifier: Apache-2.0
 * server.h: a server of a test's own, at 127.0.0.1. */
#ifndef CTT_TEST_SERVER_H
#define CTT_TEST_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A server that answers one connection after the other by `answer`. */
struct server {
    int          fd, port;
    atomic_int   ends, connections;
    void       (*answer)(struct server *s, int fd);
    const uint8_t *data;
    size_t       n;
    pthread_t    thread;
};

void server_start(struct server *s, void (*answer)(struct server *s, int fd));
void server_stop(struct server *s);

/* Sends n bytes, or as many as the other end takes. */
void server_put(int fd, const void *p, size_t n);

/* A port that nobody has; kind: SOCK_STREAM or SOCK_DGRAM. */
int  server_free_port(int kind);

#endif
