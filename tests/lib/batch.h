/* SPDX-License-Identifier: Apache-2.0
 * batch.h: models and batches of clips for the tests of the backward pass
 * through windows. */
#ifndef CTT_TEST_BATCH_H
#define CTT_TEST_BATCH_H

#include "run/back/backward.h"

enum { STEPS = 9, MOST = 1 << 14, ALL = CTT_KEEP_ALL,
       AUTO = CTT_KEEP_AUTO };

/* An input of one number, 0 or 1, selects the input of a mix. */
struct batch_model {
    const char *text;
    int n, asks, feedback;    /* feedback 0: there is no mix */
    int batch;           /* a batch norm, whose windows differ from clips */
    int rounds;          /* a quant, whose gradient is not its slope */
};

/* Models from FEEDBACK on have a mix. */
enum { FEEDBACK = 17, BATCH_MODELS = 20 };
extern const struct batch_model batch_models[BATCH_MODELS];

/* A model ready to run, on a device, with a plan of its memory. */
struct batch {
    const struct batch_model *m;
    struct ctt_graph *g;
    struct ctt_dev   *dev;
    struct ctt_exec  *x;
    float            *w, *y, *coef;    /* answers, and their gradients */
    int               clip, out;
    int64_t           one, answers;    /* numbers of an answer, and of all */
    struct ctt_ask    ask[8];
    struct ctt_job    job;
    int               poison, parts;
};

/* window and keep: as of struct ctt_memory.  A rig that could not be opened
 * must be closed too. */
int  batch_open(struct batch *r, const struct batch_model *m,
                const char *device, int window, int keep);
int  batch_open_as(struct batch *r, const struct batch_model *m,
                   const char *device, const struct ctt_memory *memory);
void batch_close(struct batch *r);

/* Forward and back. */
int  batch_run(struct batch *r);

/* Checks that answers, gradients and weights of two have the same bits. */
void batch_same(const struct batch *a, const struct batch *b,
                const char *what);

/* Writes the input of a node for step `clock` of the clip at `step` of the
 * run. */
void batch_input(const struct ctt_run *r, int node, int step, int clock);

#endif
