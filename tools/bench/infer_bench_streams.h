/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_streams.h: several streams through a model at once. */
#ifndef CTT_INFER_BENCH_STREAMS_H
#define CTT_INFER_BENCH_STREAMS_H

#include "tools/bench/runner.h"
#include "tools/shared/times.h"

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

#endif
