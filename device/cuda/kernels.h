/* SPDX-License-Identifier: Apache-2.0
 * kernels.h: the functions of .cu files that C calls.  Each launches kernels on
 * a stream and returns a cudaError_t as an int.  Tensors are views of fp32,
 * fp16, bf16 or bytes of quantised values, and the tensors of one call may
 * differ in type; arithmetic is in fp32.  Sums have a fixed order and use no
 * atomics: the same call gives the same bits. */
#ifndef CTT_KERNELS_H
#define CTT_KERNELS_H

#include "device/device.h"
#include "device/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All ops but conv and deconv: enum and symbol, as in ops.def; whether forward
 * and backward need scratch. */
#define CTT_OWN_OPS(X)                                                  \
    X(WINDOW, window, 0, 0) X(POOL, pool, 0, 0) X(NORM, norm, 1, 1)     \
    X(UPSAMPLE, upsample, 0, 0) X(QUANT, quant, 0, 0)                   \
    X(EMBED, embed, 0, 0)                                               \
    X(ACT, act, 0, 0) X(ADD, add, 0, 1) X(MUL, mul, 0, 0)               \
    X(CONCAT, concat, 0, 0) X(LSTM, lstm, 0, 0)                         \
    X(DROPOUT, dropout, 0, 0) X(MIX, mix, 0, 0) X(LOSS, loss, 0, 0)     \
    X(SOFTMAX, softmax, 0, 0) X(LRN, lrn, 0, 0)                         \
    X(GROUPNORM, groupnorm, 0, 1) X(PATCH, patch, 0, 0)                 \
    X(ATTEND, attend, 1, 1)                                             \
    X(HALO, halo, 0, 0) X(COLLECT, collect, 0, 0) X(TOTAL, total, 0, 0)

/* The op of call c.  scratch: at least ctt_launch_NAME_scratch() bytes,
 * 256-byte aligned. */
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
size_t ctt_launch_groupnorm_bwd_scratch(const struct ctt_call *c);
size_t ctt_launch_attend_fwd_scratch(const struct ctt_call *c);
size_t ctt_launch_attend_bwd_scratch(const struct ctt_call *c);

/* y = x, or y += x if add; same shape, any types and strides. */
int ctt_launch_copy(struct ctt_tensor x, struct ctt_tensor y, int add,
                    void *stream);

/* The steps after a convolution: y = act(x + plus + bias); y may be x.
 * plus.data, bias: NULL for none; act: ctt_act_kind + 1, or 0 for none. */
int ctt_launch_finish(struct ctt_tensor x, struct ctt_tensor plus,
                      const float *bias, int act, struct ctt_tensor y,
                      void *stream);

/* db[j] += the sum of dy[j] over all rows.  scratch: at least
 * ctt_launch_bias_bwd_scratch() bytes. */
int    ctt_launch_bias_bwd(struct ctt_tensor dy, float *db, void *scratch,
                           void *stream);
size_t ctt_launch_bias_bwd_scratch(struct ctt_tensor dy);

/* The optimizer.  All pointers but f.shared are to the GPU's memory.  constrain
 * writes the sum of squares of the constrained gradient to *sum; scratch: at
 * least ctt_launch_constrain_scratch() bytes.  share constrains one tensor of
 * shared values and writes their sum of squares to *sum. */
int    ctt_launch_constrain(struct ctt_flat f, double *sum, void *scratch,
                            void *stream);
size_t ctt_launch_constrain_scratch(const struct ctt_flat *f);
int    ctt_launch_share(struct ctt_flat f, struct ctt_stretch s, double *sum,
                        void *scratch, void *stream);
size_t ctt_launch_share_scratch(struct ctt_stretch s);
int    ctt_launch_update(struct ctt_flat f, struct ctt_rule rule,
                         void *stream);
int    ctt_launch_average(const float *w, float share, float *average,
                          int64_t n, void *stream);

/* y = the rows of x, of `each` floats, rounded to 8 bits (base/byte.h). */
int ctt_launch_round8(const float *x, int64_t rows, int64_t each, float *y,
                      void *stream);

/* A conv of quantised values (doc/format.md, section 2) in whole numbers.  The
 * weights in 8 bits: q, [channel][tap][input]; factor: of each channel's sums;
 * part: the sums of q, [tap][channel], and behind them of all taps. */
struct ctt_whole { int8_t *q; float *factor; int32_t *part; };
int ctt_launch_whole_weights(const struct ctt_call *c, struct ctt_whole w,
                             void *stream);

/* From sums of products of bytes and q, [pixel][channel], with zeros outside
 * the image, to the result: sums of values instead of bytes, times factor, plus
 * bias and plus input, act; each operation rounded by itself.  sums NULL:
 * computes them; floats: they are whole numbers in floats, otherwise 32 bits.
 * */
int ctt_launch_whole_result(const struct ctt_call *c, struct ctt_whole w,
                            const void *sums, int floats, void *stream);

/* y = x, n floats into another type; y += x, n numbers of one type. */
int ctt_launch_cast(const float *x, enum ctt_dtype type, void *y, int64_t n,
                    void *stream);
int ctt_launch_sum(enum ctt_dtype type, const void *x, void *y, int64_t n,
                   void *stream);

/* The floats of a batch whose block lies there in the GPU's memory. */
int ctt_launch_render(const struct ctt_shots *s, const char *block, float *to,
                      void *stream);

/* Rows in `groups` equal groups: sums computes the sum of each group, fill sets
 * a group's elements to its value. sums and value are in the GPU's memory. */
int ctt_launch_group_sums(struct ctt_tensor x, int64_t groups, double *sums,
                          void *stream);
int ctt_launch_group_fill(const float *value, int64_t groups,
                          struct ctt_tensor y, void *stream);

#ifdef __cplusplus
}
#endif

#endif
