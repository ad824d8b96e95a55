/* SPDX-License-Identifier: Apache-2.0
 * memory.c: blocks of the GPU's memory. */
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

static int alloc(struct ctt_dev *d, const char *what, int64_t bytes,
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

/* Waits for all work by itself. */
static void release(struct ctt_dev *d, void *p)
{
    (void)d;
    cudaFree(p);
}

static int64_t room(const struct ctt_dev *d)
{
    size_t have = 0, total = 0;

    (void)d;
    cudaMemGetInfo(&have, &total);
    return (int64_t)have;
}

static int clear(struct ctt_dev *d, void *p, int64_t bytes)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaMemsetAsync(p, 0, (size_t)bytes,
                                   ctt_cuda_lane(d)->stream));
out:
    return rc;
}

static int copy(struct ctt_dev *d, enum ctt_direction way, const void *from,
                void *to, int64_t bytes)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    int rc = 0;

    if (way == CTT_TO_DEVICE)
        return ctt_cuda_upload(d, from, to, bytes);
    CTT_CUDA(NULL, cudaMemcpyAsync(to, from, (size_t)bytes,
                                   way == CTT_WITHIN ? cudaMemcpyDeviceToDevice
                                                     : cudaMemcpyDeviceToHost,
                                   s));
    if (way == CTT_TO_HOST)
        CTT_CUDA(NULL, cudaStreamSynchronize(s));
out:
    return rc;
}

static int sync(struct ctt_dev *d)
{
    cudaError_t e = ctt_cuda_idle(ctt_cuda_of(d));

    return e == cudaSuccess ? 0
                            : ctt_cuda_error(NULL, "cudaStreamSynchronize", e);
}

const struct ctt_dev_memory ctt_cuda_memory = {
    .alloc = alloc,
    .free = release,
    .room = room,
    .clear = clear,
    .copy = copy,
    .put = ctt_cuda_put,
    .get = ctt_cuda_get,
    .cast = ctt_cuda_cast,
    .sum = ctt_cuda_sum,
    .constrain = ctt_cuda_constrain,
    .update = ctt_cuda_update,
    .group_sums = ctt_cuda_group_sums,
    .group_fill = ctt_cuda_group_fill,
    .sync = sync,
    .pin = ctt_cuda_pin,
    .unpin = ctt_cuda_unpin,
    .prefetch = ctt_cuda_prefetch,
    .replay = ctt_cuda_replay,
    .recorded = ctt_cuda_recorded,
    .drop = ctt_cuda_drop,
    .lane = ctt_cuda_set_lane,
    .wait = ctt_cuda_wait,
};
