/* SPDX-License-Identifier: Apache-2.0
 * server_messages.h: messages between a server and its workers (--sync): a
 * worker pulls weights and a batch number, and pushes the gradient.  All ranks
 * have the same build of convtt on the same kind of processor, so messages are
 * plain memory. */
#ifndef CTT_SERVER_MESSAGES_H
#define CTT_SERVER_MESSAGES_H

#include "comm/comm.h"
#include "libtrain/trainer.h"

/* Head of a message to a worker; float weights[] follow. */
struct ctt_pull {
    int     ends;            /* 1: the training has ended, with `result` and
                                these weights */
    int     skips;           /* as in struct ctt_turn, as are: */
    int64_t epoch, step;
    double  truth, ahead, scale;
    int64_t batch;           /* of the epoch: to compute */
    int64_t next;            /* batch to load meanwhile; -1: none */
    int64_t version;         /* steps done when the weights were sent */
    struct ctt_result result;
};

/* Head of a message to the server.  Then: struct ctt_row row[], one per shard
 * of the worker; float sums[] of its shards: the gradient and the moved weights
 * (ctt_shards_get). */
struct ctt_push {
    int stop;                /* 1: the worker has been told to stop */
};

/* Sizes of the parts: shards of a worker, floats. */
struct ctt_server_messages { int rows; int64_t weights, moved; };

static inline int64_t ctt_server_messages_whole(int64_t bytes)
{
    return (bytes + CTT_COMM_UNIT - 1) / CTT_COMM_UNIT * CTT_COMM_UNIT;
}

static inline float *ctt_pull_weights(struct ctt_pull *p)
{
    return (float *)((char *)p + ctt_server_messages_whole(sizeof(*p)));
}

static inline int64_t ctt_pull_bytes(const struct ctt_server_messages *s)
{
    return ctt_server_messages_whole(sizeof(struct ctt_pull)) +
           ctt_server_messages_whole(s->weights * (int64_t)sizeof(float));
}

static inline struct ctt_row *ctt_push_rows(struct ctt_push *p)
{
    return (struct ctt_row *)((char *)p +
                              ctt_server_messages_whole(sizeof(*p)));
}

static inline float *ctt_push_sums(const struct ctt_server_messages *s,
                                   struct ctt_push *p)
{
    int64_t rows = s->rows * (int64_t)sizeof(struct ctt_row);

    return (float *)((char *)ctt_push_rows(p) +
                     ctt_server_messages_whole(rows));
}

static inline int64_t ctt_push_bytes(const struct ctt_server_messages *s)
{
    int64_t rows = s->rows * (int64_t)sizeof(struct ctt_row);

    return ctt_server_messages_whole(sizeof(struct ctt_push)) +
           ctt_server_messages_whole(rows) +
           ctt_server_messages_whole((s->weights + s->moved) *
                                     (int64_t)sizeof(float));
}

/* Sizes of an open rank. */
static inline struct ctt_server_messages
ctt_server_messages_size(const struct ctt_trainer *t)
{
    return (struct ctt_server_messages){ t->shards.mine, t->m->g->weights,
                                         t->shards.moved };
}

/* worker.c: computes gradients for the server until it ends the training; then
 * *r is its result and t->m has its weights. */
int ctt_worker_run(struct ctt_trainer *t, struct ctt_result *r);

/* Called by all ranks after their last message: until then sent memory must
 * stay. */
int ctt_server_messages_end(struct ctt_comm *c);

#endif
