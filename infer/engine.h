/* SPDX-License-Identifier: Apache-2.0
 * engine.h: what a session and a batch have in common: a device with threads of
 * its own, a run on it, and probabilities. */
#ifndef CTT_ENGINE_H
#define CTT_ENGINE_H

#include "infer/loaded.h"
#include "run/run.h"

enum { CTT_ENGINE_STEPS = 8 };

struct ctt_engine {
    struct ctt_dev *dev;
    struct ctt_run *run;
    void           *w;       /* weights, if the device has memory of its own */
};

/* Opens it for so many streams side by side, and as many steps at once as pay:
 * at most CTT_ENGINE_STEPS or, if samples will have a past of their own
 * (run/sample.h), as many as that allows.  On failure it is to be closed, too.
 */
int  ctt_engine_open(const struct ctt_infer *m, int streams, int own_past,
                     struct ctt_engine *e);
void ctt_engine_close(struct ctt_engine *e);

/* The number of values per frame. */
int64_t ctt_engine_frame(const struct ctt_infer *m);

/* Probabilities of n classes from the model's answer; CTT_ENAN. */
int  ctt_engine_softmax(const float *z, int n, float *p);

#endif
