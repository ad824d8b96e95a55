/* SPDX-License-Identifier: Apache-2.0
 * decode.h: threads that decode clips ahead of their turn. */
#ifndef CTT_DECODE_H
#define CTT_DECODE_H

#include "tools/shared/measure.h"
#include "video/source.h"

/* A clip in its turn: number i of a source. */
struct ctt_decoded {
    struct ctt_source *from;
    int                i, last;    /* last: the source is to be closed */
    struct ctt_frames  f;          /* the caller's to free */
    int                rc;         /* of ctt_source_frames(): if it failed, its
                                      message is that of ctt_errmsg() */
};

/* How long each clip took a thread, and how long its turn waited for it. */
struct ctt_decode_times { struct ctt_times decode, wait; };

struct ctt_decoder;

/* workers: threads; 0: a clip is decoded in its turn.  Besides the clip that
 * was taken, one per thread is in memory.  seed, max: as for
 * ctt_source_frames().  times: collects them, or NULL.  close drops the clips
 * that were not taken; other sources may be closed only then. */
int  ctt_decoder_open(int workers, uint64_t seed, int max,
                      struct ctt_decode_times *times, struct ctt_decoder **out);
void ctt_decoder_close(struct ctt_decoder **d);

/* Appends a clip, for which there must be room: full is 0.  last: 1: whoever
 * takes it closes the source, or else ctt_decoder_close(). */
int  ctt_decoder_full(const struct ctt_decoder *d);
void ctt_decoder_put(struct ctt_decoder *d, struct ctt_source *from, int i,
                     int last);

/* Returns 1 and the first of the clips, or 0 if there is none. */
int  ctt_decoder_take(struct ctt_decoder *d, struct ctt_decoded *out);

#endif
