/* SPDX-License-Identifier: Apache-2.0
 * bench_tool.h: functions and structures of convtt-infer --bench; other
 * programs time models by them, too. */
#ifndef CTT_BENCH_TOOL_H
#define CTT_BENCH_TOOL_H

#include "infer/infer.h"
#include "net/model.h"
#include "run/run.h"
#include "tools/shared/measure.h"

#include <stddef.h>

/* ---- infer_bench.c ---- */

/* --type: the numbers that convs multiply; int8: convs of a model text read
 * bytes. */
enum { CTT_TYPE_FP32, CTT_TYPE_TF32, CTT_TYPE_FP16, CTT_TYPE_BF16,
       CTT_TYPE_INT8 };
extern const char *const ctt_type_words[];

/* The word for ctt_infer_multiply(). */
static inline const char *ctt_type_run(int type)
{
    return ctt_type_words[type == CTT_TYPE_INT8 ? CTT_TYPE_FP32 : type];
}

struct ctt_bench_set {
    int         on, runs, warm_up, streams, type, zeros_form, tune;
    double      fit;        /* frames per second of streams; 0: not asked */
    double      zeros;      /* zeros_form: enum ctt_prune_form (net/unit.h) */
    const char *against;    /* NULL: nothing */
};

struct ctt_bench_with {
    const struct ctt_bench_set *set;
    const char                 *path, *device;
    int                         threads, json;
};

/* CTT_EINVAL for settings that do not suit the model at path. */
int ctt_bench_check(const struct ctt_bench_set *set, const char *path);

/* Measures the model file or model text at path and prints the results. */
int ctt_bench(const struct ctt_bench_with *w);

/* ---- runner.c ---- */

/* A stream of noise through a model. */
struct ctt_runner {
    struct ctt_infer       *own;      /* the model, if the runner closes it */
    const struct ctt_infer *m;
    struct ctt_session     *s;
    uint8_t                *frame;
    float                  *answer;   /* probabilities, or the next frame */
    size_t                  bytes;    /* of frame and answer */
    double                  open_ms, first_ms;
};

/* load opens a model file and a stream through it; type: the numbers that convs
 * multiply (ctt_infer_multiply()); tune 1: kernels are chosen by timing
 * (ctt_infer_tune()).  join opens another stream through a loaded model.  Both
 * run the first frame.  open_ms: time until the stream is open; first_ms: time
 * of the first frame and answer, with the choice of kernels and the packing of
 * weights.  After an error r is closed by the caller, too. */
int  ctt_runner_load(const char *path, const char *device, const char *type,
                     int tune, int threads, struct ctt_runner *r);
int  ctt_runner_join(const struct ctt_infer *m, struct ctt_runner *r);
void ctt_runner_close(struct ctt_runner *r);

/* Pushes frames one at a time and reads the answer after each: probabilities,
 * or the prediction of the next frame. */
int  ctt_runner_step(struct ctt_runner *r, int frames);

/* ---- stepper.c ---- */

/* Frames of noise through a model's own run, without a session: one at a time,
 * as from a camera, each with an answer. */
struct ctt_stepper {
    const struct ctt_graph *g;
    struct ctt_dev         *dev;
    struct ctt_run         *run;
    struct ctt_tune        *tune;     /* NULL: kernels by rule */
    float                  *noise;    /* one frame */
    void                   *w;        /* the device's copy of the weights */
};

/* tune 1: kernels are chosen by timing (ctt_tune_open()).  The model must stay
 * as it is.  After an error the caller closes s, too. */
int  ctt_stepper_open(const struct ctt_model *m, const char *device,
                      int threads, int tune, struct ctt_stepper *s);
void ctt_stepper_close(struct ctt_stepper *s);
int  ctt_stepper_step(struct ctt_stepper *s);

/* ---- many_streams.c ---- */

/* Streams of noise through a model, as one batch or as a session each. */
struct ctt_many_streams {
    const struct ctt_infer *m;         /* the caller's */
    int                     streams;
    struct ctt_batch       *b;         /* NULL: sessions */
    struct ctt_runner      *r;         /* of each stream; with a batch: noise
                                          and answer, without a session */
    const uint8_t         **frame;     /* of all streams */
    float                 **answer;
};

/* Opens the streams and pushes a frame through each.  After an error c is
 * closed by the caller, too. */
int ctt_many_streams_open(const struct ctt_infer *m, int streams, int batch,
                          struct ctt_many_streams *c);
void ctt_many_streams_close(struct ctt_many_streams *c);

/* Batch only: pushes a frame of each stream and reads all answers. */
int  ctt_many_streams_step(struct ctt_many_streams *c);

/* ---- nodes.c ---- */

/* Times of a run's nodes by pass. */
struct ctt_nodes {
    struct ctt_run      *run;
    struct ctt_profile (*sum)[CTT_PASSES];
};

/* Times the forward calls of the run until stop or close. */
int  ctt_nodes_open(struct ctt_run *r, struct ctt_nodes *out);
void ctt_nodes_stop(struct ctt_nodes *n);
void ctt_nodes_close(struct ctt_nodes *n);

/* A node with at least one call; ms: of all calls. */
struct ctt_node_time {
    const char *name, *word;
    const char *when;      /* "clip"; "loop": step by step; "free" */
    const char *kernel;    /* its code; valid until the next row */
    double      ms;
};

/* Returns 0 for a node without calls: it only names memory, or the kernel of
 * another node computes it. */
int    ctt_nodes_row(const struct ctt_nodes *n, int node,
                     struct ctt_node_time *out);
double ctt_nodes_ms(const struct ctt_nodes *n);    /* of all nodes */

/* ---- paired_timing.c ---- */

/* Medians of milliseconds per frame and answer of two models, and the ratios of
 * the second model's time to the first's, by pairs: a slow phase of the machine
 * affects both times of a pair. */
struct ctt_paired_timing {
    double            ms[2];
    struct ctt_spread ratio;    /* count: pairs */
    int               steady;   /* else the ratio says nothing: the machine
                                   was busy */
};

/* Whether ratios, in the order of their measurement, which is lost, agree: the
 * medians of both halves, and the quartiles, differ by a fifth at most. */
int ctt_ratios_steady(struct ctt_times *ratio);

/* of: of any two; run: of two runners.
 * pace: of the pairs, at least one.  The first model of a pair alternates; each
 * time is of a few frames in a row, after one that fills the caches. */
struct ctt_turns {
    int   (*run)(void *arg, int which, int frames);
    void   *arg;
    double (*clock)(void);    /* seconds */
    int     first, frames;    /* not timed; in each time */
};
int ctt_paired_timing_of(const struct ctt_turns *p,
                         const struct ctt_pace *pace,
                         struct ctt_paired_timing *out);
int ctt_paired_timing_run(struct ctt_runner r[2], const struct ctt_pace *pace,
                          struct ctt_paired_timing *out);

/* ---- infer_bench_file.c ---- */

/* The model file to measure, made if only its text is given.  Zeros at first.
 * */
struct ctt_bench_file {
    const char *name;       /* as given */
    const char *type;       /* the numbers that convs multiply */
    int         tune;       /* 1: kernels of convs are chosen by timing */
    int         made;       /* 1: from a model text, with random weights */
    int         fd;         /* made: an unlinked file */
    char        path[32];   /* made: /dev/fd/N */
    int64_t     bytes;
    double      zeros;      /* made: share of pruned weights of convs */
};

/* name: a model file, or a model text, from which a file is made in TMPDIR with
 * the initial weights of a training (net/init.h).  A random share set->zeros of
 * each conv's kernel is pruned; with --type=int8 convs read bytes (any range,
 * as it does not change times).  The file is unlinked at once; a program that
 * is killed before leaves it there. */
int  ctt_bench_file_open(const char *name, const struct ctt_bench_set *set,
                         struct ctt_bench_file *f);
void ctt_bench_file_close(struct ctt_bench_file *f);

/* ctt_runner_load() for this file; messages have the given name. */
int  ctt_bench_file_load(const struct ctt_bench_file *f, const char *device,
                         int threads, struct ctt_runner *r);

/* ---- infer_bench_streams.c ---- */

/* Measures single frames of a runner. */
int ctt_bench_time(struct ctt_runner *r, const struct ctt_pace *pace,
                   struct ctt_times *out);

/* Runs streams through a model at once, each in a thread of its own, at this
 * pace after warm_up frames.  Milliseconds per frame: median over all streams;
 * frames per second: of all streams, from the common start to the last end. */
int ctt_bench_streams(const struct ctt_infer *m, int streams, int warm_up,
                      const struct ctt_pace *pace, double *median_ms,
                      double *frames_per_s);

/* The same for one batch, on the threads of the model; milliseconds of a step:
 * a frame of each stream and all answers. */
int ctt_bench_batch(const struct ctt_infer *m, int streams, int warm_up,
                    const struct ctt_pace *pace, double *median_ms,
                    double *frames_per_s);

/* ---- infer_bench_fit.c ---- */

/* Ways to serve streams: a batch per thread, sessions of one model in each
 * thread, or a process per stream. */
enum {
    CTT_SERVE_BATCH, CTT_SERVE_SESSIONS, CTT_SERVE_PROCESSES, CTT_SERVE_KINDS
};
extern const char *const ctt_serve_words[CTT_SERVE_KINDS];

struct ctt_serve {
    double rate;       /* frames per second of each stream; 0: not measured */
    int    cores;      /* independent threads */
    int    streams[CTT_SERVE_KINDS];    /* largest number in real time */
};

/* Finds the largest number of streams of noise, one frame each per tick of a
 * clock, with at least 99.9% of the answers before the next frame.  ms: time of
 * a frame on one thread, for the first trial; runs: ticks of a trial, 0: two
 * seconds. */
int ctt_bench_fit(const struct ctt_bench_file *f, const char *device,
                  int cores, double rate, int runs, double ms,
                  struct ctt_serve *out);

/* ---- infer_bench_say.c ---- */

/* A measurement of streams at once, each with `threads`, or of one batch. */
struct ctt_bench_row {
    int    streams, threads, batch;
    double median_ms, frames_per_s;    /* of a frame of a stream, or of each
                                          stream of a batch; of all together */
};

enum { CTT_BENCH_ROWS = 16 };

struct ctt_bench_said {
    const struct ctt_bench_file *model, *other;    /* other: with --against */
    const char      *device;
    int              threads, used;  /* at most; in the end */
    int              warm_up, predicts, on_demand;
    struct ctt_spread ms;            /* of a frame and its answer */
    double           cpu_ms;         /* mean, of the thread that calls */
    double           open_ms, first_ms, resident_mb, peak_mb;
    int64_t          session_bytes;  /* ctt_session_bytes() */
    struct ctt_serve   fit;
    struct ctt_bench_row row[CTT_BENCH_ROWS];      /* the last ones: streams */
    int              rows;
    struct ctt_nodes nodes;
    struct ctt_paired_timing turns;          /* of other and model */
};

int ctt_bench_say(const struct ctt_bench_said *s, int json);

#endif
