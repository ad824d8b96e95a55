/* SPDX-License-Identifier: Apache-2.0
 * exec.h: models of all kinds, opened for the forward and backward pass. */
#ifndef CTT_TEST_EXEC_H
#define CTT_TEST_EXEC_H

#include "run/back/exec.h"
#include "run/run.h"

enum { STEPS = 7, MOST = 1 << 14 };

/* n samples; asks: answers of a model with a clip part. */
struct exec_model { const char *text; int n, asks; };

enum { EXEC_MODELS = 23 };
extern const struct exec_model exec_models[EXEC_MODELS];

/* The gradient of the answers on the backward pass. */
extern float exec_coef[MOST];

/* A model ready to run, on a device. */
struct exec_rig {
    const struct exec_model *m;
    struct ctt_graph *g;
    struct ctt_dev   *dev;
    struct ctt_exec  *x;
    float            *w;
    int               clip, out;    /* has a clip part; the answer's node */
    int               plain;        /* the device is plain C */
    int64_t           volume;       /* of the answer of all samples or asks */
    struct ctt_ask    ask[4];
    struct ctt_job    job;
    float            *y;            /* the answers */
};

/* Opens a run of STEPS steps on a device.  A rig that could not be opened must
 * be closed too. */
int  exec_rig_open(struct exec_rig *r, const struct exec_model *m,
                   const char *device);
void exec_rig_close(struct exec_rig *r);

/* How many numbers the answers of a clip have. */
int64_t exec_answers(const struct exec_rig *r);

/* Runs forward and returns the answers, which the rig owns. */
const float *exec_forward(struct exec_rig *r);

int exec_backward(struct exec_rig *r);

/* Fills the inputs of `steps` steps of a run, from `step` on, with the clip's
 * inputs from step `from` on. */
void exec_inputs(const struct ctt_run *r, int step, int steps, int from);

#endif
