/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_fit.h: how many streams a model serves in real time. */
#ifndef CTT_INFER_BENCH_FIT_H
#define CTT_INFER_BENCH_FIT_H

#include "tools/bench/infer_bench_file.h"
#include "tools/shared/times.h"

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

#endif
