/* SPDX-License-Identifier: Apache-2.0
 * task.h: the functions of a task that the training loop calls: the gradient of
 * a step, a test. */
#ifndef CTT_TASK_H
#define CTT_TASK_H

#include "libtrain/train.h"
#include "base/random.h"

struct ctt_batch;
struct ctt_dev;
struct ctt_exec;
struct ctt_memory;
struct ctt_section_job;

/* Clips, weights and random numbers of one shard of a step. */
struct ctt_turn {
    const struct ctt_data  *data;
    const struct ctt_batch *batch;
    uint64_t seed, epoch, step;
    int      shard;    /* of the step's batch, from 0 */
    double   weight;   /* total loss weight of the step's batch (`weight` of
                          the task); 0: of `batch` */
    double   truth;    /* probability of a true frame, in scheduled sampling */
    double   ahead;    /* weight of the prediction of the next frame */
    double   scale;    /* loss scale: factor of the gradient */
    int      skips;    /* a step whose loss is not finite may be skipped */
    const char *before;    /* of a text: states that its windows begin with, and
                              where those behind them go (struct ctt_job) */
    char       *after;
};

/* Sums over the steps of an epoch: loss * weight, weight, right answers at the
 * end of a clip, clips; losses of the next frame and the number of their
 * values; squares: of the gradients of shards (ctt_noise_add()). */
struct ctt_sums { double loss, weight, right, clips, ahead, values, squares; };

/* Key of the random numbers of a use (libtrain/chance.h) in a turn. */
static inline uint64_t ctt_turn_key(const struct ctt_turn *t, uint64_t use)
{
    uint64_t key = ctt_key(ctt_key(t->seed, use), t->step);

    return t->shard ? ctt_key(key, (uint64_t)t->shard) : key;
}

/* Gradient factor of clips with this loss weight: the loss scale, times their
 * share of `whole` (the turn's weight) if that is set. */
static inline double ctt_turn_scale(double scale, double weight, double whole)
{
    return whole > 0 ? scale * weight / whole : scale;
}

/* Maximum of steps and asks per clip. */
struct ctt_size { int steps, asks; };

struct ctt_task_kind {
    int   feedback;    /* scheduled sampling applies */

    /* CTT_EINVAL, CTT_EUNSUP: why model or clips do not suit the task. */
    int  (*check)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  const struct ctt_data *d);

    /* The training graph: the model, weights at the same offsets, and more
     * nodes. */
    int  (*graph)(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  struct ctt_graph **out);
    /* Steps and asks of a batch whose longest clip has `longest` frames; its
     * windows. */
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

    /* Total loss weight of `clips` clips (an estimate is enough). */
    double (*weight)(const void *s, int clips);
    /* Computes the gradient of the turn's mean loss, in the exec, and adds to
     * sums.  Gradient factor: the loss scale, times weight / t->weight if that
     * is set.  A loss that is not finite: CTT_ENAN, which names the first such
     * node; with t->skips returns 1 instead, without gradient or sums. */
    int  (*run)(void *s, const struct ctt_turn *t, struct ctt_sums *sums);
    /* For --stages; NULL if the task has no sections.  section prepares a step
     * of a section of the training graph, as open does; forward and, later,
     * backward replace run: forward returns as run, backward computes the
     * gradient. */
    int  (*section)(const struct ctt_graph *g,
                    const struct ctt_section_job *job, const float *w,
                    const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                    const struct ctt_data *d, void **out);
    int  (*forward)(void *s, const struct ctt_turn *t, struct ctt_sums *sums);
    int  (*backward)(void *s);
    /* After a gradient that is not finite: an error that names the node. */
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
    const char *saves;    /* options that reduce the memory of a batch, each
                             followed by a comma */
    const char *word;     /* name of the best test's score in the history */
    size_t      score;    /* offset of that score in struct ctt_test_score */
};

/* recognise/task.c, predict/task.c */
extern const struct ctt_task_kind ctt_recognise_task, ctt_next_task,
                                  ctt_predict_task;

#endif
