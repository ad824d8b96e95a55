/* SPDX-License-Identifier: Apache-2.0
 * sync.h: --sync, --stages, --bands and the like: who computes and adds the
 * gradients of a step and updates the weights. */
#ifndef CTT_SYNC_H
#define CTT_SYNC_H

#include "base/ctt.h"

struct ctt_train_cfg;

enum ctt_sync_kind {
    CTT_SYNC_ALL,        /* each rank, weights of its own (exchange.h) */
    CTT_SYNC_CENTRAL,    /* rank 0, the server, to which the others, workers,
                            send theirs: it waits for all but `backup` of them,
                            and drops what comes later (Chen and others 2016) */
    CTT_SYNC_ASYNC,      /* the server, with each gradient when it comes, of
                            weights that are older by then (Dean and others
                            2012) */
    CTT_SYNC_STAGES,     /* each rank, a section of the model (--stages,
                            pipeline.h) */
    CTT_SYNC_GROUP       /* each rank, a part of all values (--bands,
                            --filters, --channels: group.h) */
};

struct ctt_sync {
    enum ctt_sync_kind kind;
    int                backup;
};

/* From --sync, --stages, --bands and the like.  CTT_EINVAL: a value of --sync
 * is none. */
int  ctt_sync_parse(const struct ctt_train_cfg *cfg, struct ctt_sync *out);

/* 1 if rank 0 is a server. */
static inline int ctt_sync_serves(const struct ctt_sync *s)
{
    return s->kind == CTT_SYNC_CENTRAL || s->kind == CTT_SYNC_ASYNC;
}

/* CTT_EINVAL if so many ranks are too few, or if those that share a batch are
 * not a power of two. */
int  ctt_sync_check(const struct ctt_sync *s, int ranks);

/* Of so many ranks, those that share a batch. */
int  ctt_sync_parts(const struct ctt_sync *s, int ranks);

/* CTT_EINVAL for settings that exclude each other. */
int  ctt_sync_suits(const struct ctt_train_cfg *cfg);

#endif
