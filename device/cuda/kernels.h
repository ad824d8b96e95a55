/* SPDX-License-Identifier: Apache-2.0
 * kernels.h: the launchers that C calls; all else in CUDA C stays in .cu.  Each
 * starts its kernels on a stream and returns a cudaError_t as an int.  Tensors
 * are views of floats, halfs or bfloat16s, each of its own type; arithmetic is
 * in floats.  Sums are made in a fixed order without atomics: the same call
 * gives the same bits. */
#ifndef CTT_KERNELS_H
#define CTT_KERNELS_H

#include "device/device.h"
#include "device/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ops whose kernels are our own: enum and symbol, as in ops.def; whether
 * forward and backward need scratch. */
#define CTT_OWN_OPS(X)                                                  \
    X(WINDOW, window, 0, 0) X(POOL, pool, 0, 0) X(NORM, norm, 1, 1)     \
    X(UPSAMPLE, upsample, 0, 0)                                         \
    X(ACT, act, 0, 0) X(ADD, add, 0, 1) X(MUL, mul, 0, 0)               \
    X(CONCAT, concat, 0, 0) X(LSTM, lstm, 0, 0)                         \
    X(DROPOUT, dropout, 0, 0) X(MIX, mix, 0, 0) X(LOSS, loss, 0, 0)

/* What the call says, on the stream.  scratch: at least so many bytes as
 * ctt_launch_NAME_scratch() says, 256-byte aligned. */
#define CTT_LAUNCHERS(E, name, fwd, bwd)                                \
    int ctt_launch_##name##_fwd(const struct ctt_call *c, void *scratch, \
                                void *stream);                          \
    int ctt_launch_##name##_bwd(const struct ctt_call *c, void *scratch, \
                                void *stream);
CTT_OWN_OPS(CTT_LAUNCHERS)
#undef CTT_LAUNCHERS
size_t ctt_launch_norm_fwd_scratch(const struct ctt_call *c);
size_t ctt_launch_norm_bwd_scratch(const struct ctt_call *c);
size_t ctt_launch_add_bwd_scratch(const struct ctt_call *c);

/* y (+)= x of one shape, any types and views: what packs, unpacks and casts. */
int ctt_launch_copy(struct ctt_tensor x, struct ctt_tensor y, int add,
                    void *stream);

/* What a conv's result still needs, in place or from x to y: y = act(x + plus +
 * bias); plus.data and bias NULL: none; act: ctt_act_kind + 1, or 0. */
int ctt_launch_finish(struct ctt_tensor x, struct ctt_tensor plus,
                      const float *bias, int act, struct ctt_tensor y,
                      void *stream);

/* db[j] += the sum of dy[j] over all rows.  scratch: so many bytes. */
int    ctt_launch_bias_bwd(struct ctt_tensor dy, float *db, void *scratch,
                           void *stream);
size_t ctt_launch_bias_bwd_scratch(struct ctt_tensor dy);

/* The flat block: struct ctt_flat's pointers are the device's.  The sum of
 * squares of the constrained gradient goes to *sum in the device's memory;
 * scratch: so many bytes. */
int    ctt_launch_constrain(struct ctt_flat f, double *sum, void *scratch,
                            void *stream);
size_t ctt_launch_constrain_scratch(int64_t n);
int    ctt_launch_update(struct ctt_flat f, struct ctt_rule rule,
                         void *stream);

/* n numbers into another type; y += x. */
int ctt_launch_cast(const float *x, enum ctt_dtype type, void *y, int64_t n,
                    void *stream);
int ctt_launch_sum(enum ctt_dtype type, const void *x, void *y, int64_t n,
                   void *stream);

/* The sums of `groups` equal stretches of rows; a number for all of each.  sums
 * and value: the device's. */
int ctt_launch_group_sums(struct ctt_tensor x, int64_t groups, double *sums,
                          void *stream);
int ctt_launch_group_fill(const float *value, int64_t groups,
                          struct ctt_tensor y, void *stream);

#ifdef __cplusplus
}
#endif

#endif
