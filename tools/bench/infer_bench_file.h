/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_file.h: the model file to measure, made if only its text is
 * there. */
#ifndef CTT_INFER_BENCH_FILE_H
#define CTT_INFER_BENCH_FILE_H

#include "tools/bench/infer_bench.h"
#include "tools/bench/runner.h"

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

#endif
