/* SPDX-License-Identifier: Apache-2.0
 * engine.h: the common part of a session and a batch: a device with threads of
 * its own, a run on it, and probabilities. */
#ifndef CTT_ENGINE_H
#define CTT_ENGINE_H

#include "infer/loaded.h"
#include "run/run.h"

enum { CTT_ENGINE_STEPS = 8 };

struct ctt_engine {
    struct ctt_dev *dev;
    struct ctt_run *run;
    void           *w;       /* copy of the weights in the device's own memory;
                                NULL: it has none */
};

/* Opens a device and a run for `streams` samples, with as many steps per window
 * as are faster: at most CTT_ENGINE_STEPS or, with own_past (run/sample.h), as
 * many as that allows.  Must be closed on failure, too. */
int  ctt_engine_open(const struct ctt_infer *m, int streams, int own_past,
                     struct ctt_engine *e);
void ctt_engine_close(struct ctt_engine *e);

/* The number of values per frame. */
int64_t ctt_engine_frame(const struct ctt_infer *m);

/* CTT_EINVAL if one of n values of frames is NaN or infinite: states would keep
 * it, and answers become wrong frames later. */
int  ctt_engine_finite(const float *x, int64_t n);

/* Probabilities of the classes from the model's answer z: by softmax, or where
 * clips have several labels each by itself; CTT_ENAN. */
int  ctt_engine_probs(const struct ctt_infer *m, const float *z, float *p);

#endif
