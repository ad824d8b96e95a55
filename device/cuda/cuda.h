/* SPDX-License-Identifier: Apache-2.0
 * cuda.h: an open GPU, for the C files of the module.  The libraries are called
 * from C; .cu files hold kernels and their launchers only (kernels.h). */
#ifndef CTT_CUDA_H
#define CTT_CUDA_H

#include "device/provider.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

enum { CTT_CUDA_LANES = 8 };

/* A lane: a stream, its cuDNN handle and its scratch, the temporary memory of
 * the kernels on it (room: bytes).  Scratch grows with new shapes, but never
 * while a graph is recorded. */
struct ctt_lane {
    cudaStream_t  stream;
    cudnnHandle_t dnn;
    cudaEvent_t   event;
    char         *scratch;
    size_t        room;
};

struct ctt_cuda {
    int                   device;
    struct cudaDeviceProp prop;
    cublasLtHandle_t      blas;
    struct ctt_lane       lane[CTT_CUDA_LANES];
    int                   lanes, at;     /* open ones; the current one */
    cudaStream_t          copy;          /* of prefetched uploads */
    cudaEvent_t           copied;
    int                   recording, has_clock;
    const struct ctt_dev_host *host;     /* of kept.h; NULL: an old program */
    struct ctt_conv_set   conv;
    struct ctt_core      *core;          /* core.h */
};

static inline struct ctt_cuda *ctt_cuda_of(struct ctt_dev *d)
{
    return (struct ctt_cuda *)d->own;
}

static inline struct ctt_lane *ctt_cuda_lane(struct ctt_dev *d)
{
    struct ctt_cuda *u = ctt_cuda_of(d);

    return &u->lane[u->at];
}

/* Each requires an int rc and a label out.  The message names the failed call
 * and, unless c (a struct ctt_call *) is NULL, the node and its shapes. */
#define CTT_CUDA(c, expr)                                               \
    do {                                                                \
        cudaError_t e_ = (expr);                                        \
        if (e_ != cudaSuccess) {                                        \
            rc = ctt_cuda_error(c, #expr, e_);                          \
            goto out;                                                   \
        }                                                               \
    } while (0)
#define CTT_CUDNN(c, expr)                                              \
    do {                                                                \
        cudnnStatus_t e_ = (expr);                                      \
        if (e_ != CUDNN_STATUS_SUCCESS) {                               \
            rc = ctt_cudnn_error(c, #expr, e_);                         \
            goto out;                                                   \
        }                                                               \
    } while (0)
#define CTT_CUBLAS(c, expr)                                             \
    do {                                                                \
        cublasStatus_t e_ = (expr);                                     \
        if (e_ != CUBLAS_STATUS_SUCCESS) {                              \
            rc = ctt_cublas_error(c, #expr, e_);                        \
            goto out;                                                   \
        }                                                               \
    } while (0)
int ctt_cuda_error(const struct ctt_call *c, const char *what, cudaError_t e);
int ctt_cudnn_error(const struct ctt_call *c, const char *what,
                    cudnnStatus_t e);
int ctt_cublas_error(const struct ctt_call *c, const char *what,
                     cublasStatus_t e);

/* At least `bytes` of the current lane's scratch, 256-byte aligned, not
 * cleared, valid until the lane's next call of this function.  CTT_ENOMEM, with
 * a message that gives the requested and the free bytes. */
int ctt_cuda_scratch(struct ctt_dev *d, const struct ctt_call *c, size_t bytes,
                     void **out);

/* own.c: the kernels of all ops but conv and deconv. */
extern const ctt_kernels ctt_cuda_kernels;

#endif
