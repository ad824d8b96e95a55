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

#include <stddef.h>
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

/* The version of this header, of the form MAJOR.MINOR.PATCH (semantic
 * versions): a program that was compiled with one version runs with later ones
 * of the same MAJOR.  ctt_infer_version() is that of the library. */
#define CTT_INFER_VERSION "0.2.0"
const char *ctt_infer_version(void);

/* The i-th device that is built in; NULL: there are no more.  Whether it can be
 * used here is found when a session is opened. */
const char *ctt_infer_device(int i);

/* The same as ctt_infer_open() with more settings; those that are 0 or NULL
 * have the defaults named here.  options NULL: all have. */
struct ctt_infer_options {
    size_t      size;       /* sizeof(struct ctt_infer_options) */
    const char *device;     /* "cpu" */
    int         threads;    /* per session; 0: one per processor */
    const char *type;       /* what convs multiply, ctt_infer_multiply():
                               "fp32" */
    int         tune;       /* 1: ctt_infer_tune(), */
    const char *tune_file;  /* with this file */
    int64_t     memory;     /* the limit of this process from now on, as that of
                               ctt_infer_limits(), also if opening fails: to be
                               given before other threads use the library; 0:
                               as it is */
};
int  ctt_infer_open_with(const char *path,
                         const struct ctt_infer_options *options,
                         struct ctt_infer **out);

/* Warnings, such as a type that the processor has no instructions for, are
 * given to say(arg, message), one line each; NULL: to nobody, as at first.  It
 * may be called in any thread that uses the library, one at a time, and must
 * not call the library. */
void ctt_infer_log(void (*say)(void *arg, const char *message), void *arg);

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

/* Sessions and batches opened from now on decide early, by thresholds that
 * convtt-infer --calibrate found and stored in the model file.  Fails if the
 * file has none, or if they were found for a model with other weights, nodes or
 * labels: this one then has to be calibrated.  The type of
 * ctt_infer_multiply() must be that of the calibration, or they cannot be
 * opened. */
int  ctt_infer_decide(struct ctt_infer *m);

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

/* What a session has decided. */
struct ctt_infer_decision {
    int     answer;        /* the class */
    int     early;         /* 1: by a threshold; 0: at the end of the stream */
    int64_t frame;         /* after so many frames of the stream */
    float   confidence;    /* the class's probability, or of an early one the
                              mean so far, if the calibration had
                              --running-mean */
};

/* 1 and the decision, if the stream has one, else 0.  It is made while frames
 * are pushed, after certain numbers of them (every one up to 16, then eight
 * times until the number has doubled), however many a push has; it stays the
 * same until the session is reset.  Fails without ctt_infer_decide(). */
int  ctt_session_decided(const struct ctt_session *s,
                         struct ctt_infer_decision *out);

/* Says that the stream has ended: a session that has not decided decides for
 * the most likely class.  Push no more frames before a reset.  Fails if no
 * frame has been pushed, or without ctt_infer_decide(). */
int  ctt_session_end(struct ctt_session *s);

/* Predicts the next `count` frames, at least one, from all frames pushed so
 * far: h x w x c floats each, (value in 0..1 - mean) / std, not clamped.  Each
 * one except the last is pushed as if it had been observed.  Fails if no frame
 * has been pushed, or if the model recognises classes.  After a failure
 * `frames` may be partly written. */
int  ctt_session_predict(struct ctt_session *s, int count, float *frames);

/* Times each node of the session from now on (on = 1, from 0 again), or no
 * more.  It slows a session down a little. */
int  ctt_session_time_nodes(struct ctt_session *s, int on);

/* Node i of what the session runs, from 0 on: its name and op in the text of
 * the model, the code that computed it last, how often, and in how many
 * milliseconds together, since it is timed.  calls is 0 for a node that needs
 * no work or is computed along with another one.  Fails if there is no such
 * node.  The texts are valid until the next call for the session. */
struct ctt_infer_node {
    const char *name, *op, *kernel;
    int64_t     calls;
    double      ms;
};
int  ctt_session_node(const struct ctt_session *s, int i,
                      struct ctt_infer_node *node);

/* ---- many streams as one batch ----
 *
 * The streams of a batch are pushed together and computed together, so that the
 * weights are read once for all of them.  Each has the answers of a session of
 * its own: the same bits on "ref", on other devices but for rounding.  A batch
 * may be used by one thread at a time. */
struct ctt_batch;

/* Room for 1 to 4096 streams, none of which has joined yet.  All memory is
 * allocated here, and one step of each number of streams is run to that end. */
int  ctt_batch_open(const struct ctt_infer *m, int streams,
                    struct ctt_batch **out);
void ctt_batch_close(struct ctt_batch **b);

/* Lets a new stream join; *stream is its number, the least that is free, from 0
 * on.  Fails if the batch is full. */
int  ctt_batch_join(struct ctt_batch *b, int *stream);

/* The stream leaves and its number is free; reset: its next frame is the first
 * of a new stream.  Others do not notice. */
int  ctt_batch_leave(struct ctt_batch *b, int stream);
int  ctt_batch_reset(struct ctt_batch *b, int stream);

/* The number of frames of a stream since it joined or was reset; 0: there is no
 * such stream. */
int64_t ctt_batch_frames(const struct ctt_batch *b, int stream);

/* Pushes the next frame of some streams: frames[i], as ctt_session_push() and
 * ctt_session_push_float() take them, is that of stream i, NULL if it has none
 * now; there is one pointer for each stream that the batch has room for.
 * Nothing changes if a stream has a frame but has not joined.  After another
 * failure the batch can only be closed. */
int  ctt_batch_push(struct ctt_batch *b, const uint8_t *const *frames);
int  ctt_batch_push_float(struct ctt_batch *b, const float *const *frames);

/* The probabilities of some streams after all their frames, probs[i] those of
 * stream i, NULL if they are not wanted.  Fails, writing nothing, if one of
 * these streams has had no frame, or if the model predicts.  If an answer is
 * not finite, that is an error which names the first such stream; all others
 * are written. */
int  ctt_batch_read(struct ctt_batch *b, float *const *probs);

/* As ctt_session_decided() and ctt_session_end(), of one stream: it decides
 * when a session with its frames would, and streams for which that is at the
 * same push are answered together.  A stream whose answer is not finite then,
 * or at its end, alone has that error: decided fails with it until the stream
 * begins anew, push does not.  The frames of a prediction decide nothing. */
int  ctt_batch_decided(const struct ctt_batch *b, int stream,
                       struct ctt_infer_decision *out);
int  ctt_batch_end(struct ctt_batch *b, int stream);

/* Predicts the next `count` frames of some streams as ctt_session_predict()
 * does: frames[i], those of stream i, or NULL. */
int  ctt_batch_predict(struct ctt_batch *b, int count, float *const *frames);

/* ---- streams that outlive the process ----
 *
 * save writes what a stream remembers to a file, which appears complete or not
 * at all; restore reads it into a stream of the same model, which then goes on
 * as the saved one would have: with the same bits, if the device, its kernels
 * (see ctt_infer_tune()) and the kind, session or batch, are the same.  A file
 * that is damaged, of another version or byte order, of another model, or of a
 * device or type that stores values differently is an error, and the stream is
 * as it was; if the device itself fails, it begins anew.  A stream may be saved
 * in a session and go on in a batch, and the other way; one that decides early
 * goes on where the same thresholds decide. */
int  ctt_session_save(struct ctt_session *s, const char *path);
int  ctt_session_restore(struct ctt_session *s, const char *path);
int  ctt_batch_save(struct ctt_batch *b, int stream, const char *path);
int  ctt_batch_restore(struct ctt_batch *b, int stream, const char *path);

/* Bytes that a session, or a batch with all its streams, has allocated for
 * values and frames, without the weights that kernels arrange for it.  0 for
 * NULL. */
int64_t ctt_session_bytes(const struct ctt_session *s);
int64_t ctt_batch_bytes(const struct ctt_batch *b);

/* ---- events of an endless stream ----
 *
 * Turns the probabilities of classes over time into events: a class begins and
 * ends to be seen.  They need no session: the times and the probabilities come
 * from the caller, and only these are looked at.
 *
 * Each class is followed by itself.  Its probability is smoothed exponentially
 * by time, so that pushes may come at any distance (Eckner 2012).  An event is
 * a longest run of pushes at which the result is at least `leave`, and once at
 * least `enter` (hysteresis: Canny 1986; for classes in time, Dinkel and Yu
 * 2019).  Runs that are at most `gap` apart are one event; one that is shorter
 * than `least` after that is none.  Memory is that of the classes, however long
 * the stream is. */
struct ctt_events;

struct ctt_events_set {
    int    classes;         /* of a push */
    int    background;      /* a class that makes no events; -1: none */
    double enter, leave;    /* 0 < leave <= enter <= 1 */
    double smooth;          /* seconds in which 63% of a change is followed; 0:
                               at once */
    double least, gap;      /* seconds */
};

enum ctt_event_kind { CTT_EVENT_BEGIN, CTT_EVENT_END };

/* An END is told at the first push that is more than `gap` after it, or as soon
 * as it is known that nothing continues it: while the result stays between
 * `leave` and `enter` after a shorter gap, a run may.
 * start, end: times of the first and the last push of its runs; peak: of the
 * highest smoothed probability in it, which is the confidence; mean: of that in
 * all of its runs.  Of a BEGIN, told as soon as `least` is reached, peak, end,
 * confidence and mean are those until now. */
struct ctt_event {
    enum ctt_event_kind kind;
    int                 label;    /* its class */
    double              start, peak, end;
    float               confidence, mean;
};

int  ctt_events_open(const struct ctt_events_set *set, struct ctt_events **out);
void ctt_events_close(struct ctt_events **e);

/* push: the probabilities at time t in seconds, which must not decrease.  end:
 * all that goes on is over at the last push; the next push is the first of a
 * stream.  Both return how many events there are to read: at most two per
 * class; what was not read before is forgotten.  Every BEGIN is followed by an
 * END with the same start and class, and no END comes without.  A push that
 * fails changes nothing. */
int  ctt_events_push(struct ctt_events *e, double t, const float *probs);
int  ctt_events_end(struct ctt_events *e);

/* 1 and the next event of the last push or end, or 0: there are no more. */
int  ctt_events_next(struct ctt_events *e, struct ctt_event *out);

/* The smoothed probability of a class; 1 if its event was told and goes on. */
int  ctt_events_now(const struct ctt_events *e, int label, double *p);

#ifdef __cplusplus
}
#endif

#endif
