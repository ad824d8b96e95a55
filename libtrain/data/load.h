/* SPDX-License-Identifier: Apache-2.0
 * load.h: the threads that load batches ahead of the training. */
#ifndef CTT_LOAD_H
#define CTT_LOAD_H

#include "device/memory.h"
#include "libtrain/data/bucket.h"

/* Random changes of the pictures that a model should be robust to; key 0:
 * none. */
struct ctt_augment {
    int      jitter, flip;
    float    brightness, contrast;
    uint64_t key;
};

struct ctt_batch {
    const float *x;         /* [steps][n][h, w, c] */
    int          steps, n;
    const int   *clip;      /* [n] of the data, -1: empty */
    const int   *length;    /* [n] frames, 0: empty or could not be read */
    const char  *bad;       /* what could not be read, or NULL */
};

struct ctt_loader;

/* Batches of n clips of at most room frames. */
int  ctt_loader_open(struct ctt_data *d, int n, int room,
                     struct ctt_loader **out);
void ctt_loader_close(struct ctt_loader **l);

/* The frames go to this device, which may lock their memory (memory.h) until
 * the loader is closed: a batch is then done with only after a call that waits
 * for the device. */
int  ctt_loader_pin(struct ctt_loader *l, struct ctt_dev *dev);

/* Begins to load the batches of a plan from `first`.  The plan must stay. */
void ctt_loader_start(struct ctt_loader *l, const struct ctt_order *p,
                      const struct ctt_augment *a, int first);

/* 1 and the next batch, valid until ctt_loader_done(); 0 after the last.
 * seconds: time spent waiting is added. */
int  ctt_loader_next(struct ctt_loader *l, struct ctt_batch *b,
                     double *seconds);
void ctt_loader_done(struct ctt_loader *l);

/* 1 and the batch behind the one at hand, if it is ready: its frames only, and
 * ctt_loader_next() still is to come. */
int  ctt_loader_peek(struct ctt_loader *l, struct ctt_batch *b);

#endif
