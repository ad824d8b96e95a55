/* SPDX-License-Identifier: Apache-2.0
 * trainer.h: everything that a training run has open. */
#ifndef CTT_TRAINER_H
#define CTT_TRAINER_H

#include "libtrain/checkpoint.h"
#include "libtrain/ranks/replica.h"
#include "libtrain/ranks/shards.h"
#include "libtrain/ranks/sync.h"

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
    double used; /* the share of it, as in struct ctt_train_position */
};

struct ctt_trainer {
    struct ctt_model           *m;
    const struct ctt_train_cfg *cfg;
    const struct ctt_task_kind *task;
    struct ctt_data            *data, *val;
    const struct ctt_events    *ev;
    struct ctt_comm            *comm;    /* all ranks; NULL: one */
    struct ctt_sync             sync;    /* how they work together */
    struct ctt_comm            *peers;   /* those that are replicas and come to
                                            each step: comm, or with a server
                                            NULL, this rank alone */
    struct ctt_server          *server;  /* on rank 0, if it is one */
    struct ctt_pipeline        *pipeline;    /* with --stages */
    struct ctt_grouped         *group;       /* with --bands and the like */
    struct ctt_dev     *dev;
    int                 direct;  /* 1: gradients go from GPU to GPU */
    void               *step, *test;    /* the task's */
    struct ctt_graph   *tested;  /* the model's without `ahead`, for tests */
    struct ctt_optim   *optim;
    struct ctt_loader  *loader;
    struct ctt_order   *plan;
    struct ctt_shards   shards;      /* of each batch of the plan */
    struct ctt_row     *mine, *row;  /* of this rank's shards; of all */
    struct ctt_row_end *end;         /* of all peers */
    int                 saves;   /* 1: rank 0 writes checkpoints */
    struct ctt_log     *log;
    struct ctt_buckets  buckets;
    struct ctt_train_position    at;
    struct ctt_staleness stale;      /* of this epoch's gradients, and of all */
    struct ctt_staleness stale_all;
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

/* The parts of it.  load waits for this rank's shard k, after the one before it
 * is read.  weigh sets turn->weight.  shards computes this rank's
 * shards of the loader's next batch, into t->mine.  rows adds those of a rank
 * to sums; returns 1 if one has no gradient, or the error that one has.  scale:
 * what the gradient of a batch that comes to sums must be divided by. */
int    ctt_trainer_load(struct ctt_trainer *t, int k, struct ctt_batch *b);
void   ctt_trainer_weigh(const struct ctt_trainer *t, struct ctt_turn *turn);
void   ctt_trainer_shards(struct ctt_trainer *t, struct ctt_batch *b,
                          struct ctt_turn *turn);
int    ctt_trainer_rows(const struct ctt_trainer *t, int rank,
                        const struct ctt_row *row, int rows,
                        struct ctt_sums *sums);
void   ctt_trainer_add(struct ctt_sums *to, const struct ctt_sums *s);
double ctt_trainer_scale(const struct ctt_turn *turn,
                         const struct ctt_sums *sums);

/* Makes the plan of an epoch, from 0, which the loader must not read. */
void ctt_trainer_plan(struct ctt_trainer *t, int64_t epoch);

/* Trains until the settings, the user or a test ends it; finish then fills r
 * and takes the weights that are to be the model's. */
int  ctt_trainer_loop(struct ctt_trainer *t, struct ctt_result *r);
int  ctt_trainer_finish(struct ctt_trainer *t, struct ctt_result *r);

/* Says how few bytes of gradients --squeeze has sent, and how late those of
 * --sync have come. */
void ctt_trainer_tell_sent(const struct ctt_trainer *t);

/* server.c: with --sync: opens and closes t->server.  gradient takes the place
 * of ctt_trainer_gradient(): workers compute it, and how late it comes is added
 * to *late.  end tells the workers that the training has ended with this
 * result and the weights of t->m. */
int  ctt_server_open(struct ctt_trainer *t);
void ctt_server_close(struct ctt_server **s);
int  ctt_server_gradient(struct ctt_trainer *t, struct ctt_turn *turn,
                         double *scale);
int  ctt_server_stops(const struct ctt_server *s);    /* a worker was told to */
int  ctt_server_end(struct ctt_trainer *t, const struct ctt_result *r);

/* worker.c: computes gradients for the server until it says that the training
 * has ended, with *r, and what the weights of t->m are. */
int  ctt_worker_run(struct ctt_trainer *t, struct ctt_result *r);

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
