/* SPDX-License-Identifier: Apache-2.0
 * many_streams.h: several streams of noise through a model, to measure them. */
#ifndef CTT_MANY_STREAMS_H
#define CTT_MANY_STREAMS_H

#include "tools/bench/runner.h"

struct ctt_many_streams {
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
int ctt_many_streams_open(const struct ctt_infer *m, int streams, int batch,
                          struct ctt_many_streams *c);
void ctt_many_streams_close(struct ctt_many_streams *c);

/* Of a batch: a frame of each stream, and all answers. */
int  ctt_many_streams_step(struct ctt_many_streams *c);

#endif
