/* SPDX-License-Identifier: Apache-2.0
 * sync.h: --sync: whether ranks add their gradients, or a server does. */
#ifndef CTT_SYNC_H
#define CTT_SYNC_H

struct ctt_train_cfg;

enum ctt_sync_kind {
    CTT_SYNC_ALL,        /* an all-reduce: every rank updates weights of its
                            own (data_parallel.c) */
    CTT_SYNC_CENTRAL,    /* a server, rank 0, waits for the gradients of all
                            workers but `backup` and drops later ones (Chen and
                            others 2016) */
    CTT_SYNC_ASYNC       /* a server applies each gradient when it arrives;
                            its weights are older by then (Dean and others
                            2012) */
};

struct ctt_sync {
    enum ctt_sync_kind kind;
    int                backup;
};

/* CTT_EINVAL: a value of --sync is unknown. */
int  ctt_sync_parse(const struct ctt_train_cfg *cfg, struct ctt_sync *out);

#endif
