/* SPDX-License-Identifier: Apache-2.0
 * recognise.h: one training step up to the gradient: the training graph, when
 * each clip is asked, forward, loss, backward; and the same without the
 * backward pass for evaluation. */
#ifndef CTT_RECOGNISE_H
#define CTT_RECOGNISE_H

#include "libtrain/train.h"

struct ctt_batch;
struct ctt_dev;
struct ctt_exec;
struct ctt_sums;

/* When a clip is asked while training.  The last ask is always its end. */
struct ctt_asks {
    int    random;                      /* a ratio drawn in lo..hi */
    double lo, hi;
    int    points, frames;              /* frames: spread over the clip */
    struct ctt_point point[CTT_MAX_POINTS];
    int    total;                       /* asks a clip */
};

struct ctt_want { int step; float weight; };

/* What is asked of a clip of the batch; weight 0: nothing, there is no clip. */
struct ctt_goal { int sample, step, label; float weight; };

/* asks.c: reads --observe and --frame-loss. */
int  ctt_asks_parse(const struct ctt_train_cfg *cfg, struct ctt_asks *out);
/* want[total]; key decides the random ratio. */
void ctt_asks_make(const struct ctt_asks *a, const struct ctt_train_cfg *cfg,
                   int length, uint64_t key, struct ctt_want *want);

struct ctt_recognise_step {
    const struct ctt_train_cfg *cfg;
    struct ctt_graph *g;         /* the model's with target and loss behind */
    struct ctt_exec  *x;
    struct ctt_amp_plan *amp;
    struct ctt_asks   asks;
    struct ctt_want  *want;      /* of one clip */
    struct ctt_goal  *goal;      /* asks.total for each clip of the batch */
    struct ctt_ask   *ask;       /* the same for the clip part */
    float            *row, *answers;    /* rows of a part, on their way */
    const struct ctt_batch *batch;
    double            sum, right;    /* losses so far; last asks right */
    double            scale;         /* of the loss; 1 unless it is set */
    int               skips;         /* a loss may be other than finite */
    float             seed;          /* gradient of a loss */
    int input, answer, target, loss;
};

/* The model's own text with target and loss behind: its weights keep their
 * places. */
int  ctt_recognise_graph(const struct ctt_graph *model, float smooth,
                         struct ctt_graph **out);

/* Batches of n clips of at most room frames; w: the model's weights in the
 * device's memory, which the steps read where they are.  Where settings ask for
 * 16 bits x->r->w16 must be set before the first step. */
int  ctt_recognise_step_open(const struct ctt_graph *model, const float *w,
                             const struct ctt_train_cfg *cfg,
                             struct ctt_dev *dev, int n, int room,
                             struct ctt_recognise_step **out);
void ctt_recognise_step_close(struct ctt_recognise_step **s);

/* Leaves the gradient, times s->scale, in s->x->dw and adds to sums.  key: of
 * this step's randomness; keys of clips are made of image and their number.  A
 * loss that is not finite is CTT_ENAN, with the first node to blame; or with
 * s->skips 1, and there is no gradient. */
int  ctt_recognise_step_run(struct ctt_recognise_step *s,
                            const struct ctt_data *d, const struct ctt_batch *b,
                            uint64_t key, uint64_t observe,
                            struct ctt_sums *sums);

/* After a gradient that is not finite: finds the node; always an error. */
int  ctt_recognise_step_blame(struct ctt_recognise_step *s,
                              const struct ctt_batch *b);

/* The answer is one vector for a step or an ask. */
int  ctt_answer_check(const struct ctt_graph *g);
int  ctt_answer_classes(const struct ctt_graph *g);

/* evaluate.c: a model ready to be tested again and again, while w changes.
 * Always in floats with the masters, whatever it is trained in: what is tested
 * is what the file will hold and what others will run. */
struct ctt_recognise_eval;
int  ctt_recognise_eval_open(const struct ctt_graph *g, const float *w,
                             const struct ctt_train_cfg *cfg,
                             struct ctt_dev *dev, struct ctt_data *d,
                             const struct ctt_point *point, int points,
                             struct ctt_recognise_eval **out);
void ctt_recognise_eval_close(struct ctt_recognise_eval **e);
/* 1: ev->stop said so before the end. */
int  ctt_recognise_eval_run(struct ctt_recognise_eval *e,
                            const struct ctt_events *ev, struct ctt_metrics *m);

#endif
