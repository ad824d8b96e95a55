/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_say.h: output of convtt-infer --bench, as text or JSON. */
#ifndef CTT_INFER_BENCH_SAY_H
#define CTT_INFER_BENCH_SAY_H

#include "tools/bench/infer_bench_file.h"
#include "tools/bench/infer_bench_fit.h"
#include "tools/bench/nodes.h"
#include "tools/bench/paired_timing.h"

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
