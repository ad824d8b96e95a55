/* SPDX-License-Identifier: Apache-2.0
 * infer_measure.h: how near predicted frames come to the true ones. */
#ifndef CTT_INFER_MEASURE_H
#define CTT_INFER_MEASURE_H

#include "net/graph.h"
#include "tools/infer_say.h"

/* Sums over clips, a row for each frame ahead. */
struct ctt_measure {
    const struct ctt_input *in;
    int                     seen, rows;
    int                     able;     /* frames are large enough for it */
    struct ctt_ahead       *row;
    float                  *moved;    /* a frame by linear motion */
};

/* For `rows` frames predicted after `seen` ones of the size of in, which stays
 * the caller's. */
int  ctt_measure_init(struct ctt_measure *m, const struct ctt_input *in,
                      int seen, int rows);
void ctt_measure_clear(struct ctt_measure *m);

/* Adds a clip to the rows, and to *sum; nothing if m is not able.  truth:
 * `known` frames from the first one seen on; guess: the predicted ones; values
 * in 0..1. */
int  ctt_measure_clip(struct ctt_measure *m, const float *truth, int known,
                      const float *guess, struct ctt_ahead *sum);

/* Writes the rows as a table with a line for each and one for their mean. */
int  ctt_measure_csv(const struct ctt_measure *m, const char *path);

#endif
