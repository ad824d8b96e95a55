/* SPDX-License-Identifier: Apache-2.0
 * trainer.h: everything that a training run has open. */
#ifndef CTT_TRAINER_H
#define CTT_TRAINER_H

#include "libtrain/recognise/carry.h"
#include "libtrain/checkpoint.h"
#include "libtrain/ranks/group_comm.h"
#include "libtrain/ranks/replica.h"
#include "libtrain/ranks/shards.h"

struct ctt_strategy;

/* A shard's result, which ranks send each other. */
struct ctt_row {
    struct ctt_sums sums;
    int  none;                   /* 1: its loss is not finite */
    int  rc;                     /* negative: an error, which ends the run */
    char why[CTT_ROW_TEXT];      /* its message */
};

/* State of a rank that has loaded a shard. */
struct ctt_met {
    int      rc, part;     /* its group */
    uint32_t clips;        /* CRC-32 of the lengths of read clips */
};

/* State of a rank at the end of a step. */
struct ctt_row_end {
    int    stop;                 /* 1: asked to stop */
    int    over;                 /* 1: --time-limit has passed */
    double used;                 /* share of the time used, as in struct
                                    ctt_train_position */
};

/* Sums over steps: the square of the gradient's norm, mean of shards; that of
 * batches. */
struct ctt_noise { double shards, batches; };

struct ctt_trainer {
    /* From the caller. */
    struct ctt_model           *m;
    const struct ctt_train_cfg *cfg;
    const struct ctt_task_kind *task;
    struct ctt_data            *data, *val;
    const struct ctt_events    *ev;
    struct ctt_comm            *comm;      /* all ranks; NULL: one */
    int                         saves;     /* 1: rank 0 writes checkpoints */

    /* How ranks divide the work. */
    const struct ctt_strategy  *strategy;
    void                       *state;     /* of the strategy, or NULL */
    struct ctt_comm            *peers;     /* ranks that update weights in
                                              lockstep; NULL with a parameter
                                              server */
    struct ctt_share            share;     /* of a batch */
    struct ctt_comm            *group;     /* ranks that compute a shard
                                              together; NULL: this one alone */
    struct ctt_comm            *across;    /* the ranks with the same place in
                                              each group, which add gradients */
    struct ctt_comm            *lock;      /* ranks that wait for each other's
                                              values within a shard; NULL:
                                              nobody */
    struct ctt_group_comm       norms;     /* ranks with the statistics of batch
                                              norms in common */
    struct ctt_met             *met;       /* of lock */
    int                         told;      /* 1: all of lock know the error */
    int                         stops;     /* 1: a worker was asked to stop */
    int                         direct;    /* 1: gradients go from GPU to GPU */
    struct ctt_shards           shards;    /* of each batch of the plan */
    struct ctt_carry            carry;     /* of a text */
    struct ctt_row             *mine, *row;    /* of this rank's shards; of all
                                                  shards */
    struct ctt_row_end         *end;       /* of all peers */

    /* Opened parts. */
    struct ctt_dev             *dev;
    void                       *step, *test;    /* states of the task */
    float                      *dw;        /* gradient of a step, on dev */
    struct ctt_graph           *tested;    /* the model without `ahead` */
    struct ctt_optim           *optim;
    struct ctt_loader          *loader;
    const float                *ahead;    /* x of the next shard, if its frames
                                             were uploaded */
    struct ctt_order           *plan;
    struct ctt_buckets          buckets;
    struct ctt_log             *log;

    /* Course of the run. */
    struct ctt_train_position   at;
    float                      *best;      /* weights of the best test on val */
    uint64_t                    seed;
    int64_t                     steps;     /* of the whole run */
    const struct ctt_changes   *changes;   /* NULL: none */
    struct ctt_changes          dsd;
    double                      used;      /* share of the run's time that was
                                              used before the start or resume */
    double                      now;       /* share before the next step, as
                                              ranks agree on it */

    /* Measurements since the start or resume. */
    int64_t                    *overflows;    /* steps that were skipped, by the
                                                 node that overflowed first;
                                                 NULL: none */
    int64_t                     first;     /* step at that time */
    float                      *some, *some_now;    /* weights then and at the
                                              end (ctt_weights_some) */
    double                      start, wait;    /* clock then; seconds without
                                                   data */
    double                      clips, train_seconds;
    double                      lr, last;  /* learning rate and mean loss of the
                                              last step */
    int                         hears;     /* 1: ctt_noise_is_known() */
    struct ctt_noise            noise;     /* of this epoch's gradients */
    struct ctt_staleness        stale, stale_all;    /* gradients of this epoch;
                                                        of all epochs */
};

/* open.c: opens all but the caller's fields and `strategy` and `peers`; resumes
 * from a checkpoint in m->train.  All ranks fail if one does, or if they differ
 * (ctt_replicas_meet).  close must also be called after a failure; it returns
 * errors of writing the logs. */
int  ctt_trainer_open(struct ctt_trainer *t);
int  ctt_trainer_close(struct ctt_trainer *t);

/* moved.c.  some: copies up to about a million of the weights that gradients
 * train, as running means move by themselves; some NULL: only returns how many.
 * moved: 1 if training has changed them: of those that differ, one in a hundred
 * by more than rounding, which is 2^-23 of its size, or of the root mean square
 * of all if that is more: zeros become 1e-30 by any step. */
int64_t ctt_weights_some(const struct ctt_graph *g, const float *w,
                         float *some);
int     ctt_weights_moved(const float *was, const float *now, int64_t n);

/* overflow.c: counts a skipped step for the last node of the graph whose
 * weights have an infinite gradient; sets the node of most such steps, and
 * their number, in *r. */
int  ctt_trainer_overflow(struct ctt_trainer *t);
void ctt_trainer_overflowed(const struct ctt_trainer *t, struct ctt_result *r);

/* open_step.c: opens t->step for the whole graph.  blame returns rc; to
 * CTT_ENOMEM it adds the longest clip and settings that fit into memory. */
int  ctt_trainer_open_step(struct ctt_trainer *t);
int  ctt_trainer_blame_memory(const struct ctt_trainer *t, int rc);

/* gradient.c: makes the plan of an epoch, from 0, while the loader does not
 * read it. */
void ctt_trainer_plan(struct ctt_trainer *t, int64_t epoch);

/* The parts of a strategy's gradient.  load waits for this rank's shard k,
 * after shard k - 1 has been read (ctt_groups_meet).  frames lets the device
 * make the frames of a shard that it has as bytes, unless it has them; who puts
 * frames of b->x calls it first, and waits for the device before
 * ctt_loader_done().  weigh sets turn->weight.  shards computes this rank's
 * shards of the loader's next batch, into t->mine; b becomes the last of them;
 * returns an error only if others wait for values of this rank.  rows adds the
 * rows of a rank to sums; returns 1 if a row has no gradient, or its error.
 * scale: the divisor of the gradient of a batch with these sums.  undo: after
 * an error rc or a batch without gradient, restores the weights that the batch
 * has moved; returns the error or none. */
struct ctt_batch;
int    ctt_trainer_load(struct ctt_trainer *t, int k, struct ctt_batch *b);
int    ctt_trainer_frames(struct ctt_trainer *t, const struct ctt_batch *b);
void   ctt_trainer_weigh(const struct ctt_trainer *t, struct ctt_turn *turn);
int    ctt_trainer_shards(struct ctt_trainer *t, struct ctt_batch *b,
                          struct ctt_turn *turn);
int    ctt_trainer_rows(int rank, const struct ctt_row *row, int rows,
                        struct ctt_sums *sums);
void   ctt_trainer_add(struct ctt_sums *to, const struct ctt_sums *s);
double ctt_trainer_scale(const struct ctt_turn *turn,
                         const struct ctt_sums *sums);
int    ctt_trainer_undo(struct ctt_trainer *t, int rc, int none);

/* gradient.c; is_known: strategy.c: the gradient noise scale, the trace of the
 * covariance of clips' gradients over the square of their mean: in batches of
 * far fewer clips than this a step learns in proportion to its clips, in larger
 * ones hardly more (McCandlish and others 2018).  It follows from the sizes of
 * shards' gradients and of their sum, and so is known with --shards where each
 * gradient is whole.  add: after a step, whose shards had this sum of
 * squares and whose batch's this norm, all times `scale`.  scale: NAN: not
 * known. */
int    ctt_noise_is_known(const struct ctt_train_cfg *cfg);
void   ctt_noise_add(struct ctt_trainer *t, double squares, double norm,
                     double scale);
double ctt_noise_scale(const struct ctt_trainer *t);

/* Trains until the settings, the user or a test ends it; finish then fills r
 * and puts the final weights into the model. */
int  ctt_trainer_loop(struct ctt_trainer *t, struct ctt_result *r);
int  ctt_trainer_finish(struct ctt_trainer *t, struct ctt_result *r);

/* save.c: writes the checkpoint, if the settings name one; all peers call
 * it. */
int  ctt_trainer_save(struct ctt_trainer *t);

/* dsd.c: dense-sparse-dense training (Han and others 2017): fills the changes c
 * of cfg->dsd; the factor of the learning rate of a step.  CTT_EINVAL: with so
 * many steps a phase has none. */
int    ctt_dsd_check(const struct ctt_train_cfg *cfg, int64_t steps);
void   ctt_dsd_changes(const struct ctt_train_cfg *cfg, struct ctt_changes *c);
double ctt_dsd_rate(const struct ctt_train_cfg *cfg, int64_t step,
                    int64_t steps);

/* best.c: tests the present weights; and the weights as given, if they may
 * become the best.  Both return 1 if they were stopped, without a result.  The
 * best weights go to t->best and to cfg->out.  last: no epoch follows.  out
 * writes cfg->out; keep: m->history keeps the line on this run. */
int  ctt_trainer_test(struct ctt_trainer *t, int last, struct ctt_epoch *e);
int  ctt_trainer_test_given(struct ctt_trainer *t);
int  ctt_trainer_out(struct ctt_trainer *t, int keep);

/* train.c: opens all that a training with cfg needs and closes it; trains,
 * writes and says nothing.  CTT_ENOMEM: memory of one of the ranks is too
 * small. */
int  ctt_train_opens(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                     struct ctt_data *train, struct ctt_data *val);

static inline void ctt_trainer_say(const struct ctt_trainer *t,
                                   const char *line)
{
    ctt_say(t->ev, line);
}

#endif
