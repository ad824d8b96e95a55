/* SPDX-License-Identifier: Apache-2.0
 * infer.h: says what a video shows while it runs, or what comes next, with a
 * trained convtt model.
 * The only header of libconvtt-infer; it needs no other.
 *
 * A model is loaded once and then only read: any number of sessions may use it,
 * each a stream of frames of its own, in as many threads.  One session belongs
 * to one thread at a time.  Close the sessions before their model.
 *
 * A function that can fail returns 0 or more, or a negative number; then
 * ctt_infer_error() says in one line what is wrong with which thing.  Outputs
 * come last and are written only on success. */
#ifndef CTT_INFER_H
#define CTT_INFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ctt_infer;      /* a loaded model */
struct ctt_session;    /* what it has seen of one stream */

/* What the model wants of its frames. */
enum ctt_infer_fit    { CTT_INFER_CROP, CTT_INFER_STRETCH, CTT_INFER_PAD };
enum ctt_infer_colour { CTT_INFER_RGB, CTT_INFER_BGR, CTT_INFER_GRAY };

struct ctt_infer_input {
    int   h, w, c;             /* a frame: rows, columns, channels */
    float fps;                 /* frames a second; 0: as they come */
    float mean[3], std[3];     /* of a channel, for values in 0..1 */
    float scale;               /* CROP: the picture covers scale * (w, h), then
                                  the frame is cut from its middle */
    enum ctt_infer_fit    fit;       /* of pictures of another shape */
    enum ctt_infer_colour colour;    /* order of the channels */
};

/* path: a model file; device: "cpu" or "ref" (plain C, slow, the same on every
 * machine); threads: of a session, 0 for all processors. */
int  ctt_infer_open(const char *path, const char *device, int threads,
                    struct ctt_infer **out);
void ctt_infer_close(struct ctt_infer **m);

const struct ctt_infer_input *ctt_infer_wants(const struct ctt_infer *m);

/* 1 if the model's answer is not classes but the next frame: it is made each
 * step in the shape of the input, and there are no names of classes. */
int ctt_infer_predicts(const struct ctt_infer *m);

/* How many classes there are (0 if the model predicts), and the name of one; a
 * model without names has numbers.  The name lives as long as the model; NULL:
 * no such class. */
int         ctt_infer_classes(const struct ctt_infer *m);
const char *ctt_infer_class(const struct ctt_infer *m, int i);

/* Of the last failure in this thread. */
const char *ctt_infer_error(void);

int  ctt_session_open(const struct ctt_infer *m, struct ctt_session **out);
void ctt_session_close(struct ctt_session **s);

/* Forgets what was seen: the next frame is a first one. */
void ctt_session_reset(struct ctt_session *s);

/* The next frames, h x w x c each, one after the other: as bytes, or as floats
 * (byte / 255 - mean) / std.  Several at once give the same as one by one, and
 * with small models sooner. */
int  ctt_session_push(struct ctt_session *s, const uint8_t *frames, int count);
int  ctt_session_push_float(struct ctt_session *s, const float *frames,
                            int count);

/* Frames pushed since the start or the last reset. */
int64_t ctt_session_frames(const struct ctt_session *s);

/* The probability of each class, ctt_infer_classes() of them, from all frames
 * pushed so far; at least one. */
int  ctt_session_read(struct ctt_session *s, float *probs);

/* The next `count` frames as predicted from all frames pushed so far, at least
 * one: h x w x c floats each, (value in 0..1 - mean) / std, not clamped.  Each
 * one but the last is pushed as if it had been seen.  Only the models that
 * predict have this, and only the others have ctt_session_read.  On failure
 * frames may hold a part. */
int  ctt_session_predict(struct ctt_session *s, int count, float *frames);

#ifdef __cplusplus
}
#endif

#endif
