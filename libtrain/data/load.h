/* SPDX-License-Identifier: Apache-2.0
 * load.h: threads that load batches in advance. */
#ifndef CTT_LOAD_H
#define CTT_LOAD_H

#include "device/memory.h"
#include "libtrain/data/blend.h"
#include "libtrain/data/bucket.h"

struct ctt_batch {
    const float *x;         /* [steps][n][h, w, c] */
    int          steps, n;
    const int   *clip;      /* [n] clip numbers; -1: empty */
    const int   *length;    /* [n] frames; 0: empty */
    const struct ctt_blend *blend;    /* [n]; NULL: no clip is mixed */
    const struct ctt_shots *shots;    /* NULL, or x is an address alone, and
                                         ctt_dev_render() makes its floats */
};

struct ctt_loader;

/* Loads batches of n clips with at most room frames. */
int  ctt_loader_open(struct ctt_data *d, int n, int room,
                     struct ctt_loader **out);
void ctt_loader_close(struct ctt_loader **l);

/* Bytes of the batches that it holds, of frames of so many floats. */
int64_t ctt_loader_bytes(int64_t frame, int n, int room);

/* Pins the memory of the frames for copies to this device (ctt_dev_pin) until
 * the loader is closed.  Batches for a device with memory of its own have shots
 * then, unless clips are mixed (ctt_loader_mixes() comes first) or normalised
 * by their own frames.  Then ctt_loader_done() may be called only after a call
 * that waits for the device. */
int  ctt_loader_pin(struct ctt_loader *l, struct ctt_dev *dev);

/* From now on clips are mixed, if a->mixup or a->cutmix says so: takes the
 * memory that this needs. */
int  ctt_loader_mixes(struct ctt_loader *l);

/* Begins to load the batches of a plan, from batch `first`.  p must stay
 * valid.  p->a is to be *a: a clip that is longer then than the steps of its
 * batch is shown faster. */
void ctt_loader_start(struct ctt_loader *l, const struct ctt_order *p,
                      const struct ctt_augment *a, int first);

/* The plan has got more batches, up to p->batches; earlier ones stay. */
void ctt_loader_more(struct ctt_loader *l);

/* Loads no more: from now to ctt_loader_start() no thread reads the plan, so
 * its owner may write it. */
void ctt_loader_rest(struct ctt_loader *l);

/* Returns 1 and the next batch, valid until ctt_loader_done(), or 0 after the
 * last; an error if a clip cannot be read any more, which names it.  Adds the
 * time spent waiting to *seconds. */
int  ctt_loader_next(struct ctt_loader *l, struct ctt_batch *b,
                     double *seconds);
void ctt_loader_done(struct ctt_loader *l);

/* Returns 1 and the frames (x, steps, n, shots) of the batch after the current
 * one, if it is ready.  ctt_loader_next() must still be called for it. */
int  ctt_loader_peek(struct ctt_loader *l, struct ctt_batch *b);

#endif
