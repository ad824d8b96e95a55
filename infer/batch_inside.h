/* SPDX-License-Identifier: Apache-2.0
 * batch_inside.h: many streams through a model as one batch, for the files
 * batch*.c.  Streams that have a frame take the first places of a run; what one
 * that has none must remember waits outside of the run (it is parked) until its
 * next frame or answer. */
#ifndef CTT_BATCH_INSIDE_H
#define CTT_BATCH_INSIDE_H

#include "infer/decide.h"
#include "infer/engine.h"
#include "infer/thread_tuner.h"
#include "net/pixels.h"

/* SIZES: steps are run for a multiple of the batch's room divided by it, as
 * kernels prepare what they need for each number of samples.  STEP, CLIP: the
 * parts of a model. */
enum { CTT_BATCH_SIZES = 16, CTT_NOWHERE = -1, CTT_BATCH_STEP = 0,
       CTT_BATCH_CLIP = 1 };

struct ctt_batch_stream {
    int               joined;
    int               at;        /* its place in the run, or CTT_NOWHERE */
    int64_t           frames;
    int               bad;       /* its last answer was not finite; nor was */
    int               unsure;    /* one that was to decide */
    struct ctt_pixels pixels;
    struct ctt_decide decide;
};

struct ctt_batch {
    const struct ctt_infer  *m;
    struct ctt_engine        engine;
    struct ctt_run          *run;      /* the engine's */
    int                      streams;
    int                      grain;    /* of the sizes of steps */
    int                      broken;   /* a step has failed */
    struct ctt_batch_stream *stream;
    int                     *who;      /* at each place: the stream, or
                                          CTT_NOWHERE */
    int                      end;      /* places from here on are free */
    char                    *park;     /* of each stream, in the device's
                                          memory: */
    int64_t                  bytes;    /* so many */
    float                   *numbers;  /* frames to be copied to the device, or
                                          answers copied from it: */
    int64_t                  most;     /* so many */
    const void             **next;     /* frames to be pushed in a prediction */
    float                  **asked;    /* answers that may decide */
    struct ctt_thread_tuner          gain[2][1 + CTT_BATCH_SIZES];
};

#define CHECK_STREAM(b, i, what)                                           \
    CTT_CHECK((i) >= 0 && (i) < (b)->streams && (b)->stream[i].joined,     \
              CTT_EINVAL, "%s: no stream %d has joined", what, i)

#define CHECK_WHOLE(b)                                                     \
    CTT_CHECK(!(b)->broken, CTT_EINVAL,                                    \
              "%s: a step of this batch has failed; close it", __func__)

/* batch.c: runs the step part, or the clip part for asks that are set, for the
 * first n streams; one step of the streams with a frame, after which the batch
 * is broken if that fails: `in` converts a stream's frame. */
typedef void ctt_batch_in(struct ctt_batch *b, int stream, const void *frame,
                          float *to);
int ctt_batch_compute(struct ctt_batch *b, int part, int n);
int ctt_batch_step(struct ctt_batch *b, const void *const *frames,
                   ctt_batch_in *in);
ctt_batch_in ctt_batch_floats;

/* batch_answers.c: the probabilities of the streams with a pointer; if one's
 * are not finite all others are written, and it is bad. */
int ctt_batch_probs(struct ctt_batch *b, float *const *probs);

/* batch_decide.c: streams with a frame that has been pushed decide if it is
 * time to. */
int ctt_batch_check(struct ctt_batch *b, const void *const *frames);

/* batch_places.c: where a stream waits; leave: it gives its place up, and what
 * it has there if that is not parked; seat_all: every stream with a pointer
 * gets a place; seat_only: the first ones, and no other has one. */
char *ctt_batch_park(const struct ctt_batch *b, int stream);
void  ctt_batch_leave_place(struct ctt_batch *b, int stream);
int   ctt_batch_seat_all(struct ctt_batch *b, const void *const *wanted);
int   ctt_batch_seat_only(struct ctt_batch *b, const void *const *wanted);

#endif
