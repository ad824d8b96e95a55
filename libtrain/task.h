/* SPDX-License-Identifier: Apache-2.0
 * task.h: the functions of a task that the training loop calls: the gradient of
 * a step, a test. */
#ifndef CTT_TASK_H
#define CTT_TASK_H

#include "libtrain/train.h"
#include "base/key.h"

struct ctt_batch;
struct ctt_dev;
struct ctt_exec;
struct ctt_memory;
struct ctt_section_job;

/* The clips and the random numbers of one shard of a step. */
struct ctt_turn {
    const struct ctt_data  *data;
    const struct ctt_batch *batch;
    uint64_t seed, epoch, step;
    int      shard;    /* of the step's batch, from 0 */
    double   weight;   /* that all clips of the step's batch have (`weight` of
                          the task), or 0: those of `batch` */
    double   truth;    /* probability of a true frame, in scheduled sampling */
    double   ahead;    /* weight of the prediction of the next frame */
    double   scale;    /* loss scale: factor of the gradient */
    int      skips;    /* a step whose loss is not finite may be skipped */
};

/* Sums over the steps of an epoch: of losses times their weights, of these
 * weights, of right answers at the end of a clip, and of clips; of losses of
 * the next frame, and how many values have one. */
struct ctt_sums { double loss, weight, right, clips, ahead, values; };

/* The key of random numbers of a use (libtrain/chance.h) in a turn. */
static inline uint64_t ctt_turn_key(const struct ctt_turn *t, uint64_t use)
{
    uint64_t key = ctt_key(ctt_key(t->seed, use), t->step);

    return t->shard ? ctt_key(key, (uint64_t)t->shard) : key;
}

/* The factor of the gradient of clips of this weight: the loss scale and, with
 * `whole` (the turn's weight), their share of it. */
static inline double ctt_turn_scale(double scale, double weight, double whole)
{
    return whole > 0 ? scale * weight / whole : scale;
}

/* The most steps and asks per clip. */
struct ctt_size { int steps, asks; };

struct ctt_task_kind {
    int   feedback;    /* scheduled sampling applies */

    /* An error says why the model or the clips do not suit the task. */
    int  (*check)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  const struct ctt_data *d);

    /* The training graph: that of the model, its weights at the same offsets,
     * and more nodes. */
    int  (*graph)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  struct ctt_graph **out);
    /* What a batch needs: steps and asks, if the longest clip has `longest`
     * frames, and windows. */
    struct ctt_size (*size)(const struct ctt_train_cfg *cfg, int longest);
    int  (*memory)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                   struct ctt_memory *m);

    /* Prepares steps with ctt_cfg_shard() clips of d.  w: the model's weights
     * in the device's memory, which are not copied. */
    int  (*open)(const struct ctt_graph *g, const float *w,
                 const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                 const struct ctt_data *d, void **out);
    void (*close)(void **s);
    struct ctt_exec *(*exec)(const void *s);

    /* The weight of the loss of so many clips, or in that order of size. */
    double (*weight)(const void *s, int clips);
    /* Computes the gradient, in the exec, and adds to sums.  It is that of the
     * mean loss of the turn's clips, times the loss scale and, if t->weight is
     * set, times their weight / t->weight.  If the loss is not finite:
     * CTT_ENAN, which names the first node that is not; with t->skips returns 1
     * instead, without a gradient or sums. */
    int  (*run)(void *s, const struct ctt_turn *t, struct ctt_sums *sums);
    /* For --stages; NULL if the task has no sections.  section prepares a step
     * as open does, of a section of the training graph; run is there, which
     * returns as it does, and later back, which computes the gradient. */
    int  (*section)(const struct ctt_graph *g,
                    const struct ctt_section_job *job, const float *w,
                    const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                    const struct ctt_data *d, void **out);
    int  (*there)(void *s, const struct ctt_turn *t, struct ctt_sums *sums);
    int  (*back)(void *s);
    /* After a gradient that is not finite: names the node; always an error. */
    int  (*blame)(void *s, const struct ctt_turn *t);

    /* Prepares tests on d, which may be repeated while w changes; w: as in
     * open. */
    int  (*test_open)(const struct ctt_graph *g, const float *w,
                      const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                      struct ctt_data *d, void **out);
    void (*test_close)(void **e);
    /* Returns 1 if ctt_stopped() ended it early. */
    int  (*test)(void *e, const struct ctt_events *ev,
                 struct ctt_test_score *out);
    const struct ctt_metrics *(*counts)(const void *e);

    int  (*better)(const struct ctt_test_score *a,
                   const struct ctt_test_score *b);
    const char *saves;    /* options that reduce the memory of a batch, with a
                             comma after each */
    const char *word;     /* name of the best test's score in the history */
    size_t      score;    /* its offset in struct ctt_test_score */
};

/* recognise/task.c, predict/task.c */
extern const struct ctt_task_kind ctt_recognise_task, ctt_predict_task;

#endif
