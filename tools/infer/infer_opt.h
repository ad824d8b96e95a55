/* SPDX-License-Identifier: Apache-2.0
 * infer_opt.h: the settings of convtt-infer. */
#ifndef CTT_INFER_OPT_H
#define CTT_INFER_OPT_H

#include "base/limits.h"
#include "base/opt.h"
#include "tools/bench/infer_bench.h"
#include "tools/infer/infer_decide.h"
#include "tools/infer/infer_predict.h"
#include "tools/stream/infer_stream.h"

struct ctt_infer_set {
    const char *split, *classes, *observe, *device;
    float fps;
    int every, top, json, time, strict, threads, workers;
    struct ctt_predict predict;
    struct ctt_decide_set decide;
    struct ctt_bench_set bench;
    struct ctt_stream_set stream;
    struct ctt_limits limits;
};

extern const struct ctt_program ctt_infer_program;

/* The texts of its manual page: before the options, and after them. */
extern const char ctt_infer_description[];
extern const struct ctt_chapter ctt_infer_chapters[];

/* Fails for settings that exclude each other or have no effect, and for an
 * output file that is given twice.  path: the model and the operands. */
int ctt_infer_check(const struct ctt_infer_set *c, char **path, int paths);

#endif
