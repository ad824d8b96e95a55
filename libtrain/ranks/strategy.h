/* SPDX-License-Identifier: Apache-2.0
 * strategy.h: how the processes of a training, ranks, divide its work: a row
 * for each strategy. */
#ifndef CTT_STRATEGY_H
#define CTT_STRATEGY_H

#include "libtrain/trainer.h"

struct ctt_strategy {
    /* The option that asks for it, without "--"; NULL: the settings do not
     * ask.  The default strategy has no such function. */
    const char *(*option)(const struct ctt_train_cfg *cfg);

    /* CTT_EINVAL, CTT_EUNSUP: why the other settings do not go with it.  Only
     * called if the settings ask for it; NULL: they always do. */
    int  (*why_not)(const struct ctt_train_cfg *cfg);

    /* Parts of a batch and the part of this rank.  CTT_EINVAL: the number of
     * ranks does not suit. */
    int  (*share)(const struct ctt_train_cfg *cfg,
                  const struct ctt_comm_place *p, struct ctt_share *out);

    /* Names so many ranks of a group, such as "3 processes". */
    void (*who)(const struct ctt_train_cfg *cfg, int ranks, char *text,
                size_t size);

    /* Opens t->step, and t->state if it needs one; sets t->dw where a step's
     * gradient is not that of the exec.  close frees t->state; only called if
     * that is set. */
    int  (*open)(struct ctt_trainer *t);
    void (*close)(struct ctt_trainer *t);

    /* Computes t->dw of the loader's next batch and adds to t->at.sums; b
     * becomes this rank's last shard, for which ctt_loader_done() is still to
     * be called.  turn: all but batch, shard and weight are set.  scale: the
     * divisor of the gradient.  Returns 1, without sums, if a loss is not
     * finite.  The result is the same on all peers, errors too; CTT_ESTOP: one
     * was stopped while it loaded clips. */
    int  (*gradient)(struct ctt_trainer *t, struct ctt_batch *b,
                     struct ctt_turn *turn, double *scale);

    /* Rank 0 computes no gradient and all others only gradients: work takes
     * the place of their training loop, and end follows that of rank 0.  NULL:
     * each rank has a loop. */
    int  (*work)(struct ctt_trainer *t, struct ctt_result *r);
    int  (*end)(struct ctt_trainer *t, const struct ctt_result *r);

    /* After the loop: says how much was sent; NULL: nothing to say. */
    int  (*tell)(struct ctt_trainer *t);

    int  together;      /* 1: ranks of a group wait for each other's values
                           within a shard */
    int  all_reduce;    /* 1: gradients of ranks are added by ctt_exchange_run
                           or ctt_gather_run, so --squeeze and --comm apply */
    int  blames;        /* 1: a step can be repeated, which names the node whose
                           values are not finite */
};

extern const struct ctt_strategy ctt_data_parallel, ctt_parameter_server,
                                 ctt_pipeline_parallel, ctt_tensor_parallel;

/* The first strategy that the settings ask for, else ctt_data_parallel. */
const struct ctt_strategy *ctt_strategy_of(const struct ctt_train_cfg *cfg);

/* CTT_EINVAL, CTT_EUNSUP: settings that do not go together. */
int  ctt_strategy_check(const struct ctt_train_cfg *cfg);

#endif
