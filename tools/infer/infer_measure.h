/* SPDX-License-Identifier: Apache-2.0
 * infer_measure.h: quality of predicted frames. */
#ifndef CTT_INFER_MEASURE_H
#define CTT_INFER_MEASURE_H

#include "net/graph.h"
#include "tools/infer/infer_say.h"

/* Sums over windows of clips, one row per frame ahead. */
struct ctt_measure {
    const struct ctt_input *in;
    int                     seen, rows;
    int                     able;     /* frames are large enough to measure */
    struct ctt_aux_head       *row;
    float                  *moved;    /* a frame by linear motion */
};

/* For `rows` frames predicted after `seen` observed ones; in stays the
 * caller's. */
int  ctt_measure_init(struct ctt_measure *m, const struct ctt_input *in,
                      int seen, int rows);
void ctt_measure_clear(struct ctt_measure *m);

/* Adds a window of a clip to the rows and to *sum; nothing if not able.  truth:
 * `known` frames from the first observed one on; guess: the predicted frames;
 * values in 0..1. */
int  ctt_measure_clip(struct ctt_measure *m, const float *truth, int known,
                      const float *guess, struct ctt_aux_head *sum);

/* Writes a CSV file: one line per row and one for the mean; and how it
 * begins. */
#define CTT_MEASURE_BEGIN "ahead,windows,"
int  ctt_measure_csv(const struct ctt_measure *m, const char *path);

#endif
