/* SPDX-License-Identifier: Apache-2.0
 * memory.c: allocates and clears the GPU's memory. */
#include "device/cuda/core.h"

static long long megabytes(int64_t bytes)
{
    return (long long)((bytes + (1 << 20) - 1) >> 20);
}

int ctt_cuda_malloc(const char *what, int64_t bytes, void **out)
{
    size_t room = 0, total = 0;
    cudaError_t e = cudaMalloc(out, (size_t)bytes);
    int rc = 0;

    if (e == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        cudaMemGetInfo(&room, &total);
        return ctt_error(CTT_ENOMEM, "device cuda: %s: %lld MB asked, %lld MB"
                         " of %lld MB free", what, megabytes(bytes),
                         megabytes((int64_t)room), megabytes((int64_t)total));
    }
    CTT_CUDA(NULL, e);
out:
    return rc;
}

int ctt_cuda_alloc(struct ctt_dev *d, const char *what, int64_t bytes,
                   void **out)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    void *p = NULL;
    int rc = 0;

    CTT_TRY(ctt_cuda_malloc(what, bytes, &p));
    CTT_CUDA(NULL, cudaMemsetAsync(p, 0, (size_t)bytes, s));
    CTT_CUDA(NULL, cudaStreamSynchronize(s));
    *out = p;
    p = NULL;
out:
    cudaFree(p);
    return rc;
}

/* cudaFree() waits until all work is done. */
void ctt_cuda_free(struct ctt_dev *d, void *p)
{
    (void)d;
    cudaFree(p);
}

int64_t ctt_cuda_free_bytes(const struct ctt_dev *d)
{
    size_t have = 0, total = 0;

    (void)d;
    cudaMemGetInfo(&have, &total);
    return (int64_t)have;
}

int64_t ctt_cuda_all_bytes(const struct ctt_dev *d)
{
    size_t have = 0, total = 0;

    (void)d;
    cudaMemGetInfo(&have, &total);
    return (int64_t)total;
}

int ctt_cuda_fill(struct ctt_dev *d, void *p, int byte, int64_t bytes)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaMemsetAsync(p, byte, (size_t)bytes,
                                   ctt_cuda_lane(d)->stream));
out:
    return rc;
}
