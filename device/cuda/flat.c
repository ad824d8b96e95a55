/* SPDX-License-Identifier: Apache-2.0
 * flat.c: calls the kernels of flat arrays, the optimizer among them, and of
 * groups of rows. */
#include "device/cuda/core.h"
#include "device/cuda/kernels.h"

int ctt_cuda_cast(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                  void *to, int64_t n)
{
    int rc = 0;

    CTT_CUDA(NULL, ctt_launch_cast(from, type, to, n,
                                   ctt_cuda_lane(d)->stream));
out:
    return rc;
}

int ctt_cuda_round8(struct ctt_dev *d, const float *x, int64_t rows,
                    int64_t each, float *y)
{
    int rc = 0;

    CTT_CUDA(NULL, ctt_launch_round8(x, rows, each, y,
                                     ctt_cuda_lane(d)->stream));
out:
    return rc;
}

int ctt_cuda_sum(struct ctt_dev *d, enum ctt_dtype type, const void *from,
                 void *to, int64_t n)
{
    int rc = 0;

    CTT_CUDA(NULL, ctt_launch_sum(type, from, to, n,
                                  ctt_cuda_lane(d)->stream));
out:
    return rc;
}

int ctt_cuda_constrain(struct ctt_dev *d, const struct ctt_flat *f,
                       double *square_sum)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    void *scratch;
    int rc = 0;

    CTT_TRY(ctt_cuda_scratch(d, NULL, ctt_launch_constrain_scratch(f),
                             &scratch));
    CTT_CUDA(NULL, ctt_launch_constrain(*f, k->sum, scratch, s));
    CTT_CUDA(NULL, cudaMemcpyAsync(k->host_sum, k->sum, sizeof(*k->sum),
                                   cudaMemcpyDeviceToHost, s));
    CTT_CUDA(NULL, cudaStreamSynchronize(s));
    *square_sum = *k->host_sum;
out:
    return rc;
}

int ctt_cuda_update(struct ctt_dev *d, const struct ctt_flat *f,
                    const struct ctt_rule *rule)
{
    int rc = 0;

    CTT_CUDA(NULL, ctt_launch_update(*f, *rule, ctt_cuda_lane(d)->stream));
out:
    return rc;
}

int ctt_cuda_average(struct ctt_dev *d, const float *w, float share,
                     float *average, int64_t n)
{
    int rc = 0;

    CTT_CUDA(NULL, ctt_launch_average(w, share, average, n,
                                      ctt_cuda_lane(d)->stream));
out:
    return rc;
}

int ctt_cuda_group_sums(struct ctt_dev *d, const struct ctt_tensor *x,
                        int64_t groups, double *sums)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    size_t bytes = (size_t)groups * sizeof(*sums);
    void *scratch;
    int rc = 0;

    CTT_TRY(ctt_cuda_scratch(d, NULL, bytes, &scratch));
    CTT_CUDA(NULL, ctt_launch_group_sums(*x, groups, scratch, s));
    CTT_CUDA(NULL, cudaMemcpyAsync(sums, scratch, bytes,
                                   cudaMemcpyDeviceToHost, s));
    CTT_CUDA(NULL, cudaStreamSynchronize(s));
out:
    return rc;
}

int ctt_cuda_group_fill(struct ctt_dev *d, const float *value, int64_t groups,
                        const struct ctt_tensor *y)
{
    int64_t bytes = groups * (int64_t)sizeof(*value);
    void *scratch;
    int rc = 0;

    CTT_TRY(ctt_cuda_scratch(d, NULL, (size_t)bytes, &scratch));
    CTT_TRY(ctt_cuda_upload(d, value, scratch, bytes));
    CTT_CUDA(NULL, ctt_launch_group_fill(scratch, groups, *y,
                                         ctt_cuda_lane(d)->stream));
out:
    return rc;
}
