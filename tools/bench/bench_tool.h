/* SPDX-License-Identifier: Apache-2.0
 * bench_tool.h: functions and structures shared by the files of convtt-infer
 * --bench. */
#ifndef CTT_BENCH_TOOL_H
#define CTT_BENCH_TOOL_H

#include "infer/infer.h"
#include "run/run.h"
#include "tools/shared/measure.h"

#include <stddef.h>

/* ---- infer_bench.c ---- */

/* What convs multiply, by --type; int8: those of a model text read bytes. */
enum { CTT_TYPE_FP32, CTT_TYPE_BF16, CTT_TYPE_INT8 };
extern const char *const ctt_type_words[];

/* What ctt_infer_multiply() is given for it. */
static inline const char *ctt_type_run(int type)
{
    return ctt_type_words[type == CTT_TYPE_BF16 ? type : CTT_TYPE_FP32];
}

/* Warns if a run is to multiply bf16 where the device has no kernels for it:
 * its answers are rounded less, and are no faster. */
struct ctt_run;
void ctt_type_tell(const struct ctt_run *run);

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

/* Measures the model file or model text at path, and prints what came out. */
int ctt_bench(const struct ctt_bench_with *w);

/* ---- runner.c ---- */

/* A stream of noise through a model. */
struct ctt_runner {
    struct ctt_infer       *own;      /* the model, if it is closed with this */
    const struct ctt_infer *m;
    struct ctt_session     *s;
    uint8_t                *frame;
    float                  *answer;   /* probabilities, or the next frame */
    size_t                  bytes;    /* of frame and answer */
    double                  open_ms, first_ms;
};

/* load: loads the model file at path (see ctt_infer_open()); type: what its
 * convs multiply (ctt_infer_multiply()); tune: 1: their kernels are chosen by
 * timing (ctt_infer_tune()).  join: opens another stream through a loaded
 * model.  Both then run the first frame; open_ms is the time until the stream
 * was open, first_ms that of the first frame and its answer, for which kernels
 * are chosen, by timing too, and weights packed.  An error leaves r for
 * close. */
int  ctt_runner_load(const char *path, const char *device, const char *type,
                     int tune, int threads, struct ctt_runner *r);
int  ctt_runner_join(const struct ctt_infer *m, struct ctt_runner *r);
void ctt_runner_close(struct ctt_runner *r);

/* Pushes that many frames one at a time, and takes the answer after each:
 * probabilities, or the prediction of the next frame. */
int  ctt_runner_step(struct ctt_runner *r, int frames);

/* ---- many_streams.c ---- */

struct ctt_many_streams {
    const struct ctt_infer *m;         /* the caller's */
    int                     streams;
    struct ctt_batch       *b;         /* NULL: sessions */
    struct ctt_runner      *r;         /* of each stream; of a batch only noise
                                          and its answer, without a session */
    const uint8_t         **frame;     /* those of all */
    float                 **answer;
};

/* Streams of m, as one batch or as a session each, which have had a frame.  An
 * error leaves c for close. */
int ctt_many_streams_open(const struct ctt_infer *m, int streams, int batch,
                          struct ctt_many_streams *c);
void ctt_many_streams_close(struct ctt_many_streams *c);

/* Of a batch: a frame of each stream, and all answers. */
int  ctt_many_streams_step(struct ctt_many_streams *c);

/* ---- nodes.c ---- */

/* The sums of a run's nodes by pass. */
struct ctt_nodes {
    struct ctt_run      *run;
    struct ctt_profile (*sum)[CTT_PASSES];
};

/* From now on until stop the forward calls of the run are timed.  close also
 * stops, and frees. */
int  ctt_nodes_open(struct ctt_run *r, struct ctt_nodes *out);
void ctt_nodes_stop(struct ctt_nodes *n);
void ctt_nodes_close(struct ctt_nodes *n);

/* A node that was called; its time is that of all its calls. */
struct ctt_node_time {
    const char *name, *word;
    const char *when;      /* "clip"; "loop": step by step; "free" */
    const char *kernel;    /* which code computed it; valid until the next
                              row */
    double      ms;
};

/* 0: the node was not called: it only names memory, or another one's kernel
 * computes it too. */
int    ctt_nodes_row(const struct ctt_nodes *n, int node,
                     struct ctt_node_time *out);
double ctt_nodes_ms(const struct ctt_nodes *n);    /* of all nodes */

/* ---- paired_timing.c ---- */

/* Milliseconds per frame and its answer (medians), and the ratios of the second
 * model's time to the first's: what slows the machine for a while slows both
 * of a pair. */
struct ctt_paired_timing {
    double            ms[2];
    struct ctt_spread ratio;    /* its count: of pairs */
};

/* pace: of the pairs, at least one.  Each pair begins with the other of the
 * two; each of the two times is that of a few frames in a row, after one that
 * brings the model back into the caches. */
int ctt_paired_timing_run(struct ctt_runner r[2], const struct ctt_pace *pace,
                          struct ctt_paired_timing *out);

/* ---- infer_bench_file.c ---- */

/* Starts as zeros. */
struct ctt_bench_file {
    const char *name;       /* as given */
    const char *type;       /* what convs multiply in the runtime */
    int         tune;       /* 1: kernels of convs are chosen by timing */
    int         made;       /* 1: from a model text, with random weights */
    int         fd;         /* made: of a file that has no name */
    char        path[32];   /* made: another way to it */
    int64_t     bytes;
    double      zeros;      /* made: the share of pruned weights of convs */
};

/* name: a model file, or a model text: its weights are the initial weights of a
 * training (net/init.h), of which a random share set->zeros of each conv's
 * kernel is pruned; of --type=int8, its convs read bytes, whose range does not
 * matter as it changes no time.  The file is made in TMPDIR and loses its name
 * at once; only a program that is killed meanwhile leaves it there. */
int  ctt_bench_file_open(const char *name, const struct ctt_bench_set *set,
                         struct ctt_bench_file *f);
void ctt_bench_file_close(struct ctt_bench_file *f);

/* ctt_runner_load() of this file; messages name it as given. */
int  ctt_bench_file_load(const struct ctt_bench_file *f, const char *device,
                         int threads, struct ctt_runner *r);

/* ---- infer_bench_streams.c ---- */

/* The times of the frames of a runner, one by one. */
int ctt_bench_time(struct ctt_runner *r, const struct ctt_pace *pace,
                   struct ctt_times *out);

/* Opens that many streams through a model, each in a thread of its own, and
 * lets them run at once, each at this pace after warm_up frames.  Milliseconds
 * per frame (median over all), and frames per second of all together, from
 * their common start to the last one's end. */
int ctt_bench_streams(const struct ctt_infer *m, int streams, int warm_up,
                      const struct ctt_pace *pace, double *median_ms,
                      double *frames_per_s);

/* The same of one batch of them, on the threads of the model: milliseconds of a
 * step, which is a frame of each stream and all answers. */
int ctt_bench_batch(const struct ctt_infer *m, int streams, int warm_up,
                    const struct ctt_pace *pace, double *median_ms,
                    double *frames_per_s);

/* ---- infer_bench_fit.c ---- */

/* How streams are served: a batch in each thread, sessions of one model in each
 * thread, or a process for each stream. */
enum {
    CTT_SERVE_BATCH, CTT_SERVE_SESSIONS, CTT_SERVE_PROCESSES, CTT_SERVE_KINDS
};
extern const char *const ctt_serve_words[CTT_SERVE_KINDS];

struct ctt_serve {
    double rate;       /* frames per second of each stream; 0: not measured */
    int    cores;      /* threads that served them, each on its own */
    int    streams[CTT_SERVE_KINDS];    /* the most that fit */
};

/* Serves more and more streams of noise, a frame each at every tick of the
 * clock, by so many cores.  They fit if at least 99.9% of the answers are there
 * before the next frame.  ms: the time of a frame on one thread, to begin with;
 * runs: ticks of a trial, 0: two seconds of them. */
int ctt_bench_fit(const struct ctt_bench_file *f, const char *device,
                  int cores, double rate, int runs, double ms,
                  struct ctt_serve *out);

/* ---- infer_bench_say.c ---- */

/* So many streams at once, each with so many threads, or one batch of them. */
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
