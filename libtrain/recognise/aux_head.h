/* SPDX-License-Identifier: Apache-2.0
 * aux_head.h: the second loss of --task both: the prediction of the next frame
 * by the model's line `ahead`, beside the answer of the clip. */
#ifndef CTT_TRAIN_AUX_HEAD_H
#define CTT_TRAIN_AUX_HEAD_H

#include "libtrain/train.h"

struct ctt_batch;
struct ctt_edit;
struct ctt_exec;
struct ctt_window;

/* The predictions of a step.  values: numbers of the mean: one per pixel of a
 * frame whose next one is in its clip. */
struct ctt_aux_head {
    int     target, loss;       /* nodes */
    const struct ctt_batch *batch;
    double  weight;             /* of the mean loss in this step */
    double  sum;                /* of the losses */
    int64_t pixels, values;     /* pixels: of a frame */
    double *losses;             /* per frame of a window */
    float  *grads;              /* of each of its pixels, per frame */
};

/* Adds the true next frame and the loss of `ahead`, the mean square of their
 * difference over the channels of a pixel, to a training graph.  CTT_EUNSUP
 * without `ahead`. */
int  ctt_aux_head_graph(struct ctt_edit *e, const struct ctt_graph *model);

/* Prepares windows of so many frames of all samples together; g: the training
 * graph. */
int ctt_aux_head_open(const struct ctt_graph *g, int frames,
                      struct ctt_aux_head **out);
void ctt_aux_head_close(struct ctt_aux_head **a);

/* Begins a step with a batch. */
void ctt_aux_head_begin(struct ctt_aux_head *a, const struct ctt_batch *b);

/* For give, take and seed of struct ctt_job: writes the true next frames of a
 * window, adds up its losses, sets their gradients: those of scale * weight *
 * the mean over the values. */
int ctt_aux_head_give(const struct ctt_aux_head *a, struct ctt_exec *x,
                      const struct ctt_window *p);
int ctt_aux_head_take(struct ctt_aux_head *a, struct ctt_exec *x,
                      const struct ctt_window *p);
int ctt_aux_head_seed(const struct ctt_aux_head *a, struct ctt_exec *x,
                      const struct ctt_window *p, double scale);

/* The weight at a part of the run, 0..1: --ahead-weight.  check: CTT_EINVAL
 * unless it is FROM or FROM:TO, each 0 to 1000. */
double ctt_aux_head_weight(const struct ctt_train_cfg *cfg, double part);
int    ctt_aux_head_check(const struct ctt_train_cfg *cfg);

#endif
