/* SPDX-License-Identifier: Apache-2.0
 * infer_bench.h: convtt-infer --bench: how fast a model runs here. */
#ifndef CTT_INFER_BENCH_H
#define CTT_INFER_BENCH_H

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

#endif
