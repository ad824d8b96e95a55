/* SPDX-License-Identifier: Apache-2.0
 * batch_internal.h: many streams through a model as one batch, for the files
 * batch*.c.  Streams with a frame take the first samples (places) of a run; the
 * state of a stream without one is parked outside of the run until its next
 * frame or answer. */
#ifndef CTT_BATCH_INTERNAL_H
#define CTT_BATCH_INTERNAL_H

#include "infer/decide.h"
#include "infer/engine.h"
#include "infer/thread_tuner.h"
#include "net/pixels.h"

/* SIZES: most sizes of a step; the count of samples is rounded up to one of
 * them, as kernels prepare a plan for each size.  STEP, CLIP: the parts of a
 * model. */
enum { CTT_BATCH_SIZES = 16, CTT_NOWHERE = -1, CTT_BATCH_STEP = 0,
       CTT_BATCH_CLIP = 1 };

struct ctt_batch_stream {
    int               joined;
    int               at;        /* its sample in the run, or CTT_NOWHERE */
    int64_t           frames;
    int               bad;       /* its last answer was not finite; */
    int               unsure;    /* an answer for a decision was not */
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
    int                     *who;      /* by place: the stream, or
                                          CTT_NOWHERE */
    int                      end;      /* places from here on are free */
    char                    *park;     /* parked states, in the device's
                                          memory, */
    int64_t                  bytes;    /* of a parked state */
    float                   *numbers;  /* frames to be copied to the device, or
                                          answers copied from it: */
    int64_t                  most;     /* length of numbers */
    const void             **next;     /* frames to be pushed in a prediction */
    float                  **asked;    /* answers that may decide */
    struct ctt_thread_tuner  gain[2][1 + CTT_BATCH_SIZES];
};

#define CHECK_STREAM(b, i, what)                                           \
    CTT_CHECK((i) >= 0 && (i) < (b)->streams && (b)->stream[i].joined,     \
              CTT_EINVAL, "%s: no stream %d has joined", what, i)

#define CHECK_WHOLE(b)                                                     \
    CTT_CHECK(!(b)->broken, CTT_EINVAL,                                    \
              "%s: a step of this batch has failed; close it", __func__)

/* batch.c. compute: runs the step part, or the clip part for the asks that are
 * set, for the first n places. step: pushes a frame of each stream with a
 * pointer, converted by `in`; on failure the batch is broken. */
typedef void ctt_batch_in(struct ctt_batch *b, int stream, const void *frame,
                          float *to);
int ctt_batch_compute(struct ctt_batch *b, int part, int n);
int ctt_batch_step(struct ctt_batch *b, const void *const *frames,
                   ctt_batch_in *in);
ctt_batch_in ctt_batch_floats;

/* batch_answers.c: writes the probabilities of the streams with a pointer.
 * CTT_ENAN if some are not finite: such streams become `bad`, all others are
 * written. */
int ctt_batch_probs(struct ctt_batch *b, float *const *probs);

/* batch_decide.c: streams with a pushed frame decide if a check is due. */
int ctt_batch_check(struct ctt_batch *b, const void *const *frames);

/* batch_places.c: park: a stream's parked state. leave: frees its place,
 * without parking. seat_all: every stream with a pointer gets a place.
 * seat_only: these streams get the first places, all others are parked. */
char *ctt_batch_park(const struct ctt_batch *b, int stream);
void  ctt_batch_leave_place(struct ctt_batch *b, int stream);
int   ctt_batch_seat_all(struct ctt_batch *b, const void *const *wanted);
int   ctt_batch_seat_only(struct ctt_batch *b, const void *const *wanted);

#endif
