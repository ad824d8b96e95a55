/* SPDX-License-Identifier: Apache-2.0
 * live_places.h: what a model remembers of several streams of frames: a session
 * each, or a batch of them all. */
#ifndef CTT_LIVE_PLACES_H
#define CTT_LIVE_PLACES_H

#include "infer/infer.h"

struct ctt_places;

/* Places 0 to count - 1.  session: an open one, which stays the caller's: place
 * 0, and one more is opened for each other place; NULL: all are a batch. */
int  ctt_places_open(const struct ctt_infer *m, struct ctt_session *session,
                     int count, struct ctt_places **out);
void ctt_places_close(struct ctt_places **p);

/* The next frame of a place is the first of a stream; or there is none. */
int  ctt_places_reset(struct ctt_places *p, int place);
int  ctt_places_leave(struct ctt_places *p, int place);

/* A pointer for each place, NULL: it has no frame now, or no answer is wanted.
 * CTT_ENAN if an answer is not finite: of read, in a batch all others are
 * written; of decided, in a batch too, of that place alone. */
int  ctt_places_push(struct ctt_places *p, const uint8_t *const *frames);
int  ctt_places_read(struct ctt_places *p, float *const *probs);

/* 1 and what the stream of a place has decided, or 0. */
int  ctt_places_decided(const struct ctt_places *p, int place,
                        struct ctt_infer_decision *out);

/* Bytes of a place, without weights. */
int64_t ctt_places_bytes(const struct ctt_places *p);

#endif
