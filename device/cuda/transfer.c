/* SPDX-License-Identifier: Apache-2.0
 * transfer.c: copies of values that leave the GPU's memory for a while, and of
 * those that come back, on a stream of their own. */
#include "device/cuda/core.h"

/* A copy begins when the work of lane 0 so far is done: the other lanes have
 * been waited for there. */
int ctt_cuda_transfer(struct ctt_dev *d, enum ctt_direction way,
                      const void *from, void *to, int64_t bytes, void **place)
{
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct ctt_core *k = u->core;
    cudaEvent_t e = *place;
    int rc = 0;

    if (!e) {
        CTT_CUDA(NULL, cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
        *place = e;
    }
    CTT_TRY(ctt_cuda_join(u));
    CTT_CUDA(NULL, cudaEventRecord(k->asked, u->lane[0].stream));
    CTT_CUDA(NULL, cudaStreamWaitEvent(k->aside, k->asked, 0));
    CTT_CUDA(NULL, cudaMemcpyAsync(to, from, (size_t)bytes,
                                   way == CTT_TO_HOST ? cudaMemcpyDeviceToHost
                                                      : cudaMemcpyHostToDevice,
                                   k->aside));
    CTT_CUDA(NULL, cudaEventRecord(e, k->aside));
out:
    return rc;
}

/* Lane 0 waits, as it begins and ends what the others do. */
int ctt_cuda_transfer_follow(struct ctt_dev *d, void *place)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamWaitEvent(ctt_cuda_of(d)->lane[0].stream, place,
                                       0));
out:
    return rc;
}

/* Threads other than the one that opened the device come here: without a word
 * they would be on GPU 0. */
int ctt_cuda_transfer_wait(struct ctt_dev *d, void *place)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaSetDevice(ctt_cuda_of(d)->device));
    CTT_CUDA(NULL, cudaEventSynchronize(place));
out:
    return rc;
}

void ctt_cuda_transfer_drop(struct ctt_dev *d, void *place)
{
    (void)d;
    cudaEventDestroy(place);
}

int ctt_transfer_open(struct ctt_core *k)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamCreateWithFlags(&k->aside,
                                             cudaStreamNonBlocking));
    CTT_CUDA(NULL, cudaEventCreateWithFlags(&k->asked,
                                            cudaEventDisableTiming));
out:
    return rc;
}

void ctt_transfer_close(struct ctt_core *k)
{
    if (k->asked)
        cudaEventDestroy(k->asked);
    if (k->aside)
        cudaStreamDestroy(k->aside);
}
