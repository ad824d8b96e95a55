/* SPDX-License-Identifier: Apache-2.0
 * runner.h: runs a model in the runtime as from a camera, to measure it. */
#ifndef CTT_RUNNER_H
#define CTT_RUNNER_H

#include "infer/infer.h"

#include <stddef.h>

/* A stream of noise through a model. */
struct ctt_runner {
    struct ctt_infer       *own;      /* the model, if it is closed with this */
    const struct ctt_infer *m;
    struct ctt_session     *s;
    uint8_t                *frame;
    float                  *answer;   /* probabilities, or the next frame */
    size_t                  bytes;    /* of frame and answer */
    double                  open_ms, first_ms;
};

/* load: loads the model file at path (see ctt_infer_open()); type: what its
 * convs multiply (ctt_infer_multiply()); tune: 1: their kernels are chosen by
 * timing (ctt_infer_tune()).  join: opens another stream through a loaded
 * model.  Both then run the first frame; open_ms is the time until the stream
 * was open, first_ms that of the first frame and its answer, for which kernels
 * are chosen, by timing too, and weights packed.  An error leaves r for
 * close. */
int  ctt_runner_load(const char *path, const char *device, const char *type,
                     int tune, int threads, struct ctt_runner *r);
int  ctt_runner_join(const struct ctt_infer *m, struct ctt_runner *r);
void ctt_runner_close(struct ctt_runner *r);

/* Pushes that many frames one at a time, and takes the answer after each:
 * probabilities, or the prediction of the next frame. */
int  ctt_runner_step(struct ctt_runner *r, int frames);

#endif
