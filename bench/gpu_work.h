/* SPDX-License-Identifier: Apache-2.0
 * gpu_work.h: a row of bench_gpu at work: its model, batch and trainer on a
 * device. */
#ifndef CTT_BENCH_GPU_WORK_H
#define CTT_BENCH_GPU_WORK_H

#include "libtrain/amp.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/load.h"
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"

/* The settings of bench_gpu. */
struct cfg {
    int         size, batch, input, future, threads;
    float       seconds, limit;
    const char *models, *rows, *device;
    int64_t     memory;
};

/* Optimisations that a row leaves out; other properties. */
enum {
    NO_GRAPH  = 1,     /* kernels are started one by one */
    APART     = 2,     /* cells as nodes of their own, an update a weight */
    BF16      = 4,
    TRUE      = 8,     /* shown true frames, so that less is one loop */
    LARGEST   = 16,    /* the batch that fits */
    RECOMPUTE = 32,    /* values are computed again */
    WHOLE     = 64,    /* one window of all steps */
    TF32      = 128    /* floats are multiplied so */
};

/* Size and channels 0: as the model's file says; batch 0: the largest. */
struct row {
    const char *name, *model;
    int         size, channels, batch, amp, how, streams;
};

/* Whether its model predicts frames; others recognise clips. */
int row_predicts(const struct row *r);

struct work {
    const struct cfg    *c;
    const struct row    *r;
    struct ctt_dev      *dev;
    struct ctt_train_cfg cfg;
    struct ctt_graph    *g;
    struct ctt_predict_step   *p;    /* of one of the tasks */
    struct ctt_recognise_step *s;
    struct ctt_exec     *x;
    struct ctt_optim    *o;
    struct ctt_data      data;
    struct ctt_batch     batch;
    struct ctt_clip     *clip;
    float               *w, *frame;
    int                 *which, *length;
    int64_t              frames;  /* numbers in frame */
    int                  n, steps, pinned;
    double               ms;
    int64_t              bytes;   /* of the device */
};

/* Makes all of it; c, r and dev are set.  Call work_close after an error as
 * well. */
int  work_open(struct work *k);
void work_close(struct work *k);

#endif
