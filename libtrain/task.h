/* SPDX-License-Identifier: Apache-2.0
 * task.h: what the training loop asks of a task: a step's gradient, a test. */
#ifndef CTT_TASK_H
#define CTT_TASK_H

#include "libtrain/train.h"

struct ctt_batch;
struct ctt_dev;
struct ctt_exec;
struct ctt_memory;

/* One step's clips and chance. */
struct ctt_turn {
    const struct ctt_data  *data;
    const struct ctt_batch *batch;
    uint64_t seed, epoch, step;
    double   truth;    /* chance of a true frame where one may be fed back */
    double   scale;    /* the loss counts so many times in the gradient */
    int      skips;    /* a step whose loss is not finite may be left out */
};

/* Sums over the steps of an epoch: of losses times their weights, of these
 * weights, of right answers at the end of a clip, and of clips. */
struct ctt_sums { double loss, weight, right, clips; };

/* Room for steps of a clip, and for asks of a clip. */
struct ctt_size { int steps, asks; };

struct ctt_task_kind {
    int   feedback;    /* the model's own answers may be fed back */

    /* Whether the model and a set of clips suit it. */
    int  (*check)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  const struct ctt_data *d);

    /* The graph that is trained: the model's, its weights at their places, and
     * more nodes. */
    int  (*graph)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  struct ctt_graph **out);
    /* What a batch of clips, the longest of them that long, needs. */
    struct ctt_size (*size)(const struct ctt_train_cfg *cfg, int longest);
    int  (*memory)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                   struct ctt_memory *m);

    /* Steps of cfg->batch clips of d; w: the model's weights in the device's
     * memory, which are read where they are. */
    int  (*open)(const struct ctt_graph *g, const float *w,
                 const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                 const struct ctt_data *d, void **out);
    void (*close)(void **s);
    struct ctt_exec *(*exec)(const void *s);

    /* Leaves the gradient in the exec and adds to sums.  A loss that is not
     * finite is CTT_ENAN, with the first node to blame; or with t->skips 1, and
     * nothing is left or added. */
    int  (*run)(void *s, const struct ctt_turn *t, struct ctt_sums *sums);
    /* After a gradient that is not finite: finds the node; always an error. */
    int  (*blame)(void *s, const struct ctt_turn *t);

    /* Tests on d again and again, while w changes; w as of open. */
    int  (*test_open)(const struct ctt_graph *g, const float *w,
                      const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                      struct ctt_data *d, void **out);
    void (*test_close)(void **e);
    /* 1: ev->stop said so before the end. */
    int  (*test)(void *e, const struct ctt_events *ev,
                 struct ctt_test_score *out);
    const struct ctt_metrics *(*counts)(const void *e);

    int  (*better)(const struct ctt_test_score *a,
                   const struct ctt_test_score *b);
    const char *saves;    /* options by which a batch takes less memory, with
                             a comma behind each */
    const char *word;     /* what the history calls the best test's score */
    size_t      score;    /* where in struct ctt_test_score that stands */
};

/* recognise/task.c, predict/task.c */
extern const struct ctt_task_kind ctt_recognise_task, ctt_predict_task;

#endif
