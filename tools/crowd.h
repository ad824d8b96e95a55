/* SPDX-License-Identifier: Apache-2.0
 * crowd.h: several streams of noise through a model, to measure them. */
#ifndef CTT_CROWD_H
#define CTT_CROWD_H

#include "tools/runner.h"

struct ctt_crowd {
    const struct ctt_infer *m;         /* the caller's */
    int                     streams;
    struct ctt_batch       *b;         /* NULL: sessions */
    struct ctt_runner      *r;         /* of each stream; of a batch only noise
                                          and its answer, without a session */
    const uint8_t         **frame;     /* those of all */
    float                 **answer;
};

/* Streams of m, as one batch or as a session each, which have had a frame.  An
 * error leaves c for close. */
int  ctt_crowd_open(const struct ctt_infer *m, int streams, int batch,
                    struct ctt_crowd *c);
void ctt_crowd_close(struct ctt_crowd *c);

/* Of a batch: a frame of each stream, and all answers. */
int  ctt_crowd_step(struct ctt_crowd *c);

#endif
