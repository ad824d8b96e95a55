/* SPDX-License-Identifier: Apache-2.0
 * stream.h: streams of frames, and models that take them, for the tests of
 * sessions. */
#ifndef CTT_TEST_STREAM_H
#define CTT_TEST_STREAM_H

#include "infer/infer.h"
#include "tests/lib/check.h"

enum { H = 8, W = 6, C = 3, FRAME = H * W * C, LONG = 29, MOST_CLASSES = 8 };

#define STREAM_INPUT \
    "input x h=8 w=6 c=3 fps=12 mean=0.4,0.5,0.6 std=0.25,0.3,0.2\n"

#define STREAM_LIGHT \
    "input x h=8 w=6 c=3 fps=12 normalise=clip gamma=0.7\n"

/* Models: nothing to fuse; a 3-D conv over the last frames; all nodes that a
 * session removes; one of which every conv reads bytes; and three whose answer
 * is the next frame. */
extern const char stream_plain[], stream_clip[], stream_fused[],
    stream_int8[], stream_ahead[], stream_coarse[], stream_part[],
    stream_words[], stream_recall[];
/* stream_clip with normalise=clip and a gamma, and without. */
extern const char stream_light[], stream_even[];

/* The frames of a stream, and the same as the models' input. */
extern uint8_t stream_bytes[LONG * FRAME];
extern float stream_floats[LONG * FRAME];

/* Writes a model with some weights and returns its path. */
const char *stream_model(const char *text, const char *const *label,
                         int labels);

/* Opens that model on one thread; the caller closes it by ctt_infer_close(). */
struct ctt_infer *stream_open(const char *text, const char *device);

/* Frames from `from` on in chunks, and the answer after the last. */
struct stream {
    const struct ctt_infer *m;
    int   from, chunk, as_bytes, rc;
    float probs[MOST_CLASSES];
};

/* probs: in prediction, the first numbers of the second predicted frame. */
int stream_answer(const struct ctt_infer *m, struct ctt_session *s,
                  float *probs);

/* Pushes a struct stream's frames into a session and reads its answer. */
int stream_feed(struct stream *a, struct ctt_session *s);

/* Runs the stream in a session of its own, as a thread's function; a->rc: the
 * status. */
void *stream_run(void *arg);

/* Runs the model again in chunks of `chunk` frames and compares the numbers;
 * tol = 0: equal bits. */
void stream_again(const struct stream *one, int chunk, int as_bytes,
                  double tol);

/* An error of that code whose message holds these words. */
void stream_refused(int rc, int code, const char *message);

/* Makes the frames and runs the suites; returns the exit status of main. */
int stream_main(CU_SuiteInfo *suites);

#endif
