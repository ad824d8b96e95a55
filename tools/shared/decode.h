/* SPDX-License-Identifier: Apache-2.0
 * decode.h: threads that decode clips ahead of their turn. */
#ifndef CTT_DECODE_H
#define CTT_DECODE_H

#include "tools/shared/measure.h"
#include "video/source.h"

/* A decoded clip: number i of a source. */
struct ctt_decoded {
    struct ctt_source *from;
    int                i, last;    /* last: close the source after it */
    struct ctt_frames  f;          /* the caller's to free */
    int                rc;         /* of ctt_source_frames(), whose message
                                      ctt_errmsg() has after a failure */
};

/* Per clip: time of decoding, and time of waiting for it. */
struct ctt_decode_times { struct ctt_times decode, wait; };

struct ctt_decoder;

/* workers: threads, 0: each clip is decoded when it is taken.  Memory holds the
 * taken clip and one per thread.  seed, max: of ctt_source_frames().  times:
 * collects times, or NULL.  close drops clips that were not taken; close
 * sources after it. */
int  ctt_decoder_open(int workers, uint64_t seed, int max,
                      struct ctt_decode_times *times, struct ctt_decoder **out);
void ctt_decoder_close(struct ctt_decoder **d);

/* Appends a clip; requires room (full returns 0).  last 1: the taker of the
 * clip closes the source, or ctt_decoder_close() does. */
int  ctt_decoder_full(const struct ctt_decoder *d);
void ctt_decoder_put(struct ctt_decoder *d, struct ctt_source *from, int i,
                     int last);

/* Takes the first clip and returns 1; 0: no clip is left. */
int  ctt_decoder_take(struct ctt_decoder *d, struct ctt_decoded *out);

#endif
