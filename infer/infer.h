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
 * then returns a message of one line that names the file, value or call and the
 * reason.  Output arguments come last and are written only on success.  Memory
 * of an open function is freed by its close function, which sets the pointer to
 * NULL and accepts NULL. A NULL pointer where none is allowed: functions that
 * return int fail, except the queries of a model and ctt_session_frames(),
 * which return 0; functions that return a pointer return NULL, and functions
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
 *     needs in the process's memory is out of reach. */
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
    enum ctt_infer_normalise normalise;    /* CLIP: normalise by mean and
                                              deviation of the stream's frames
                                              so far; mean and std are then 0
                                              and 1 */
    float gamma;               /* exponent applied first to values in 0..1 */
};

/* Limits of this process's models and sessions.  A model that exceeds a limit
 * is an error that names the limit. */
struct ctt_infer_limits {
    int64_t memory;     /* bytes that this library allocates for all models and
                           sessions together; 0: the free memory of the machine,
                           its control group and RLIMIT_AS at the first call of
                           this library.  Not counted: memory of oneDNN, HDF5,
                           libgomp and a GPU. */
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
 * number.  threads: CPU threads per session; 0: one per processor.
 *
 * On "cpu" the kernels of convs from 16,384 numbers on stay in the file, which
 * is kept open, and a session reads them when it first computes with them, in
 * another batch or for the checksum of a saved stream again: that fails if one
 * of them is not finite, or if the file was written over since.  It may be
 * replaced or removed. */
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

/* Opens a model as ctt_infer_open() with more settings.  A setting of 0 or
 * NULL, or options NULL, means the default named here. */
struct ctt_infer_options {
    size_t      size;       /* sizeof(struct ctt_infer_options) */
    const char *device;     /* "cpu" */
    int         threads;    /* per session; 0: one per processor */
    const char *type;       /* type of convs' products, ctt_infer_multiply():
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

/* Passes warnings, such as a type without instructions on this processor, to
 * say(arg, message), one line each; NULL (the default): to nobody. say is
 * called in any thread that uses the library, by one at a time, and must not
 * call the library. */
void ctt_infer_log(void (*say)(void *arg, const char *message), void *arg);

/* Sets the type of products of convs in sessions opened from now on: "fp32"
 * (the default), "fp16", "bf16" or, on a GPU, "tf32".  With fp16 or bf16, convs
 * that are faster by it on a processor with AVX512-FP16 or AVX512-BF16 (on
 * others it costs conversions) round weights and values to half precision or
 * bfloat16, and values that only they read are stored in 16 bits; sums, cell
 * states and answers stay floats.  Quantised values stay bytes.  On "cuda" all
 * weights of convs, and all values but cell states and answers, have the 16
 * bits of bf16 or fp16; with tf32 products are of floats rounded to 10 bits. */
int  ctt_infer_multiply(struct ctt_infer *m, const char *type);

/* Makes sessions opened from now on compute each conv with the fastest code on
 * this machine, found by timing.  Timing takes up to some hundred frames at the
 * start of a stream, once; results are stored in `file`. NULL: the file of this
 * machine and version in $XDG_CACHE_HOME/convtt or ~/.cache/convtt; "": none.
 * Without a readable and writable file results last until the model is closed.
 * By default the code is chosen by rule: answers are then the same in every run
 * on this machine.  The bits of floats may change by timing, INT8 sums never
 * do.  Windows of other lengths than the first push made go by rule.  The first
 * push of a session waits for one that measures.  Only for "cpu", once, before
 * the model's first session. */
int  ctt_infer_tune(struct ctt_infer *m, const char *file);

/* Sessions and batches opened from now on decide early, by thresholds that
 * convtt-infer --calibrate found and stored in the model file.  Fails if the
 * file has none, or if they were found for a model with other weights, nodes or
 * labels: this one then has to be calibrated; and if clips have several labels.
 * The type of
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

/* 1 if a clip may show any number of the classes: the probability of each is
 * then that it is there, whatever the others are, and their sum is not 1.  0 if
 * exactly one of the classes is there.  threshold: the probability from which
 * class i then counts as there: found by convtt-infer --calibrate and stored in
 * the file, or 0.5; 0 for a model whose classes exclude each other, and if
 * there is no class i. */
int   ctt_infer_several(const struct ctt_infer *m);
float ctt_infer_threshold(const struct ctt_infer *m, int i);

/* The message of the last failure in this thread. */
const char *ctt_infer_error(void);

/* Starts a stream; fails if the device cannot be used, or if the model's values
 * do not fit into memory.  On a GPU all sessions and batches of a model share
 * one copy of the weights; calls of several are served one at a time. */
int  ctt_session_open(const struct ctt_infer *m, struct ctt_session **out);
void ctt_session_close(struct ctt_session **s);

/* Starts a new stream: the next frame pushed is its first. */
void ctt_session_reset(struct ctt_session *s);

/* Pushes the next `count` frames, at least one, each of h x w x c values with
 * the channels innermost: bytes, or floats ((byte / 255)^gamma - mean) / std,
 * which must be finite: else nothing is used.
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
 * frames pushed so far: that the clip is of this class, or where clips have
 * several labels (ctt_infer_several()), that this is one of them.  Fails if
 * there is no frame, or if the model predicts. */
int  ctt_session_read(struct ctt_session *s, float *probs);

/* Decision of a stream. */
struct ctt_infer_decision {
    int     answer;        /* the class */
    int     early;         /* 1: by a threshold; 0: at the end of the stream */
    int64_t frame;         /* frames of the stream before the decision */
    float   confidence;    /* the class's probability, or of an early one the
                              mean so far, if the calibration had
                              --running-mean */
};

/* Returns 1 and the decision, if the stream has one, else 0.  A decision is
 * made while frames are pushed, after certain numbers of them (every one up to
 * 16, then eight times until the number has doubled), however many a push has;
 * it stays the same until the session is reset.  Fails without
 * ctt_infer_decide(). */
int  ctt_session_decided(const struct ctt_session *s,
                         struct ctt_infer_decision *out);

/* Ends the stream: an undecided session decides for the most likely class.
 * Push no more frames before a reset.  Fails if no frame has been pushed, or
 * without ctt_infer_decide(). */
int  ctt_session_end(struct ctt_session *s);

/* Predicts the next `count` frames, at least one, from all frames pushed so
 * far: h x w x c floats each, (value in 0..1 - mean) / std, not clamped.  Each
 * one except the last is pushed as if it had been observed.  Fails if no frame
 * has been pushed, or if the model recognises classes.  After a failure
 * `frames` may be partly written. */
int  ctt_session_predict(struct ctt_session *s, int count, float *frames);

/* Starts timing each node of the session (on = 1, from 0 again), or stops it
 * (on = 0).  Timing slows a session down a little. */
int  ctt_session_time_nodes(struct ctt_session *s, int on);

/* Returns node i (from 0) of the session's graph: name and op of the model's
 * text, the code that computed it last, and calls and milliseconds since timing
 * began.  calls is 0 for a node that needs no work or is computed along with
 * another one.  Fails if there is no such node.  The texts are valid until the
 * next call for the session. */
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

/* Writes the probabilities of some streams after all their frames: probs[i] is
 * for stream i, NULL if not wanted.  Fails, writing nothing, if one of these
 * streams has had no frame, or if the model predicts.  An answer that is not
 * finite is an error that names the first such stream; all others are
 * written. */
int  ctt_batch_read(struct ctt_batch *b, float *const *probs);

/* As ctt_session_decided() and ctt_session_end(), of one stream: a stream
 * decides after the same frames as in a session of its own.  A stream whose
 * answer is not finite at a check, or at its end, fails alone: decided returns
 * the error until the stream is reset, push does not.  The frames of a
 * prediction decide nothing. */
int  ctt_batch_decided(const struct ctt_batch *b, int stream,
                       struct ctt_infer_decision *out);
int  ctt_batch_end(struct ctt_batch *b, int stream);

/* Predicts the next `count` frames of some streams as ctt_session_predict()
 * does: frames[i] is for stream i, or NULL. */
int  ctt_batch_predict(struct ctt_batch *b, int count, float *const *frames);

/* ---- streams that outlive the process ----
 *
 * save writes the state of a stream to a file, which appears complete or not at
 * all, and replaces only a saved stream or an empty file; restore reads it into
 * a stream of the same model, which then goes on as the saved one would have:
 * with the same bits, if the device, its kernels (see
 * ctt_infer_tune()) and the kind, session or batch, are the same.  A file that
 * is damaged, of another version or byte order, of another model, or of a
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
 * Each class is followed by itself, so events of several may go on at once: of
 * a model whose clips have several labels usually do.  Its probability is
 * smoothed exponentially by time, so that pushes may come at any distance
 * (Eckner 2012).  An event is a longest run of pushes at which the result is at
 * least `leave`, and once at least `enter` (hysteresis: Canny 1986; for classes
 * in time, Dinkel and Yu 2019).  Runs that are at most `gap` apart are one
 * event; one that is shorter than `least` after that is none.  Memory is that
 * of the classes, however long the stream is. */
struct ctt_events;

struct ctt_events_set {
    int    classes;         /* of a push */
    int    background;      /* a class that makes no events; -1: none */
    double enter, leave;    /* 0 < leave <= enter <= 1 */
    double smooth;          /* seconds in which 63% of a change is followed; 0:
                               at once */
    double least, gap;      /* seconds */
    const float *enters;    /* `enter` of each class, which `leave` follows in
                               proportion; it is copied.  NULL: that of all */
};

enum ctt_event_kind { CTT_EVENT_BEGIN, CTT_EVENT_END };

/* An END is reported at the first push more than `gap` after it, or as soon as
 * no run can continue the event: while the result stays between `leave` and
 * `enter` after a shorter gap, a run may.
 * start, end: times of the first and the last push of its runs; peak: of the
 * highest smoothed probability in it, which is the confidence; mean: of that in
 * all of its runs.  A BEGIN is reported as soon as `least` is reached, with
 * peak, end, confidence and mean until then. */
struct ctt_event {
    enum ctt_event_kind kind;
    int                 label;    /* its class */
    double              start, peak, end;
    float               confidence, mean;
};

int  ctt_events_open(const struct ctt_events_set *set, struct ctt_events **out);
void ctt_events_close(struct ctt_events **e);

/* push: the probabilities at time t in seconds, which must not decrease.  end:
 * all current events end at the last push; the next push is the first of a
 * stream.  Both return the number of events to read, at most two per class;
 * unread events of earlier calls are dropped.  Every BEGIN is followed by an
 * END with the same start and class, and no END comes without.  A push that
 * fails changes nothing. */
int  ctt_events_push(struct ctt_events *e, double t, const float *probs);
int  ctt_events_end(struct ctt_events *e);

/* Returns 1 and the next event of the last push or end, or 0: no more. */
int  ctt_events_next(struct ctt_events *e, struct ctt_event *out);

/* Writes the smoothed probability of a class; returns 1 during its reported
 * event. */
int  ctt_events_now(const struct ctt_events *e, int label, double *p);

#ifdef __cplusplus
}
#endif

#endif
