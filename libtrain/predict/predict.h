/* SPDX-License-Identifier: Apache-2.0
 * predict.h: learning to predict the next frames, with the model's own answers
 * fed back, and how well it does. */
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

/* The words of the loss op that --loss offers. */
extern const char *const ctt_predict_losses[];

/* The model's answer can be its next input. */
int ctt_predict_check(const struct ctt_graph *g);

/* The model's own text, fed by a mix of the true frame and its last answer,
 * with target and loss behind: its weights keep their places.  loss: a word of
 * the loss op. */
int ctt_predict_graph(const struct ctt_graph *model, const char *loss,
                      struct ctt_graph **out);

struct ctt_predict_step {
    const struct ctt_train_cfg *cfg;
    struct ctt_graph *g;
    struct ctt_exec  *x;
    struct ctt_amp_plan *amp;
    int    frame, seen, target, loss;    /* nodes */
    int    observed, frames;             /* frames: of a sequence */
    float *truth;                        /* [frames - 1][n]: 1: true frame */
    const struct ctt_batch *batch;       /* of the step at hand */
    int64_t rows;                        /* of the loss, that count */
    double  sum;
    double  scale;                       /* of the loss; 1 unless it is set */
    int     skips;                       /* a loss may be other than finite */
    double *losses;                      /* of a window's frames */
    float  *grads;                       /* of a pixel of each */
};

/* w: the model's weights in the device's memory.  m NULL: one window. */
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

/* ---- sampling.c: scheduled sampling ---- */

/* Of n sequences, which frames they are shown: truth[t * n + j] is 1 where j
 * gets frame t itself, 0 where it gets what the model made of it; the first
 * `observed` ones are always true.  Returns the first t with a 0, or frames. */
int ctt_sampling_draw(const struct ctt_turn *t, int observed, int frames,
                      float *truth);

/* Where scheduled sampling (Bengio and others 2015) stands.  As Su and others
 * 2020 have it, it begins when the test loss has not been smaller than the best
 * for `sampling_patience` tests in a row, and --schedule=sampled lets the rate
 * fall when that happens once more.  Steps at which these begin, or -1; the
 * tests in a row so far. */
struct ctt_sampling { int64_t start, falls, stalled; double best; };

/* "auto", "off" or an epoch, which may be a fraction. */
int ctt_sampling_check(const struct ctt_train_cfg *cfg);
/* batches: an epoch's. */
void ctt_sampling_begin(const struct ctt_train_cfg *cfg, int batches,
                        struct ctt_sampling *s);
/* 1: only a test can make it begin. */
int ctt_sampling_waits(const struct ctt_train_cfg *cfg);
/* 1: never. */
int ctt_sampling_off(const struct ctt_train_cfg *cfg);
/* After a test.  1: something begins with `step`, the next one. */
int ctt_sampling_tested(const struct ctt_train_cfg *cfg, double loss,
                        int64_t step, struct ctt_sampling *s);
/* A line on what begins then.  0: nothing that the settings want. */
int ctt_sampling_tell(const struct ctt_train_cfg *cfg,
                      const struct ctt_sampling *s, char *line, size_t size);
/* The chance of a true frame at a step. */
double ctt_sampling_truth(const struct ctt_train_cfg *cfg,
                          const struct ctt_sampling *s, int64_t step,
                          int batches);

/* ---- evaluate.c ---- */

/* As ctt_recognise_eval: in floats, with the master weights. */
struct ctt_predict_eval;
int  ctt_predict_eval_open(const struct ctt_graph *g, const float *w,
                           const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                           struct ctt_data *d, struct ctt_predict_eval **out);
void ctt_predict_eval_close(struct ctt_predict_eval **f);
/* all: the baselines too.  1: ev->stop said so before the end. */
int  ctt_predict_eval_run(struct ctt_predict_eval *f,
                          const struct ctt_events *ev, int all,
                          struct ctt_predict_scores *out);

#endif
