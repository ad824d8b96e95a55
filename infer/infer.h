/* SPDX-License-Identifier: Apache-2.0
 * infer.h: runs a trained convtt model on a stream of frames: recognises what
 * a video shows while it is still running, or predicts its next frames.
 * This is the only header of libconvtt-infer; it includes no other of convtt.
 *
 * A model is loaded once and then only read: any number of sessions may use it
 * at the same time, each for one stream of frames.  A session may be used by
 * one thread at a time.  Close all sessions before their model.
 *
 * A function that returns int fails with a negative number; ctt_infer_error()
 * then returns a message of one line that names the thing and what is wrong.
 * Output arguments come last and are written only on success.  What an open
 * function allocates, its close function frees; it sets the pointer to NULL
 * and accepts NULL.  A pointer that must not be NULL but is: functions that
 * return int fail, except those that return what a model is, which return 0, as
 * does ctt_session_frames(); those that return a pointer return NULL, and those
 * that return nothing do nothing.
 *
 * A model file is not trusted: a damaged or forged one is an error.  Memory is
 * limited (struct ctt_infer_limits), and a failed allocation is an error too,
 * with these exceptions, which no library can turn into errors:
 *
 *   - libgomp ends the process if it cannot allocate or start its threads.
 *   - An exception of oneDNN is caught in the thread that called this library;
 *     in another thread of an OpenMP region it ends the process.
 *   - HDF5 may end the process when an allocation of its own fails while it
 *     reads or closes a file.
 *   - Where the system promises more memory than it has (overcommit), the
 *     kernel may kill the process when the memory is used; the limit is there
 *     to stay below that.
 *   - On a GPU a failed allocation is an error, but what the driver itself
 *     needs in the process's memory is out of reach.
 */
#ifndef CTT_INFER_H
#define CTT_INFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ctt_infer;      /* a loaded model */
struct ctt_session;    /* one stream of frames through a model */

/* The frames that a model expects. */
enum ctt_infer_fit    { CTT_INFER_CROP, CTT_INFER_STRETCH, CTT_INFER_PAD };
enum ctt_infer_colour { CTT_INFER_RGB, CTT_INFER_BGR, CTT_INFER_GRAY };
enum ctt_infer_normalise { CTT_INFER_SET, CTT_INFER_CLIP };

struct ctt_infer_input {
    int   h, w, c;             /* rows, columns, channels of a frame */
    float fps;                 /* frames per second; 0: every frame */
    float mean[3], std[3];     /* per channel, for values in 0..1 */
    float scale;               /* CROP: resize the picture to cover scale *
                                  (w, h), then cut the frame from its middle */
    enum ctt_infer_fit    fit;       /* how to fit pictures of another shape */
    enum ctt_infer_colour colour;    /* order of the channels */
    enum ctt_infer_normalise normalise;    /* CLIP: mean and deviation are those
                                  of the stream's frames so far, not mean and
                                  std, which are then 0 and 1 */
    float gamma;               /* values in 0..1 are raised to it first */
};

/* What models and sessions of this process may take.  A model that exceeds a
 * limit is an error that names it. */
struct ctt_infer_limits {
    int64_t memory;     /* bytes that this library allocates for all models and
                           sessions together; 0: what the machine, its control
                           group and RLIMIT_AS had free at the first call of
                           this library.  Not counted: what oneDNN, HDF5 and
                           libgomp take for themselves, and memory of a GPU. */
    int     classes;    /* of a model; 0: 65536 */
    int     nodes;      /* of a model; 0: 65536 */
};

/* Sets the limits; call it before other threads use the library.  Fails, and
 * changes nothing, if one is negative. */
int  ctt_infer_limits(const struct ctt_infer_limits *limits);

/* Loads the model file at path for a device: "cpu", "cuda" (an NVIDIA GPU) or
 * "ref" (plain C, slow, the same results on every machine); a device that is
 * not built in is an error, as is a model with several inputs or with an output
 * that is neither classes nor a frame, or with a weight that is not a finite
 * number.  threads: CPU threads per session; 0: one per processor. */
int  ctt_infer_open(const char *path, const char *device, int threads,
                    struct ctt_infer **out);
void ctt_infer_close(struct ctt_infer **m);

/* What the convs of sessions opened from now on multiply: "fp32", as at first,
 * or "bf16": those that are faster so on a processor with AVX512-BF16 (and not
 * slower on others but for conversions) round weights and values to bfloat16,
 * and values that only they read are stored in 16 bits; sums, cell states and
 * answers stay floats.  Quantised values stay bytes.  Not for "cuda". */
int  ctt_infer_multiply(struct ctt_infer *m, const char *type);

/* Sessions opened from now on compute each conv with the code that is the
 * fastest here.  That is found by timing when the first frames of a stream are
 * pushed, which takes up to some hundred frames once, and remembered: file is
 * the path of a file for that, NULL the one of this machine and version in
 * $XDG_CACHE_HOME/convtt or ~/.cache/convtt, "" none.  Without a file, or with
 * one that cannot be read or written, it is remembered until the model is
 * closed.  At first the code is chosen by rule: answers are then the same in
 * every run on this machine, and the bits of floats may differ from those after
 * timing; INT8 sums never do.  Windows of other lengths than the first push
 * made go by rule.  The first push of a session waits for one that measures.
 * Only for "cpu", once, before the model's first session. */
int  ctt_infer_tune(struct ctt_infer *m, const char *file);

/* Valid until the model is closed. */
const struct ctt_infer_input *ctt_infer_wants(const struct ctt_infer *m);

/* 1 if the model predicts frames: its output is computed every step, has the
 * shape of the input, and the file has no labels.  0 if it recognises classes.
 */
int ctt_infer_predicts(const struct ctt_infer *m);

/* The number of classes (0 if the model predicts), and the name of class i: its
 * label, or its number if the file has no labels.  The name is valid until the
 * model is closed; NULL: there is no class i. */
int         ctt_infer_classes(const struct ctt_infer *m);
const char *ctt_infer_class(const struct ctt_infer *m, int i);

/* The message of the last failure in this thread. */
const char *ctt_infer_error(void);

/* Starts a stream; fails if the device cannot be used, or if what the model
 * computes does not fit into memory. */
int  ctt_session_open(const struct ctt_infer *m, struct ctt_session **out);
void ctt_session_close(struct ctt_session **s);

/* Starts a new stream: the next frame pushed is its first. */
void ctt_session_reset(struct ctt_session *s);

/* Pushes the next `count` frames, at least one, each of h x w x c values with
 * the channels innermost: bytes, or floats ((byte / 255)^gamma - mean) / std.
 * With normalise CLIP, push bytes: floats are taken as normalised, and are not
 * counted among the stream's frames.  Several frames per call give the same
 * result as one, and are faster with small models.  After a failure some of the
 * frames may have been used: reset the session or close it. */
int  ctt_session_push(struct ctt_session *s, const uint8_t *frames, int count);
int  ctt_session_push_float(struct ctt_session *s, const float *frames,
                            int count);

/* The number of frames pushed since the session was opened or reset. */
int64_t ctt_session_frames(const struct ctt_session *s);

/* The probabilities of the classes, ctt_infer_classes() of them, given all
 * frames pushed so far.  Fails if there is none, or if the model predicts. */
int  ctt_session_read(struct ctt_session *s, float *probs);

/* Predicts the next `count` frames, at least one, from all frames pushed so
 * far: h x w x c floats each, (value in 0..1 - mean) / std, not clamped.  Each
 * one except the last is pushed as if it had been observed.  Fails if no frame
 * has been pushed, or if the model recognises classes.  After a failure
 * `frames` may be partly written. */
int  ctt_session_predict(struct ctt_session *s, int count, float *frames);

#ifdef __cplusplus
}
#endif

#endif
