/* SPDX-License-Identifier: Apache-2.0
 * engine.h: the common part of a session and a batch: a device with threads of
 * its own or a shared GPU, a run on it, and probabilities. */
#ifndef CTT_ENGINE_H
#define CTT_ENGINE_H

#include "infer/loaded.h"
#include "run/run.h"

enum { CTT_ENGINE_STEPS = 8 };

/* Common to all sessions of a model on a GPU: an open device, so that
 * plans of convs are made once, and the weights. */
int  ctt_share_new(struct ctt_share **out);
void ctt_share_free(struct ctt_share **s);

struct ctt_engine {
    struct ctt_dev *dev;
    struct ctt_run *run;
    struct ctt_share *share;    /* who owns the device; NULL: the engine */
    int             tf32;
};

/* A declaration, before statements: until the end of its block this thread has
 * the device of the engine, which sessions in other threads may share; e may be
 * NULL. */
void ctt_engine_take(const struct ctt_engine *e);
void ctt_engine_give(const struct ctt_engine *const *e);
#define CTT_ENGINE_TAKEN(e)                                                \
    const struct ctt_engine *const ctt_engine_taken                        \
        __attribute__((cleanup(ctt_engine_give), unused)) =                \
        (ctt_engine_take(e), (e))

/* Opens a device and a run for `streams` samples, with as many steps per window
 * as are faster: at most CTT_ENGINE_STEPS or, with own_past (run/sample.h), as
 * many as that allows.  Must be closed on failure, too.  On a GPU the device is
 * that of the model's other engines. */
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
