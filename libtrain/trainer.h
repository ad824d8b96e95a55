/* SPDX-License-Identifier: Apache-2.0
 * trainer.h: all that a run of training has open. */
#ifndef CTT_TRAINER_H
#define CTT_TRAINER_H

#include "libtrain/checkpoint.h"
#include "libtrain/data/bucket.h"

struct ctt_trainer {
    struct ctt_model           *m;
    const struct ctt_train_cfg *cfg;
    const struct ctt_task_kind *task;
    struct ctt_data            *data, *val;
    const struct ctt_events    *ev;
    struct ctt_dev     *dev;
    void               *step, *test;    /* the task's */
    struct ctt_optim   *optim;
    struct ctt_loader  *loader;
    struct ctt_order   *plan;
    struct ctt_log     *log;
    struct ctt_buckets  buckets;
    struct ctt_place    at;
    float              *best;        /* weights that did best on val */
    uint64_t            seed;
    int64_t             steps;       /* until the end */
    double              start, wait;
    double              clips, train_seconds;    /* of this call */
    int64_t             first;       /* step this call began with */
};

/* open.c: what the model, the settings, the data and the events do not bring
 * with them; a checkpoint in m->train is gone on from.  close also after a
 * failure: an error of the logs. */
int  ctt_trainer_open(struct ctt_trainer *t);
int  ctt_trainer_close(struct ctt_trainer *t);

/* A line to whoever listens. */
void ctt_trainer_say(const struct ctt_trainer *t, const char *line);

#endif
