/* SPDX-License-Identifier: Apache-2.0
 * trainer.h: everything that a training run has open. */
#ifndef CTT_TRAINER_H
#define CTT_TRAINER_H

#include "libtrain/checkpoint.h"
#include "libtrain/replica.h"
#include "libtrain/shards.h"

/* What the ranks tell each other of a shard. */
struct ctt_row {
    struct ctt_sums sums;
    int  none;                   /* 1: its loss is not finite */
    int  rc;                     /* negative: an error, which ends the run */
    char why[CTT_ROW_TEXT];      /* its message */
    char bad[CTT_ROW_TEXT];      /* of a clip that could not be read, or "" */
};

/* At the end of a step: whether to stop, and the time as rank 0 sees it. */
struct ctt_row_end {
    int    stop, over;           /* asked to stop; --time-limit is over */
    double used;                 /* the share of it, as in struct ctt_place */
};

struct ctt_trainer {
    struct ctt_model           *m;
    const struct ctt_train_cfg *cfg;
    const struct ctt_task_kind *task;
    struct ctt_data            *data, *val;
    const struct ctt_events    *ev;
    struct ctt_comm            *comm;    /* NULL: one rank */
    struct ctt_dev     *dev;
    void               *step, *test;    /* the task's */
    struct ctt_graph   *tested;  /* the model's without `ahead`, for tests */
    struct ctt_optim   *optim;
    struct ctt_loader  *loader;
    struct ctt_order   *plan;
    struct ctt_shards   shards;      /* of each batch of the plan */
    struct ctt_row     *mine, *row;  /* of this rank's shards; of all */
    struct ctt_row_end *end;         /* of all ranks */
    int                 saves;   /* 1: rank 0 writes checkpoints */
    struct ctt_log     *log;
    struct ctt_buckets  buckets;
    struct ctt_place    at;
    float              *best;        /* weights of the best test on val */
    uint64_t            seed;
    int64_t             steps;       /* of the whole run */
    const struct ctt_changes *changes;    /* NULL: none */
    struct ctt_changes  dsd;
    double              start, wait;
    double              clips, train_seconds;    /* since the start or resume */
    int64_t             first;       /* step at the start or resume */
    double              used;        /* share of the run's time before that */
    double              now;         /* share that is over before the next step,
                                        as the ranks have agreed */
    double              lr, last;    /* of the last step since then: rate and
                                        mean loss */
};

/* open.c: opens the fields that the caller does not set (m, cfg, task, data,
 * val, ev and comm); resumes from a checkpoint in m->train.  All ranks fail if
 * one does, or if they are not alike (ctt_replicas_meet).  close must also be
 * called after a failure; it returns errors of writing the logs. */
int  ctt_trainer_open(struct ctt_trainer *t);
int  ctt_trainer_close(struct ctt_trainer *t);

/* gradient.c: the gradient of the loader's next batch, of which b becomes this
 * rank's last shard; ctt_loader_done() is still to be called for it.  turn: but
 * for its batch, shard and weight.  scale: what the gradient must be divided
 * by.  Adds to t->at.sums.  Returns 1 if there is none, as a loss is not
 * finite: nothing is added then.  The result is the same on all ranks, errors
 * too: CTT_ESTOP if one was stopped while it loaded clips. */
struct ctt_batch;
int  ctt_trainer_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                          struct ctt_turn *turn, double *scale);

/* Says how few bytes of gradients --squeeze has sent. */
void ctt_trainer_tell_sent(const struct ctt_trainer *t);

/* save.c: writes the checkpoint, if there is to be one; all ranks come to
 * it. */
int  ctt_trainer_save(struct ctt_trainer *t);

/* dsd.c: dense-sparse-dense training (Han and others 2017): the change of
 * cfg->dsd, whose struct c is filled, and the factor of the learning rate of a
 * step.  CTT_EINVAL if so many steps leave a phase without any. */
int    ctt_dsd_check(const struct ctt_train_cfg *cfg, int64_t steps);
void   ctt_dsd_changes(const struct ctt_train_cfg *cfg, struct ctt_changes *c);
double ctt_dsd_rate(const struct ctt_train_cfg *cfg, int64_t step,
                    int64_t steps);

/* best.c: a test of the weights as they are, and of those that were given, if
 * they may be the best; both return 1 if they were stopped, without a result.
 * The best weights go to t->best and to cfg->out.  last: no epoch follows.
 * out writes cfg->out; keep: m->history keeps the line on this run. */
int  ctt_trainer_test(struct ctt_trainer *t, int last, struct ctt_epoch *e);
int  ctt_trainer_test_given(struct ctt_trainer *t);
int  ctt_trainer_out(struct ctt_trainer *t, int keep);

/* train.c: whether all that a training with cfg needs can be opened; nothing is
 * trained, written or said.  CTT_ENOMEM: it does not fit into memory, on one of
 * the ranks. */
int  ctt_train_opens(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                     struct ctt_data *train, struct ctt_data *val);

/* Passes a line to ev->say, if it is set. */
void ctt_trainer_say(const struct ctt_trainer *t, const char *line);

#endif
