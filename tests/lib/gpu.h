/* SPDX-License-Identifier: Apache-2.0
 * gpu.h: common part of the tests of the device "cuda": the device itself, and
 * calls of kernels on tensors in its memory. */
#ifndef CTT_TEST_GPU_H
#define CTT_TEST_GPU_H

#include "device/memory.h"
#include "base/half.h"
#include "tests/lib/check.h"
#include "tests/lib/rig.h"

/* The GPU, and plain C to compare with; open while the suites run. */
extern struct ctt_dev *gpu, *host;

/* The first argument was "quick": fewer cases, for slow checkers. */
extern int gpu_quick;

/* Opens both, runs the suites and returns the exit status.  Without a GPU: 77,
 * or 1 if CTT_REQUIRE has the word cuda. */
int gpu_main(CU_SuiteInfo *suites, int argc, char **argv);

/* A function of tests/sim/sim.h, NULL if the GPU is not simulated; runs of
 * kernels, as ctt_sim_runs(), or -1. */
void   *gpu_sim(const char *function);
int64_t gpu_sim_runs(const char *types);

/* The tested value types, each with the relative distance between neighbouring
 * numbers. */
struct gpu_type { enum ctt_dtype type; double ulp; };
enum { GPU_TYPES = 3 };
extern const struct gpu_type gpu_types[GPU_TYPES];

/* Rounds to the nearest numbers of that type. */
void gpu_round(enum ctt_dtype type, float *x, int64_t n);

/* Memory of the GPU, cleared; ctt_dev_free() frees it. */
void *gpu_alloc(int64_t bytes);

/* n numbers of that type in it, as one row. */
struct ctt_tensor gpu_row(void *p, enum ctt_dtype type, int64_t n);

/* Copies n numbers from it, and n floats to it. */
void gpu_read(const void *p, enum ctt_dtype type, int64_t n, float *to);
void gpu_write(const float *from, int64_t n, void *p);

/* Asserts that two arrays on the host have the same bits. */
int gpu_same(const float *a, const float *b, int64_t n);

/* The tensors of a call that are fp32 whatever the type: the first input, the
 * others, the result, the second result. */
enum { WIDE_FIRST = 1, WIDE_OTHERS = 2, WIDE_OUT = 4, WIDE_ALSO = 8 };

/* A rig's call in the device's memory.  The rig's numbers are rounded to their
 * types and uploaded; results are copied back to the rig. */
struct gpu_part {
    struct ctt_tensor *own, at;    /* the rig's, the device's */
    float             *first;      /* the uploaded numbers */
    void              *memory;
    int                result;
};
struct gpu_call {
    struct ctt_rig  rig;
    struct ctt_call call;
    enum ctt_dtype  type;
    struct gpu_part part[32];
    int             parts;
    void           *live;
};

enum { GPU_LIVE_AT = 1, GPU_LIVE_WHICH = 2 };    /* changing numbers are in the
                                                    device's memory */

/* As ctt_rig_open(). */
void gpu_open(struct gpu_call *m, const struct ctt_case *c, int n, int flags,
              int act, enum ctt_dtype type, int wide, int live);
void gpu_close(struct gpu_call *m);

/* Uploads the initial values; results start as NaN. */
void gpu_up(struct gpu_call *m);

/* Copies all tensors that the call may have written into the rig. */
void gpu_down(struct gpu_call *m);

/* A hash of all bits that were copied back. */
uint64_t gpu_bits(const struct gpu_call *m);

/* Computes the call by plain C, with stored results rounded to their types. */
void gpu_expect(const struct gpu_call *m, const struct ctt_case *c, int n,
                int flags, int act, struct ctt_rig *want);

#endif
