/* SPDX-License-Identifier: Apache-2.0
 * cpu.h: names of the plain C kernels, and helpers for their loops.
 *
 * The files of the kernels are compiled once as they are, for the device
 * "ref", and once more for each instruction set by isa_avx*.c, which set
 * CTT_ISA and include them: one source, a table per instruction set.  All
 * static names therefore differ between these files. */
#ifndef CTT_CPU_H
#define CTT_CPU_H

#include "device/cpu/cast.h"
#include "device/ewise.h"
#include "device/provider.h"
#include "device/render.h"

#include <string.h>

#ifndef CTT_ISA
#define CTT_ISA ref
#endif

#define CTT_JOIN(isa, s) ctt_##isa##_##s
#define CTT_JOIN2(isa, s) CTT_JOIN(isa, s)
#define K(s) CTT_JOIN2(CTT_ISA, s)

#define IF_KERNEL_VIEW(...)
#define IF_KERNEL_GIVEN(...)
#define IF_KERNEL_COMPUTED(...) __VA_ARGS__
#define OP(E, s, memory, ...) \
    IF_KERNEL_##memory(ctt_kernel K(s##_fwd), K(s##_bwd);)
#include "net/ops.def"
#undef OP

extern const ctt_kernels ctt_ref_kernels, ctt_avx2_kernels,
                         ctt_avx512_kernels;

/* rows.c, compiled for one instruction set.  copy: y (+)= x of the same shape.
 * finish: y = act(y + bias) in place; bias: a float per channel, or NULL; act:
 * ctt_act_kind + 1, or 0. */
struct ctt_row_ops {
    void (*copy)(struct ctt_dev *d, const struct ctt_tensor *x,
                 const struct ctt_tensor *y, int add);
    void (*finish)(struct ctt_dev *d, const struct ctt_tensor *y,
                   const float *bias, int act);
};
extern const struct ctt_row_ops ctt_ref_row_ops, ctt_avx2_row_ops,
                                ctt_avx512_row_ops;

extern ctt_render_fn ctt_ref_render, ctt_avx2_render, ctt_avx512_render;

/* isa_table.c: the instruction sets built in, best first; the last is plain C,
 * has no name and runs on every processor. */
struct ctt_isa {
    const char            *name;
    const ctt_kernels     *kernels;
    const struct ctt_cast *cast;
    const struct ctt_row_ops *row_ops;
    ctt_render_fn         *render;
    int                  (*supported)(void);
};
extern const struct ctt_isa ctt_isas[];

/* The best instruction set of this processor; the row of plain C. */
const struct ctt_isa *ctt_isa_best(void);
const struct ctt_isa *ctt_isa_plain(void);

/* machine.c: writes the processor's name and its instruction sets to `text`,
 * one line of at most `size` bytes. */
void ctt_cpu_machine(char *text, size_t size);

/* host.c: host memory as device memory; calls run in order, none is recorded.
 * */
extern const struct ctt_dev_memory    ctt_host_memory;
extern const struct ctt_dev_numbers   ctt_host_numbers;
extern const struct ctt_dev_optimizer ctt_host_optimizer;
extern const struct ctt_dev_order     ctt_host_order;
#define CTT_ON_HOST .memory = &ctt_host_memory, .numbers = &ctt_host_numbers, \
                    .optimizer = &ctt_host_optimizer, .order = &ctt_host_order

/* The state of an open "cpu" or "ref".  isa: the instruction set of its
 * kernels; wide: memory for float copies (widen.h). */
struct ctt_cpu {
    const struct ctt_isa *isa;
    struct ctt_conv_set   conv;
    char                 *wide;
    size_t                wide_room;
};

static inline struct ctt_cpu *ctt_cpu_of(const struct ctt_dev *d)
{
    return (struct ctt_cpu *)d->own;
}

/* PARALLEL: threads share a loop over rows; work: its multiplications.  SIMD: a
 * loop over channels is vectorised.  Iterations must be independent, so that no
 * result depends on the number of threads. */
#define CTT_PRAGMA(x) _Pragma(#x)
#define PARALLEL(d, work) \
    CTT_PRAGMA(omp parallel for schedule(static) \
               num_threads(ctt_dev_omp(d, (double)(work))))
#define SIMD _Pragma("omp simd")

static inline float *ctt_row(const struct ctt_tensor *t, int64_t r)
{
    return (float *)t->data + r * t->ld;
}

/* Applies an activation in place to n numbers; act: ctt_act_kind + 1, or 0 for
 * none. */
void K(act_row)(int act, float *y, int64_t n);

/* New states h and c of n LSTM cells, from the old cell states and the gates z:
 * i, f, o and g, `apart` floats from each other. c may be old. */
void K(lstm_row)(const float *z, int64_t apart, const float *old, float *h,
                 float *c, int64_t n);

/* Rows of an elementwise loop: the tensors' rows or, if none of them is a view,
 * pieces of 4096 numbers of their memory. */
struct ctt_span { int64_t rows, cols, total; int dense; };

static inline struct ctt_span ctt_span(const struct ctt_tensor *y,
                                       const struct ctt_tensor *a,
                                       const struct ctt_tensor *b)
{
    struct ctt_span s = { ctt_rows(y), y->c, ctt_volume(y), 0 };

    s.dense = y->ld == y->c && a->ld == a->c && b->ld == b->c;
    if (s.dense) {
        s.cols = 4096;
        s.rows = (s.total + s.cols - 1) / s.cols;
    }
    return s;
}

static inline int64_t ctt_len(struct ctt_span s, int64_t r)
{
    int64_t left = s.total - r * s.cols;

    return left < s.cols ? left : s.cols;
}

static inline float *ctt_at(struct ctt_span s, const struct ctt_tensor *t,
                            int64_t r)
{
    return (float *)t->data + r * (s.dense ? s.cols : t->ld);
}

/* Kernels compute a piece of a row into an array of CTT_PIECE floats and then
 * write it with ctt_put(): y (+)= v, so that only ctt_put() tests `add`. */
enum { CTT_PIECE = 64 };

static inline int64_t ctt_piece(int64_t n, int64_t from)
{
    return n - from < (int64_t)CTT_PIECE ? n - from : (int64_t)CTT_PIECE;
}

static inline void ctt_put(float *y, const float *v, int64_t n, int add)
{
    if (!add) {
        memcpy(y, v, (size_t)n * sizeof(float));
        return;
    }
    SIMD for (int64_t j = 0; j < n; j++)
        y[j] += v[j];
}

/* Chunks of a sum over rows.  Their partial sums are added in order, so that
 * the result does not depend on the number of threads.  ctt_chunk(): the first
 * row of chunk k. */
enum { CTT_CHUNKS = 32 };

static inline int64_t ctt_chunk(int64_t rows, int k)
{
    return rows * k / CTT_CHUNKS;
}

/* Width of rows with code of its own, as low-rank cells have them. */
enum { CTT_NARROW = 8 };

/* The functions of struct ctt_row_ops. */
void K(finish)(struct ctt_dev *d, const struct ctt_tensor *y,
               const float *bias, int act);
void K(copy)(struct ctt_dev *d, const struct ctt_tensor *x,
             const struct ctt_tensor *y, int add);

/* db[j] += the sum of dy[j] over all rows. */
int K(bias_bwd)(struct ctt_dev *d, const struct ctt_tensor *dy, float *db);

/* db[j] += the sum of the n numbers part[k][j], k = 0 .. CTT_CHUNKS - 1. */
static inline void ctt_join(const float *part, int64_t stride, int64_t n,
                            float *db)
{
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int k = 0; k < CTT_CHUNKS; k++)
            sum += (double)part[k * stride + j];
        db[j] += (float)sum;
    }
}

#endif
