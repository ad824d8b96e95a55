/* SPDX-License-Identifier: Apache-2.0
 * predict.h: training a model to predict the next frames, with its predictions
 * fed back as input, and measuring their quality. */
#ifndef CTT_PREDICT_H
#define CTT_PREDICT_H

#include "libtrain/train.h"

struct ctt_batch;
struct ctt_dev;
struct ctt_exec;
struct ctt_memory;
struct ctt_sums;
struct ctt_turn;

/* ---- step.c: a training step ---- */

/* The choices of --loss: kinds of the loss op. */
extern const char *const ctt_predict_losses[];

/* CTT_EUNSUP if the model's answer cannot be its next input. */
int ctt_predict_check(const struct ctt_graph *g);

/* The training graph: the model, whose input is a mix of the true frame and its
 * last prediction, with target and loss appended; weights keep their offsets.
 * loss: a kind of the loss op. */
int ctt_predict_graph(const struct ctt_graph *model, const char *loss,
                      struct ctt_graph **out);

struct ctt_predict_step {
    const struct ctt_train_cfg *cfg;
    struct ctt_graph *g;
    struct ctt_exec  *x;
    struct ctt_amp_plan *amp;
    int    frame, seen, target, loss;    /* nodes */
    int    observed, frames;             /* true frames; frames in all */
    float *truth;                        /* [frames - 1][n]: 1: true frame */
    const struct ctt_batch *batch;       /* of the current step */
    int64_t rows;                        /* numbers that the loss averages */
    double  sum;                         /* of their losses */
    double  scale;                       /* loss scale; 1 unless set */
    double  factor;                      /* of the gradient: ctt_turn_scale() */
    int     skips;                       /* a loss may be not finite */
    double *losses;                      /* per frame of a window */
    float  *grads;                       /* of each of its pixels, per frame */
};

/* w: the model's weights in the device's memory, which are not copied.  m NULL:
 * one window. */
int  ctt_predict_step_open(const struct ctt_graph *model, const float *w,
                           const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                           const struct ctt_memory *m,
                           struct ctt_predict_step **out);
void ctt_predict_step_close(struct ctt_predict_step **s);

/* As run and blame of struct ctt_task_kind. */
int  ctt_predict_step_run(struct ctt_predict_step *s, const struct ctt_turn *t,
                          struct ctt_sums *sums);
int  ctt_predict_step_blame(struct ctt_predict_step *s,
                            const struct ctt_turn *t);

/* Numbers that the loss of so many sequences averages. */
int64_t ctt_predict_step_rows(const struct ctt_predict_step *s, int clips);

/* ---- sampling.c: scheduled sampling ---- */

/* Draws the inputs of a batch of n sequences: truth[t * n + j] is 1 if sequence
 * j gets the true frame t, 0 if it gets the prediction; the first `observed`
 * frames are always true.  Returns the first t with a 0, or frames. */
int ctt_sampling_draw(const struct ctt_turn *t, int observed, int frames,
                      float *truth);

/* The state of scheduled sampling (Bengio and others 2015).  With
 * --sampling-start=auto it begins when the test loss has not improved for
 * `sampling_patience` tests in a row, and --schedule=sampled decreases the rate
 * when that happens again (Su and others 2020).  start, falls: steps at which
 * these begin, or -1; stalled: tests in a row without an improvement. */
struct ctt_sampling { int64_t start, falls, stalled; double best; };

/* CTT_EINVAL unless --sampling-start is "auto", "off" or an epoch, which may be
 * fractional. */
int ctt_sampling_check(const struct ctt_train_cfg *cfg);
/* batches: per epoch. */
void ctt_sampling_begin(const struct ctt_train_cfg *cfg, int batches,
                        struct ctt_sampling *s);
/* 1: --sampling-start=auto. */
int ctt_sampling_waits(const struct ctt_train_cfg *cfg);
/* 1: --sampling-start=off. */
int ctt_sampling_off(const struct ctt_train_cfg *cfg);
/* Updates the state after a test.  Returns 1 if sampling, or the decrease of
 * the rate, begins at `step`, the next one. */
int ctt_sampling_tested(const struct ctt_train_cfg *cfg, double loss,
                        int64_t step, struct ctt_sampling *s);
/* Writes a line on the beginning phase; returns 0 if the settings have none. */
int ctt_sampling_tell(const struct ctt_train_cfg *cfg,
                      const struct ctt_sampling *s, char *line, size_t size);
/* The probability of a true frame at a step. */
double ctt_sampling_truth(const struct ctt_train_cfg *cfg,
                          const struct ctt_sampling *s, int64_t step,
                          int batches);

/* ---- evaluate.c ---- */

/* As ctt_recognise_eval: in floats, with the master weights w. */
struct ctt_predict_eval;
int  ctt_predict_eval_open(const struct ctt_graph *g, const float *w,
                           const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                           struct ctt_data *d, struct ctt_predict_eval **out);
void ctt_predict_eval_close(struct ctt_predict_eval **f);
/* all: the baselines too.  Returns 1 if ctt_stopped() ended it early. */
int  ctt_predict_eval_run(struct ctt_predict_eval *f, int all,
                          struct ctt_predict_scores *out);

#endif
